"""How long to wait before trying again, when a session could not reach its model.

A usage limit is waited out until the moment it names (a stated moment in the past is not believed); network and
server trouble gets back-off. Both are bounded, so a run never relaunches hundreds of sessions into a wall.
"""

from datetime import datetime, timedelta

from omagy_autoresearch.sessions import Ending, EndingKind

TRIES_UNREACHABLE = 10
TRIES_USAGE_LIMIT = 24
_UNREACHABLE_S = (10, 30, 60, 120, 300, 600, 1200, 1800)
_LIMIT_S = (300, 900, 1800, 3600)
_AFTER_RESET = timedelta(seconds=20)
_LONGEST = timedelta(days=8)


def pause_until(ending: Ending, failures: int, now: datetime, scale: float) -> datetime | None:
    """When to try again after ``failures`` failures of this kind in a row; None when it is time to give up.

    ``scale`` stretches or shrinks the back-off, never a stated reset.
    """
    if ending.kind is EndingKind.USAGE_LIMIT:
        return _after_limit(ending.resets_at, failures, now, scale)
    if failures > TRIES_UNREACHABLE:
        return None
    return now + timedelta(seconds=_nth(_UNREACHABLE_S, failures) * scale)


def _after_limit(resets_at: datetime | None, failures: int, now: datetime, scale: float) -> datetime | None:
    if failures > TRIES_USAGE_LIMIT:
        return None
    if resets_at is not None and now < resets_at < now + _LONGEST:
        return resets_at + _AFTER_RESET * scale
    return now + timedelta(seconds=_nth(_LIMIT_S, failures) * scale)


def _nth(delays: tuple[int, ...], failures: int) -> int:
    return delays[min(failures, len(delays)) - 1]
