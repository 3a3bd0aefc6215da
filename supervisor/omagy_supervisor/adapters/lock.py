"""The lock of a repository: one run at a time, and the kernel drops it when its holder dies (contract section 3)."""

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from omagy_autoresearch.names import is_run_id
from omagy_autoresearch.strict_json import JsonProblem, loads_object
from omagy_supervisor.files import read_regular, write_atomic

_LIMIT = 1 << 16


class Pointer(NamedTuple):
    """Which run is, or was last, active. Information for people: only the lock itself is believed."""

    run_id: str
    active: bool
    pid: int = 0
    process_started_at: float = 0.0
    host: str = ""
    boot_id: str = ""
    since: str = ""
    tmux_socket: str = ""
    schema_version: int = 1
    process_mark: str = ""  # its start, as processes.start_mark tells it
    repo_root: str = ""  # the worktree whose run it is


class RunLock:
    """Holds the lock from ``acquire`` until ``release`` or the end of the process; children never inherit it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def acquire(self, tries: int = 1) -> bool:
        """False when somebody else holds it, on each of ``tries`` 20 ms apart. Raises OSError.

        A link in the file's place is not followed.
        """
        for number in range(tries):
            if number:
                from threading import Event

                Event().wait(0.02)
            self._fd = self._taken()
            if self._fd is not None:
                return True
        return False

    def _taken(self) -> int | None:
        """The open lock; None when somebody else holds it."""
        while True:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(fd)
                if isinstance(error, BlockingIOError):
                    return None
                raise
            if self._is_at_its_place(fd):
                return fd
            os.close(fd)  # its holder removed it once we had opened it: it excludes nobody

    def _is_at_its_place(self, fd: int) -> bool:
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(fd))

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def remove(self) -> None:
        """Release it, and take its file away with it. Whoever opened the file before takes another one then."""
        if self._fd is not None and self._is_at_its_place(self._fd):
            with contextlib.suppress(OSError):
                self._path.unlink()
        self.release()


def lock_is_held(path: Path) -> bool:
    """True while a supervisor lives that holds the lock at ``path``. Any number may look at the same time."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def read_pointer(path: Path) -> Pointer | None:
    """The pointer, or None when there is none that can be read."""
    try:
        record = loads_object(read_regular(path, _LIMIT) or b"")
    except (ValueError, JsonProblem):
        return None
    kinds: dict[str, type] = {"run_id": str, "active": bool}
    kinds |= {name: type(default) for name, default in Pointer._field_defaults.items()}
    known = {name: record[name] for name in kinds if name in record}
    if not {"run_id", "active"} <= known.keys() or not all(_is(value, kinds[name]) for name, value in known.items()):
        return None
    return Pointer(**known) if is_run_id(known["run_id"]) else None


def _is(value: Any, kind: type) -> bool:
    return type(value) is kind or (kind is float and type(value) is int)


def write_pointer(path: Path, pointer: Pointer) -> None:
    write_atomic(path, json.dumps(pointer._asdict(), indent=2).encode() + b"\n", durable=False)
