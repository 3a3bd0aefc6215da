"""Takes what a command writes, and waits for its end without looking for it again and again.

``communicate`` with a time limit sleeps between two looks for the end: longer than most git commands take.
"""

import os
import select
import selectors
import subprocess

from omagy_supervisor.machine import monotonic_s

_PART = 1 << 16


def read_to_end(process: subprocess.Popen[bytes], limit_s: float) -> tuple[bytes, bytes]:
    """stdout and stderr of ``process``, which has then ended. Raises TimeoutExpired after ``limit_s`` seconds."""
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = monotonic_s() + limit_s
    written: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    with selectors.DefaultSelector() as still_open:
        for fd in written:
            still_open.register(fd, selectors.EVENT_READ)
        while still_open.get_map():
            left_s = deadline - monotonic_s()
            ready = still_open.select(left_s) if left_s > 0 else []
            if not ready:
                raise subprocess.TimeoutExpired(process.args, limit_s)
            for key, _ in ready:
                part = os.read(key.fd, _PART)
                written[key.fd].append(part)
                if not part:
                    still_open.unregister(key.fd)
    _await_end(process, max(deadline - monotonic_s(), 0.0))
    out, err = (b"".join(parts) for parts in written.values())
    return out, err


def _await_end(process: subprocess.Popen[bytes], limit_s: float) -> None:
    """Raises TimeoutExpired."""
    if hasattr(os, "pidfd_open") and process.poll() is None:
        fd = os.pidfd_open(process.pid)
        try:
            ended = select.poll()
            ended.register(fd, select.POLLIN)
            ended.poll(limit_s * 1000)
        finally:
            os.close(fd)
        limit_s = 0.0
    process.wait(limit_s)
