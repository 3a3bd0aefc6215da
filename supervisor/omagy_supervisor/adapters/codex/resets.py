"""When a usage limit ends, as far as Codex said so and it can be believed."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from omagy_supervisor.adapters.codex.records import Window

_EXHAUSTED_PERCENT = 100.0
_SLACK = timedelta(minutes=10)  # clocks differ
_LONGEST = timedelta(days=32)  # no limit is known to last longer than a month
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}

_IN = re.compile(r"\bin ((?:\d{1,6} (?:day|hour|minute|second)s?(?:,? (?:and )?)?)+)", re.IGNORECASE)
_PART = re.compile(r"(\d+) (day|hour|minute|second)", re.IGNORECASE)
_AT = re.compile(
    r"\bat (?:(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4}),? )?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2}) ?(?P<half>[AP]M)",
    re.IGNORECASE,
)


def reset_moment(windows: Iterable[Window], message: str, now: datetime) -> datetime | None:
    """The moment (UTC) from which sessions can run again, None when nothing believable was said.

    Figures that the server sent count before the words of ``message``, whose times are local. A moment that
    has passed is stale and says nothing; neither does one further away than its limit is long.
    """
    utc = now.astimezone(UTC)
    exhausted = [each for each in windows if each.used_percent >= _EXHAUSTED_PERCENT]
    moments = [moment for each in exhausted if (moment := _window_end(each, utc)) is not None]
    if moments:
        return max(moments)
    spoken = _relative(message, utc) or _absolute(message, utc)
    return spoken if spoken is not None and utc < spoken <= utc + _LONGEST else None


def _window_end(window: Window, now: datetime) -> datetime | None:
    length = timedelta(minutes=min(window.window_minutes, _LONGEST // timedelta(minutes=1)))
    latest = now + (length + _SLACK if length else _LONGEST)
    if not now.timestamp() < window.resets_at_s <= latest.timestamp():
        return None
    return datetime.fromtimestamp(window.resets_at_s, UTC)


def _relative(message: str, now: datetime) -> datetime | None:
    found = _IN.search(message)
    if found is None:
        return None
    parts = _PART.findall(found.group(1))
    seconds = sum(int(number) * _UNITS[unit.lower()] for number, unit in parts)
    return now + min(timedelta(seconds=seconds), _LONGEST * 2)


def _absolute(message: str, now: datetime) -> datetime | None:
    """The end of the minute that Codex names, which cuts the seconds off; the date is left out when it is today's."""
    found = _AT.search(message)
    if found is None:
        return None
    local = now.astimezone()
    hour = int(found["hour"]) % 12 + (12 if found["half"].upper() == "PM" else 0)
    try:
        moment = local.replace(hour=hour, minute=int(found["minute"]), second=0, microsecond=0)
        if found["month"]:
            month = _MONTHS.index(found["month"].lower()) + 1
            moment = moment.replace(year=int(found["year"]), month=month, day=int(found["day"]))
        return moment.astimezone(UTC) + timedelta(minutes=1)
    except (ValueError, OverflowError):
        return None
