"""What a run does next (contract sections 3 to 5). Pure: read ``next_step`` to know the product."""

from datetime import datetime
from typing import assert_never

from msgspec import Struct

from omagy_autoresearch.advance import budget_left_s, case_of
from omagy_autoresearch.assay import assay, baseline_repeats, combine
from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.confirm import next_to_measure, reserve_s
from omagy_autoresearch.counted import counted
from omagy_autoresearch.decision import Decision, Verdict, show
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.events import Collected, StopMode
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.probes import Measurement, Probe, Target
from omagy_autoresearch.run import (
    Applying,
    Deciding,
    Ended,
    Evaluating,
    Idle,
    InSession,
    Pausing,
    Preparing,
    RunState,
)
from omagy_autoresearch.sessions import EndingKind
from omagy_autoresearch.spending import cost, show_money, total_tokens

QUICK_FAILURE_LIMIT = 5
EVALUATOR_FAULT_LIMIT = 3


class PrepareLane(Struct, frozen=True):
    pass


class BeginSession(Struct, frozen=True):
    iteration: int
    attempt: int


class RunSession(Struct, frozen=True):
    """``cut_by_budget`` tells that the run's time budget, not the session's own limit, sets ``limit_s``."""

    iteration: int
    attempt: int
    base: str
    limit_s: float
    cut_by_budget: bool


class Evaluate(Struct, frozen=True):
    """``commit`` is the one to measure: the candidate, or what it would replace."""

    iteration: int
    commit: str
    base: str
    probe: Probe = Probe()


class Remeasure(Struct, frozen=True):
    """Part of the check at the end of a run."""

    commit: str
    base: str


class Decide(Struct, frozen=True):
    """``entry`` lacks nothing but the time at which it is decided."""

    entry: Entry


class Apply(Struct, frozen=True):
    entry: Entry


class Pause(Struct, frozen=True):
    until: datetime
    reason: str


class EndRun(Struct, frozen=True):
    """``remedy`` as in RunEnded."""

    outcome: Outcome
    reason: str
    remedy: str = ""


Step = PrepareLane | BeginSession | RunSession | Evaluate | Remeasure | Decide | Apply | Pause | EndRun


def next_step(state: RunState) -> Step:
    """The next thing to do. An ended run has none: asking is a mistake."""
    phase = state.phase
    if _stops_here(state):
        return _left_by_last_entry(state) or _stopped(state)
    match phase:
        case Preparing():
            return PrepareLane()
        case Idle():
            return _between(state)
        case InSession():
            return _run_session(state, phase)
        case Evaluating():
            return _evaluate(state, phase)
        case Deciding():
            return Decide(_entry(state, phase))
        case Applying():
            return Apply(phase.entry)
        case Pausing():
            return Pause(phase.until, f"{phase.ending.detail or phase.ending.kind}")
        case Ended():
            raise AssertionError("an ended run has no next step")
        case _:
            assert_never(phase)


def _between(state: RunState) -> Step:
    end = _why_end(state)
    if end is None:
        return BeginSession(_iteration(state), state.attempt + 1)
    check = next_to_measure(state) if end.outcome is Outcome.FINISHED else None
    return end if check is None else Remeasure(check, _tip(state))


def _evaluate(state: RunState, phase: Evaluating) -> Step:
    probe = assay(case_of(state, phase.collected), phase.results)
    assert isinstance(probe, Probe), "with a verdict the phase would be another"
    commit = phase.commit if probe.target is Target.CANDIDATE else _tip(state)
    return Evaluate(state.iteration, commit, _tip(state), probe)


def _stops_here(state: RunState) -> bool:
    """A request to stop now ends the run except where something is still to be brought to a record.

    One for the end of the iteration does so in a pause too: nothing is under way, and the wait may be long.
    """
    if state.stop is StopMode.NOW:
        return not isinstance(state.phase, InSession | Deciding | Applying)
    return state.stop is StopMode.AFTER_ITERATION and isinstance(state.phase, Pausing)


def _tip(state: RunState) -> str:
    assert state.tip is not None, "the lane stands"
    return state.tip


def _iteration(state: RunState) -> int:
    """The number of the iteration to work on: the one under way, or a new one."""
    return state.iteration if state.attempt else state.iteration + 1


