"""How events change a run: sessions that did not work, waits, resumes, and events that cannot follow."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from omagy_autoresearch.advance import LOST_LIMIT, advance, begin
from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.decision import Decision
from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.events import (
    Applied,
    Collected,
    Decided,
    Evaluated,
    Event,
    LaneReady,
    PauseOver,
    Record,
    RunCreated,
    RunEnded,
    RunResumed,
    SessionBegun,
    SessionEnded,
    StopMode,
    StopRequested,
)
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.pauses import TRIES_UNREACHABLE
from omagy_autoresearch.plan import AgentChoice, AgentKind, Overrides
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
    Streaks,
)
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind, Usage
from omagy_autoresearch.steps import Apply, BeginSession, Decide, Evaluate, Pause, RunSession
from unit.histories import BASELINE, PLAN, START, History, broken, commit, plan, scored

# -- sessions that did not work


def test_a_session_that_left_no_trace_is_tried_again_and_then_an_error() -> None:
    """A lost attempt is repeated within its iteration, but not for ever."""
    history = History().measured()
    for attempt in range(1, LOST_LIMIT + 1):
        assert history.step() == BeginSession(1, attempt)
        history.session(kind=EndingKind.LOST)
    history.session(kind=EndingKind.LOST, detail="no trace").decided()
    assert history.last.decision is Decision.ERROR
    assert history.last.iteration == 1
    assert history.last.session is not None
    assert history.last.session.attempt == LOST_LIMIT + 1
    assert history.step() == BeginSession(2, 1)


def test_a_session_that_we_stopped_is_no_error() -> None:
    """A run that was stopped and resumed repeats the iteration, as often as that happens."""
    history = History().measured()
    for attempt in range(1, 6):
        history.session(kind=EndingKind.STOPPED)
        history.tell(StopRequested(StopMode.NOW, "Ctrl-C")).ended().resumed()
        assert history.step() == BeginSession(1, attempt + 1)
    assert history.state.tally.error == 0


def test_a_session_that_timed_out_is_an_error() -> None:
    """The session's own limit is its failure, and the next iteration begins."""
    history = History().measured().session(kind=EndingKind.TIMED_OUT).decided()
    assert history.last.decision is Decision.ERROR
    assert history.step() == BeginSession(2, 1)


def test_network_trouble_is_waited_out_within_the_iteration() -> None:
    """The wait has an end and a reason; after it the same iteration is attempted again."""
    history = History().measured().session(kind=EndingKind.UNREACHABLE, detail="connection refused")
    assert history.step() == Pause(history.records[-1].at + timedelta(seconds=10), "connection refused")
    history.tell(PauseOver())
    assert history.step() == BeginSession(1, 2)
    history.session(kind=EndingKind.UNREACHABLE)
    assert history.step() == Pause(history.records[-1].at + timedelta(seconds=30), "unreachable")


def test_a_usage_limit_is_waited_out_until_the_moment_it_names() -> None:
    """A stated reset decides when to go on."""
    reset = START + timedelta(hours=5)
    history = History().measured().session(kind=EndingKind.USAGE_LIMIT, resets_at=reset)
    assert history.state.phase == Pausing(
        reset + timedelta(seconds=20), Ending(EndingKind.USAGE_LIMIT, resets_at=reset)
    )


def test_trouble_that_does_not_end_blocks_the_run() -> None:
    """After the last try the run says what stood in the way and how often it tried."""
    history = History().measured()
    for _ in range(TRIES_UNREACHABLE):
        history.session(kind=EndingKind.UNREACHABLE).tell(PauseOver())
    end = history.session(kind=EndingKind.UNREACHABLE, detail="no route").end
    assert end.outcome is Outcome.BLOCKED
    assert end.reason == f"gave up after {TRIES_UNREACHABLE + 1} tries: no route"


def test_a_session_that_reached_its_model_begins_the_count_of_tries_anew() -> None:
    """Trouble that comes and goes does not add up over a night."""
    history = History().measured()
    for _ in range(3):
        for _ in range(TRIES_UNREACHABLE - 1):
            history.session(kind=EndingKind.UNREACHABLE).tell(PauseOver())
        history.noop()
    assert history.state.failures == 0
    assert isinstance(history.step(), BeginSession)


def test_a_wait_that_would_outlast_the_time_budget_blocks_at_once() -> None:
    """Nobody waits hours to be told that the time is over."""
    history = History(plan(Budget(max_wall_time_s=3600.0))).measured()
    reset = START + timedelta(hours=5)
    end = history.session(kind=EndingKind.USAGE_LIMIT, detail="5h limit", resets_at=reset).end
    assert end.outcome is Outcome.BLOCKED
    assert end.reason.startswith("5h limit; waiting 5h 00m for it would outlast the run's time budget")


