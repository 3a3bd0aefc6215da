"""Whatever stands in the files of a scope: it is read, and every change leaves a scope that says the same twice."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch import mode_change
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mode_change import Change
from omagy_autoresearch.mode_request import StateRequest, parse_clear, parse_read, parse_write
from omagy_autoresearch.mode_scope import KEPT_MODES, Scope
from omagy_autoresearch.workflow import DeniedError, Mode, unsupported_pairs
from omagy_autoresearch.workflow_stop import MustContinue, must_continue

AT = "2026-01-31T12:00:00+00:00"
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([*map(str, Mode), *Outcome])
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["mode", "active", "current_phase", "lifecycle_outcome", "run_outcome", "completed_at", "session_id", "question"]
)
STATES = st.dictionaries(KEYS | st.text(max_size=8), JSON, max_size=5)
ROW_KEYS = st.sampled_from(["skill", "phase", "active", "activated_at", "session_id"])
ROWS = st.lists(st.dictionaries(ROW_KEYS, JSON) | JSON, max_size=5)
INVENTORIES = st.dictionaries(
    st.sampled_from(["skill", "active", "phase", "version"]) | st.text(max_size=8), JSON, max_size=4
)
SESSIONS = st.sampled_from([None, "s1"])


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    inventory = draw(INVENTORIES)
    if draw(st.booleans()):
        inventory["active_skills"] = draw(ROWS)
    states = draw(st.dictionaries(st.sampled_from(KEPT_MODES), STATES, max_size=4))
    return Scope(draw(SESSIONS), inventory, states)


def applied(scope: Scope, change: Change) -> Scope:
    """The scope that a reader finds after ``change``."""
    states: dict[Mode, Any] = {**scope.states, **change.states}
    return Scope(
        scope.session_id,
        scope.inventory if change.inventory is None else change.inventory,
        {mode: state for mode, state in states.items() if state is not None},
    )


@given(scopes())
def test_a_repair_keeps_the_set_and_is_needed_once(scope: Scope) -> None:
    """After it inventory and states agree, and nothing that was active is lost."""
    change = mode_change.repair(scope, AT)
    after = scope if change is None else applied(scope, change)
    assert after.active() == scope.active()
    assert after.listed().keys() == after.rows().keys()
    assert scope.active() <= after.states.keys()
    assert mode_change.repair(after, AT) is None


@given(scopes(), st.data())
def test_any_part_of_a_repair_keeps_the_set(scope: Scope, data: st.DataObject) -> None:
    """So one that is killed in between has lost nothing, and needs no note of what it was about to do."""
    change = mode_change.repair(scope, AT)
    if change is None:
        return
    done = data.draw(st.sets(st.sampled_from([*change.states, None])))
    part = Change(
        {mode: state for mode, state in change.states.items() if mode in done},
        change.inventory if None in done else None,
    )
    after = applied(scope, part)
    assert after.active() == scope.active()
    rest = mode_change.repair(after, AT)
    assert mode_change.repair(after if rest is None else applied(after, rest), AT) is None


@given(scopes(), st.sampled_from(KEPT_MODES))
def test_an_activation_is_made_or_denied(scope: Scope, mode: Mode) -> None:
    """What is made can be read back, and brings no unsupported pair."""
    request = StateRequest(mode, scope.session_id, active=True)
    try:
        change = mode_change.write(scope, request, AT)
    except DeniedError:
        assert scope.active()
        return
    after = applied(scope, change)
    assert mode in after.active()
    assert after.active() == (scope.active() - set(change.completed)) | {mode}
    assert set(unsupported_pairs(after.active())) <= set(unsupported_pairs(scope.active()))


@given(scopes(), st.sets(st.sampled_from(KEPT_MODES)))
def test_what_is_cleared_or_cancelled_is_out_and_the_rest_stays(scope: Scope, modes: set[Mode]) -> None:
    for change in (mode_change.clear(scope, modes, AT), mode_change.cancel(scope, modes, AT)):
        assert applied(scope, change).active() == scope.active() - modes


@given(scopes(), st.sampled_from(KEPT_MODES), st.sampled_from(Outcome))
def test_a_mode_that_ends_leaves_the_set_with_its_outcome(scope: Scope, mode: Mode, outcome: Outcome) -> None:
    request = StateRequest(mode, scope.session_id, outcome=outcome)
    after = applied(scope, mode_change.write(scope, request, AT))
    assert after.active() == scope.active() - {mode}
    assert after.states[mode]["lifecycle_outcome"] == outcome


@given(st.dictionaries(KEYS | st.sampled_from(["state", "all"]) | st.text(max_size=8), JSON, max_size=4))
def test_any_request_is_understood_or_refused(raw: dict[str, Any]) -> None:
    """With words for a person, never otherwise."""
    for parse in (parse_write, parse_read, parse_clear):
        with suppress(ContractError):
            parse(raw)


@given(st.dictionaries(st.sampled_from(Mode), STATES, max_size=4))
def test_any_states_allow_or_keep_a_session(active: dict[Mode, Any]) -> None:
    """Only modes of the set keep it, and never a run."""
    found = must_continue(active)
    if isinstance(found, MustContinue):
        assert set(found.modes) <= active.keys() - {Mode.AUTORESEARCH}
