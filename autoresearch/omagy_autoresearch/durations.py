"""Durations as people write them (``90s``, ``10m``, ``2h``, ``1h30m``) and as people read them."""

import re

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 366 * 86400.0


def parse_duration(text: str) -> float:
    """Seconds of ``text``. Raises ValueError with what was expected."""
    compact = text.strip().lower().replace(" ", "")
    parts = list(_PART.finditer(compact))
    if not parts or "".join(part.group(0) for part in parts) != compact:
        raise ValueError(f"{text!r} is not a duration; write it like 90s, 10m, 2h or 1h30m")
    seconds = sum(float(part.group(1)) * _SECONDS[part.group(2)] for part in parts)
    if not 0 < seconds <= _LONGEST_S:
        raise ValueError(f"{text!r} is out of range; a duration is more than 0 and at most a year")
    return seconds


def format_duration(seconds: float) -> str:
    """``seconds`` in at most two units: ``0.4s``, ``42s``, ``3m 20s``, ``2h 05m``, ``3d 4h``."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600}h"