def test_tokens_add_up_over_all_sessions() -> None:
    """Sessions that failed cost tokens too, and one that counted none changes nothing."""
    history = History().measured().session(kind=EndingKind.LOST, usage=Usage(1, 2, 3, 4))
    history.session(history.left(CandidateStatus.NOOP), usage=Usage(10, 20, 30, 40)).decided()
    history.session(history.left(CandidateStatus.NOOP), usage=None).decided()
    assert history.state.usage == Usage(11, 22, 33, 44)


def test_the_newest_candidate_is_remembered_whatever_becomes_of_it() -> None:
    """The manifest can name the commit of a session that was discarded or failed."""
    history = History().measured().discarded()
    assert history.state.latest_candidate == commit(1)
    history.session(Collected(commit(2), candidate_commit=commit(2), problem="malformed")).decided()
    assert history.state.latest_candidate == commit(2)
    assert history.noop().state.latest_candidate == commit(2)


def test_supervised_time_never_goes_back() -> None:
    """A record with an earlier time does not give a run its time back."""
    history = History().measured()
    before = history.state.elapsed_s
    state = advance(history.state, Record(START, 0.0, StopRequested(StopMode.NOW, "x")))
    assert state.elapsed_s == before


# -- resumes


def _stopped(history: History) -> History:
    return history.tell(StopRequested(StopMode.NOW, "Ctrl-C")).ended()


def test_a_resume_forgets_the_stop_and_goes_on() -> None:
    """A run that was stopped goes on where it stood, with the history it has."""
    history = _stopped(History().measured().kept()).resumed()
    assert history.step() == BeginSession(2, 1)
    assert history.state.lives == 2
    assert (history.state.stop, history.state.stop_by, history.state.outcome) == (None, "", None)
    assert history.tip == commit(1)
    assert history.state.tally.keep == 1


def test_a_resume_evaluates_what_was_not_evaluated() -> None:
    """A candidate whose evaluation a stop cut short is measured, not made anew."""
    history = History().measured().session(History().measured().left(CandidateStatus.CANDIDATE, commit(1)))
    assert _stopped(history).resumed().step() == Evaluate(1, commit(1), BASELINE)


def test_a_resume_in_a_wait_tries_at_once() -> None:
    """Whoever resumes a waiting run means now."""
    history = _stopped(History().measured().session(kind=EndingKind.USAGE_LIMIT)).resumed()
    assert history.step() == BeginSession(1, 2)
    crashed = History().measured().session(kind=EndingKind.USAGE_LIMIT).resumed()
    assert crashed.step() == BeginSession(1, 2)


@pytest.mark.parametrize(
    ("history", "step"),
    [
        (History, "PrepareLane"),
        (lambda: History().tell(LaneReady(BASELINE)), "Evaluate"),
        (lambda: History().measured(), "BeginSession"),
        (lambda: History().measured().begun(), "RunSession"),
        (lambda: History().measured().session(kind=EndingKind.CRASHED), "Decide"),
    ],
)
def test_a_run_whose_supervisor_died_goes_on_with_the_same_step(history: Callable[[], History], step: str) -> None:
    """A crash changes nothing of what comes next; a session under way keeps its number, so it can be adopted."""
    crashed = history()
    before = crashed.step()
    assert type(before).__name__ == step
    assert crashed.resumed().step() == before


def test_a_decision_is_applied_and_not_decided_again_after_a_crash() -> None:
    """The commit point holds across any number of crashes."""
    history = History().tell(LaneReady(BASELINE), Evaluated(scored(1.0)))
    step = history.step()
    assert isinstance(step, Decide)
    history.tell(Decided(step.entry)).resumed().resumed()
    assert history.step() == Apply(step.entry)


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        (lambda history: history.said(CandidateStatus.ABORT), Outcome.BLOCKED),
        (lambda history: history.said(CandidateStatus.NOOP, question_id="q1"), Outcome.ASK_USER_QUESTION),
        (lambda history: history.said(CandidateStatus.INTERRUPTED, dirty_files=("a",)), Outcome.BLOCKED),
    ],
)
def test_what_the_last_entry_stops_a_run_for_is_told_once(
    act: Callable[[History], History], outcome: Outcome
) -> None:
    """A supervisor that died before it could say so says it at the resume; one that said it goes on."""
    history = act(History().measured())
    history.resumed()
    assert history.end.outcome is outcome
    history.ended().resumed()
    assert history.step() == BeginSession(2, 1)
    assert history.resumed().step() == BeginSession(2, 1), "a second crash does not ask again"
    act(history)
    assert history.end.outcome is outcome, "the next one stops the run again"


def test_a_resume_gives_streaks_and_blockers_another_chance() -> None:
    """What blocked a run counts from zero once a person has looked at it."""
    history = History().measured().session(kind=EndingKind.NOT_LOGGED_IN, detail="401").ended().resumed()
    assert history.step() == BeginSession(1, 2)
    history = History().measured()
    for _ in range(3):
        history.candidate(broken())
    assert history.end.outcome is Outcome.BLOCKED
    history.ended().resumed()
    assert history.state.streaks == Streaks()
    assert history.step() == BeginSession(4, 1)


