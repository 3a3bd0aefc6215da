"""Every way in which a run ends, and every reason for which it goes on."""

from collections.abc import Callable

import pytest

from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.decision import Decision, Direction, KeepPolicy
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.events import Collected, Decided, Evaluated, LaneReady, SessionEnded, StopMode, StopRequested
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.run import Idle, Pausing
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind
from omagy_autoresearch.steps import (
    EVALUATOR_FAULT_LIMIT,
    QUICK_FAILURE_LIMIT,
    Apply,
    BeginSession,
    Decide,
    EndRun,
    Evaluate,
    Pause,
    PrepareLane,
    RunSession,
)
from unit.histories import BASELINE, History, broken, commit, plan, scored

NOW, AFTER = StopMode.NOW, StopMode.AFTER_ITERATION
ENDLESS = Budget(max_consecutive_errors=None)


def _times(count: int, act: Callable[[History], object], history: History) -> History:
    for _ in range(count):
        act(history)
    return history


# -- the order of a run


def test_a_run_goes_through_its_steps_in_order() -> None:
    """Lane, baseline, then for each iteration: announce, session, evaluation, decision, records."""
    history = History()
    assert history.step() == PrepareLane()
    history.tell(LaneReady(BASELINE))
    assert history.step() == Evaluate(0, BASELINE, BASELINE)
    history.tell(Evaluated(scored(1.0)))
    assert isinstance(history.step(), Decide)
    history.decided()
    assert history.step() == BeginSession(1, 1)
    history.begun()
    assert history.step() == RunSession(1, 1, BASELINE, 3600.0, cut_by_budget=False)
    left = history.left(CandidateStatus.CANDIDATE, commit(1))
    history.tell(SessionEnded(Diagnosis(Ending(EndingKind.COMPLETED)), left, 60.0))
    assert history.step() == Evaluate(1, commit(1), BASELINE)
    history.tell(Evaluated(scored(2.0)))
    history.decided()
    assert history.step() == BeginSession(2, 1)
    assert history.tip == commit(1)


def test_what_was_decided_is_applied_and_never_decided_again() -> None:
    """After the decision is a fact, the only next step is to apply exactly that entry."""
    history = History().tell(LaneReady(BASELINE), Evaluated(scored(1.0)))
    step = history.step()
    assert isinstance(step, Decide)
    entry = step.entry
    assert history.tell(Decided(entry)).step() == Apply(entry)


def test_an_ended_run_has_no_next_step() -> None:
    """Asking an ended run for a step is a mistake that shows."""
    history = History(plan(Budget(max_iterations=1))).measured().kept().ended()
    with pytest.raises(AssertionError, match="no next step"):
        _ = history.step()


# -- the baseline


@pytest.mark.parametrize("evaluation", [scored(1.0), scored(None), scored(0.0, passed=False)])
def test_every_measured_baseline_is_a_start(evaluation: Evaluation) -> None:
    """A baseline that does not pass, or has no score, is a fine place to begin."""
    history = History().measured(evaluation)
    assert history.step() == BeginSession(1, 1)
    assert (history.last.decision, history.last.kind, history.last.iteration) == (Decision.BASELINE, "baseline", 0)


def test_a_baseline_that_cannot_be_measured_stops_before_any_session() -> None:
    """An evaluator that fails on the baseline costs no session: the run is blocked and says why."""
    end = History().measured(broken("it crashed")).end
    assert end == EndRun(Outcome.BLOCKED, "the baseline cannot be measured: it crashed")


def test_a_broken_baseline_can_be_allowed() -> None:
    """With the override the run begins, and the first candidate that passes is kept."""
    history = History(plan(allow_broken_baseline=True)).measured(broken()).candidate(scored(-5.0))
    assert history.last.decision is Decision.KEEP


# -- finished


def test_the_iteration_budget_ends_a_run_after_exactly_that_many() -> None:
    """Iterations of every kind count, the baseline does not."""
    history = History(plan(Budget(max_iterations=3))).measured().kept().noop()
    assert history.step() == BeginSession(3, 1)
    assert history.wrong().end == EndRun(Outcome.FINISHED, "iteration budget used: 3 (budget.max_iterations)")


def test_another_attempt_at_the_last_iteration_is_within_the_budget() -> None:
    """A session that left no trace did not use its iteration up."""
    history = History(plan(Budget(max_iterations=1))).measured().session(kind=EndingKind.LOST)
    assert history.step() == BeginSession(1, 2)
    assert history.kept().end.outcome is Outcome.FINISHED


