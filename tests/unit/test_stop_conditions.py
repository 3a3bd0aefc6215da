"""The rules by which a loop stops, waits or goes on: each is reachable, their order is fixed, and doubt stops."""

from typing import Any

import pytest

from omagy_autoresearch.observation import State, Strategy
from omagy_autoresearch.stop_conditions import (
    NEEDS_RECONCILE,
    PRECEDENCE,
    RULES,
    TERMS,
    Effect,
    Owner,
    evaluate,
    merge_ruling,
)

HUMAN_ONLY = {"autonomy": {"humanMergeOnly": True}}
READY = {"state": "merge_ready", "merge_authorized": True}

CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "STOP-BLOCKED-001": ({"state": "blocked"}, "blocked"),
    "STOP-DONE-001": ({"state": "done"}, "done"),
    "STOP-APPROVAL-001": ({"state": "approval_ready", "strategy": "final_approval"}, "approval_ready"),
    "STOP-MERGE-AUTH-001": ({"state": "merge_ready"}, "waiting_for_merge_authorization"),
    "STOP-HUMAN-MERGE-001": ({**READY, **HUMAN_ONLY}, "merge_ready"),
    "STOP-RECONCILE-001": ({"state": ["done", "blocked"]}, NEEDS_RECONCILE),
    "STOP-STARTUP-INPUTS-001": ({"strategy": "dev-loop", "startup_inputs": {"issue": None}}, None),
    "STOP-WAIT-001": ({"state": "waiting", "strategy": "wait_watch"}, "waiting"),
    "STOP-INITIAL-COPILOT-001": (
        {"state": "waiting_for_initial_copilot_implementation", "strategy": "issue_intake"},
        "waiting_for_initial_copilot_implementation",
    ),
    "STOP-COPILOT-REVIEW-001": (
        {"state": "waiting_for_copilot_review", "strategy": "copilot_pr_followup"},
        "waiting_for_copilot_review",
    ),
    "STOP-QUIET-WATCHER-001": ({"quiet": True, "strategy": "wait_watch"}, None),
}


@pytest.mark.parametrize("rule_id", [rule.id for rule in RULES])
def test_every_rule_has_its_case(rule_id: str) -> None:
    """What the table says is what evaluating answers: rule, stop or not, and the state to record."""
    observation, state = CASES[rule_id]
    rule = next(rule for rule in RULES if rule.id == rule_id)
    ruling = evaluate(observation)
    assert (ruling.rule, ruling.state) == (rule_id, state)
    assert ruling.stops is (rule.effect is Effect.STOP)
    assert ruling.owner is (Owner.PERSON if ruling.stops else Owner.LOOP)
    assert ruling.behaviour == rule.behaviour
    assert ruling.needs_reconcile is (rule_id == "STOP-RECONCILE-001")


def test_rules_and_terms_are_complete() -> None:
    """Eleven rules, seven of which stop; every state and the reason to reconcile have a meaning; all are ordered."""
    assert len({rule.id for rule in RULES}) == len(RULES) == 11
    assert sum(rule.effect is Effect.STOP for rule in RULES) == 7
    assert {term.word for term in TERMS} == {*State, NEEDS_RECONCILE}
    assert set(PRECEDENCE) == {rule.id for rule in RULES}
    effects = [next(rule.effect for rule in RULES if rule.id == rule_id) for rule_id in PRECEDENCE]
    assert effects == sorted(effects, key=[Effect.STOP, Effect.GO_ON].index)


