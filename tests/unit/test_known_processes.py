"""A process is known again by what no correction of the clock changes."""

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.processes import SystemProcesses, is_same, start_mark
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.ports import ProcessRef


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.fixture
def processes(tmp_path: Path) -> SystemProcesses:
    clock = SystemClock()
    return SystemProcesses(SignalStops(tmp_path, clock), clock)


def _correct_the_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """What a correction does: every start that is told as wall-clock time moves."""
    real = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: real(self) + seconds)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's process table")
def test_a_corrected_clock_makes_nobody_a_stranger(
    processes: SystemProcesses, child: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a living session nor a supervisor that is to be stopped; and a session keeps its age."""
    found = processes.find(child.pid, "600")
    assert found is not None
    mark, started_at = start_mark(child.pid), psutil.Process(child.pid).create_time()
    _correct_the_clock(monkeypatch, -3600)
    assert processes.alive(found)
    assert is_same(child.pid, mark, started_at)
    again = processes.find(child.pid, "600")
    assert again is not None
    assert 0 <= datetime.now(UTC).timestamp() - again.started_at < 60


def test_without_a_mark_a_start_is_compared_with_some_slack(
    processes: SystemProcesses, child: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system tells starts only as wall-clock time."""
    found = ProcessRef(child.pid, psutil.Process(child.pid).create_time())
    _correct_the_clock(monkeypatch, 1)
    assert processes.alive(found)
    _correct_the_clock(monkeypatch, 5)
    assert not processes.alive(found)


def test_another_process_is_never_taken_for_it(processes: SystemProcesses, child: "subprocess.Popen[bytes]") -> None:
    """A mark is of one start on one start of the machine; a process that has ended has none."""
    mark = start_mark(child.pid)
    assert not mark or not is_same(os.getpid(), mark, 0.0)
    found = processes.find(child.pid, "600")
    assert found is not None
    child.kill()
    child.wait()
    assert not processes.alive(found)
    assert start_mark(child.pid) == ""
    assert not is_same(child.pid, mark, found.started_at)
