"""A run as the workflow mode autoresearch: active exactly while its supervisor lives (contract section 7)."""

import contextlib
from collections.abc import Iterator
from typing import Any

from omagy_autoresearch.errors import ContractError, OmagyError
from omagy_autoresearch.mode_change import Change, repair
from omagy_autoresearch.mode_scope import inventory_of, run_entry
from omagy_autoresearch.workflow import Denied, Mode, transition
from omagy_supervisor.active import active_pointer, last_pointer, place_of
from omagy_supervisor.adapters.workflow_files import WorkflowFiles
from omagy_supervisor.paths import StateRoot, worktrees
from omagy_supervisor.workflow_store import held, mend, now


def refuse_beside_modes(root: StateRoot) -> None:
    """Raises DeniedError while a mode is active that no run may stand beside, in any scope of any worktree.

    Lanes do not count: what stands in one is its sessions' doing, and these change no modes.
    """
    for place in worktrees(root):
        if place.is_lane:
            continue
        files = WorkflowFiles(place.state)
        for session_id in (None, *files.sessions()):
            found = transition(files.scope(session_id).active(), Mode.AUTORESEARCH)
            if isinstance(found, Denied):
                raise found.error(session_id, "" if place == root else str(place.repo_root))


@contextlib.contextmanager
def enlisted(root: StateRoot, run_id: str) -> Iterator[None]:
    """The run stands in the active set of its worktree. For the holder of the run's lock. Raises OmagyError."""
    at = now()
    with held(root) as files:
        refuse_beside_modes(root)
        scope = files.scope(None)._replace(run_lives=True, run=run_entry(run_id, at, at))
        files.commit(Change({}, inventory_of(scope, scope.rows(), at)), None)
    try:
        yield
    finally:
        # A run has ended whether or not this can be written: whoever reads next asks the lock.
        with contextlib.suppress(OmagyError), held(root) as files:
            change = repair(files.scope(None), now())
            if change is not None:
                files.commit(change, None)


def clear_run(root: StateRoot) -> tuple[dict[str, Any], dict[Mode, Any]]:
    """Ask the active run to stop and wait for its end; with none, say how the last one goes on. Raises OmagyError.

    The second value has the handoff of a run that was stopped, from its records.
    """
    import msgspec

    from omagy_autoresearch.events import StopMode
    from omagy_supervisor.adapters.records import read_handoff
    from omagy_supervisor.recover import read_manifest
    from omagy_supervisor.stopping import ask_to_stop, await_end

    pointer = active_pointer(root)
    if pointer is not None:
        await_end(ask_to_stop(root, pointer.run_id, StopMode.NOW))
    mend(root, None)
    last = pointer or last_pointer(root)
    if last is None:
        return {"run_id": None, "stopped": False, "outcome": None, "can_go_on": False}, {}
    place = place_of(last, root)
    outcome, journal = None, place.run(last.run_id).journal
    with contextlib.suppress(ContractError):  # it says what is known, and its records may be damaged
        manifest = read_manifest(place.run(last.run_id))
        outcome = manifest.outcome if manifest is not None else None
    handoff = read_handoff(place.run(last.run_id)) if pointer is not None else None
    can_go_on = journal.exists() and not (outcome is not None and outcome.terminal)
    run = {"run_id": last.run_id, "stopped": pointer is not None, "outcome": outcome, "can_go_on": can_go_on}
    return run, {} if handoff is None else {Mode.AUTORESEARCH: msgspec.to_builtins(handoff)}