def _run_session(state: RunState, phase: InSession) -> RunSession:
    own, left = state.plan.contract.session.timeout_s, _time_left_s(state)
    cut = left is not None and left < own
    return RunSession(state.iteration, phase.attempt, _tip(state), left if cut and left is not None else own, cut)


def _time_left_s(state: RunState) -> float | None:
    """What sessions may still use: the check at the end has its share set aside."""
    left = budget_left_s(state)
    return None if left is None else max(left - reserve_s(state), 0.0)


# -- the decision


def _entry(state: RunState, phase: Deciding) -> Entry:
    verdict = _verdict(state, phase)
    collected = phase.collected or Collected(head=_tip(state))
    candidate = collected.candidate
    kept = collected.candidate_commit if verdict.decision is Decision.KEEP else None
    baseline = phase.collected is None
    return Entry(
        iteration=state.iteration,
        kind="baseline" if baseline else "iteration",
        decision=verdict.decision,
        decision_reason=verdict.reason,
        candidate_status=candidate.status if candidate else None,
        base_commit=_tip(state),
        candidate_commit=collected.candidate_commit,
        kept_commit=kept or _tip(state),
        keep_policy=state.plan.contract.evaluator.keep_policy,
        evaluator=_combined(state, phase),
        measurements=tuple(map(Measurement.of, phase.results)) if len(phase.results) > 1 else (),
        created_at="",
        agent=state.plan.agent.kind,
        notes=candidate.notes if candidate else (),
        description=candidate.description if candidate else "baseline" if baseline else "",
        session=phase.session,
        diff=collected.diff,
        leftovers_ref=collected.leftovers_ref,
        question_id=collected.question_id,
        dirty_files=collected.dirty_files,
    )


def _combined(state: RunState, phase: Deciding) -> Evaluation | None:
    """The candidate's measurements as the one evaluation that the ledger shows."""
    own = [one.evaluation for one in phase.results if one.probe == Probe()]
    settings = state.plan.contract.evaluator
    first = own[: baseline_repeats(settings) if phase.collected is None else settings.repeats]
    return combine(settings, first) if first else None


def _verdict(state: RunState, phase: Deciding) -> Verdict:
    collected = phase.collected
    if collected is not None and (collected.candidate is None or collected.problem):
        return Verdict(Decision.ERROR, _artifact_problem(phase, collected))
    if collected is not None and collected.violation:
        return Verdict(Decision.DISCARD, collected.violation)
    if phase.problem:
        return Verdict(Decision.DISCARD, phase.problem)
    if collected is not None and not phase.results:
        return _without_evaluation(collected)
    verdict = assay(case_of(state, collected), phase.results)
    assert isinstance(verdict, Verdict), "the phase began once there was enough"
    return verdict


def _artifact_problem(phase: Deciding, collected: Collected) -> str:
    problem, session = collected.problem or "the session wrote no candidate file", phase.session
    if session is None or session.ending is EndingKind.COMPLETED:
        return problem
    detail = f": {session.detail}" if session.detail else ""
    return f"{problem} ({session.ending.replace('_', ' ')}{detail})"


def _without_evaluation(collected: Collected) -> Verdict:
    assert collected.candidate is not None
    match collected.candidate.status:
        case CandidateStatus.NOOP:
            return Verdict(Decision.NOOP, "the session found nothing to change")
        case CandidateStatus.ABORT:
            return Verdict(Decision.ABORT, "the session asked to stop the run")
        case CandidateStatus.INTERRUPTED if collected.dirty_files:
            return Verdict(Decision.INTERRUPTED, "the session was interrupted and left uncommitted changes")
        case CandidateStatus.INTERRUPTED:
            return Verdict(Decision.INTERRUPTED, "the session was interrupted and left nothing uncommitted")
        case CandidateStatus.CANDIDATE:
            raise AssertionError("a candidate that holds is evaluated before it is decided on")


# -- the end


def _stopped(state: RunState) -> EndRun:
    return EndRun(Outcome.USERINTERLUDE, f"stopped by {state.stop_by}")


