"""Takes what a command writes, and waits for its end without looking for it again and again.

``communicate`` with a time limit sleeps between two looks for the end: longer than most git commands take.
"""

import contextlib
import os
import select
import selectors
import subprocess

from omagy_supervisor.machine import awake_s

_PART = 1 << 16


def read_to_end(process: subprocess.Popen[bytes], limit_s: float) -> tuple[bytes, bytes]:
    """stdout and stderr of ``process``, which has then ended. Raises TimeoutExpired after ``limit_s`` seconds.

    Time that the machine sleeps does not count: git sleeps too.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = awake_s() + limit_s
    written: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    with selectors.DefaultSelector() as still_open:
        for fd in written:
            still_open.register(fd, selectors.EVENT_READ)
        while still_open.get_map():
            left_s = deadline - awake_s()
            ready = still_open.select(left_s) if left_s > 0 else []
            if not ready:
                raise subprocess.TimeoutExpired(process.args, limit_s)
            for key, _ in ready:
                part = os.read(key.fd, _PART)
                written[key.fd].append(part)
                if not part:
                    still_open.unregister(key.fd)
    _await_end(process, max(deadline - awake_s(), 0.0))
    out, err = (b"".join(parts) for parts in written.values())
    return out, err


def _await_end(process: subprocess.Popen[bytes], limit_s: float) -> None:
    """Raises TimeoutExpired."""
    fd = _descriptor(process)
    if fd is not None:
        try:
            ended = select.poll()
            ended.register(fd, select.POLLIN)
            ended.poll(limit_s * 1000)
        finally:
            os.close(fd)
        limit_s = 0.0
    process.wait(limit_s)


def _descriptor(process: subprocess.Popen[bytes]) -> int | None:
    """What becomes readable when ``process`` ends; None when it has, or where the system has no such thing."""
    if not hasattr(os, "pidfd_open") or process.poll() is not None:
        return None
    with contextlib.suppress(OSError):  # an older kernel, or a container that does not allow it
        return os.pidfd_open(process.pid)
    return None
