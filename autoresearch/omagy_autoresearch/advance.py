"""How an event changes a run. Pure: the same events give the same state, on every start."""

from datetime import datetime

from msgspec.structs import replace

from omagy_autoresearch.assay import Case, assay, differences_within, standing_after
from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.confirm import measuring_order
from omagy_autoresearch.counted import counted
from omagy_autoresearch.decision import Decision
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.evaluation import EvaluatorFault
from omagy_autoresearch.events import (
    Applied,
    Collected,
    Decided,
    Evaluated,
    LaneReady,
    PauseOver,
    Record,
    Remeasured,
    RunCreated,
    RunEnded,
    RunResumed,
    SessionBegun,
    SessionEnded,
    StopRequested,
)
from omagy_autoresearch.ledger import Entry, SessionSummary
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.noise import at_level, remembered
from omagy_autoresearch.pauses import pause_until
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.probes import Probe, ProbeKind, Result
from omagy_autoresearch.run import (
    KEPT_LIMIT,
    RECENT_LIMIT,
    Applying,
    Blocker,
    BlockerKind,
    Deciding,
    Ended,
    Evaluating,
    Idle,
    InSession,
    Kept,
    Pausing,
    Phase,
    Preparing,
    RunState,
    Streaks,
)
from omagy_autoresearch.sessions import Ending, EndingKind, Usage

LOST_LIMIT = 2
"""How often an attempt that left no trace is repeated before it counts as an error."""
DEATHS_LIMIT = 3
"""How many supervisors may die while one candidate is measured, before the candidate is discarded for it."""
QUICK_S = 15.0
"""A session that fails within this time has hardly worked: failing alike again and again trips the breaker."""


def begin(record: Record) -> RunState:
    """The state after the first record of a journal. Raises StorageError when that is not RunCreated."""
    if not isinstance(record.event, RunCreated):
        raise StorageError("the journal does not begin with the creation of a run")
    plan = record.event.plan
    return RunState(plan=plan, phase=Preparing(), budget=plan.contract.budget, updated_at=record.at)


def advance(state: RunState, record: Record) -> RunState:
    """The state after ``record``. Raises StorageError for an event that cannot follow."""
    state = replace(state, updated_at=record.at, elapsed_s=max(state.elapsed_s, record.elapsed_s))
    event = record.event
    match event:
        case StopRequested() | RunEnded() if state.ended:
            raise _misplaced(state, record)
        case StopRequested():
            return replace(state, stop=event.mode, stop_by=event.by)
        case RunEnded():
            phase = Ended(event.outcome, event.reason, record.at, resume_at=state.phase, remedy=event.remedy)
            return replace(state, phase=phase)
        case RunResumed():
            return _resumed(state, event)
        case RunCreated():
            raise _misplaced(state, record)
        case _:
            return _in_phase(state, record)


def _in_phase(state: RunState, record: Record) -> RunState:
    match (state.phase, record.event):
        case (Preparing(), LaneReady() as event):
            commit = event.baseline_commit
            return replace(state, baseline_commit=commit, tip=commit, surface=event.surface, phase=Evaluating(commit))
        case (Idle(), SessionBegun() as event):
            session = InSession(event.attempt)
            state = replace(state, remeasure=(), remeasured=())
            return replace(state, iteration=event.iteration, attempt=event.attempt, phase=session)
        case (InSession(), SessionEnded() as event):
            return _session_ended(state, event, record.at)
        case (Evaluating() as phase, Evaluated() as event):
            return _evaluated(state, phase, event)
        case (Idle(), Remeasured() as event):
            score = event.evaluation.score if event.evaluation.passed else None
            done = (*state.remeasured, (event.commit, score))
            return replace(state, remeasure=measuring_order(state), remeasured=done)
        case (Deciding() as phase, Decided() as event):
            noise = _noise(state, phase, event)
            return replace(state, phase=Applying(event.entry, phase.results), differences=noise)
        case (Applying() as phase, Applied()):
            return _applied(state, phase)
        case (Pausing(), PauseOver()):
            return replace(state, phase=Idle())
        case _:
            raise _misplaced(state, record)


def _misplaced(state: RunState, record: Record) -> StorageError:
    return StorageError(
        f"the journal says {type(record.event).__name__} where the run was {type(state.phase).__name__}",
        "the journal was changed by hand, or by a newer omagy; nothing was changed",
    )


# -- a session has ended


def _session_ended(state: RunState, event: SessionEnded, at: datetime) -> RunState:
    ending, collected = event.diagnosis.ending, event.collected
    state = replace(
        state,
        usage=_sum(state.usage, event.diagnosis.usage),
        latest_candidate=collected.candidate_commit or state.latest_candidate,
    )
    phase = _after_session(state, event, at)
    reached = ending.kind not in (EndingKind.UNREACHABLE, EndingKind.USAGE_LIMIT)
    if isinstance(phase, Blocker):
        return replace(state, phase=Idle(), blocker=phase)
    return replace(state, phase=phase, failures=0 if reached else state.failures + 1)