def test_the_time_budget_ends_a_run() -> None:
    """Supervised time counts, and is checked before every session."""
    history = History(plan(Budget(max_wall_time_s=3600.0))).measured()
    assert history.session(history.left(CandidateStatus.NOOP), after_s=3000.0).decided().step() == BeginSession(2, 1)
    end = history.session(history.left(CandidateStatus.NOOP), after_s=600.0).decided().end
    assert end.outcome is Outcome.FINISHED
    assert end.reason.startswith("time budget used: 1h 00m")


def test_the_time_budget_cuts_a_session_short() -> None:
    """A session gets no more time than the run has left, and knows which of the two limits it met."""
    history = History(plan(Budget(max_wall_time_s=1000.0), session_limit_s=900.0)).measured()
    history.begun()
    assert history.step() == RunSession(1, 1, BASELINE, 900.0, cut_by_budget=False)
    history.tell(SessionEnded(Diagnosis(Ending(EndingKind.LOST)), Collected(BASELINE), 0.0), after_s=490.0)
    history.begun()
    step = history.step()
    assert isinstance(step, RunSession)
    assert (step.limit_s, step.cut_by_budget) == (1000.0 - history.state.elapsed_s, True)


def test_work_that_the_time_budget_interrupted_is_not_counted_against_the_run() -> None:
    """A session that our own limit ended leaves no error: the run is finished."""
    history = History(plan(Budget(max_wall_time_s=1000.0))).measured()
    history.session(kind=EndingKind.STOPPED, after_s=1000.0)
    assert history.end.outcome is Outcome.FINISHED
    assert history.state.tally.error == 0


@pytest.mark.parametrize(
    ("direction", "target", "score"), [(Direction.MAXIMIZE, 2.0, 2.0), (Direction.MINIMIZE, 0.5, 0.25)]
)
def test_reaching_the_target_ends_a_run(direction: Direction, target: float, score: float) -> None:
    """The first kept score that meets the target is enough, in either direction."""
    history = History(plan(Budget(target_score=target), direction=direction)).measured()
    assert history.step() == BeginSession(1, 1)
    end = history.candidate(scored(score)).end
    assert end == EndRun(Outcome.FINISHED, f"target score reached: {score:g} (budget.target_score {target:g})")


def test_a_baseline_that_meets_the_target_ends_a_run_at_once() -> None:
    """There is nothing to improve, and no session is paid for."""
    assert History(plan(Budget(target_score=1.0))).measured(scored(1.0)).end.outcome is Outcome.FINISHED


def test_a_target_counts_only_for_what_passes_and_is_kept() -> None:
    """Neither a failing baseline nor a discarded candidate reaches a target."""
    history = History(plan(Budget(target_score=5.0))).measured(scored(9.0, passed=False))
    assert history.step() == BeginSession(1, 1)
    assert history.candidate(scored(9.0, passed=False)).step() == BeginSession(2, 1)


@pytest.mark.parametrize(
    ("budget", "act", "reason"),
    [
        (Budget(max_consecutive_noops=3), History.noop, "3 noops in a row (budget.max_consecutive_noops)"),
        (
            Budget(max_consecutive_discards=3),
            History.discarded,
            "3 discards in a row (budget.max_consecutive_discards)",
        ),
        (
            Budget(max_consecutive_discards=3),
            lambda history: history.candidate(scored(None)),
            "3 discards in a row (budget.max_consecutive_discards)",
        ),
    ],
)
def test_a_streak_of_fruitless_iterations_ends_a_run(
    budget: Budget, act: Callable[[History], History], reason: str
) -> None:
    """Noops, discards and ambiguous results in a row end a run when it has such a budget, and only then."""
    history = _times(2, act, History(plan(budget)).measured())
    assert isinstance(history.step(), BeginSession)
    history.kept()
    _times(2, act, history)
    assert isinstance(history.step(), BeginSession), "a kept candidate begins the count anew"
    assert act(history).end == EndRun(Outcome.FINISHED, reason)
    assert isinstance(_times(9, act, History().measured()).step(), BeginSession)


# -- failed


def test_errors_in_a_row_end_a_run_as_failed() -> None:
    """Three artifacts in a row that cannot be used end the run, with the last reason."""
    history = History().measured().wrong().wrong("candidate.json: it is not JSON")
    assert history.step() == BeginSession(3, 1)
    history.noop().wrong().wrong()
    assert isinstance(history.step(), BeginSession), "anything else between them begins the count anew"
    end = history.wrong("candidate.json: it is empty").end
    assert end == EndRun(Outcome.FAILED, "3 errors in a row, the last: candidate.json: it is empty")