@pytest.mark.parametrize(
    ("observation", "rule"),
    [
        # Reconciling comes before everything.
        ({"state": "done", "active": True}, "STOP-RECONCILE-001"),
        ({**READY, "merge_authorized": "yes"}, "STOP-RECONCILE-001"),
        ({"strategy": "dev-loop", "startup_inputs": {}, "state": ["done", "waiting"]}, "STOP-RECONCILE-001"),
        # A start without its inputs comes before any state.
        ({"strategy": "dev-loop", "startup_inputs": {}, "state": "waiting"}, "STOP-STARTUP-INPUTS-001"),
        ({"strategy": "dev-loop"}, "STOP-STARTUP-INPUTS-001"),
        ({"strategy": "dev-loop", "startup_inputs": True, "state": "waiting"}, "STOP-WAIT-001"),
        ({"strategy": "dev-loop", "startup_inputs": {"issue": 7}, "state": "blocked"}, "STOP-BLOCKED-001"),
        # Only a person merges: that beats any authorization, and is about the merge alone.
        ({**READY, **HUMAN_ONLY}, "STOP-HUMAN-MERGE-001"),
        ({"state": "merge_ready", **HUMAN_ONLY}, "STOP-HUMAN-MERGE-001"),
        ({**READY, "autonomy.humanMergeOnly": True}, "STOP-HUMAN-MERGE-001"),
        ({**READY, "state": "waiting_for_merge_authorization", **HUMAN_ONLY}, "STOP-HUMAN-MERGE-001"),
        ({**READY, "state": "approval_ready", **HUMAN_ONLY}, "STOP-HUMAN-MERGE-001"),
        ({"state": "approval_ready", **HUMAN_ONLY}, "STOP-APPROVAL-001"),
        ({**HUMAN_ONLY}, "STOP-HUMAN-MERGE-001"),
        ({"state": "waiting", **HUMAN_ONLY}, "STOP-WAIT-001"),
        ({"state": "done", **HUMAN_ONLY}, "STOP-DONE-001"),
        # Authorization.
        ({"state": "waiting_for_merge_authorization"}, "STOP-MERGE-AUTH-001"),
        ({"state": "merge_ready", "merge_authorized": False}, "STOP-MERGE-AUTH-001"),
        ({"state": "merge_ready", "merge_authorized": None}, "STOP-MERGE-AUTH-001"),
        (READY, None),
        ({**READY, "autonomy": {"humanMergeOnly": False}}, None),
        ({**READY, "state": "approval_ready"}, None),
        # An end by any name.
        ({"lifecycle_outcome": "finished"}, "STOP-DONE-001"),
        ({"lifecycle_outcome": "failed"}, "STOP-DONE-001"),
        ({"run_outcome": "completed"}, "STOP-DONE-001"),
        ({"lifecycle_outcome": "askuserQuestion"}, "STOP-BLOCKED-001"),
        ({"lifecycle_outcome": "blocked", "state": "blocked"}, "STOP-BLOCKED-001"),
        ({"run_outcome": "cancelled"}, "STOP-BLOCKED-001"),
        ({"done": True}, "STOP-DONE-001"),
        ({"active": True, "current_phase": "executing"}, None),
        # Silence.
        ({"quiet": True}, "STOP-QUIET-WATCHER-001"),
        ({"quiet": True, "active": True}, "STOP-QUIET-WATCHER-001"),
        ({"quiet": True, "state": "waiting"}, "STOP-WAIT-001"),
        ({"quiet": True, "state": "blocked"}, "STOP-BLOCKED-001"),
    ],
)
def test_the_order_of_the_rules(observation: dict[str, Any], rule: str | None) -> None:
    """Reconcile, start, end, block, person's merge, approval, authorization, waits, silence: the first decides."""
    assert evaluate(observation).rule == rule


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (None, "no JSON object"),
        ([], "no JSON object"),
        ({}, "nothing says which state"),
        ({"state": "resting"}, "state is 'resting', which is no state"),
        ({"state": 3}, "state is 3, which is no state"),
        ({"state": "waiting", "strategy": "yolo"}, "strategy is 'yolo'"),
        ({"state": "waiting", "strategy": "issue_intake"}, "no rule covers the state waiting in the strategy issue"),
        ({"state": "approval_ready", "strategy": "wait_watch"}, "no rule covers the state approval_ready"),
        ({"state": ["done", "blocked"]}, "it cannot be blocked and done at once"),
        ({"done": True, "blocked": True}, "it cannot be blocked and done at once"),
        ({"state": "waiting", "lifecycle_state": "done"}, "it cannot be done and waiting at once"),
        ({"state": "waiting", "lifecycle_outcome": "finished"}, "it cannot be done and waiting at once"),
        ({"state": "done", "lifecycle_outcome": "blocked"}, "it cannot be blocked and done at once"),
        ({"state": "waiting", "lifecycle_outcome": "exploded"}, "lifecycle_outcome holds 'exploded'"),
        ({"active": False}, "nothing says how it ended"),
        ({"active": True, "lifecycle_outcome": "finished"}, "it has ended, and is said to be active"),
        ({"active": True, "state": "done"}, "it has ended, and is said to be active"),
        ({"active": True, "current_phase": "complete"}, "current_phase says that it has ended"),
        ({"session_alive": True, "lifecycle_outcome": "blocked"}, "it has ended, and a session of it is alive"),
        ({"session_alive": True, "state": "done"}, "it has ended, and a session of it is alive"),
        ({"active": False, "state": "waiting"}, "the state is waiting, and it is said not to be active"),
        ({**READY, "merge_authorized": "true"}, "merge_authorized is 'true', and not true or false"),
        ({**READY, "merge_authorized": 1}, "merge_authorized is 1, and not true or false"),
        ({**READY, "autonomy": {"humanMergeOnly": "no"}}, "autonomy.humanMergeOnly is 'no'"),
        ({**READY, "autonomy": True}, "autonomy is no JSON object"),
        ({**READY, **HUMAN_ONLY, "autonomy.humanMergeOnly": False}, "said to be true, and to be false"),
        ({**READY, "humanMergeOnly": True}, "is autonomy.humanMergeOnly meant?"),
        ({**READY, "autonomy": {"human_merge_only": True}}, "is humanMergeOnly meant?"),
        ({"state": "merge_ready", "merge_authorised": True}, "is merge_authorized meant?"),
        ({"state": "waiting", "quiet": "very"}, "quiet is 'very'"),
        ({"state": "waiting", "active": "yes"}, "active is 'yes'"),
        ({"state": "waiting", "waited_s": -1}, "waited_s is -1"),
        ({"state": "waiting", "waited_s": "long"}, "waited_s is 'long'"),
        ({"state": "waiting", "waited_s": float("nan")}, "waited_s is nan"),
        ({"state": "waiting", "waiting_since": "yesterday", "now": "2026-01-01T00:00:00Z"}, "do not make a time"),
        ({"state": "waiting", "waiting_since": "2026-01-02T00:00:00Z", "now": "2026-01-01T00:00:00Z"}, "do not make"),
        ({"state": "waiting", "waiting_since": "2026-01-01T00:00:00", "now": "2026-01-01T01:00:00Z"}, "do not make"),
        ({"strategy": "dev-loop", "startup_inputs": "issue"}, "neither a JSON object nor a boolean"),
        (
            {"strategy": "wait_watch", "state": "waiting", "startup_inputs": False},
            "startup inputs are missing, and no",
        ),
    ],
)
def test_what_does_not_fit_stops_and_is_named(observation: object, words: str) -> None:
    """Contradictions, unknown words, wrong types and near misses of a key: the loop stops, and a person reads why."""
    ruling = evaluate(observation)
    assert (ruling.rule, ruling.stops, ruling.state) == ("STOP-RECONCILE-001", True, NEEDS_RECONCILE)
    assert any(words in found for found in ruling.contradictions), ruling.contradictions


