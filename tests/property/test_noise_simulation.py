"""Whole runs against evaluators whose scores vary: how often noise is kept, and how often a real gain is found.

The rates are those that the guide states. Everything is seeded, so a test that passes goes on passing.
"""

from collections.abc import Callable
from statistics import fmean

import pytest

from fakes.noisy_run import Measure, gaussian, heavy_tailed, play
from omagy_autoresearch.decision import Direction
from omagy_autoresearch.mission import EvaluatorSettings, Improvement
from omagy_autoresearch.noise import Aggregate

NOOPS = [100.0] * 200
NOISE = 0.01
Noise = Callable[[int, float], Measure]


def false_keeps(settings: EvaluatorSettings, runs: int, noise: Noise = gaussian) -> float:
    """How many of 200 candidates that change nothing are kept, on average."""
    return fmean(sum(play(settings, NOOPS, noise(seed, NOISE))) for seed in range(runs))


def settings(**keys: object) -> EvaluatorSettings:
    return EvaluatorSettings(command="measure", **keys)  # type: ignore[arg-type]


@pytest.mark.parametrize("direction", list(Direction))
def test_without_repeats_luck_is_kept_about_five_times_in_two_hundred(direction: Direction) -> None:
    """Each new record of pure noise counts as progress: ln(200), about five, which is what the guide warns of."""
    assert 3 <= false_keeps(settings(direction=direction), runs=60) <= 7


@pytest.mark.parametrize("aggregate", [Aggregate.MEDIAN, Aggregate.MEAN])
def test_with_repeats_noise_is_kept_at_most_once_in_two_hundred(aggregate: Aggregate) -> None:
    """With ``repeats: 3`` an improvement must clear the measured noise, or be confirmed side by side."""
    assert false_keeps(settings(repeats=3, aggregate=aggregate), runs=30) <= 1


@pytest.mark.parametrize("aggregate", [Aggregate.MIN, Aggregate.MAX])
def test_extremes_are_no_more_credulous(aggregate: Aggregate) -> None:
    """The best or worst of three spreads wider than their median, and is held to a wider margin."""
    assert false_keeps(settings(repeats=3, aggregate=aggregate), runs=15) <= 1


def test_outliers_do_not_make_noise_look_like_progress() -> None:
    """With one wild measurement in twenty, the median keeps at most twice the stated rate."""
    assert false_keeps(settings(repeats=3), runs=25, noise=heavy_tailed) <= 2


def test_without_measuring_again_less_noise_is_kept_still() -> None:
    """``retest: 0`` keeps only what clears the noise at once."""
    assert false_keeps(settings(repeats=3, retest=0), runs=30) <= 0.5


def test_a_minimum_improvement_above_the_noise_keeps_noise_out_without_repeats() -> None:
    """Five standard deviations of the noise are out of reach for luck in a night."""
    wanted = Improvement(5.0, percent=True)
    assert false_keeps(settings(min_improvement=wanted), runs=30) <= 0.1


@pytest.mark.parametrize(
    ("noise", "before", "share"), [(gaussian, 0, 0.8), (gaussian, 20, 0.8), (heavy_tailed, 0, 0.6)]
)
def test_a_gain_of_two_percent_under_one_percent_of_noise_is_found(noise: Noise, before: int, share: float) -> None:
    """With ``repeats: 3`` at least four of five such gains are kept, early in a run and later.

    Wild scores in between cost power, not truth: then it is still more than half of them.
    """
    candidates = [*NOOPS[:before], 102.0]
    found = [play(settings(repeats=3), candidates, noise(seed, NOISE))[-1] for seed in range(150)]
    assert fmean(found) >= share


def test_noise_that_is_kept_does_not_raise_the_bar_for_what_comes_after() -> None:
    """A commit that was kept is known by its side-by-side scores, so that a later real gain is still found after a
    long run of candidates that change nothing."""
    found = [play(settings(repeats=3), [*NOOPS[:100], 103.0], gaussian(seed, NOISE))[-1] for seed in range(30)]
    assert fmean(found) >= 0.8


def test_a_loss_is_not_kept() -> None:
    """With ``repeats: 3`` a candidate that is three percent worse under one percent of noise does not get in."""
    kept = [sum(play(settings(repeats=3), [97.0] * 20, gaussian(seed, NOISE))) for seed in range(50)]
    assert sum(kept) == 0
