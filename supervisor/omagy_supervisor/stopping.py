"""Asks the active run to stop (contract sections 7 and 10): the stop command does, and whoever clears its mode."""

import contextlib
import json
import os
import signal
import threading
from dataclasses import dataclass

from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.errors import ContractError, OmagyError, StorageError
from omagy_autoresearch.events import StopMode
from omagy_supervisor.active import active_pointer, place_of, process_lives, supervisor_lives
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.lock import Pointer
from omagy_supervisor.adapters.processes import is_same
from omagy_supervisor.files import write_atomic
from omagy_supervisor.machine import this_machine
from omagy_supervisor.paths import StateRoot

INSTEAD_IN_A_SESSION = "to end the session write the candidate file; its status `abort` ends the run as well"

_END_S = 60.0


@dataclass(frozen=True, slots=True)
class Stopping:
    """A run that was asked to stop. ``root`` is where its records are, ``pid`` its supervisor.

    ``way`` is what a command for it begins with where it was asked.
    """

    run_id: str
    mode: StopMode
    root: StateRoot
    pid: int
    way: str = ""

    @property
    def ended(self) -> bool:
        """Its locks are the supervisor's life: they go when the supervisor goes, however it goes."""
        return not supervisor_lives(self.root)

    @property
    def can_go_on(self) -> bool:
        """Whether the records are still there that a resume needs."""
        return self.root.run(self.run_id).journal.exists()


def ask_to_stop(root: StateRoot, run_id: str | None, mode: StopMode) -> Stopping:
    """Ask the active run to stop; returns at once. Raises ContractError when it is not active, or not yet."""
    pointer = active_pointer(root)
    if pointer is None:
        raise ContractError("no run is active in this repository", "see what there is: omagy autoresearch list")
    if is_of_the_run_before(pointer):
        raise ContractError("a run is just starting in this repository", "try again in a moment")
    run = pointer.run_id
    if run_id is not None and run_id != run:
        raise ContractError(f"run {run_id} is not active; the active run is {run}")
    its_root = place_of(pointer, root)
    try:
        write_atomic(its_root.run(run).stop_request, json.dumps({"mode": mode}).encode(), durable=False)
    except StorageError:
        if mode is StopMode.AFTER_ITERATION:
            raise
        # Its records may be gone. The signal alone says the same.
    _terminate(pointer)
    return Stopping(run, mode, its_root, pointer.pid, its_root.way_from(root))


def is_of_the_run_before(pointer: Pointer) -> bool:
    """Whether a supervisor has the lock that has not said yet which run is its own.

    The one before ended, or was killed on this machine; what another machine runs cannot be seen from here.
    """
    if not pointer.active:
        return True
    return pointer.host == this_machine()[0] and not process_lives(pointer)


def _terminate(pointer: Pointer) -> None:
    """SIGTERM to the supervisor, if the process with its pid is still the one that took the lock."""
    with contextlib.suppress(OSError):
        if is_same(pointer.pid, pointer.process_mark, pointer.process_started_at):
            os.kill(pointer.pid, signal.SIGTERM)
            return
    raise OmagyError(
        f"the supervisor of run {pointer.run_id} cannot be reached (pid {pointer.pid} on {pointer.host})",
        "stop it where it runs",
    )


def await_end(stopping: Stopping, limit_s: float = _END_S) -> None:
    """Wait for the end of a run that was asked to stop now. Raises OmagyError when it takes too long."""
    clock = SystemClock()
    deadline = clock.monotonic_s() + limit_s
    while not stopping.ended:
        if clock.monotonic_s() > deadline:
            run, way = stopping.run_id, stopping.way
            raise OmagyError(
                f"run {run} has not ended within {format_duration(limit_s)}",
                f"see whether it has by now: {way}omagy autoresearch status {run}\n"
                f"a supervisor that hangs: kill -9 {stopping.pid}, then {way}omagy autoresearch --resume {run}",
            )
        threading.Event().wait(0.05)
