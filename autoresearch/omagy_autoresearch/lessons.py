"""What runs of one mission learnt, for the next ones: kept gains, and ideas that failed with the reason.

The file belongs to the person: everything above the first section of ours, and any edit to a section, stays. Only
the section of the run that ends is written anew, and the oldest of ours go when there are too many.
"""

import re

from omagy_autoresearch.decision import Decision, show
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.run import RunState

TEXT_LIMIT = 16_000
_SECTIONS = 20
_LINES = 30
_LINE_LIMIT = 240
_HEADING = re.compile(r"^## run (?=\S+)", re.MULTILINE)
_FAILED = (Decision.DISCARD, Decision.AMBIGUOUS, Decision.NOOP)
_INTRODUCTION = """\
# Lessons

What runs of this mission learnt; sessions of later runs get it as data. Edit it as you like: omagy rewrites only
the section of a run that ends. Notes of your own belong above the first section.
"""


def lessons_section(state: RunState, entries: tuple[Entry, ...]) -> str:
    """The section of an ended run; empty when it learnt nothing. ``entries`` are its newest, oldest first."""
    lines = [line for entry in entries if (line := _lesson(entry))][-_LINES:]
    if not lines:
        return ""
    first = state.baseline_standing.score if state.baseline_standing else None
    last = state.standing.score if state.standing else None
    title = f"## run {state.plan.run_id} ({state.outcome}, score {show(first)} → {show(last)})"
    return "\n".join((title, "", *lines)) + "\n"


def _lesson(entry: Entry) -> str:
    told = _line(entry.description)
    if not told or entry.decision is Decision.BASELINE:
        return ""
    if entry.decision is Decision.KEEP:
        return f"- kept: {told} | {_line(entry.decision_reason)}"
    return f"- failed: {told} | {_line(entry.decision_reason)}" if entry.decision in _FAILED else ""


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE_LIMIT else line[: _LINE_LIMIT - 1] + "…"


def merge_lessons(old: str, run_id: str, section: str) -> str:
    """``old`` with the section of ``run_id`` made equal to ``section``, which goes to the end when it is new."""
    head, sections = _split(old)
    mine = f"## run {run_id} "
    others = [one for one in sections if not one.startswith(mine)]
    kept = [*others, section][-_SECTIONS:] if section else others
    while len(kept) > 1 and len(head) + sum(map(len, kept)) > TEXT_LIMIT:
        kept.pop(0)
    return "\n".join(part.strip("\n") + "\n" for part in (head or _INTRODUCTION, *kept))


def _split(text: str) -> tuple[str, list[str]]:
    starts = [match.start() for match in _HEADING.finditer(text)]
    if not starts:
        return text, []
    ends = [*starts[1:], len(text)]
    return text[: starts[0]], [text[start:end] for start, end in zip(starts, ends, strict=True)]
