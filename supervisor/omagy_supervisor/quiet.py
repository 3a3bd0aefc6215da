"""How long a session has been silent: an observation (``STOP-QUIET-WATCHER-001``), told each time it has doubled.

A look costs the size of three files, once in ten minutes. Nothing is ended for being quiet.
"""

import contextlib
from pathlib import Path

from omagy_supervisor.paths import AttemptFolder

LOOK_S = 600.0


class QuietWatch:
    """Looks at the output of one session, from now on."""

    def __init__(self, attempt: AttemptFolder) -> None:
        self._attempt = attempt
        self._size = output_size(attempt)
        self._quiet_s = 0.0
        self._tell_at_s = LOOK_S

    def look(self, passed_s: float) -> float | None:
        """Seconds of silence that are worth telling, ``passed_s`` after the last look; None while there are none."""
        size = output_size(self._attempt)
        if size != self._size:
            self._size, self._quiet_s, self._tell_at_s = size, 0.0, LOOK_S
            return None
        self._quiet_s += passed_s
        if self._quiet_s < self._tell_at_s:
            return None
        self._tell_at_s *= 2
        return self._quiet_s


def output_size(attempt: AttemptFolder) -> int:
    """Bytes that the session has said so far."""
    return sum(_size(path) for path in attempt.output)


def last_output(attempt: AttemptFolder) -> float | None:
    """When the session said something last, in seconds since the epoch; None before it could."""
    times = []
    for path in attempt.output:
        with contextlib.suppress(OSError):
            times.append(path.lstat().st_mtime)
    return max(times, default=None)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
