"""A mission and its settings, complete with defaults (contract section 2)."""

from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.noise import Aggregate

Isolation = Literal["lane", "fresh"]
FinalCheck = Literal["kept", "best", "off"]
Tie = Literal["discard", "smaller_diff"]


BASELINE: Final = "baseline"
Limit: TypeAlias = float | Literal["baseline"]


class Improvement(Struct, frozen=True):
    """The smallest gain that counts: in units of the score, or in percent of what was kept."""

    amount: float
    percent: bool = False


class Constraint(Struct, frozen=True):
    """A metric that a candidate must keep within limits, whatever its score is.

    ``baseline`` as a limit is the metric's value at the baseline; a baseline without the metric sets no limit.
    """

    metric: str
    max: Limit | None = None
    min: Limit | None = None


class Holdout(Struct, frozen=True):
    """A check whose output no agent sees; ``files`` are copied in from the user's checkout for its run only."""

    command: str
    timeout_s: float = 1800.0
    files: tuple[str, ...] = ()


class Prices(Struct, frozen=True):
    """What the user pays for a million tokens of each kind, in a currency of their own."""

    input: float
    output: float
    cached_input: float | None = None


class EvaluatorSettings(Struct, frozen=True):
    command: str
    format: str = "json"
    keep_policy: KeepPolicy = KeepPolicy.SCORE_IMPROVEMENT
    direction: Direction = Direction.MAXIMIZE
    timeout_s: float = 1800.0
    build: str | None = None
    isolation: Isolation = "lane"
    repeats: int = 1
    aggregate: Aggregate = Aggregate.MEDIAN
    baseline_repeats: int = 2
    min_improvement: Improvement | None = None
    retest: int = 5
    final_check: FinalCheck = "kept"
    tie: Tie = "discard"
    constraints: tuple[Constraint, ...] = ()
    holdout: Holdout | None = None

    @property
    def guarded_from_noise(self) -> bool:
        """True when the mission says what a gain has to clear."""
        return self.repeats > 1 or self.min_improvement is not None


class Guard(Struct, frozen=True):
    """A command that must exit 0 before a candidate is kept: tests, types, lint."""

    command: str
    timeout_s: float = 1800.0


class WorktreeSettings(Struct, frozen=True):
    """What a lane needs before anything runs in it: ``copy`` from the user's checkout, then ``setup``."""

    setup: str | None = None
    setup_timeout_s: float = 1800.0
    copy: tuple[str, ...] = ()


class Budget(Struct, frozen=True):
    """Totals of a run; None means no limit."""

    max_iterations: int | None = None
    max_wall_time_s: float | None = None
    target_score: float | None = None
    max_consecutive_errors: int | None = 3
    max_consecutive_noops: int | None = None
    max_consecutive_discards: int | None = None
    plateau: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None


class SessionSettings(Struct, frozen=True):
    timeout_s: float = 3600.0


class AgentSettings(Struct, frozen=True):
    """``rehearsal`` names the folder, inside the mission's, with the offline agent's proposals."""

    rehearsal: str | None = None


class Contract(Struct, frozen=True):
    """A mission's settings, complete with defaults."""

    evaluator: EvaluatorSettings
    budget: Budget = field(default_factory=Budget)
    session: SessionSettings = field(default_factory=SessionSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    worktree: WorktreeSettings = field(default_factory=WorktreeSettings)
    guard: Guard | None = None
    protected: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands whose files measure a candidate."""
        evaluator = self.evaluator
        found = (evaluator.command, evaluator.build, self.guard and self.guard.command)
        return tuple(command for command in found if command)


class Mission(Struct, frozen=True):
    """A mission as its files say it. ``notices`` are the warnings a launch shows."""

    text: str
    sandbox_text: str
    contract: Contract
    notices: tuple[str, ...] = ()
