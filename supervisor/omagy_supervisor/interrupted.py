"""Ends what a run whose supervisor died left working, once another run takes the repository.

A session that outlived its supervisor works, and costs, for nobody then. What it leaves in its lane is collected when
its own run is resumed.
"""

import os
from pathlib import Path

from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.names import evaluator_cookie, sessions_cookie
from omagy_autoresearch.run import InSession, RunState
from omagy_supervisor.active import last_pointer, place_of
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.journal import read_journal
from omagy_supervisor.adapters.processes import SystemProcesses
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.paths import RunFolder, StateRoot
from omagy_supervisor.recover import replay
from omagy_supervisor.sessions import RunnerRecord, read_record


def end_session_of_interrupted_run(root: StateRoot, run_id: str) -> None:
    """End what another run than ``run_id`` left working when its supervisor died.

    Its runner is killed before it can tell of an end: the session then counts as lost, which is nobody's error.
    """
    pointer = last_pointer(root)
    if pointer is None or not pointer.active or pointer.run_id == run_id:
        return
    its_root = place_of(pointer, root)
    folder = its_root.run(pointer.run_id)
    state = _state(folder)
    if state is not None:
        _kill_runner(folder, state)
        end_sessions(state.plan.worktree_path)


def end_sessions(worktree: str) -> None:
    """End whatever works in the lane at ``worktree``: sessions and measurements."""
    processes = _processes()
    processes.sweep(sessions_cookie(worktree))
    processes.sweep(evaluator_cookie(worktree))


def _kill_runner(folder: RunFolder, state: RunState) -> None:
    if not isinstance(state.work, InSession):
        return
    attempt = folder.attempt(state.iteration, state.work.attempt)
    record, processes = read_record(attempt.runner, RunnerRecord), _processes()
    runner = processes.find(record.pid, str(attempt.root)) if record is not None else None
    if runner is not None:
        processes.kill(runner)


def _processes() -> SystemProcesses:
    clock = SystemClock()
    return SystemProcesses(SignalStops(Path(os.devnull), clock), clock)


def _state(folder: RunFolder) -> RunState | None:
    try:
        return replay(*read_journal(folder.journal)).state
    except StorageError:
        return None
