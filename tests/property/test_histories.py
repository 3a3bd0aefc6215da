"""Whole runs, generated: whatever happens in them, the state is the fold of the journal and nothing else."""

from dataclasses import dataclass

import hypothesis.strategies as st
from hypothesis import given, settings
from msgspec.structs import replace

from omagy_autoresearch.advance import advance, begin
from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.decision import Decision, Direction, KeepPolicy
from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.events import (
    Applied,
    Collected,
    Decided,
    Evaluated,
    Event,
    Record,
    RunEnded,
    RunResumed,
    SessionEnded,
    StopMode,
    StopRequested,
)
from omagy_autoresearch.handoff import handoff_markdown
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.manifest import Manifest, manifest, manifest_json
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.plan import Overrides, RunPlan
from omagy_autoresearch.prompt import instructions
from omagy_autoresearch.run import RECENT_LIMIT, Ended, InSession, RunState
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind, Usage
from omagy_autoresearch.steps import Decide, EndRun, Evaluate, RunSession, Step, next_step
from omagy_autoresearch.summary import handoff
from omagy_supervisor.adapters.journal import decode_line, encode_line
from omagy_supervisor.recover import replay
from unit.histories import History, broken, plan, play, scored

_EVALUATIONS = [
    *(scored(score) for score in (None, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)),
    *(scored(score, passed=False) for score in (None, 1.0)),
    *(broken(error) for error in ("one fault", "another fault")),
]
_limits = st.sampled_from([None, None, None, 1, 3, 4])
_plans = st.builds(
    lambda budget, policy, direction, waits, broken_ok: plan(
        budget, policy, direction, wait_for_limits=waits, allow_broken_baseline=broken_ok
    ),
    st.builds(
        Budget,
        max_iterations=st.sampled_from([None, None, 1, 5, 9]),
        max_wall_time_s=st.sampled_from([None, None, None, 5000.0, 1000.0]),
        target_score=st.sampled_from([None, None, 3.0]),
        max_consecutive_errors=_limits,
        max_consecutive_noops=_limits,
        max_consecutive_discards=_limits,
    ),
    st.sampled_from(KeepPolicy),
    st.sampled_from(Direction),
    st.booleans(),
    st.booleans(),
)
_statuses = st.sampled_from([CandidateStatus.CANDIDATE] * 12 + [CandidateStatus.NOOP] + list(CandidateStatus))
_MOMENTS = ["go on"] * 40 + ["a person stops it", "the supervisor dies", "the disk is full"]


@dataclass
class Lived:
    """A history, with the number of its commits so far."""

    history: History
    commits: int = 0


def _session(draw: st.DrawFn, lived: Lived, step: RunSession) -> SessionEnded:
    kind = draw(st.sampled_from([EndingKind.COMPLETED] * 40 + list(EndingKind)))
    wrote = kind is EndingKind.COMPLETED or draw(st.booleans())
    left = Collected(step.base)
    if wrote:
        status = draw(_statuses)
        lived.commits += status is CandidateStatus.CANDIDATE
        made = f"{lived.commits:040x}" if status is CandidateStatus.CANDIDATE else None
        problem = draw(st.sampled_from(["", "", "", "base_commit is old"])) if made else ""
        dirty = draw(st.sampled_from([(), (), ("a.py",)]))
        asked = draw(st.sampled_from([None] * 9 + ["q1"]))
        left = lived.history.left(status, made, problem=problem, dirty_files=dirty, question_id=asked)
    usage = draw(st.none() | st.just(Usage(10, 5, 2, 1)))
    return SessionEnded(Diagnosis(Ending(kind, "detail"), usage), left, draw(st.sampled_from([1.0, 100.0])))


def _evaluation(draw: st.DrawFn, state: RunState) -> Evaluation:
    """Better than what stands, every other time: else nothing would ever be kept."""
    standing = state.standing
    if standing is None or standing.score is None or draw(st.booleans()):
        return draw(st.sampled_from(_EVALUATIONS))
    better = 1.0 if state.plan.contract.evaluator.direction is Direction.MAXIMIZE else -1.0
    return scored(standing.score + better)


