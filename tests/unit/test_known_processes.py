"""A process is known again by what no correction of the clock changes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from fakes.workspace import lives, wait_until
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.processes import SystemProcesses, is_same, start_mark
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.ports import ProcessRef


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "600"]) as process:
        # Popen returns a moment before the system can tell the new program's command line.
        wait_until(lambda: "600" in psutil.Process(process.pid).cmdline(), "the program is there")
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
    assert 0 <= datetime.now(UTC).timestamp() - again.started_at < 3600


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


def test_a_sweep_reaches_what_hides_the_cookie(processes: SystemProcesses, tmp_path: Path) -> None:
    """An evaluator hides our variables from what it runs; after a kill that is swept with it."""
    cookie = str(tmp_path / "lane")
    command = "env -u OMAGY_COOKIE sleep 600 & echo $!; wait"
    environment = {**os.environ, "OMAGY_COOKIE": f"{cookie}/evaluator"}
    with subprocess.Popen(["sh", "-c", command], env=environment, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        hidden = psutil.Process(int(shell.stdout.readline()))
        wait_until(lambda: hidden.name() == "sleep", "the program that hides")
        try:
            assert processes.sweep(cookie) == 2
            wait_until(lambda: not lives(hidden.pid), "the end of what hid")
        finally:
            with suppress(psutil.NoSuchProcess):
                hidden.kill()


@pytest.mark.parametrize("pid", [-1, 0, 1 << 31, 1 << 63, 10**30])
def test_a_number_that_is_no_process_is_none(pid: int) -> None:
    """It is read from files that anybody may have written."""
    assert not is_same(pid, "mark", 1.0)
    assert not is_same(pid, "", 1.0)
