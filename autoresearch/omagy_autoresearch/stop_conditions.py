"""When a loop stops, waits or goes on (contract section 7): the rules as data, and the function that applies them.

Closed on failure: what contradicts itself, or what no rule covers, is ``needs_reconcile`` and stops. Only a rule that
says so lets a loop go on.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct

from omagy_autoresearch.observation import Facts, State, Strategy, observe

HOUR_S = 3600.0


class Effect(StrEnum):
    STOP = "stop"
    GO_ON = "go_on"


class Owner(StrEnum):
    """Who acts next."""

    PERSON = "person"
    LOOP = "loop"


class Term(Struct, frozen=True):
    word: str
    meaning: str


class Rule(Struct, frozen=True):
    """``strategy`` is None for a rule of all strategies, ``watch_s`` how long one watch may take, if that is limited.

    ``next_state`` is the state to record when the rule decides; None leaves the state as it is.
    """

    id: str
    condition: str
    strategy: Strategy | None
    effect: Effect
    behaviour: str
    next_state: str | None = None
    watch_s: float | None = None


NEEDS_RECONCILE = "needs_reconcile"
RECONCILE, QUIET = "STOP-RECONCILE-001", "STOP-QUIET-WATCHER-001"

TERMS = (
    Term(State.BLOCKED, "A person has to decide something before the loop can go on."),
    Term(State.DONE, "The end: nothing follows."),
    Term(State.APPROVAL_READY, "The evidence for an approval is complete. That alone authorizes no merge."),
    Term(State.MERGE_READY, "What a merge needs is there, so that its conditions can be looked at."),
    Term(State.WAITING, "Something outside takes its time, and that is as it should be."),
    Term(State.INITIAL_COPILOT, "The first pull request of Copilot is still to come."),
    Term(State.COPILOT_REVIEW, "Copilot's review of the current head has not settled yet."),
    Term(State.MERGE_AUTHORIZATION, "Ready to merge, and stopped, because nobody has authorized the merge."),
    Term(NEEDS_RECONCILE, "The facts are ambiguous, contradict each other, or are covered by no rule."),
)

_ALL = None
RULES = (
    Rule(
        "STOP-BLOCKED-001",
        f"the state is `{State.BLOCKED}`",
        _ALL,
        Effect.STOP,
        "The loop stops until a person has decided.",
        State.BLOCKED,
    ),
    Rule(
        "STOP-DONE-001",
        f"the state is `{State.DONE}`",
        _ALL,
        Effect.STOP,
        "The loop has come to its end; nothing is started any more.",
        State.DONE,
    ),
    Rule(
        "STOP-APPROVAL-001",
        f"the state is `{State.APPROVAL_READY}`, and no merge is authorized",
        Strategy.FINAL_APPROVAL,
        Effect.STOP,
        "The loop stops in front of the approval, which is a person's.",
        State.APPROVAL_READY,
    ),
    Rule(
        "STOP-MERGE-AUTH-001",
        f"the state is `{State.MERGE_READY}`, and no merge is authorized",
        _ALL,
        Effect.STOP,
        f"The loop stops as `{State.MERGE_AUTHORIZATION}` until somebody authorizes the merge in so many words.",
        State.MERGE_AUTHORIZATION,
    ),
    Rule(
        "STOP-HUMAN-MERGE-001",
        "`autonomy.humanMergeOnly` is true, and the merge is next",
        _ALL,
        Effect.STOP,
        "The loop stops in front of the merge, authorized or not: a person merges, and no agent runs `gh pr merge`.",
        State.MERGE_READY,
    ),
    Rule(
        RECONCILE,
        "the facts are ambiguous, contradict each other, or are covered by no rule",
        _ALL,
        Effect.STOP,
        f"The loop stops as `{NEEDS_RECONCILE}`, names what does not fit, and changes nothing.",
        NEEDS_RECONCILE,
    ),
    Rule(
        "STOP-STARTUP-INPUTS-001",
        "an authoritative input of the start is missing",
        Strategy.DEV_LOOP,
        Effect.STOP,
        "The loop does not start on guesses: it stops until the inputs are given.",
    ),
    Rule(
        "STOP-WAIT-001",
        f"the state is `{State.WAITING}`",
        Strategy.WAIT_WATCH,
        Effect.GO_ON,
        "A healthy wait: the main session takes it up again.",
        State.WAITING,
    ),
    Rule(
        "STOP-INITIAL-COPILOT-001",
        f"the state is `{State.INITIAL_COPILOT}`",
        Strategy.ISSUE_INTAKE,
        Effect.GO_ON,
        "The wait for a first pull request: it is watched for an hour, then the state is read anew.",
        State.INITIAL_COPILOT,
        HOUR_S,
    ),
    Rule(
        "STOP-COPILOT-REVIEW-001",
        f"the state is `{State.COPILOT_REVIEW}`",
        Strategy.COPILOT_PR_FOLLOWUP,
        Effect.GO_ON,
        "A place to go on from, not an end: the review is watched for half an hour, then the state is read anew.",
        State.COPILOT_REVIEW,
        HOUR_S / 2,
    ),
    Rule(
        QUIET,
        "what is watched is quiet",
        Strategy.WAIT_WATCH,
        Effect.GO_ON,
        "Silence is told as an observation. It is never by itself a reason to stop.",
    ),
)

_BY_ID = {rule.id: rule for rule in RULES}


class Watch(Struct, frozen=True):
    """How much of a wait's watch is used, in seconds; ``exceeded`` asks for a fresh look, it is no stop."""

    budget_s: float
    waited_s: float
    remaining_s: float
    exceeded: bool