def _after_session(state: RunState, event: SessionEnded, at: datetime) -> Phase | Blocker:
    """The next phase, or what is missing when no other session could work either."""
    ending, collected = event.diagnosis.ending, event.collected
    if collected.candidate is not None:
        return _artifact_phase(state, event)
    match ending.kind:
        case EndingKind.STOPPED:
            return Idle()
        case EndingKind.LOST | EndingKind.USAGE_LIMIT | EndingKind.UNREACHABLE if collected.question_id is not None:
            # Another session would know no more than this one: the person is asked first.
            return Deciding(_summary(state, event), collected)
        case EndingKind.LOST if state.attempt <= LOST_LIMIT:
            return Idle()
        case EndingKind.NOT_LOGGED_IN:
            return Blocker(BlockerKind.NOT_LOGGED_IN, f"the agent is not logged in: {ending.detail}")
        case EndingKind.MISCONFIGURED:
            return Blocker(BlockerKind.MISCONFIGURED, f"the agent refused to start: {ending.detail}")
        case EndingKind.USAGE_LIMIT | EndingKind.UNREACHABLE:
            return _pause(state, ending, at)
        case _:
            return Deciding(_summary(state, event), collected)


def _artifact_phase(state: RunState, event: SessionEnded) -> Phase:
    """An artifact counts whatever became of the process that wrote it."""
    collected, summary = event.collected, _summary(state, event)
    candidate = collected.candidate
    assert candidate is not None
    refused = collected.problem or collected.violation
    if candidate.status is CandidateStatus.CANDIDATE and not refused and collected.candidate_commit:
        return Evaluating(collected.candidate_commit, summary, collected)
    return Deciding(summary, collected)


def _pause(state: RunState, ending: Ending, at: datetime) -> Phase | Blocker:
    limit = ending.kind is EndingKind.USAGE_LIMIT
    if limit and not state.plan.wait_for_limits:
        return Blocker(BlockerKind.USAGE_LIMIT, f"usage limit: {ending.detail}")
    until = pause_until(ending, state.failures + 1, at, state.plan.pause_scale)
    if until is None:
        told = f"gave up after {counted(state.failures + 1, 'try', 'tries')}: {ending.detail}"
        return Blocker(BlockerKind.USAGE_LIMIT if limit else BlockerKind.UNREACHABLE, told)
    left = budget_left_s(state)
    if left is not None and (until - at).total_seconds() >= left:
        wait = format_duration((until - at).total_seconds())
        told = f"{ending.detail.rstrip('.')}; waiting {wait} for it would outlast the run's time budget"
        return Blocker(BlockerKind.OUT_OF_TIME, told)
    return Pausing(until, ending)


def budget_left_s(state: RunState) -> float | None:
    """Seconds of supervised time that the run may still use; None when it has no limit."""
    limit = state.budget.max_wall_time_s
    return None if limit is None else max(limit - state.elapsed_s, 0.0)


def _summary(state: RunState, event: SessionEnded) -> SessionSummary:
    diagnosis = event.diagnosis
    return SessionSummary(
        ending=diagnosis.ending.kind,
        detail=diagnosis.ending.detail,
        duration_s=event.duration_s,
        attempt=state.attempt,
        thread_id=diagnosis.thread_id,
        usage=diagnosis.usage,
    )


def _sum(total: Usage, usage: Usage | None) -> Usage:
    if usage is None:
        return total
    return Usage(**{name: getattr(total, name) + getattr(usage, name) for name in Usage.__struct_fields__})


# -- a commit is being measured


def _evaluated(state: RunState, phase: Evaluating, event: Evaluated) -> RunState:
    results = (*phase.results, Result(event.probe, event.evaluation))
    if event.probe.kind is ProbeKind.EVALUATOR:
        state = replace(state, evaluation_s=event.evaluation.duration_s)
    if isinstance(assay(case_of(state, phase.collected), results), Probe):
        return replace(state, phase=Evaluating(phase.commit, phase.session, phase.collected, results))
    return replace(state, phase=Deciding(phase.session, phase.collected, results))


def _noise(state: RunState, phase: Deciding, event: Decided) -> tuple[float, ...]:
    """What is known of the noise once these measurements are in."""
    own = differences_within(phase.results)
    kept, new = state.standing, event.entry.evaluator
    found = remembered(state.differences, own)
    old_score, new_score = kept.score if kept else None, new.score if new else None
    if event.entry.decision is not Decision.KEEP or old_score is None or new_score is None:
        return found
    return at_level(found, own, old_score, new_score)


