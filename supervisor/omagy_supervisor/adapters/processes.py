"""Processes: knowing them again, waiting for them, and ending all of them."""

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from omagy_supervisor.machine import this_machine
from omagy_supervisor.ports import Clock, ProcessRef, Stops, Wake

COOKIE = "OMAGY_COOKIE"
_TICK_S = 0.2
_KILLED_S = 5.0
_SWEEP_ROUNDS = 50
_CLOCK_SLACK_S = 2.0


@dataclass(frozen=True, slots=True)
class _Marked(ProcessRef):
    """``mark`` is the start of the process as ``start_mark`` tells it."""

    mark: str = ""


def start_mark(pid: int) -> str:
    """When ``pid`` was started, on a clock that nobody sets; empty where the system has none.

    A start as wall-clock time moves whenever the system's clock is corrected, and with it every comparison.
    """
    ticks = _start_ticks(pid)
    return "" if ticks is None else f"{this_machine()[1]}:{ticks}"


def _start_ticks(pid: int) -> int | None:
    """Field 22 of ``/proc/<pid>/stat``, in ticks since the machine was started."""
    if sys.platform != "linux":
        return None
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def is_same(pid: int, mark: str, started_at: float) -> bool:
    """True while the process ``pid`` is the one whose start was told as ``mark`` or, without one, ``started_at``."""
    if pid <= 0:  # as a file can say that anybody wrote; to a signal it would mean many processes
        return False
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if mark:
            return start_mark(pid) == mark
        return abs(process.create_time() - started_at) <= _CLOCK_SLACK_S
    except psutil.Error:
        return False


def environment_of_ancestor(with_variable: str) -> dict[str, str]:
    """The environment of the nearest ancestor that has the variable, as far as they can be read; empty without."""
    with contextlib.suppress(psutil.Error, OSError):
        for ancestor in psutil.Process().parents():
            with contextlib.suppress(psutil.Error, OSError):
                environment = ancestor.environ()
                if environment.get(with_variable):
                    return environment
    return {}


class SystemProcesses:
    """Implements ports.Processes."""

    def __init__(self, stops: Stops, clock: Clock) -> None:
        self._stops = stops
        self._clock = clock

    def find(self, pid: int, argument: str) -> ProcessRef | None:
        try:
            process = psutil.Process(pid)
            carries = argument in process.cmdline()
            return _Marked(pid, self._started_at(process), start_mark(pid)) if carries else None
        except (psutil.Error, ValueError):  # a negative number is no process
            return None

    def _started_at(self, process: psutil.Process) -> float:
        """The start as today's clock would tell it, so that a session's age outlives corrections of the clock."""
        ticks = _start_ticks(process.pid)
        if ticks is not None:
            with contextlib.suppress(OSError, ValueError, IndexError):
                up_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
                return self._clock.now().timestamp() - (up_s - ticks / os.sysconf("SC_CLK_TCK"))
        return process.create_time()

    def alive(self, process: ProcessRef) -> bool:
        mark = process.mark if isinstance(process, _Marked) else ""
        return is_same(process.pid, mark, process.started_at)

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
            _kill_with_all_below(leader)

    def kill(self, process: ProcessRef) -> None:
        """End ``process`` and its descendants before it can do anything about it."""
        with contextlib.suppress(psutil.Error):
            leader = psutil.Process(process.pid)
            if self.alive(process):
                leader.suspend()  # or it would take note of the end of its children
                _kill_with_all_below(leader)

    def sweep(self, cookie: str) -> int:
        killed: set[psutil.Process] = set()
        for _ in range(_SWEEP_ROUNDS):
            found = {each for carrier in _carriers(cookie) for each in (*_below(carrier), carrier)}
            if not found:
                break
            for process in found:
                with contextlib.suppress(psutil.Error):
                    process.kill()
                    killed.add(process)
            psutil.wait_procs(found, timeout=1)
        return len(killed)


def _kill_with_all_below(leader: psutil.Process) -> None:
    tree = [*leader.children(recursive=True), leader]
    for member in tree:
        with contextlib.suppress(psutil.Error):
            member.kill()
    for member in tree:
        _ends_within(member, _KILLED_S)


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


def _below(process: psutil.Process) -> list[psutil.Process]:
    """What ``process`` started: evaluators often hide our variables, the cookie with them, from what they run."""
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


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
