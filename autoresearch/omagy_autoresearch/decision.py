"""The decision table (contract section 4): what becomes of a session's work, and why in one sentence."""

from enum import StrEnum

from msgspec import Struct, field

from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.lines import one_line

_TOLD_LIMIT = 160


class KeepPolicy(StrEnum):
    SCORE_IMPROVEMENT = "score_improvement"
    PASS_ONLY = "pass_only"  # noqa: S105 - a policy, not a password


class Direction(StrEnum):
    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"

    def better(self, score: float, than: float) -> bool:
        return score > than if self is Direction.MAXIMIZE else score < than

    def reached(self, score: float, target: float) -> bool:
        return score >= target if self is Direction.MAXIMIZE else score <= target


class Decision(StrEnum):
    BASELINE = "baseline"
    KEEP = "keep"
    DISCARD = "discard"
    AMBIGUOUS = "ambiguous"
    NOOP = "noop"
    ABORT = "abort"
    INTERRUPTED = "interrupted"
    ERROR = "error"


class Standing(Struct, frozen=True):
    """What is known of a commit: whether it passed (None: not measured), its score, samples and metrics."""

    passed: bool | None
    score: float | None
    samples: tuple[float, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, evaluation: Evaluation) -> "Standing":
        return cls(evaluation.passed, evaluation.score, evaluation.samples, evaluation.metrics)


class Verdict(Struct, frozen=True):
    decision: Decision
    reason: str


def judge(policy: KeepPolicy, direction: Direction, kept: Standing, evaluation: Evaluation) -> Verdict:
    """Keep, discard or ambiguous, for a candidate whose integrity has been confirmed."""
    failure = failure_of(evaluation)
    if failure:
        return Verdict(Decision.DISCARD, failure)
    if policy is KeepPolicy.PASS_ONLY:
        return Verdict(Decision.KEEP, "the evaluator says pass=true, and the policy is pass_only")
    if not kept.passed:
        return Verdict(Decision.KEEP, "it passes, and what was kept before did not")
    return _compare(direction, kept.score, evaluation.score)


def failure_of(evaluation: Evaluation) -> str:
    """Why the evaluated commit is no good by itself; empty when it passes."""
    if evaluation.fault is not None:
        return evaluation.error
    return "" if evaluation.passed else f"the evaluator says pass=false{_told(evaluation)}"


def _compare(direction: Direction, kept: float | None, score: float | None) -> Verdict:
    if score is None:
        return Verdict(Decision.AMBIGUOUS, "it passes without a score, so it cannot be compared")
    if kept is None:
        return Verdict(Decision.AMBIGUOUS, f"it scores {show(score)}, but what was kept before has no score")
    change = f"{show(kept)} → {show(score)}"
    if direction.better(score, kept):
        return Verdict(Decision.KEEP, f"score improved: {change}{_percent(kept, score)}")
    if score == kept:
        return Verdict(Decision.DISCARD, f"score is the same: {show(score)}")
    return Verdict(Decision.DISCARD, f"score got worse: {change}{_percent(kept, score)}")


def _told(evaluation: Evaluation) -> str:
    """What the evaluator itself says about a failure, when its answer has a text for people."""
    texts = (evaluation.extra.get(key) for key in ("reason", "message", "error"))
    told = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return f": {one_line(told, _TOLD_LIMIT)}" if told else ""


def _percent(old: float, new: float) -> str:
    return f" ({(new - old) / abs(old):+.1%})" if old else ""


def show(score: float | None) -> str:
    """A score as people read it: six significant digits, no trailing zeros."""
    return "–" if score is None else f"{score:.6g}"
