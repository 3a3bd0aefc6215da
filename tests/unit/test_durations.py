"""Durations as people write and read them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("10m", 600.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        ("250ms", 0.25),
        ("1.5h", 5400.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        (" 2H ", 7200.0),
        ("366d", 366 * 86400.0),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    """Every form that the documentation shows is read as its seconds."""
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", " ", "90", "s", "90x", "-5s", "1h-3m", "+1s", "1.s", ".5s", "1e3s", "10 minutes", "1h,30m", "1:30"]
)
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    """A duration without a unit, or with one nobody knows, is refused and the message shows how to write one."""
    with pytest.raises(ValueError, match=r"not a duration; write it like 90s, 10m, 2h or 1h30m"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0s", "0h0m", "367d", "9000h", "9" * 400 + "s"])
def test_a_duration_out_of_range_is_refused(text: str) -> None:
    """Nothing, and more than a year, are mistakes and not limits."""
    with pytest.raises(ValueError, match="out of range"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1.0, "0.0s"),
        (0.0, "0.0s"),
        (0.44, "0.4s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1m 00s"),
        (200, "3m 20s"),
        (3599.6, "1h 00m"),
        (7500, "2h 05m"),
        (86399, "23h 59m"),
        (86400, "1d 0h"),
        (3 * 86400 + 4 * 3600, "3d 4h"),
    ],
)
def test_a_duration_is_shown_in_two_units(seconds: float, text: str) -> None:
    """Rounding never shows sixty seconds, sixty minutes or a negative time."""
    assert format_duration(seconds) == text


@given(st.integers(1, 366 * 86400))
def test_whole_seconds_survive_being_written_and_read(seconds: int) -> None:
    """What people write as seconds is what is read."""
    assert parse_duration(f"{seconds}s") == seconds


@given(st.text(max_size=20))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    """No text leads to any other exception."""
    with contextlib.suppress(ValueError):
        assert parse_duration(text) > 0
