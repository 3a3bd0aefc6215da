"""How much an evaluator's scores vary by themselves, and what a difference has to exceed to count.

The spread is estimated from scores of the same commit that were measured more than once: from the differences
within each such pair, whose median shrugs off a single wild measurement. Few pairs say little, so the demanded
margin grows as they get fewer, the way Student's distribution is wider than the normal one.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations
from statistics import fmean, median

PAIRS_LIMIT = 240
_LEVEL = 0.2  # of the old score: a larger change is another level
_JUMPS = 0.35  # of the root mean square: it sees rare jumps, and one wild score does not drown everything
_PAIR_MEDIAN = 0.9539  # the median of |a - b| for two normal scores of standard deviation 1
_CLEAR = 2.5  # standard errors that a difference must clear
_WIDENING = 2.0
_COST = {"mean": 1.0, "median": 1.25, "min": 1.5, "max": 1.5}  # how much wider than a mean each spreads


class Aggregate(StrEnum):
    """How the scores of one commit become its score."""

    MEDIAN = "median"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"

    def of(self, scores: Sequence[float]) -> float:
        match self:
            case Aggregate.MEDIAN:
                return median(scores)
            case Aggregate.MEAN:
                return fmean(scores)
            case Aggregate.MIN:
                return min(scores)
            case Aggregate.MAX:
                return max(scores)


def pairs(scores: Sequence[float]) -> tuple[float, ...]:
    """The absolute differences of all pairs of ``scores`` of one commit."""
    return tuple(abs(one - other) for one, other in combinations(scores, 2))


def spread(differences: Sequence[float]) -> float | None:
    """The standard deviation of one score, from differences within commits; None without any.

    The median alone would see no noise in scores that mostly tie and jump now and then, so the jumps count too.
    """
    if not differences:
        return None
    jumps = math.sqrt(fmean(difference * difference for difference in differences) / 2.0)
    return max(median(differences) / _PAIR_MEDIAN, _JUMPS * jumps)


def standard_error(sigma: float, aggregate: Aggregate, counts: Sequence[int]) -> float:
    """Of the difference between two aggregated scores, of ``counts`` measurements each."""
    return sigma * _COST[aggregate] * math.sqrt(sum(1.0 / count for count in counts))


def margin(differences: Sequence[float], aggregate: Aggregate, counts: Sequence[int]) -> float | None:
    """What the difference of two aggregated scores must exceed to be more than noise; None when unknown."""
    sigma = spread(differences)
    if sigma is None:
        return None
    freedom = max(math.sqrt(2 * len(differences)), 1.0)  # n scores make n(n-1)/2 pairs, but only n-1 facts
    return _CLEAR * (1.0 + _WIDENING / freedom) * standard_error(sigma, aggregate, counts)


def at_level(differences: Sequence[float], fresh: Sequence[float], old: float, new: float) -> tuple[float, ...]:
    """What is still known of the noise after the kept score went from ``old`` to ``new``.

    Noise often grows and shrinks with the score. After a jump only what was measured at the new level counts.
    """
    jumped = abs(new - old) > _LEVEL * abs(old)
    return tuple(fresh) if jumped and fresh else tuple(differences)


def noise_note(scores: Sequence[float], differences: Sequence[float], *, guarded: bool = False) -> str:
    """What a baseline that was measured more than once says about the evaluator; empty for a single measurement.

    ``guarded`` tells that the mission already says what a gain has to clear.
    """
    if len(scores) < 2:
        return ""
    sigma, level = spread(differences) or 0.0, abs(fmean(scores))
    if sigma == 0.0:
        return f"measured {len(scores)} times, the same score each time"
    shown = f"{sigma / level:.1%}" if level else f"{sigma:.3g}"
    told = f"scores vary by {shown} from one measurement to the next"
    if guarded:
        return told
    return f"{told}: a gain below that will look like progress; set evaluator.repeats or evaluator.min_improvement"


def remembered(differences: Sequence[float], more: Sequence[float]) -> tuple[float, ...]:
    """``differences`` with ``more`` behind them, forgetting the oldest: the level of the scores may have moved."""
    return (*differences, *more)[-PAIRS_LIMIT:]
