"""Processes: knowing them again, waiting for them, and ending all of them."""

import contextlib
import os
import select
from collections.abc import Iterator

import psutil

from omagy_supervisor.ports import Clock, ProcessRef, Stops, Wake

COOKIE = "OMAGY_COOKIE"
_TICK_S = 0.2
_KILLED_S = 5.0
_SWEEP_ROUNDS = 50


class SystemProcesses:
    """Implements ports.Processes."""

    def __init__(self, stops: Stops, clock: Clock) -> None:
        self._stops = stops
        self._clock = clock

    def find(self, pid: int, argument: str) -> ProcessRef | None:
        try:
            process = psutil.Process(pid)
            carries = argument in process.cmdline()
            return ProcessRef(pid, process.create_time()) if carries else None
        except psutil.Error:
            return None

    def alive(self, process: ProcessRef) -> bool:
        try:
            found = psutil.Process(process.pid)
            return found.create_time() == process.started_at and found.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def wait(self, process: ProcessRef, limit_s: float) -> Wake:
        with _pidfd(process.pid) as fd:
            if not self.alive(process):
                return Wake.READY
            if fd is not None:
                return self._stops.wait(limit_s, fd)
        return self._wait_by_looking(process, limit_s)

    def _wait_by_looking(self, process: ProcessRef, limit_s: float) -> Wake:
        deadline = self._clock.monotonic_s() + limit_s
        while self.alive(process):
            left = deadline - self._clock.monotonic_s()
            if left <= 0:
                return Wake.LIMIT
            if self._stops.wait(min(_TICK_S, left)) is Wake.STOP:
                return Wake.STOP
        return Wake.READY

    def end(self, process: ProcessRef, grace_s: float) -> None:
        if not self.alive(process):
            return
        with contextlib.suppress(psutil.Error):
            leader = psutil.Process(process.pid)
            leader.terminate()
            if _ends_within(leader, grace_s):
                return
            tree = [*leader.children(recursive=True), leader]
            for member in tree:
                with contextlib.suppress(psutil.Error):
                    member.kill()
            for member in tree:
                _ends_within(member, _KILLED_S)

    def sweep(self, cookie: str) -> int:
        killed = 0
        for _ in range(_SWEEP_ROUNDS):
            found = list(_carriers(cookie))
            if not found:
                break
            for process in found:
                with contextlib.suppress(psutil.Error):
                    process.kill()
                    killed += 1
            psutil.wait_procs(found, timeout=1)
        return killed


def _ends_within(process: psutil.Process, limit_s: float) -> bool:
    """Wait for the end of ``process``, which comes before its parent takes note of it: tmux may never do so."""
    with _pidfd(process.pid) as fd:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return True
        if fd is not None:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            return bool(poll.poll(limit_s * 1000))
    with contextlib.suppress(psutil.TimeoutExpired):
        process.wait(timeout=limit_s)
        return True
    return False


def _carriers(cookie: str) -> Iterator[psutil.Process]:
    """Living processes of ours whose environment carries ``cookie`` or one below it; never ourselves."""
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            value = process.environ().get(COOKIE, "")
            if (value == cookie or value.startswith(f"{cookie}/")) and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.Error, OSError):
            continue


@contextlib.contextmanager
def _pidfd(pid: int) -> Iterator[int | None]:
    """A descriptor that becomes readable when ``pid`` ends (Linux); None elsewhere."""
    fd = None
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            fd = os.pidfd_open(pid)
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)
