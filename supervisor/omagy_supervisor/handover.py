"""Hands an environment to a process that tmux starts, without it touching a disk or a command line.

A tmux server keeps its own environment, ``-e`` shows values in the process list, and a file would keep secrets:
so the values travel once through a named pipe that only its owner can open.
"""

import contextlib
import errno
import json
import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE_S = 20.0


class HandoverError(Exception):
    """The other side did not come, or went away."""


def make_pipe(path: Path) -> None:
    """Make the pipe at ``path``; only the user can open it."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    os.mkfifo(path, 0o600)


def offer(path: Path, payload: dict[str, Any], expected: Callable[[float], bool]) -> None:
    """Write ``payload`` into the pipe once somebody reads it.

    ``expected(seconds)`` waits a little and says whether the reader can still come. Raises HandoverError.
    """
    fd = _open_for_reader(path, expected)
    try:
        _write_all(fd, memoryview(json.dumps(payload).encode()), expected)
    except BrokenPipeError:
        raise HandoverError("the other side went away") from None
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):
            path.unlink()


def _write_all(fd: int, data: memoryview, expected: Callable[[float], bool]) -> None:
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            if not expected(0.01):
                raise HandoverError("the other side stopped taking it") from None


def _open_for_reader(path: Path, expected: Callable[[float], bool]) -> int:
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno not in (errno.ENXIO, errno.EINTR):
                raise HandoverError(f"{path}: {error.strerror}") from None
        if not expected(0.01):
            raise HandoverError("nobody came to take it")


def receive(path: Path, patience_s: float = PATIENCE_S) -> dict[str, Any]:
    """Read the payload from the pipe and remove it; gives up when nobody writes. Raises HandoverError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise HandoverError(f"{path}: {error.strerror}") from None
    try:
        data = json.loads(_read_to_end(fd, patience_s))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise HandoverError("it was cut short") from None
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):
            path.unlink()  # whoever made it may have died meanwhile
    if not isinstance(data, dict):
        raise HandoverError("it is not what was expected")
    return data


def _read_to_end(fd: int, patience_s: float) -> bytes:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    parts: list[bytes] = []
    while True:
        if not poll.poll(patience_s * 1000):
            raise HandoverError("nobody wrote to it")
        part = os.read(fd, 1 << 16)
        if part:
            parts.append(part)
        elif parts:
            return b"".join(parts)
        else:
            raise HandoverError("the other side closed it without a word")