def test_a_baseline_that_could_not_be_measured_is_measured_at_the_resume() -> None:
    """Nothing is compared with a baseline that nobody knows."""
    history = History().measured(broken()).ended().resumed()
    assert history.step() == Evaluate(0, BASELINE, BASELINE)
    history.tell(Evaluated(scored(3.0))).decided()
    assert history.state.standing == history.state.baseline_standing
    assert history.state.standing is not None
    assert history.state.standing.score == 3.0
    assert history.step() == BeginSession(1, 1)


def test_a_resume_replaces_only_what_it_names() -> None:
    """Limits, agent and switches of the resume win; everything else stays the run's own."""
    own = Budget(max_iterations=5, target_score=9.0)
    agent = AgentChoice(AgentKind.CODEX, codex_args=("-m", "x"))
    history = _stopped(History(plan(own)).measured())
    history.resumed()
    assert (history.state.budget, history.state.plan.agent) == (own, PLAN.agent)
    _stopped(history).resumed(Overrides(budget=Budget(max_iterations=50)))
    assert history.state.budget == Budget(max_iterations=50)
    _stopped(history).resumed(Overrides(agent=agent, wait_for_limits=False, allow_broken_baseline=True))
    state = history.state
    assert (state.plan.agent, state.plan.wait_for_limits, state.plan.allow_broken_baseline) == (agent, False, True)
    assert state.budget == Budget(max_iterations=50)
    assert state.plan.contract == plan(own).contract
    _stopped(history).resumed(Overrides(wait_for_limits=True))
    assert history.state.plan.wait_for_limits
    assert history.state.plan.allow_broken_baseline


# -- events that cannot follow


def test_a_journal_begins_with_the_creation_of_a_run() -> None:
    """Anything else as its first record is a damaged journal."""
    with pytest.raises(StorageError, match="does not begin with the creation of a run"):
        begin(Record(START, 0.0, LaneReady(BASELINE)))


def _at(phase: type) -> RunState:
    """A run in ``phase``, and for each event whether it can follow there."""
    histories: dict[type, Callable[[], History]] = {
        Preparing: History,
        Evaluating: lambda: History().tell(LaneReady(BASELINE)),
        Deciding: lambda: History().tell(LaneReady(BASELINE), Evaluated(scored(1.0))),
        Applying: _applying,
        Idle: lambda: History().measured(),
        InSession: lambda: History().measured().begun(),
        Pausing: lambda: History().measured().session(kind=EndingKind.UNREACHABLE),
        Ended: lambda: _stopped(History().measured()),
    }
    state = histories[phase]().state
    assert isinstance(state.phase, phase)
    return state


def _applying() -> History:
    history = History().tell(LaneReady(BASELINE), Evaluated(scored(1.0)))
    step = history.step()
    assert isinstance(step, Decide)
    return history.tell(Decided(step.entry))


PHASES: tuple[type, ...] = (Preparing, Evaluating, Deciding, Applying, Idle, InSession, Pausing, Ended)
EVENTS: dict[type, Event] = {
    RunCreated: RunCreated(PLAN),
    LaneReady: LaneReady(BASELINE),
    SessionBegun: SessionBegun(1, 1),
    SessionEnded: SessionEnded(Diagnosis(Ending(EndingKind.COMPLETED)), Collected(BASELINE), 1.0),
    Evaluated: Evaluated(scored(1.0)),
    Decided: Decided(History().measured().last),
    Applied: Applied(),
    PauseOver: PauseOver(),
    StopRequested: StopRequested(StopMode.NOW, "x"),
    RunEnded: RunEnded(Outcome.FINISHED, "x"),
    RunResumed: RunResumed(Overrides()),
}
LEGAL: dict[type, set[type]] = {
    LaneReady: {Preparing},
    SessionBegun: {Idle},
    SessionEnded: {InSession},
    Evaluated: {Evaluating},
    Decided: {Deciding},
    Applied: {Applying},
    PauseOver: {Pausing},
    RunCreated: set(),
    StopRequested: {phase for phase in PHASES if phase is not Ended},
    RunEnded: {phase for phase in PHASES if phase is not Ended},
    RunResumed: set(PHASES),
}


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_is_legal_or_refused_in_every_phase(phase: type, kind: type) -> None:
    """Each of the pairs is one or the other: a journal that nobody can have written is never followed."""
    state, record = _at(phase), Record(START, 0.0, EVENTS[kind])
    if phase in LEGAL[kind]:
        assert isinstance(advance(state, record), RunState)
        return
    with pytest.raises(StorageError) as caught:
        advance(state, record)
    assert caught.value.message == f"the journal says {kind.__name__} where the run was {phase.__name__}"
    assert "nothing was changed" in caught.value.hint


def test_a_session_runs_on_the_last_kept_commit_with_its_own_limit() -> None:
    """What a session is told follows from the state alone."""
    history = History(plan(session_limit_s=60.0)).measured().kept().begun()
    assert history.step() == RunSession(2, 1, commit(1), 60.0, cut_by_budget=False)