@pytest.mark.parametrize(
    ("state", "waited_s", "budget_s", "exceeded"),
    [
        (State.INITIAL_COPILOT, 0, 3600.0, False),
        (State.INITIAL_COPILOT, 3599.0, 3600.0, False),
        (State.INITIAL_COPILOT, 3600, 3600.0, True),
        (State.COPILOT_REVIEW, 1800.0, 1800.0, True),
    ],
)
def test_a_wait_with_a_budget_tells_what_is_left(
    state: State, waited_s: float, budget_s: float, exceeded: bool
) -> None:
    """Using it up asks for a fresh look; it is no stop."""
    ruling = evaluate({"state": state, "waited_s": waited_s})
    assert ruling.watch is not None
    assert (ruling.watch.budget_s, ruling.watch.exceeded, ruling.stops) == (budget_s, exceeded, False)
    assert ruling.watch.remaining_s == max(budget_s - waited_s, 0)


def test_a_healthy_wait_has_no_budget() -> None:
    """How long something outside takes is not ours to know."""
    assert evaluate({"state": "waiting", "waited_s": 1e6}).watch is None


def test_a_wait_may_be_told_by_its_times() -> None:
    """Since when, and now."""
    times = {"waiting_since": "2026-01-01T00:00:00Z", "now": "2026-01-01T01:30:00+01:00"}
    ruling = evaluate({"state": State.INITIAL_COPILOT, **times})
    assert ruling.watch is not None
    assert ruling.watch.waited_s == 1800


def test_silence_is_told_beside_what_decides() -> None:
    """It is an observation."""
    ruling = evaluate({"state": "waiting", "quiet": True})
    assert (ruling.stops, ruling.also) == (False, ("STOP-QUIET-WATCHER-001",))


@pytest.mark.parametrize(
    ("approved", "authorized", "human_only", "rule"),
    [
        (False, False, False, "STOP-APPROVAL-001"),
        (False, True, False, "STOP-APPROVAL-001"),
        (True, False, False, "STOP-MERGE-AUTH-001"),
        (True, False, True, "STOP-HUMAN-MERGE-001"),
        (True, True, True, "STOP-HUMAN-MERGE-001"),
        (True, True, False, None),
    ],
)
def test_a_merge_needs_approval_authorization_and_nobody_who_forbids_it(
    approved: bool, authorized: bool, human_only: bool, rule: str | None
) -> None:
    """One combination of eight lets a result be merged."""
    ruling = merge_ruling(approved=approved, merge_authorized=authorized, human_merge_only=human_only)
    assert (ruling.rule, ruling.stops) == (rule, rule is not None)


def test_strategies_are_spelt_as_callers_write_them() -> None:
    """The words of the table."""
    assert {str(rule.strategy) for rule in RULES if rule.strategy} == set(map(str, Strategy))
