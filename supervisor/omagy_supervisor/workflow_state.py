"""What the command line and the MCP server do with workflow modes: plain values in, plain values out (section 7).

``notes`` in an answer is what a person should be told on stderr: what could not be read, and where it is kept.
"""

from collections.abc import Callable, Iterable
from typing import Any

from omagy_autoresearch import mode_change
from omagy_autoresearch.asked import questions_of
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.lifecycle import normalise
from omagy_autoresearch.mode_change import Change
from omagy_autoresearch.mode_request import StateRequest
from omagy_autoresearch.mode_scope import Scope
from omagy_autoresearch.mode_state import ModeState
from omagy_autoresearch.workflow import Denied, Mode, combination, in_order, recovery, transition
from omagy_autoresearch.workflow_handoff import workflow_handoff
from omagy_autoresearch.workflow_stop import MayStop, MustContinue, must_continue
from omagy_supervisor.active import active_pointer
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.adapters.workflow_files import WorkflowFiles, state_file
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.settings import Settings
from omagy_supervisor.workflow_run import clear_run
from omagy_supervisor.workflow_store import held, mend, now, refuse_inside_run, scope_of

Answer = dict[str, Any]


# -- reading


def read(root: StateRoot, request: StateRequest) -> Answer:
    """One mode's state, or without a mode the active set of the scope with the states of its modes."""
    notes = mend(root, request.session_id)
    files = WorkflowFiles(root.state)
    scope = scope_of(files, root, request.session_id)
    if request.mode is None:
        return {**_set(scope), **_told(root, scope), "notes": _once(notes, files.notes)}
    active = request.mode in scope.active()
    state = _pointer(files, active=active) if request.mode is Mode.AUTORESEARCH else scope.state(request.mode, now())
    path = str(files.path(request.session_id, state_file(request.mode)))
    return {
        "mode": request.mode,
        "session_id": request.session_id,
        "exists": state is not None,
        "active": active,
        "lifecycle_outcome": normalise(state).outcome if state and not active else None,
        "handoff": None if active else _handoff(request.mode, request.session_id, state or {}, path),
        "state": state or {},
        "path": path,
        "notes": _once(notes, files.notes),
    }


def _pointer(files: WorkflowFiles, *, active: bool) -> ModeState | None:
    """The state of autoresearch; a supervisor that was killed left one that calls it active."""
    found = files.pointer()
    return None if found is None else {**found, "active": active}


def list_scopes(root: StateRoot) -> Answer:
    """Every scope of this worktree that knows a mode, the repository's own first, and the run."""
    notes = mend(root, *_scopes(root))
    files = WorkflowFiles(root.state)
    scopes = [scope_of(files, root, session) for session in (None, *files.sessions())]
    shown = [scope for scope in scopes if scope.session_id is None or scope.states or scope.entries()]
    pointer = active_pointer(root)
    return {
        "scopes": [{**_set(scope), "modes": _brief(scope)} for scope in shown],
        "run": {"run_id": pointer.run_id, "repo_root": pointer.repo_root} if pointer is not None else None,
        "notes": _once(notes, files.notes),
    }


def stop_decision(root: StateRoot, session_id: str | None) -> MustContinue | MayStop:
    """Whether a session of this scope may stop now, for a Stop hook. Writes nothing."""
    return _decided(root, scope_of(WorkflowFiles(root.state), root, session_id))


def _decided(root: StateRoot, scope: Scope) -> MustContinue | MayStop:
    states = _states(scope)
    names = {asked.id for state in states.values() for asked in questions_of(state)}
    at = SystemClock().now()
    found = QuestionFiles(root.state).all() if names else []
    return must_continue(states, {one.id: one.as_of(at).status for one in found if one.id in names})


def _scopes(root: StateRoot) -> tuple[str | None, ...]:
    return (None, *WorkflowFiles(root.state).sessions())


def _states(scope: Scope) -> dict[Mode, ModeState]:
    return {mode: scope.states.get(mode, {}) for mode in in_order(scope.active())}


def _set(scope: Scope) -> Answer:
    active = in_order(scope.active() if scope.session_id is None else scope.entries())
    return {"session_id": scope.session_id, "active_modes": list(active), "combination": combination(active)}


def _told(root: StateRoot, scope: Scope) -> Answer:
    stop = _decided(root, scope)
    going_on = list(stop.modes) if isinstance(stop, MustContinue) else []
    return {"states": dict(scope.states), "must_continue": going_on, "reason": stop.reason}


def _brief(scope: Scope) -> Answer:
    active, states = scope.entries(), scope.states
    return {
        mode: {
            "active": mode in active,
            "current_phase": states.get(mode, {}).get("current_phase") or active.get(mode, {}).get("phase") or None,
            "lifecycle_outcome": None if mode in active else normalise(states[mode]).outcome,
            "updated_at": states.get(mode, {}).get("updated_at") or active.get(mode, {}).get("updated_at"),
        }
        for mode in in_order({*active, *states})
    }