def test_the_number_of_errors_is_the_budgets() -> None:
    """One error can be too many, and no number of them need be."""
    assert History(plan(Budget(max_consecutive_errors=1))).measured().wrong().end.outcome is Outcome.FAILED
    assert isinstance(_times(20, History.wrong, History(plan(ENDLESS)).measured()).step(), BeginSession)


# -- blocked


def test_sessions_that_fail_at_once_and_alike_trip_the_breaker() -> None:
    """Without a limit on errors, sessions that fail within seconds for one reason do not go on for ever."""
    history = History(plan(ENDLESS)).measured()
    _times(QUICK_FAILURE_LIMIT - 1, lambda h: h.wrong("broken", duration_s=2.0), history)
    assert isinstance(history.step(), BeginSession)
    end = history.wrong("broken", duration_s=2.0).end
    assert end == EndRun(Outcome.BLOCKED, "5 sessions in a row failed at once and alike: broken")


@pytest.mark.parametrize(
    "between",
    [
        lambda history: history.wrong("broken", duration_s=16.0),
        lambda history: history.wrong("in another way", duration_s=2.0),
        History.noop,
    ],
)
def test_only_quick_and_like_failures_trip_the_breaker(between: Callable[[History], History]) -> None:
    """A session that worked, failed in another way, or wrote its artifact begins the breaker's count anew."""
    history = History(plan(ENDLESS)).measured()
    _times(QUICK_FAILURE_LIMIT - 1, lambda h: h.wrong("broken", duration_s=2.0), history)
    between(history)
    _times(QUICK_FAILURE_LIMIT - 1, lambda h: h.wrong("broken", duration_s=2.0), history)
    assert isinstance(history.step(), BeginSession)


def test_an_evaluator_that_keeps_failing_alike_blocks_a_run() -> None:
    """The same fault three times in a row is the evaluator's, and more candidates do not help."""
    history = History(plan(ENDLESS)).measured()
    _times(EVALUATOR_FAULT_LIMIT - 1, lambda h: h.candidate(broken("no module named numpy")), history)
    assert isinstance(history.step(), BeginSession)
    end = history.candidate(broken("no module named numpy")).end
    assert end.outcome is Outcome.BLOCKED
    assert end.reason == "the evaluator failed 3 times in a row in the same way: no module named numpy"


@pytest.mark.parametrize("between", [History.kept, History.noop, lambda h: h.candidate(broken("another fault"))])
def test_only_like_faults_in_a_row_block_a_run(between: Callable[[History], History]) -> None:
    """An evaluation that worked, or failed in another way, begins the count anew."""
    history = History(plan(ENDLESS)).measured()
    for _ in range(3):
        _times(EVALUATOR_FAULT_LIMIT - 1, lambda h: h.candidate(broken("a fault")), history)
        between(history)
    assert isinstance(history.step(), BeginSession)


def test_an_abort_without_a_question_blocks_a_run() -> None:
    """The agent's word stops the run, with what it said."""
    assert History().measured().said(CandidateStatus.ABORT).end == EndRun(
        Outcome.BLOCKED, "the agent aborted: what was done"
    )


def test_an_interrupted_session_with_changes_blocks_a_run() -> None:
    """Changes that a session left uncommitted are the operator's to judge."""
    history = History().measured().said(CandidateStatus.INTERRUPTED, dirty_files=("a.py",))
    assert history.end == EndRun(Outcome.BLOCKED, "an interrupted session left uncommitted changes in the lane")
    assert history.last.leaves_lane_alone


def test_an_interrupted_session_without_changes_goes_on() -> None:
    """Nothing was left behind, so nothing is in the way."""
    history = History().measured().said(CandidateStatus.INTERRUPTED)
    assert history.last.decision is Decision.INTERRUPTED
    assert not history.last.leaves_lane_alone
    assert history.step() == BeginSession(2, 1)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (EndingKind.NOT_LOGGED_IN, "the agent is not logged in: 401"),
        (EndingKind.MISCONFIGURED, "the agent refused to start: 401"),
    ],
)
def test_an_agent_that_cannot_work_blocks_a_run_at_once(kind: EndingKind, reason: str) -> None:
    """No second session is paid for, no error is counted, and no iteration is used up."""
    history = History().measured().session(kind=kind, detail="401")
    assert history.end == EndRun(Outcome.BLOCKED, reason)
    assert history.state.tally.error == 0


def test_a_limit_blocks_a_run_that_does_not_wait() -> None:
    """With --no-wait a usage limit is a blocker, and network trouble is still waited out."""
    history = History(plan(wait_for_limits=False)).measured()
    assert isinstance(history.session(kind=EndingKind.UNREACHABLE).step(), Pause)
    history = History(plan(wait_for_limits=False)).measured()
    assert history.session(kind=EndingKind.USAGE_LIMIT, detail="5h limit").end == EndRun(
        Outcome.BLOCKED, "usage limit: 5h limit"
    )


