"""How long a run waits before it tries again."""

from datetime import UTC, datetime, timedelta

import pytest

from omagy_autoresearch.pauses import TRIES_UNREACHABLE, TRIES_USAGE_LIMIT, pause_until
from omagy_autoresearch.sessions import Ending, EndingKind

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
LIMIT, UNREACHABLE = EndingKind.USAGE_LIMIT, EndingKind.UNREACHABLE


def _waits(kind: EndingKind, failures: int, resets_in: timedelta | None = None, scale: float = 1.0) -> float | None:
    resets_at = None if resets_in is None else NOW + resets_in
    until = pause_until(Ending(kind, "", resets_at), failures, NOW, scale)
    return None if until is None else (until - NOW).total_seconds()


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        (1, 10),
        (2, 30),
        (3, 60),
        (4, 120),
        (5, 300),
        (6, 600),
        (7, 1200),
        (8, 1800),
        (9, 1800),
        (10, 1800),
        (11, None),
    ],
)
def test_trouble_on_the_way_is_backed_off_and_given_up(failures: int, seconds: float | None) -> None:
    """Waits grow to half an hour, and after ten tries there is none."""
    assert _waits(UNREACHABLE, failures) == seconds


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 300), (2, 900), (3, 1800), (4, 3600), (5, 3600), (24, 3600), (25, None)]
)
def test_a_limit_without_a_moment_is_backed_off_and_given_up(failures: int, seconds: float | None) -> None:
    """A usage limit that names no reset is tried again every hour at most, for a day."""
    assert _waits(LIMIT, failures) == seconds


def test_a_stated_reset_is_waited_out() -> None:
    """The moment a limit names, and a little after it, is when to try again, however often it failed."""
    for failures in (1, 5, TRIES_USAGE_LIMIT):
        assert _waits(LIMIT, failures, timedelta(hours=5)) == 5 * 3600 + 20


@pytest.mark.parametrize("resets_in", [timedelta(0), timedelta(hours=-1), timedelta(days=8), timedelta(days=4000)])
def test_a_stated_reset_that_makes_no_sense_is_not_believed(resets_in: timedelta) -> None:
    """A reset in the past, or more than a week away, gets the back-off of a limit that names none."""
    assert _waits(LIMIT, 1, resets_in) == 300


def test_the_number_of_tries_bounds_a_limit_with_a_reset_too() -> None:
    """A limit that renews its promise for ever ends all the same."""
    assert _waits(LIMIT, TRIES_USAGE_LIMIT + 1, timedelta(hours=1)) is None


def test_the_scale_stretches_back_off_but_no_stated_reset() -> None:
    """A scaled clock changes our own guesses; the moment that a limit names stays."""
    assert _waits(UNREACHABLE, 1, scale=3.0) == 30
    assert _waits(UNREACHABLE, TRIES_UNREACHABLE, scale=0.0) == 0
    assert _waits(LIMIT, 1, timedelta(hours=1), scale=0.0) == 3600
    assert _waits(LIMIT, 1, scale=0.01) == 3


def test_trouble_on_the_way_has_no_reset() -> None:
    """A reset that stands beside network trouble is not what the run waits for."""
    assert _waits(UNREACHABLE, 1, timedelta(hours=5)) == 10