def case_of(state: RunState, collected: Collected | None) -> Case:
    """What the commit under measurement is judged against; ``collected`` is None for the baseline."""
    return Case(
        contract=state.plan.contract,
        kept=state.standing if collected is not None else None,
        differences=state.differences,
        diff=collected.diff if collected is not None else None,
        baseline=state.baseline_standing,
    )


# -- a decision has been applied


def _applied(state: RunState, phase: Applying) -> RunState:
    entry = phase.entry
    state = replace(
        state,
        phase=Idle(),
        attempt=0,
        settled=False,
        tip=entry.kept_commit,
        recent=(*state.recent, entry)[-RECENT_LIMIT:],
        tally=state.tally.plus(entry.decision),
        streaks=_streaks(state.streaks, entry, state.last_entry),
    )
    if entry.evaluator is None or entry.decision not in (Decision.BASELINE, Decision.KEEP):
        return state
    standing = standing_after(state.plan.contract.evaluator, phase.results)
    kept = Kept(entry.kept_commit, standing.score)
    if entry.decision is Decision.BASELINE:
        return replace(state, standing=standing, baseline_standing=standing, kept=(kept,))
    # The first of these is the baseline: it stays, whatever else is forgotten.
    return replace(state, standing=standing, kept=(*state.kept[:1], *state.kept[1:][-KEPT_LIMIT + 2 :], kept))


def _streaks(old: Streaks, entry: Entry, previous: Entry | None) -> Streaks:
    decision = entry.decision
    error = _evaluators_own_error(entry)
    return Streaks(
        errors=old.errors + 1 if decision is Decision.ERROR else 0,
        noops=old.noops + 1 if decision is Decision.NOOP else 0,
        discards=old.discards + 1 if decision in (Decision.DISCARD, Decision.AMBIGUOUS) else 0,
        evaluator_faults=0 if not error else old.evaluator_faults + 1 if error == old.evaluator_error else 1,
        evaluator_error=error,
        quick_failures=_quick_failures(old.quick_failures, entry, previous),
        without_keep=0 if decision in (Decision.KEEP, Decision.BASELINE) else old.without_keep + 1,
    )


def _evaluators_own_error(entry: Entry) -> str:
    """The error of the evaluator itself: that a candidate cannot be checked out, set up or built is its own fault."""
    evaluation = entry.evaluator
    own = (EvaluatorFault.CHECKOUT, EvaluatorFault.SETUP, EvaluatorFault.BUILD)
    if evaluation is None or evaluation.fault is None or evaluation.fault in own:
        return ""
    return evaluation.error


def _quick_failures(count: int, entry: Entry, previous: Entry | None) -> int:
    session = entry.session
    if entry.decision is not Decision.ERROR or session is None or session.duration_s > QUICK_S:
        return 0
    alike = previous is not None and previous.decision_reason == entry.decision_reason
    return count + 1 if alike else 1


# -- a run goes on


def _resumed(state: RunState, event: RunResumed) -> RunState:
    overrides, phase = event.overrides, state.phase
    answered = isinstance(phase, Ended)  # else nobody was told yet what the last entry stops the run for
    if isinstance(phase, Ended):
        phase = phase.resume_at
    if isinstance(phase, Pausing):
        phase = Idle()
    if isinstance(phase, Evaluating) and not state.ended:
        phase = _survived(phase)
    return replace(
        state,
        phase=_remeasured(state, phase),
        plan=_overridden(state.plan, event),
        budget=_merged(state.budget, overrides.budget),
        streaks=Streaks() if answered else state.streaks,
        failures=0,
        blocker=None,
        settled=state.settled or answered,
        stop=None,
        stop_by="",
        lives=state.lives + 1,
    )


def _survived(phase: Evaluating) -> Phase:
    """A measurement that ends one supervisor after another is not repeated for ever: the candidate is to blame."""
    deaths = phase.deaths + 1
    if deaths < DEATHS_LIMIT or phase.collected is None:
        return replace(phase, deaths=deaths)
    problem = f"the supervisor died {deaths} times while this candidate was measured"
    return Deciding(phase.session, phase.collected, phase.results, problem)


def _remeasured(state: RunState, phase: Phase) -> Phase:
    """A baseline that could not be measured is measured again before anything is built on it."""
    unmeasured = state.standing is not None and state.standing.passed is None and not state.iteration
    if unmeasured and isinstance(phase, Idle) and state.baseline_commit is not None:
        return Evaluating(state.baseline_commit)
    return phase


def _overridden(plan: RunPlan, event: RunResumed) -> RunPlan:
    overrides = event.overrides
    changes = {
        name: value
        for name in ("agent", "wait_for_limits", "allow_broken_baseline")
        if (value := getattr(overrides, name)) is not None
    }
    return replace(plan, **changes)


def _merged(own: Budget, override: Budget | None) -> Budget:
    return own if override is None else override
