"""Progress as plain lines: in the supervisor's window, in ``supervisor.log``, and so in every live view."""

import contextlib
import sys
from datetime import date
from pathlib import Path
from typing import IO

from omagy_autoresearch.decision import Decision, failure_of, show
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.events import (
    Applied,
    LaneReady,
    Record,
    Remeasured,
    RunCreated,
    RunEnded,
    RunResumed,
    SessionBegun,
    SessionEnded,
    StopRequested,
)
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.noise import noise_note
from omagy_autoresearch.run import Deciding, Pausing, RunState
from omagy_autoresearch.sessions import EndingKind
from omagy_supervisor.ui.fitting import columns_of, wrapped


class TextReporter:
    """Implements ports.Reporter. A date stands above the first line of each life, and of each day."""

    def __init__(self, log: Path, stream: IO[str] | None = None) -> None:
        self._log = log.open("a", encoding="utf-8", buffering=1)
        self._stream = stream if stream is not None else sys.stderr
        self._day: date | None = None

    def event(self, state: RunState, record: Record) -> None:
        at = record.at.astimezone()
        for line in event_lines(state, record):
            self._date(at.date())
            self._write(f"{at:%H:%M:%S}  {line}\n")

    def note(self, text: str) -> None:
        self._write(f"{'':10}{text}\n")

    def _date(self, day: date) -> None:
        if day != self._day:
            self._day = day
            self._write(f"{day.isoformat()}\n")

    def _write(self, text: str) -> None:
        # Somebody closing the window, or a full disk, must not end the run.
        with contextlib.suppress(OSError, ValueError):
            self._log.write(text)
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(wrapped(text, columns_of(self._stream), whole_words=True))
            self._stream.flush()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._log.close()


def event_lines(state: RunState, record: Record) -> list[str]:
    """What a person should read of ``record``, ``state`` being the state after it."""
    event = record.event
    match event:
        case RunCreated():
            return [f"run {state.plan.run_id}: branch {state.plan.branch_name}, agent {state.plan.agent.kind}"]
        case RunResumed():
            return [f"run {state.plan.run_id} goes on: iteration {state.iteration}, kept {_kept(state)}"]
        case LaneReady():
            return [f"lane ready at {event.baseline_commit[:12]} in {state.plan.worktree_path}"]
        case SessionBegun():
            again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
            return [f"iteration {event.iteration}{again}: session started"]
        case SessionEnded():
            return _session_lines(state, event)
        case Applied():
            return _applied_lines(state)
        case Remeasured():
            failure = failure_of(event.evaluation)
            return [f"measured again, {event.commit[:12]} fails: {failure}"] if failure else []
        case StopRequested():
            when = "now" if event.mode.value == "now" else "after this iteration"
            return [f"asked to stop {when} ({event.by})"]
        case RunEnded():
            return [f"run ended: {event.outcome}, {event.reason}"]
        case _:
            return []


def _session_lines(state: RunState, event: SessionEnded) -> list[str]:
    ending = event.diagnosis.ending
    detail = f": {ending.detail}" if ending.detail else ""
    lines = []
    if ending.kind is not EndingKind.COMPLETED and not _told_next(state, event):
        lines.append(f"session ended: {ending.kind.replace('_', ' ')}{detail}")
    if event.collected.leftovers_ref:
        lines.append(f"uncommitted leftovers of the session are saved as {event.collected.leftovers_ref}")
    if isinstance(state.phase, Pausing):
        until = state.phase.until.astimezone()
        wait = format_duration((until - state.updated_at).total_seconds())
        lines.append(f"waiting until {until:%Y-%m-%d %H:%M:%S} ({wait}), then trying again")
    return lines


def _told_next(state: RunState, event: SessionEnded) -> bool:
    """Whether the line that follows, of a decision or of the run's end, says how the session ended."""
    if isinstance(state.phase, Deciding):
        return event.collected.candidate is None or bool(event.collected.problem)
    return state.blocker is not None or event.diagnosis.ending.kind is EndingKind.STOPPED


def _applied_lines(state: RunState) -> list[str]:
    entry = state.recent[-1]
    lines = [entry_line(entry)]
    if entry.evaluator is not None and entry.evaluator.dirty:
        lines.append(f"the evaluator changed files, which is undone: {', '.join(entry.evaluator.dirty[:5])}")
    if entry.decision is Decision.BASELINE and entry.evaluator is not None:
        settings = state.plan.contract.evaluator
        told = noise_note(entry.evaluator.samples, state.differences, guarded=settings.guarded_from_noise)
        if told:
            lines.append(told)
    return lines


def entry_line(entry: Entry) -> str:
    """One decided iteration as one line."""
    name = "baseline" if entry.decision is Decision.BASELINE else f"iteration {entry.iteration}: {entry.decision}"
    told = f" | {entry.description}" if entry.description and entry.decision is not Decision.BASELINE else ""
    return f"{name}, {entry.decision_reason}{told}"


def _kept(state: RunState) -> str:
    score = show(state.standing.score) if state.standing else "–"
    return f"{(state.tip or '')[:12]} score {score}"
