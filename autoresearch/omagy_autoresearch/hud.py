"""One line that says how everything stands: modes, run, iteration, score, trend, wait (contract section 7).

It is made for tmux's status line and shell prompts: plain text, bounded in width, harmless whatever a record holds.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from omagy_autoresearch.lines import one_line

if TYPE_CHECKING:
    from datetime import datetime

_BARS = "▁▂▃▄▅▆▇█"
_NAME_LIMIT = 60


class RunGlance(NamedTuple):
    """A run at a glance. ``state`` is a phase in words, ``interrupted``, or how it ended.

    ``scores`` are those of the baseline and of what was kept, oldest first; ``waits_until`` is local time.
    """

    run_id: str
    name: str
    state: str
    iteration: int | None
    best: float | None = None
    baseline: float | None = None
    scores: tuple[float, ...] = ()
    waits_until: "datetime | None" = None
    waits_for: str = ""


def hud_line(
    combinations: Sequence[str], run: RunGlance | None, width: int, *, unicode: bool, nothing: str = "idle"
) -> str:
    """The line, at most ``width`` characters: what matters least goes first. ``unicode`` allows more than ASCII.

    ``combinations`` are the active sets of the scopes, each once; what a run is about is told by ``run``.
    ``nothing`` is what it says without either.
    """
    told = [_parts(combinations, run, level, unicode=unicode) for level in range(_LEVELS)]
    variants = ["omagy: " + (" | ".join(parts) or nothing) for parts in told]
    fitting = (line for line in variants if len(line) <= width)
    return next(fitting, _cut(variants[-1], width, unicode=unicode))


_LEVELS = 5


def _parts(combinations: Sequence[str], run: RunGlance | None, level: int, *, unicode: bool) -> list[str]:
    """What the line says: less, the higher ``level`` is."""
    modes = [", ".join(combinations)] if combinations else []
    return modes if run is None else [*modes, *_run_parts(run, level, unicode=unicode)]


def _run_parts(run: RunGlance, level: int, *, unicode: bool) -> list[str]:
    words = ("autoresearch", plain(run.name) if level < 4 else "", plain(run.state))
    parts = [" ".join(filter(None, words))]
    if run.iteration is not None:
        parts.append(f"iteration {run.iteration}" if level < 3 else f"#{run.iteration}")
    if run.best is not None:
        trend = sparkline(run.scores) if unicode and level < 2 else ""
        parts.append(f"best {_score(run.best)}{_change(run)}{trend and ' ' + trend}")
    if run.waits_until is not None:
        reason = f": {plain(run.waits_for)}" if run.waits_for and level < 1 else ""
        parts.append(f"waits until {run.waits_until:%H:%M}{reason}")
    return parts


def _change(run: RunGlance) -> str:
    if run.best is None or not run.baseline or run.best == run.baseline:
        return ""
    return f" ({(run.best - run.baseline) / abs(run.baseline):+.1%})"


def _score(score: float) -> str:
    return f"{score:.6g}"


def sparkline(scores: Sequence[float]) -> str:
    """``scores`` as bars of their height; empty for fewer than two."""
    if len(scores) < 2:
        return ""
    low, high = min(scores), max(scores)
    span = high - low
    if not 0 < span < float("inf"):
        return _BARS[0] * len(scores)
    return "".join(_BARS[round((score - low) / span * (len(_BARS) - 1))] for score in scores)


def plain(text: str) -> str:
    """``text`` from a record, with nothing in it that a terminal or tmux takes for a command."""
    return one_line(text.replace("#", ""))


def name_of(value: object) -> str:
    """A name that a record gives, short enough to be shown."""
    return value[:_NAME_LIMIT] if isinstance(value, str) else ""


def _cut(line: str, width: int, *, unicode: bool) -> str:
    end = "…" if unicode else "..."
    return line[: width - len(end)] + end if width > len(end) else line[: max(width, 0)]