@st.composite
def _lives(draw: st.DrawFn, longest: int = 60) -> History:
    """A run as the loop would live it: stopped, crashed and resumed at any moment."""
    lived = Lived(History(draw(_plans)))
    history = lived.history

    def choose(step: Step) -> Event | None:
        match step:
            case RunSession():
                return _session(draw, lived, step)
            case Evaluate():
                return Evaluated(_evaluation(draw, history.state))
            case _:
                return None

    for _ in range(draw(st.sampled_from([longest, longest // 2, longest // 10]))):
        after_s = draw(st.sampled_from([1.0] * 12 + [0.0, 700.0]))
        if isinstance(history.state.phase, Ended):
            outcome = history.state.outcome
            if outcome is None or outcome.terminal or draw(st.sampled_from([False] * 5 + [True])):
                break
            history.tell(RunResumed(draw(_overrides)), after_s=after_s)
            continue
        match draw(st.sampled_from(_MOMENTS)):
            case "a person stops it":
                history.tell(StopRequested(draw(st.sampled_from(StopMode)), "a person"), after_s=after_s)
            case "the supervisor dies":
                history.tell(RunResumed(Overrides()), after_s=after_s)
            case "the disk is full":
                history.tell(RunEnded(Outcome.BLOCKED, "the disk is full"), after_s=after_s)
            case _:
                history.tell(play(history, choose), after_s=after_s)
    return history


_overrides = st.builds(
    Overrides,
    budget=st.none() | st.just(Budget(max_iterations=20)),
    wait_for_limits=st.none() | st.booleans(),
    allow_broken_baseline=st.none() | st.booleans(),
)


@given(_lives(), st.data())
def test_a_prefix_and_then_the_rest_equal_the_whole(history: History, data: st.DataObject) -> None:
    """Wherever a supervisor died, what the next one reads and goes on with is what one life would have been."""
    cut = data.draw(st.integers(1, len(history.records)))
    state = begin(history.records[0])
    for record in history.records[1:cut]:
        state = advance(state, record)
    assert state == replay(history.records[:cut], 0).state
    for record in history.records[cut:]:
        state = advance(state, record)
    assert state == history.state == replay(history.records, 0).state


@given(_lives())
def test_a_life_survives_the_journals_format(history: History) -> None:
    """Every record reads back as it was, so the fold of the file is the fold of the memory."""
    read = [decode_line(encode_line(record).removesuffix(b"\n")) for record in history.records]
    assert read == history.records
    assert replay(read, 0).state == history.state


def _last_kept(history: History) -> str | None:
    entries = replay(history.records, 0).entries
    return entries[-1].kept_commit if entries else history.state.baseline_commit


@given(_lives())
def test_what_every_run_promises(history: History) -> None:
    """The tip is the last kept commit, iterations have no gap and no repeat, counts add up, nothing grows."""
    state, entries = history.state, replay(history.records, 0).entries
    assert state.tip == _last_kept(history)
    decided = [entry.iteration for entry in entries if entry.kind == "iteration"]
    assert decided == list(range(1, len(decided) + 1))
    assert state.iteration in (len(decided), len(decided) + 1)
    tally = state.tally
    assert sum(getattr(tally, name) for name in tally.__struct_fields__) == len(decided)
    assert state.recent == tuple(entries[-RECENT_LIMIT:])
    base = state.baseline_commit
    for entry in entries:
        assert entry.base_commit == base
        if entry.decision is Decision.KEEP:
            assert entry.kept_commit == entry.candidate_commit != base
        else:
            assert entry.kept_commit == base
        base = entry.kept_commit


@given(_lives())
def test_every_commit_point_holds(history: History) -> None:
    """What was decided is what was applied, unchanged, and what was kept had been evaluated in this run."""
    decided = [record.event.entry for record in history.records if isinstance(record.event, Decided)]
    applied = replay(history.records, 0).entries
    assert applied == decided[: len(applied)]
    assert len(decided) - len(applied) <= 1
    for entry in decided:
        if entry.decision in (Decision.KEEP, Decision.DISCARD, Decision.AMBIGUOUS):
            assert entry.evaluator is not None


@given(_lives())
def test_a_budget_of_iterations_is_never_exceeded(history: History) -> None:
    """No session of an iteration beyond the budget is ever begun."""
    budgets = [history.state.plan.contract.budget.max_iterations, history.state.budget.max_iterations]
    if None not in budgets:
        assert history.state.iteration <= max(number for number in budgets if number is not None)


@given(_lives())
def test_a_kept_score_only_ever_gets_better(history: History) -> None:
    """Under score_improvement each keep is strictly better than the one before, or that one did not pass."""
    settings_ = history.state.plan.contract.evaluator
    standing: Evaluation | None = None
    for entry in replay(history.records, 0).entries:
        assert entry.evaluator is not None or entry.decision not in (Decision.KEEP, Decision.BASELINE)
        if entry.decision is Decision.KEEP and settings_.keep_policy is KeepPolicy.SCORE_IMPROVEMENT:
            new, old = entry.evaluator, standing
            assert new is not None
            assert old is not None
            assert new.passed
            if old.passed:
                assert new.score is not None
                assert old.score is not None
                assert settings_.direction.better(new.score, old.score)
        if entry.decision in (Decision.KEEP, Decision.BASELINE):
            standing = entry.evaluator


@given(_lives())
def test_everything_that_is_shown_can_be_shown(history: History) -> None:
    """Manifest, instructions and handoff exist for every state that a run can be in."""
    state = history.state
    assert Manifest(**{name: getattr(manifest(state), name) for name in Manifest.__struct_fields__}) == manifest(
        state
    )
    assert manifest_json(state).endswith(b"}\n")
    if isinstance(state.phase, InSession) and state.tip is not None:
        assert f"# Iteration {state.iteration} of run" in instructions(state, state.tip, "/c.json")
    if state.ended:
        text = handoff_markdown(handoff(state, "/r", ()))
        assert text.count("\n## ") == 4
        assert f"- {state.outcome}: " in text


@given(_lives())
def test_a_crash_changes_nothing_of_what_comes_next(history: History) -> None:
    """A resume of a run that had not ended takes the same step, apart from stops, waits and streaks it forgives."""
    state = history.state
    if state.ended or state.stop is not None:
        return
    before = next_step(state)
    after = next_step(advance(state, Record(state.updated_at, state.elapsed_s, RunResumed(Overrides()))))
    if isinstance(before, EndRun):
        return
    if isinstance(before, Decide | RunSession | Evaluate):
        assert after == before


@given(_lives(20), _lives(20), st.data())
@settings(max_examples=60)
def test_any_event_in_any_state_is_followed_or_refused(one: History, other: History, data: st.DataObject) -> None:
    """Records of one run under another lead to a state or to a StorageError, and to nothing else."""
    record = data.draw(st.sampled_from(other.records))
    try:
        state = advance(one.state, replace(record, elapsed_s=0.0))
    except StorageError as error:
        assert "the journal says" in error.message  # noqa: PT017 - either outcome is right
    else:
        assert isinstance(state, RunState)
        assert state.elapsed_s == one.state.elapsed_s


@given(_lives(), st.data())
@settings(max_examples=60)
def test_a_journal_in_another_order_is_never_misread(history: History, data: st.DataObject) -> None:
    """Shuffled, repeated or dropped records fold to a state or raise a StorageError."""
    records = data.draw(st.lists(st.sampled_from(history.records), max_size=12))
    try:
        run = replay([history.records[0], *records], 0)
    except StorageError:
        return
    applied = sum(isinstance(record.event, Applied) for record in records)
    assert len(run.entries) == applied


@given(_plans)
@settings(max_examples=20)
def test_a_run_that_is_left_alone_comes_to_an_end(run_plan: RunPlan) -> None:
    """With a budget of iterations and nothing but noops, no run goes on for ever."""
    budget = replace(run_plan.contract.budget, max_iterations=5)
    history = History(replace(run_plan, contract=replace(run_plan.contract, budget=budget)))

    def choose(step: Step) -> Event | None:
        if isinstance(step, RunSession):
            left = history.left(CandidateStatus.NOOP)
            return SessionEnded(Diagnosis(Ending(EndingKind.COMPLETED)), left, 1.0)
        return None

    for _ in range(60):
        if history.state.ended:
            break
        history.tell(play(history, choose))
    assert history.state.outcome is Outcome.FINISHED