def _why_end(state: RunState) -> EndRun | None:
    """Why no further session is started; None while there is no reason.

    What a person has to see comes before what the person asked for: a stop must not hide a question or an abort.
    """
    left = _left_by_last_entry(state)
    if left is not None:
        return left
    if state.stop is StopMode.AFTER_ITERATION and state.between_iterations:
        return _stopped(state)
    if state.blocker is not None:
        return EndRun(Outcome.BLOCKED, state.blocker.told)
    return _streak(state) or _budget(state)


def _left_by_last_entry(state: RunState) -> EndRun | None:
    entry = state.last_entry
    if entry is None or not state.between_iterations or state.settled:
        return None
    if entry.question_id is not None:
        return EndRun(Outcome.ASK_USER_QUESTION, f"question {entry.question_id} waits for an answer")
    if entry.decision is Decision.ABORT:
        return EndRun(Outcome.BLOCKED, f"the agent aborted: {entry.description or 'without saying why'}")
    if entry.leaves_lane_alone:
        return EndRun(Outcome.BLOCKED, "an interrupted session left uncommitted changes in the lane")
    if entry.decision is Decision.BASELINE and entry.evaluator is not None and entry.evaluator.fault is not None:
        allowed = state.plan.allow_broken_baseline
        return (
            None if allowed else EndRun(Outcome.BLOCKED, f"the baseline cannot be measured: {entry.evaluator.error}")
        )
    return None


def _streak(state: RunState) -> EndRun | None:
    streaks, budget = state.streaks, state.budget
    if _reached(streaks.errors, budget.max_consecutive_errors):
        row = f"{counted(streaks.errors, 'error')} in a row"
        return EndRun(Outcome.FAILED, f"{row}, the last: {_last_reason(state)}")
    if streaks.quick_failures >= QUICK_FAILURE_LIMIT:
        same = f"{streaks.quick_failures} sessions in a row failed at once and alike"
        return EndRun(Outcome.BLOCKED, f"{same}: {_last_reason(state)}")
    if streaks.evaluator_faults >= EVALUATOR_FAULT_LIMIT:
        same = f"the evaluator failed {streaks.evaluator_faults} times in a row in the same way"
        return EndRun(Outcome.BLOCKED, f"{same}: {streaks.evaluator_error}")
    if _reached(streaks.noops, budget.max_consecutive_noops):
        return EndRun(Outcome.FINISHED, f"{counted(streaks.noops, 'noop')} in a row (budget.max_consecutive_noops)")
    if _reached(streaks.discards, budget.max_consecutive_discards):
        row = f"{counted(streaks.discards, 'discard')} in a row"
        return EndRun(Outcome.FINISHED, f"{row} (budget.max_consecutive_discards)")
    return None


def _last_reason(state: RunState) -> str:
    return state.last_entry.decision_reason if state.last_entry else ""


def _reached(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit


def _budget(state: RunState) -> EndRun | None:
    budget, standing = state.budget, state.standing
    target = budget.target_score
    score = standing.score if standing is not None and standing.passed else None
    if target is not None and score is not None and state.plan.contract.evaluator.direction.reached(score, target):
        return EndRun(Outcome.FINISHED, f"target score reached: {show(score)} (budget.target_score {show(target)})")
    if state.between_iterations and _reached(state.iteration, budget.max_iterations):
        return EndRun(Outcome.FINISHED, f"iteration budget used: {state.iteration} (budget.max_iterations)")
    left = _time_left_s(state)
    if left is not None and left <= 0:
        used = format_duration(state.elapsed_s)
        return EndRun(Outcome.FINISHED, f"time budget used: {used} (budget.max_wall_time)")
    return _spending(state)


def _spending(state: RunState) -> EndRun | None:
    budget, tokens = state.budget, total_tokens(state.usage)
    if _reached(state.streaks.without_keep, budget.plateau):
        row = counted(state.streaks.without_keep, "iteration")
        return EndRun(Outcome.FINISHED, f"no keep in {row} (budget.plateau)")
    if _reached(tokens, budget.max_tokens):
        return EndRun(Outcome.FINISHED, f"token budget used: {tokens:,} (budget.max_tokens)")
    spent = cost(state.usage, budget.prices)
    if budget.max_cost is not None and spent is not None and spent >= budget.max_cost:
        return EndRun(Outcome.FINISHED, f"money budget used: {show_money(spent)} (budget.max_cost)")
    return None