class Ruling(Struct, frozen=True):
    """What applies. ``rule`` is None where no rule stops the loop and none has to let it go on.

    ``state`` is the state to record, ``contradictions`` are why something needs to be reconciled, ``also`` are the
    other rules whose conditions hold. ``watch`` is given where the wait has a budget.
    """

    rule: str | None
    stops: bool
    state: str | None
    needs_reconcile: bool
    owner: Owner
    behaviour: str
    contradictions: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    watch: Watch | None = None


PRECEDENCE: Mapping[str, Callable[[Facts], bool]] = {
    RECONCILE: lambda facts: bool(facts.contradictions),
    "STOP-STARTUP-INPUTS-001": lambda facts: facts.inputs_missing,
    "STOP-DONE-001": lambda facts: facts.state is State.DONE,
    "STOP-BLOCKED-001": lambda facts: facts.state is State.BLOCKED,
    "STOP-HUMAN-MERGE-001": lambda facts: facts.human_merge_only and facts.at_merge,
    "STOP-APPROVAL-001": lambda facts: facts.state is State.APPROVAL_READY and not facts.merge_authorized,
    "STOP-MERGE-AUTH-001": lambda facts: (
        facts.state in (State.MERGE_READY, State.MERGE_AUTHORIZATION) and not facts.merge_authorized
    ),
    "STOP-INITIAL-COPILOT-001": lambda facts: facts.state is State.INITIAL_COPILOT,
    "STOP-COPILOT-REVIEW-001": lambda facts: facts.state is State.COPILOT_REVIEW,
    "STOP-WAIT-001": lambda facts: facts.state is State.WAITING,
    QUIET: lambda facts: facts.quiet,
}
"""The conditions, in the order in which they decide. Every stop comes before every rule that lets a loop go on."""


def evaluate(observation: object) -> Ruling:
    """Which rule decides what was observed. Total: any JSON value gets a ruling, and a doubtful one stops."""
    facts = observe(observation)
    holding = [rule_id for rule_id, holds in PRECEDENCE.items() if holds(facts)]
    if not holding:
        return _free(facts)
    rule = _BY_ID[holding[0]]
    return Ruling(
        rule=rule.id,
        stops=rule.effect is Effect.STOP,
        state=rule.next_state or facts.state,
        needs_reconcile=rule.next_state == NEEDS_RECONCILE,
        owner=Owner.PERSON if rule.effect is Effect.STOP else Owner.LOOP,
        behaviour=rule.behaviour,
        contradictions=facts.contradictions,
        also=() if facts.contradictions else tuple(holding[1:]),
        watch=_watch(rule, facts),
    )


def _free(facts: Facts) -> Ruling:
    behaviour = "No stop condition holds: the loop goes on."
    return Ruling(None, stops=False, state=facts.state, needs_reconcile=False, owner=Owner.LOOP, behaviour=behaviour)


def _watch(rule: Rule, facts: Facts) -> Watch | None:
    if rule.watch_s is None or facts.waited_s is None:
        return None
    remaining_s = max(rule.watch_s - facts.waited_s, 0.0)
    return Watch(rule.watch_s, facts.waited_s, remaining_s, exceeded=facts.waited_s >= rule.watch_s)


def merge_ruling(*, approved: bool, merge_authorized: bool, human_merge_only: bool) -> Ruling:
    """Whether the result of a run may be merged now. ``approved`` says that its evidence was looked at and accepted.

    ``stops`` False is the only permission there is; omagy merges nothing without it.
    """
    return evaluate(
        {
            "state": State.MERGE_READY if approved else State.APPROVAL_READY,
            "strategy": Strategy.FINAL_APPROVAL,
            "merge_authorized": merge_authorized and approved,
            "autonomy.humanMergeOnly": human_merge_only,
        }
    )
