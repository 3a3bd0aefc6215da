"""Whom a request to stop reaches."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omagy_autoresearch.errors import ContractError, OmagyError
from omagy_autoresearch.events import StopMode
from omagy_supervisor.adapters.lock import Pointer, RunLock, write_pointer
from omagy_supervisor.daemon import another_run_active
from omagy_supervisor.machine import this_machine
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.stopping import Stopping, ask_to_stop, await_end


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[StateRoot]:
    """A repository in which a supervisor has taken the lock, and not said yet which run is its own."""
    (tmp_path / ".git").mkdir()
    root = StateRoot(tmp_path)
    root.prepare()
    root.shared.mkdir()
    lock = RunLock(root.lock)
    assert lock.acquire()
    yield root
    lock.release()


@pytest.mark.parametrize("was_killed", [True, False])
def test_a_run_that_is_just_starting_is_not_taken_for_the_one_before(starting: StateRoot, was_killed: bool) -> None:
    """Whether that one was killed, and is still called active, or ended; its records stay as they are."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host, boot = this_machine()
    before = Pointer("before", was_killed, gone.pid, 1.0, host, boot, repo_root=str(starting.repo_root))
    write_pointer(starting.shared_pointer, before)
    starting.run("before").root.mkdir()
    with pytest.raises(ContractError, match="a run is just starting") as refused:
        ask_to_stop(starting, None, StopMode.NOW)
    assert "try again" in refused.value.hint
    assert list(starting.run("before").root.iterdir()) == []
    assert "a run is starting" in another_run_active(starting).message


def test_a_supervisor_that_does_not_end_is_told_with_the_way_to_end_it(starting: StateRoot) -> None:
    """One that hangs is named by its process, and what to do afterwards stands beside it."""
    with pytest.raises(OmagyError, match="run r has not ended within") as told:
        await_end(Stopping("r", StopMode.NOW, starting, 123, "cd there && "), limit_s=0.1)
    assert "cd there && omagy autoresearch status r" in told.value.hint
    assert "kill -9 123, then cd there && omagy autoresearch --resume r" in told.value.hint