# -- a question


@pytest.mark.parametrize(
    "act",
    [
        lambda history: history.said(CandidateStatus.ABORT, question_id="q1"),
        lambda history: history.said(CandidateStatus.NOOP, question_id="q1"),
        lambda history: history.session(Collected(history.tip, question_id="q1")).decided(),
        lambda history: history.said(CandidateStatus.INTERRUPTED, question_id="q1", dirty_files=("a",)),
    ],
)
def test_an_open_question_ends_a_run_with_that_question(act: Callable[[History], History]) -> None:
    """Whatever else the session said, its question comes first."""
    end = act(History().measured()).end
    assert end == EndRun(Outcome.ASK_USER_QUESTION, "question q1 waits for an answer")


def test_a_kept_candidate_with_a_question_is_kept_and_asks() -> None:
    """Asking does not cost the work."""
    history = History().measured()
    history.session(history.left(CandidateStatus.CANDIDATE, commit(1), question_id="q1"))
    history.tell(Evaluated(scored(2.0))).decided()
    assert history.tip == commit(1)
    assert history.end.outcome is Outcome.ASK_USER_QUESTION


# -- asked to stop


def test_a_stop_now_ends_a_run_between_its_iterations() -> None:
    """The run ends as an interlude that names who asked."""
    history = History().measured().tell(StopRequested(NOW, "Ctrl-C"))
    assert history.end == EndRun(Outcome.USERINTERLUDE, "stopped by Ctrl-C")


@pytest.mark.parametrize(
    "at",
    [
        History,
        lambda: History().tell(LaneReady(BASELINE)),
        lambda: History().measured().session(History().measured().left(CandidateStatus.CANDIDATE, commit(1))),
        lambda: History().measured().session(kind=EndingKind.UNREACHABLE),
        lambda: History().measured().session(kind=EndingKind.NOT_LOGGED_IN),
        lambda: History().measured().session(kind=EndingKind.STOPPED),
    ],
    ids=["preparing", "baseline", "evaluating", "waiting", "blocked", "session stopped"],
)
def test_a_stop_now_ends_a_run_wherever_nothing_has_to_be_brought_to_a_record(at: Callable[[], History]) -> None:
    """Before the lane stands, during an evaluation and in a wait, nothing more is begun."""
    assert at().tell(StopRequested(NOW, "SIGTERM")).end.outcome is Outcome.USERINTERLUDE


def test_a_stop_now_lets_a_session_be_collected_and_a_decision_be_applied() -> None:
    """What a session made is saved, and what was measured is decided, before the run ends."""
    history = History().measured().begun().tell(StopRequested(NOW, "Ctrl-C"))
    assert isinstance(history.step(), RunSession)
    made = history.left(CandidateStatus.NOOP)
    history.tell(SessionEnded(Diagnosis(Ending(EndingKind.STOPPED)), made, 1.0))
    assert isinstance(history.step(), Decide)
    assert history.decided().end.outcome is Outcome.USERINTERLUDE


def test_a_stop_after_the_iteration_lets_it_come_to_its_end() -> None:
    """Session, evaluation, decision and further attempts take place; the next iteration does not."""
    history = History().measured().begun().tell(StopRequested(AFTER, "omagy autoresearch stop"))
    assert isinstance(history.step(), RunSession)
    history.tell(SessionEnded(Diagnosis(Ending(EndingKind.LOST)), Collected(BASELINE), 0.0))
    assert history.step() == BeginSession(1, 2)
    history.kept()
    assert history.end == EndRun(Outcome.USERINTERLUDE, "stopped by omagy autoresearch stop")


@pytest.mark.parametrize("at", [History, lambda: History().tell(LaneReady(BASELINE))])
def test_a_stop_after_the_iteration_lets_the_baseline_be_recorded(at: Callable[[], History]) -> None:
    """The baseline is the iteration that is under way."""
    history = at().tell(StopRequested(AFTER, "stop"))
    assert not isinstance(history.step(), EndRun)
    if history.step() == PrepareLane():
        history.tell(LaneReady(BASELINE))
    assert history.tell(Evaluated(scored(1.0))).decided().end.outcome is Outcome.USERINTERLUDE


def test_a_stop_after_the_iteration_does_not_sit_out_a_wait() -> None:
    """Nothing is under way in a pause, and it may last for hours."""
    history = History().measured().session(kind=EndingKind.USAGE_LIMIT)
    assert isinstance(history.state.phase, Pausing)
    assert history.tell(StopRequested(AFTER, "stop")).end.outcome is Outcome.USERINTERLUDE


