"""Whatever is observed gets a ruling, and nothing that contradicts itself goes on."""

from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.observation import KEYS, WAITS, State, Strategy
from omagy_autoresearch.stop_conditions import PRECEDENCE, RULES, Effect, evaluate

_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_flags = st.none() | st.booleans()
_sound = st.fixed_dictionaries(
    {},
    optional={
        "state": st.sampled_from(State),
        "strategy": st.sampled_from(Strategy),
        "merge_authorized": _flags,
        "autonomy.humanMergeOnly": _flags,
        "quiet": _flags,
        "active": _flags,
        "session_alive": _flags,
        "startup_inputs": _flags | st.dictionaries(st.text(), st.text() | st.none(), max_size=2),
        "lifecycle_outcome": st.sampled_from([None, *Outcome, "done", "cancelled"]),
        "waited_s": st.none() | st.floats(0, 1e9),
    },
)
_any = st.dictionaries(st.sampled_from([*KEYS, "lifecycle_state", "autonomy"]) | st.text(), _json) | _sound


@given(_json | _any)
def test_any_value_gets_a_ruling(observation: Any) -> None:
    """The rule is one of the table and does what the table says; doubt stops, and only doubt is reconciled."""
    ruling = evaluate(observation)
    rule = next((rule for rule in RULES if rule.id == ruling.rule), None)
    assert ruling.stops is (rule is not None and rule.effect is Effect.STOP)
    assert ruling.needs_reconcile is bool(ruling.contradictions)
    assert not ruling.needs_reconcile or ruling.stops


@given(_sound)
def test_no_contradiction_goes_on(observation: dict[str, Any]) -> None:
    """Neither an end that is still active or has a living session, nor a wait that is not active, nor two states."""
    ruling = evaluate(observation)
    outcome, state = observation.get("lifecycle_outcome"), observation.get("state")
    ended = outcome is not None or state is State.DONE
    contradicts = (
        (ended and (observation.get("active") is True or observation.get("session_alive") is True))
        or (state in WAITS and (observation.get("active") is False or outcome is not None))
        or (state in (State.MERGE_READY, State.APPROVAL_READY, State.MERGE_AUTHORIZATION) and outcome is not None)
    )
    assert not contradicts or ruling.needs_reconcile


@given(_sound)
def test_a_merge_goes_on_only_when_it_is_authorized_and_left_to_agents(observation: dict[str, Any]) -> None:
    """Whatever else is observed."""
    ruling = evaluate(observation)
    at_merge = observation.get("state") in (State.MERGE_READY, State.MERGE_AUTHORIZATION)
    if at_merge and not ruling.stops:
        assert observation.get("merge_authorized") is True
        assert observation.get("autonomy.humanMergeOnly") is not True


@given(_sound)
def test_silence_changes_no_ruling(observation: dict[str, Any]) -> None:
    """With and without it the same rule decides; where none does, silence is what is told."""
    without = evaluate({**observation, "quiet": False})
    quiet = evaluate({**observation, "quiet": True})
    if without.contradictions == ("nothing says which state it is in",) or without.rule is None:
        assert quiet.rule in (None, "STOP-QUIET-WATCHER-001")
        assert not quiet.stops
    else:
        assert (quiet.rule, quiet.stops) == (without.rule, without.stops)


@given(_sound)
def test_the_first_rule_in_order_decides(observation: dict[str, Any]) -> None:
    """What else holds comes after it."""
    ruling = evaluate(observation)
    order = list(PRECEDENCE)
    held = [ruling.rule, *ruling.also] if ruling.rule else []
    assert held == sorted(held, key=lambda rule_id: order.index(str(rule_id)))
