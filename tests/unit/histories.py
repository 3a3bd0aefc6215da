"""Histories of runs without a world: what the loop would journal, made of events that a test names."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from omagy_autoresearch.advance import advance, begin
from omagy_autoresearch.candidate import Candidate, CandidateStatus
from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.evaluation import Evaluation, EvaluatorFault
from omagy_autoresearch.events import (
    Applied,
    Collected,
    Decided,
    Evaluated,
    Event,
    LaneReady,
    PauseOver,
    Record,
    Remeasured,
    RunCreated,
    RunEnded,
    RunResumed,
    SessionBegun,
    SessionEnded,
)
from omagy_autoresearch.ledger import DiffStat, Entry
from omagy_autoresearch.mission import Budget, Contract, EvaluatorSettings, SessionSettings
from omagy_autoresearch.plan import AgentChoice, AgentKind, Overrides, RunPlan
from omagy_autoresearch.run import RunState
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind, Usage
from omagy_autoresearch.steps import (
    Apply,
    BeginSession,
    Decide,
    EndRun,
    Evaluate,
    Pause,
    PrepareLane,
    Remeasure,
    RunSession,
    Step,
    next_step,
)

START = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
BASELINE = f"{0xBA5E:040x}"
PLAN = RunPlan(
    run_id="faster-20260131t120000z",
    run_tag="20260131T120000Z",
    mission_slug="faster",
    mission_dir="missions/faster",
    repo_root="/repo",
    common_dir="/repo/.git",
    worktree_path="/repo.omagy-worktrees/autoresearch-faster-20260131T120000Z",
    branch_name="autoresearch/faster/20260131T120000Z",
    start_commit=f"{0x57A7:040x}",
    created_at=START.isoformat(),
    mission_text="Make it faster.",
    sandbox_text="---\nevaluator:\n  command: ./measure\n---\nIt measures.",
    contract=Contract(EvaluatorSettings("./measure", baseline_repeats=1, final_check="off")),
    agent=AgentChoice(AgentKind.COMMAND, "agent"),
)


def plan(
    budget: Budget | None = None,
    policy: KeepPolicy = KeepPolicy.SCORE_IMPROVEMENT,
    direction: Direction = Direction.MAXIMIZE,
    session_limit_s: float = 3600.0,
    command: str = "./measure",
    **changes: Any,
) -> RunPlan:
    contract = Contract(
        EvaluatorSettings(command, keep_policy=policy, direction=direction, baseline_repeats=1, final_check="off"),
        budget=budget or Budget(),
        session=SessionSettings(session_limit_s),
    )
    return replace(PLAN, contract=contract, **changes)


def commit(number: int) -> str:
    """The commit that the session of iteration ``number`` makes."""
    return f"{0xC0000000 + number:040x}"


def scored(score: float | None, *, passed: bool = True) -> Evaluation:
    return Evaluation(passed=passed, score=score, exit_status=0)


def broken(error: str = "the evaluator exited with status 1") -> Evaluation:
    return Evaluation(fault=EvaluatorFault.EXIT_STATUS, error=error, exit_status=1)


def artifact(status: CandidateStatus, made: str | None = None, description: str = "what was done") -> Candidate:
    return Candidate(status, made, BASELINE, description, ("a note",), START.isoformat())


class History:
    """A run whose events so far are ``records`` and whose state they fold to."""

    def __init__(self, run_plan: RunPlan = PLAN) -> None:
        self.records = [Record(START, 0.0, RunCreated(run_plan))]
        self.state: RunState = begin(self.records[0])

    def tell(self, *events: Event, after_s: float = 1.0) -> "History":
        """Let ``events`` happen, ``after_s`` seconds of supervised time apart."""
        for event in events:
            last = self.records[-1]
            record = Record(last.at + timedelta(seconds=after_s), last.elapsed_s + after_s, event)
            self.records.append(record)
            self.state = advance(self.state, record)
        return self

    def step(self) -> Step:
        return next_step(self.state)

    @property
    def end(self) -> EndRun:
        """The end that comes next; fails when the run would go on."""
        step = self.step()
        assert isinstance(step, EndRun), f"the run goes on: {step}"
        return step

    # -- an iteration, part by part

    def measured(self, evaluation: Evaluation | None = None) -> "History":
        """The lane is ready and the baseline recorded, with score 1 unless another ``evaluation`` is given."""
        self.tell(LaneReady(BASELINE), Evaluated(evaluation or scored(1.0)))
        return self.decided()

    def begun(self) -> "History":
        step = self.step()
        assert isinstance(step, BeginSession), f"no session comes next: {step}"
        return self.tell(SessionBegun(step.iteration, step.attempt))

    def session(
        self,
        left: Collected | None = None,
        kind: EndingKind = EndingKind.COMPLETED,
        detail: str = "",
        resets_at: datetime | None = None,
        duration_s: float = 100.0,
        usage: Usage | None = None,
        after_s: float = 1.0,
    ) -> "History":
        """A session begins and ends, leaving ``left`` (nothing, unless given)."""
        self.begun()
        collected = left or Collected(head=self.tip)
        diagnosis = Diagnosis(Ending(kind, detail, resets_at), usage)
        return self.tell(SessionEnded(diagnosis, collected, duration_s), after_s=after_s)

    def decided(self) -> "History":
        """The pending decision is made, recorded and applied."""
        step = self.step()
        assert isinstance(step, Decide), f"nothing is decided next: {step}"
        entry = replace(step.entry, created_at=self.records[-1].at.isoformat())
        return self.tell(Decided(entry), Applied())

    @property
    def tip(self) -> str:
        assert self.state.tip is not None
        return self.state.tip

    @property
    def last(self) -> Entry:
        assert self.state.last_entry is not None
        return self.state.last_entry

    # -- whole iterations

    def candidate(self, evaluation: Evaluation, **session: Any) -> "History":
        """An iteration with a sound candidate that measures as ``evaluation``."""
        made = commit(self.state.iteration + 1)
        left = self.left(CandidateStatus.CANDIDATE, made)
        self.session(left, **session).tell(Evaluated(evaluation))
        return self.decided()

    def kept(self) -> "History":
        """An iteration that improves the score by one."""
        score = self.state.standing.score if self.state.standing else None
        return self.candidate(scored((score or 0.0) + 1.0))

    def discarded(self) -> "History":
        return self.candidate(scored(None, passed=False))

    def left(self, status: CandidateStatus, made: str | None = None, **changes: Any) -> Collected:
        diff = DiffStat(1, 2, 3) if made else None
        own = artifact(status, made)
        return replace(Collected(made or self.tip, own, candidate_commit=made, diff=diff), **changes)

    def said(self, status: CandidateStatus, **changes: Any) -> "History":
        """An iteration whose artifact has ``status``, without a commit."""
        return self.session(self.left(status, **changes)).decided()

    def noop(self) -> "History":
        return self.said(CandidateStatus.NOOP)

    def wrong(self, reason: str = "", duration_s: float = 100.0) -> "History":
        """An iteration without a usable artifact."""
        return self.session(Collected(self.tip, problem=reason), duration_s=duration_s).decided()

    # -- ends and resumes

    def ended(self) -> "History":
        step = self.end
        return self.tell(RunEnded(step.outcome, step.reason, step.remedy))

    def resumed(self, overrides: Overrides | None = None) -> "History":
        return self.tell(RunResumed(overrides or Overrides()))


def play(history: History, choose: Callable[[Step], Event | None]) -> Event:  # noqa: C901 - one match over all steps
    """The event with which the loop answers the next step; ``choose`` decides what is not determined."""
    step = history.step()
    chosen = choose(step)
    if chosen is not None:
        return chosen
    match step:
        case PrepareLane():
            return LaneReady(BASELINE)
        case BeginSession():
            return SessionBegun(step.iteration, step.attempt)
        case Decide():
            return Decided(replace(step.entry, created_at=history.records[-1].at.isoformat()))
        case Apply():
            return Applied()
        case Pause():
            return PauseOver()
        case EndRun():
            return RunEnded(step.outcome, step.reason, step.remedy)
        case Evaluate():
            return Evaluated(scored(1.0), step.probe)
        case Remeasure():
            return Remeasured(step.commit, scored(1.0))
        case RunSession():
            return SessionEnded(Diagnosis(Ending(EndingKind.COMPLETED)), Collected(step.base), 100.0)