def test_a_stop_comes_before_every_other_end() -> None:
    """A person who stops a run sees that it was stopped, and can go on with it."""
    history = History(plan(Budget(max_iterations=1))).measured().kept()
    assert history.end.outcome is Outcome.FINISHED
    assert history.tell(StopRequested(NOW, "Ctrl-C")).end.outcome is Outcome.USERINTERLUDE


# -- decisions on artifacts


@pytest.mark.parametrize(
    ("status", "problem", "made", "decision", "reason"),
    [
        (CandidateStatus.NOOP, "", None, Decision.NOOP, "the session found nothing to change"),
        (CandidateStatus.NOOP, "", commit(1), Decision.NOOP, "the session found nothing to change"),
        (CandidateStatus.ABORT, "", None, Decision.ABORT, "the session asked to stop the run"),
        (CandidateStatus.CANDIDATE, "base_commit is old", commit(1), Decision.ERROR, "base_commit is old"),
        (CandidateStatus.CANDIDATE, "nothing was committed", None, Decision.ERROR, "nothing was committed"),
    ],
)
def test_what_is_not_evaluated_is_decided_by_its_status(
    status: CandidateStatus, problem: str, made: str | None, decision: Decision, reason: str
) -> None:
    """noop, abort and broken integrity need no evaluation, and the lane stays at the last kept commit."""
    history = History().measured()
    history.said(status, problem=problem, candidate_commit=made)
    assert (history.last.decision, history.last.decision_reason) == (decision, reason)
    assert history.last.kept_commit == history.tip == BASELINE
    assert history.last.evaluator is None
    assert history.last.candidate_status is status


@pytest.mark.parametrize(
    ("kind", "detail", "reason"),
    [
        (EndingKind.COMPLETED, "", "the session wrote no candidate file"),
        (EndingKind.CRASHED, "exit status 1", "the session wrote no candidate file (crashed: exit status 1)"),
        (EndingKind.TIMED_OUT, "", "the session wrote no candidate file (timed out)"),
    ],
)
def test_a_missing_artifact_is_an_error_that_says_how_the_session_ended(
    kind: EndingKind, detail: str, reason: str
) -> None:
    """The reason joins what is missing with why."""
    history = History().measured().session(kind=kind, detail=detail).decided()
    assert (history.last.decision, history.last.decision_reason) == (Decision.ERROR, reason)


@pytest.mark.parametrize("kind", list(EndingKind))
def test_an_artifact_counts_whatever_became_of_its_session(kind: EndingKind) -> None:
    """A session that wrote its candidate and then crashed, met a limit or was stopped is judged by the candidate."""
    history = History().measured().candidate(scored(2.0), kind=kind, detail="late trouble")
    assert history.last.decision is Decision.KEEP
    assert history.last.session is not None
    assert history.last.session.ending is kind
    assert history.step() == BeginSession(2, 1)


def test_a_kept_entry_moves_the_tip_and_a_discarded_one_does_not() -> None:
    """The next session stands on what was kept last."""
    history = History().measured().kept().discarded()
    assert history.tip == commit(1)
    assert history.last.base_commit == commit(1)
    assert history.last.candidate_commit == commit(2)
    history.begun()
    step = history.step()
    assert isinstance(step, RunSession)
    assert step.base == commit(1)


def test_pass_only_keeps_without_a_score() -> None:
    """Under pass_only a candidate that passes is the new standing, whatever its score."""
    history = History(plan(policy=KeepPolicy.PASS_ONLY)).measured().candidate(scored(0.1))
    assert history.last.decision is Decision.KEEP
    assert history.state.standing is not None
    assert history.state.standing.score == 0.1


def test_the_tally_counts_every_decision_but_the_baseline() -> None:
    """What the summary says of a run adds up."""
    history = History(plan(ENDLESS)).measured().kept().discarded().noop().wrong().candidate(scored(None))
    history.said(CandidateStatus.INTERRUPTED).said(CandidateStatus.ABORT)
    tally = history.state.tally
    assert (tally.keep, tally.discard, tally.noop, tally.error) == (1, 1, 1, 1)
    assert (tally.ambiguous, tally.interrupted, tally.abort) == (1, 1, 1)


def test_only_the_newest_entries_are_remembered() -> None:
    """A run's state does not grow with its length."""
    history = _times(30, History.noop, History().measured())
    assert len(history.state.recent) == 20
    assert history.last.iteration == history.state.iteration == 30
    assert isinstance(history.state.phase, Idle)