# -- changing


def write(root: StateRoot, request: StateRequest, settings: Settings) -> Answer:
    """Merge the request into its mode's state, through the transition tables. Raises DeniedError, ContractError."""
    refuse_inside_run(root, settings)
    assert request.mode is not None, "a request to write names its mode"
    with held(root) as files:
        scope = scope_of(files, root, request.session_id)
        if request.mode is Mode.AUTORESEARCH:
            raise _started_otherwise(scope)
        change = mode_change.write(scope, request, now())
        files.commit(change, request.session_id)
        after = scope_of(files, root, request.session_id)
        state, path = change.states[request.mode] or {}, str(files.path(request.session_id, state_file(request.mode)))
        active = request.mode in after.entries()
        return {
            "mode": request.mode,
            "active": active,
            "completed": list(change.completed),
            **_set(after),
            "handoff": None if active else _handoff(request.mode, request.session_id, state, path),
            "handoffs": _handoffs(files, change, request.session_id),
            "state": state,
            "path": path,
            "notes": _once(files.notes),
        }


def _handoff(mode: Mode, session_id: str | None, state: ModeState, path: str) -> Answer | None:
    """The terminal handoff of a mode that has ended (section 5). A run has its own, among its records."""
    if mode is Mode.AUTORESEARCH:
        return None
    from msgspec import to_builtins

    found = workflow_handoff(mode, state, state_path=path, session_id=session_id)
    return None if found is None else dict(to_builtins(found))


def _handoffs(files: WorkflowFiles, change: Change, session_id: str | None) -> Answer:
    """The handoffs of the modes that ended by ``change``; a state that it took away is no artifact."""
    found = {}
    for mode in in_order(change.ends):
        path = str(files.path(session_id, state_file(mode))) if change.states[mode] is not None else ""
        found[mode] = _handoff(mode, session_id, change.ends[mode], path)
    return {mode: told for mode, told in found.items() if told is not None}


def _started_otherwise(scope: Scope) -> ContractError:
    found = transition(scope.active(), Mode.AUTORESEARCH)
    if isinstance(found, Denied):
        return found.error(scope.session_id)
    return ContractError(
        "autoresearch is active exactly while a run is", "start one: omagy autoresearch <mission-dir>"
    )


def clear(root: StateRoot, request: StateRequest, settings: Settings) -> Answer:
    """Take the mode that is named, or all of the scope, out of the active set and its state away. Raises OmagyError.

    A live run is cleared by name alone: it is asked to stop, and its end is waited for.
    """
    return _end(root, request, settings, mode_change.clear, lambda files, scope: files.kept(scope.session_id))


def cancel(root: StateRoot, request: StateRequest, settings: Settings) -> Answer:
    """End the active mode that is named, or all of the scope, as ``userinterlude``; states stay."""
    return _end(root, request, settings, mode_change.cancel, lambda _, scope: frozenset(scope.entries()))


def _end(
    root: StateRoot,
    request: StateRequest,
    settings: Settings,
    end: Callable[[Scope, Iterable[Mode], str], Change],
    candidates: Callable[[WorkflowFiles, Scope], frozenset[Mode]],
) -> Answer:
    refuse_inside_run(root, settings)
    run, of_run = clear_run(root) if request.mode is Mode.AUTORESEARCH else (None, {})
    with held(root) as files:
        scope = scope_of(files, root, request.session_id)
        there = candidates(files, scope) | frozenset(scope.entries())
        meant = there if request.mode is None else there & {request.mode}
        change = end(scope, meant, now())
        if meant:
            files.commit(change, request.session_id)
        after = scope_of(files, root, request.session_id)
        return {
            "mode": request.mode,
            "ended": [*in_order(meant), *([Mode.AUTORESEARCH] if run is not None and run["stopped"] else [])],
            "handoffs": {**_handoffs(files, change, request.session_id), **of_run},
            **_set(after),
            "run": run,
            "elsewhere": _elsewhere(files, request) if not meant else [],
            "notes": _once(files.notes, _run_goes_on(after) if request.mode is None else []),
        }


def _run_goes_on(scope: Scope) -> list[str]:
    """All modes of a scope are not a night's work: that is stopped by its name alone."""
    if scope.run is None:
        return []
    return [f"run {scope.run.get('run_id')} goes on; it is cleared by its name alone", recovery(Mode.AUTORESEARCH)[0]]


def _elsewhere(files: WorkflowFiles, request: StateRequest) -> list[str | None]:
    """The other scopes in which the mode is active: a person may have meant one of them."""
    others = {None, *files.sessions()} - {request.session_id}
    return sorted((s for s in others if request.mode in files.scope(s).entries()), key=str)


def _once(*notes: list[str]) -> list[str]:
    return list(dict.fromkeys(note for some in notes for note in some))
