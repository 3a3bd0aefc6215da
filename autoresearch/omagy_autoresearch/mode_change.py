"""What a request does to one scope: the new states and the new inventory, as values (contract section 7)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mode_request import StateRequest
from omagy_autoresearch.mode_scope import Entries, Scope, entry_of, inventory_of
from omagy_autoresearch.mode_state import begun, ended
from omagy_autoresearch.workflow import Allowed, Denied, Mode, in_order, transition


@dataclass(frozen=True, slots=True)
class Change:
    """``states`` maps a mode to its new state, None where it goes; an ``inventory`` of None stays as it is.

    ``ends`` has the states in which modes end by it, those of a clear too, which are kept nowhere.
    """

    states: Mapping[Mode, dict[str, Any] | None]
    inventory: dict[str, Any] | None
    completed: tuple[Mode, ...] = ()
    ends: Mapping[Mode, dict[str, Any]] = field(default_factory=dict)


def write(scope: Scope, request: StateRequest, at: str) -> Change:
    """Merge the request into its mode's state; activating it goes through the transition tables.

    Raises DeniedError when they do not allow it.
    """
    mode, state = _named(request), scope.state(_named(request), at)
    entries = scope.entries()
    if not _is_meant_active(request, mode in entries, state):
        return _inactive(scope, request, state, at)
    found = _allowed(scope, mode)
    before = dict(state or {})
    if mode not in entries:
        before = begun(before, mode, scope.session_id, at)
    new = {**before, **request.fields, "active": True, "updated_at": at}
    ends = {
        source: ended(scope.state(source, at) or {}, Outcome.FINISHED, at, handoff_to=mode)
        for source in found.completes
    }
    left = _without(scope.rows(), found.completes)
    old = left.get(mode, {})
    since = {"activated_at": old["activated_at"]} if old.get("activated_at") else {}
    left[mode] = {**old, **entry_of(new, mode, scope.session_id), **since}
    return Change({mode: new, **ends}, inventory_of(scope, left, at), found.completes, ends)


def _named(request: StateRequest) -> Mode:
    assert request.mode is not None, "a request to write names its mode"
    return request.mode


def _allowed(scope: Scope, mode: Mode) -> Allowed:
    found = transition(scope.active(), mode)
    if isinstance(found, Denied):
        raise found.error(scope.session_id)
    return found


def _is_meant_active(request: StateRequest, active: bool, state: Mapping[str, Any] | None) -> bool:
    """A mode that is written for the first time is activated, unless the request says otherwise."""
    if request.outcome is not None:
        return False
    return active or state is None if request.active is None else request.active


def _inactive(scope: Scope, request: StateRequest, state: Mapping[str, Any] | None, at: str) -> Change:
    mode = _named(request)
    head = {"mode": str(mode), **({"session_id": scope.session_id} if scope.session_id else {}), "active": False}
    new: dict[str, Any] = {**(state or {}), **head, **request.fields, "updated_at": at}
    ends = mode in scope.entries() or request.outcome is not None or request.active is False
    if ends and not (state is not None and state.get("completed_at") and request.outcome is None):
        new = ended(new, request.outcome, at)
    return Change(
        {mode: new}, inventory_of(scope, _without(scope.rows(), [mode]), at), ends={mode: new} if ends else {}
    )


def clear(scope: Scope, modes: Iterable[Mode], at: str) -> Change:
    """Take ``modes`` out of the set, and their states away."""
    gone = in_order(modes)
    ends = _cancelled(scope, [mode for mode in gone if mode in scope.entries()], at)
    return Change(dict.fromkeys(gone), inventory_of(scope, _without(scope.rows(), gone), at), ends=ends)


def cancel(scope: Scope, modes: Iterable[Mode], at: str) -> Change:
    """End ``modes`` as their person asked; their states stay, for whoever reads or goes on."""
    gone = in_order(modes)
    states = _cancelled(scope, gone, at)
    return Change(states, inventory_of(scope, _without(scope.rows(), gone), at), ends=states)


def _cancelled(scope: Scope, modes: Iterable[Mode], at: str) -> dict[Mode, dict[str, Any]]:
    return {mode: ended(scope.state(mode, at) or {}, Outcome.USERINTERLUDE, at) for mode in modes}


def repair(scope: Scope, at: str) -> Change | None:
    """What makes the files of ``scope`` agree with one another; None when they do."""
    rows = scope.rows()
    lost = {mode: scope.state(mode, at) for mode in scope.entries() if mode not in scope.states}
    same = not scope.damaged and scope.listed().keys() == rows.keys()
    if same and not lost:
        return None
    return Change(lost, None if same else inventory_of(scope, rows, at))


def _without(entries: Entries, modes: Iterable[Mode]) -> Entries:
    gone = set(modes)
    return {mode: entry for mode, entry in entries.items() if mode not in gone}
