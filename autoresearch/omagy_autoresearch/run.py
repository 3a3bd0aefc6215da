"""The state of a run: its phase, and what the phases have in common."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from omagy_autoresearch.decision import Decision, Standing
from omagy_autoresearch.events import Collected, StopMode
from omagy_autoresearch.ledger import Entry, SessionSummary
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.probes import Result
from omagy_autoresearch.sessions import Ending, Usage
from omagy_autoresearch.surface import Surface

RECENT_LIMIT = 20
KEPT_LIMIT = 20


class Preparing(Struct, frozen=True):
    """The lane is not known to stand yet."""


class Idle(Struct, frozen=True):
    """Between iterations, or between two attempts at one."""


class InSession(Struct, frozen=True):
    attempt: int


class Evaluating(Struct, frozen=True):
    """``commit`` has to be measured. Without a session it is the baseline.

    ``deaths`` counts the supervisors that died over it without anybody asking them to.
    """

    commit: str
    session: SessionSummary | None = None
    collected: Collected | None = None
    results: tuple[Result, ...] = ()
    deaths: int = 0


class Deciding(Struct, frozen=True):
    session: SessionSummary | None
    collected: Collected | None
    results: tuple[Result, ...] = ()
    problem: str = ""  # why it is decided without enough measurements


class Applying(Struct, frozen=True):
    entry: Entry
    results: tuple[Result, ...] = ()


class Pausing(Struct, frozen=True):
    until: datetime
    ending: Ending


class Ended(Struct, frozen=True):
    """``resume_at`` is the phase that a resume goes on from."""

    outcome: Outcome
    reason: str
    at: datetime
    resume_at: "Phase"
    remedy: str = ""


Phase = Preparing | Idle | InSession | Evaluating | Deciding | Applying | Pausing | Ended


class BlockerKind(StrEnum):
    NOT_LOGGED_IN = "not_logged_in"
    MISCONFIGURED = "misconfigured"
    USAGE_LIMIT = "usage_limit"
    UNREACHABLE = "unreachable"
    OUT_OF_TIME = "out_of_time"  # waiting would outlast the run's time budget


class Blocker(Struct, frozen=True):
    """``told`` says it to a person, and quotes the agent."""

    kind: BlockerKind
    told: str


class Streaks(Struct, frozen=True):
    """How often the same thing came in a row; anything else sets it back to zero."""

    errors: int = 0
    noops: int = 0
    discards: int = 0
    evaluator_faults: int = 0
    evaluator_error: str = ""
    quick_failures: int = 0
    without_keep: int = 0  # iterations of any kind


class Tally(Struct, frozen=True):
    """How many iterations were decided which way."""

    keep: int = 0
    discard: int = 0
    ambiguous: int = 0
    noop: int = 0
    error: int = 0
    interrupted: int = 0
    abort: int = 0

    def plus(self, decision: Decision) -> "Tally":
        if decision is Decision.BASELINE:
            return self
        counts = {name: getattr(self, name) for name in self.__struct_fields__}
        counts[decision.value] += 1
        return Tally(**counts)


class Kept(Struct, frozen=True):
    """A commit the run stood on, with the score it was kept for."""

    commit: str
    score: float | None


class RunState(Struct, frozen=True):
    """Everything the next step depends on, and nothing else; its size does not grow with the run."""

    plan: RunPlan
    phase: Phase
    budget: Budget
    updated_at: datetime
    elapsed_s: float = 0.0
    baseline_commit: str | None = None
    tip: str | None = None  # the last kept commit
    standing: Standing | None = None  # of the tip; None until the baseline was measured
    baseline_standing: Standing | None = None
    surface: Surface = field(default_factory=Surface)
    differences: tuple[float, ...] = ()  # of scores of the same commit: what is known of the noise
    kept: tuple[Kept, ...] = ()  # the baseline and what was kept since, oldest first
    remeasure: tuple[str, ...] = ()  # what the check at the end measures, in this order
    remeasured: tuple[tuple[str, float | None], ...] = ()
    evaluation_s: float = 0.0  # how long the last evaluation took
    iteration: int = 0  # the one being worked on, or the last decided
    attempt: int = 0  # of the iteration being worked on
    latest_candidate: str | None = None
    recent: tuple[Entry, ...] = ()
    tally: Tally = field(default_factory=Tally)
    streaks: Streaks = field(default_factory=Streaks)
    failures: int = 0  # sessions in a row that could not reach their model
    usage: Usage = field(default_factory=Usage)
    blocker: Blocker | None = None  # what is missing, when a session showed that no other can work either
    settled: bool = False  # a resume has answered what the last entry stopped the run for
    stop: StopMode | None = None
    stop_by: str = ""
    lives: int = 1  # how often a supervisor took the run on

    @property
    def ended(self) -> bool:
        return isinstance(self.phase, Ended)

    @property
    def work(self) -> Phase:
        """The phase in which the run works, or worked when it ended."""
        return self.phase.resume_at if isinstance(self.phase, Ended) else self.phase

    @property
    def outcome(self) -> Outcome | None:
        return self.phase.outcome if isinstance(self.phase, Ended) else None

    @property
    def stop_reason(self) -> str | None:
        return self.phase.reason if isinstance(self.phase, Ended) else None

    @property
    def remedy(self) -> str:
        return self.phase.remedy if isinstance(self.phase, Ended) else ""

    @property
    def last_entry(self) -> Entry | None:
        return self.recent[-1] if self.recent else None

    @property
    def between_iterations(self) -> bool:
        """True when nothing of an iteration is under way."""
        return self.attempt == 0 and isinstance(self.phase, Idle)
