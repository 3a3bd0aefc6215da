"""What a Codex session left behind: its event stream, its error output and its rollout file.

The machine-readable cause of a failure stands only in the rollout file
(``CODEX_HOME/sessions/YYYY/MM/DD/rollout-*-<thread_id>.jsonl``). All of it is input from outside: it may be
missing, cut, huge or garbage, so reads are bounded and nothing here raises.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from omagy_autoresearch.sessions import Usage
from omagy_supervisor.adapters.codex.jsonl import Json, child, count, parse_object, string
from omagy_supervisor.adapters.codex.settings import codex_home
from omagy_supervisor.agents import SessionSpec

_HEAD_BYTES = 64_000  # the thread's name stands in the first event
_TAIL_BYTES = 1_000_000  # how it ended stands in the last few
_STDERR_BYTES = 16_000
_DAYS = 60  # the rollout of a session lies in the newest day folders
_THREAD_ID = re.compile(r"[0-9A-Za-z-]{8,64}")


@dataclass(frozen=True, slots=True)
class Window:
    """One usage limit as the server last reported it. ``resets_at_s`` is seconds since 1970."""

    used_percent: float
    window_minutes: int
    resets_at_s: int


@dataclass(frozen=True, slots=True)
class SessionRecords:
    """The facts of one session. ``cause`` is Codex's own name for a failure, ``http_status`` goes with it."""

    thread_id: str | None = None
    usage: Usage | None = None
    message: str = ""
    cause: str = ""
    http_status: int = 0
    windows: tuple[Window, ...] = ()
    stderr: str = ""


def read_records(spec: SessionSpec) -> SessionRecords:
    """Collect what is known of the session of ``spec``."""
    events = list(_objects(_tail(spec.events_file, _TAIL_BYTES)))
    thread_id = _thread_id(spec.events_file)
    rollout = _rollout(spec, thread_id)
    error = child(_last(rollout, "task_complete"), "error")
    cause, http_status = _cause(error)
    counts = _last(rollout, "token_count")
    return SessionRecords(
        thread_id=thread_id,
        usage=_usage(events, counts),
        message=string(error, "message") or _failure(events),
        cause=cause,
        http_status=http_status,
        windows=tuple(_windows(child(counts, "rate_limits"))),
        stderr=_tail(spec.stderr_file, _STDERR_BYTES),
    )


def _tail(path: Path, limit_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - limit_bytes))
            return file.read(limit_bytes).decode("utf-8", "replace")
    except OSError:
        return ""


def _objects(text: str) -> Iterator[Json]:
    for line in text.split("\n"):
        value = parse_object(line)
        if value is not None:
            yield value


def _thread_id(events_file: Path) -> str | None:
    """The thread's name, only if it can stand in a file name: it comes from outside and is searched for."""
    try:
        with events_file.open("rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    started = (each for each in _objects(head) if each.get("type") == "thread.started")
    found = string(next(started, {}), "thread_id")
    return found if _THREAD_ID.fullmatch(found) else None


def _rollout(spec: SessionSpec, thread_id: str | None) -> list[Json]:
    """The last events of the session's rollout file, oldest first."""
    if thread_id is None:
        return []
    try:
        days = sorted((codex_home(spec.environment) / "sessions").glob("*/*/*"), reverse=True)
        paths = (path for day in days[:_DAYS] for path in day.glob(f"rollout-*-{thread_id}.jsonl"))
        path = next(paths, None)
    except OSError:
        return []
    text = _tail(path, _TAIL_BYTES) if path else ""
    return [child(each, "payload") for each in _objects(text) if each.get("type") == "event_msg"]


def _last(events: list[Json], kind: str) -> Json:
    return next((each for each in reversed(events) if each.get("type") == kind), {})


def _failure(events: list[Json]) -> str:
    """What the event stream says went wrong: the failed turn, else the last error on the way."""
    failed = string(child(_last(events, "turn.failed"), "error"), "message")
    return failed or string(_last(events, "error"), "message")


def _cause(error: Json) -> tuple[str, int]:
    """Codex's name for a failure: a plain word, or a word that carries the HTTP status it got."""
    info = error.get("codex_error_info")
    if isinstance(info, dict):
        for name, detail in info.items():
            return name, count(detail, "http_status_code") if isinstance(detail, dict) else 0
    return (info, 0) if isinstance(info, str) else ("", 0)


def _usage(events: list[Json], counts: Json) -> Usage | None:
    """Tokens of the whole session; a session that failed reports them in its rollout only."""
    reported = child(_last(events, "turn.completed"), "usage") or child(child(counts, "info"), "total_token_usage")
    if not reported:
        return None
    return Usage(
        input_tokens=count(reported, "input_tokens"),
        cached_input_tokens=count(reported, "cached_input_tokens"),
        output_tokens=count(reported, "output_tokens"),
        reasoning_output_tokens=count(reported, "reasoning_output_tokens"),
    )


def _windows(limits: Json) -> Iterator[Window]:
    for name in ("primary", "secondary"):
        window = child(limits, name)
        used = window.get("used_percent")
        if isinstance(used, int | float) and not isinstance(used, bool):
            yield Window(used, count(window, "window_minutes"), count(window, "resets_at"))
