"""Telling from a session's records how it ended.

An exit status alone says little: Codex exits 0 after doing nothing and 1 for a dozen unlike reasons. Its own
name for the cause decides first, then its words, then the status.
"""

import re
import signal
from datetime import datetime

from omagy_autoresearch.lines import one_line, visible
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind
from omagy_supervisor.adapters.codex.jsonl import child, parse_object, string
from omagy_supervisor.adapters.codex.records import SessionRecords
from omagy_supervisor.adapters.codex.resets import reset_moment
from omagy_supervisor.agents import SessionExit

_LOGIN_STATUSES = (401, 403)
_REFUSED_TO_START = (1, 2, 126, 127)
_DETAIL_CHARS = 300

_CAUSES = {
    "usage_limit_exceeded": EndingKind.USAGE_LIMIT,
    "unauthorized": EndingKind.NOT_LOGGED_IN,
    "http_connection_failed": EndingKind.UNREACHABLE,
    "response_stream_connection_failed": EndingKind.UNREACHABLE,
    "response_stream_disconnected": EndingKind.UNREACHABLE,
    "response_too_many_failed_attempts": EndingKind.UNREACHABLE,
    "internal_server_error": EndingKind.UNREACHABLE,
    "server_overloaded": EndingKind.UNREACHABLE,
}


def _any_of(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


# Sought in this order in the words of a failure whose cause Codex calls "other" or does not name.
_WORDS = (
    (
        EndingKind.MISCONFIGURED,
        _any_of("missing environment variable", r"model\b.{0,80}\b(?:not supported|not exist)"),
    ),
    (
        EndingKind.USAGE_LIMIT,
        _any_of("usage limit", "quota exceeded", "exceeded your (?:current )?quota", "out of credits"),
    ),
    (
        EndingKind.NOT_LOGGED_IN,
        _any_of(r"status 40[13]\b", "unauthorized", "not logged in", "(?:log|sign) ?in again", "access token"),
    ),
    (
        EndingKind.UNREACHABLE,
        _any_of(
            "stream disconnected",
            "connection (?:failed|refused|reset|closed)",
            "error sending request",
            "timed out",
            "high demand",
            "at capacity",
            "overloaded",
            "retry limit",
            "rate limit",
            r"status (?:429|5\d\d)\b",
            "waiting for network",
        ),
    ),
)
# Lines of the error output that say nothing of why a session did not start.
_NOISE = re.compile(
    r"\s*(?:$|warning:|usage:|for more information|tip:|\d{4}-\d\d-\d\dT\S+\s+(?:WARN|INFO)\b)", re.IGNORECASE
)
_REASON = _any_of(r"\berror\b")
_REASON_LINES = 3


def diagnose(records: SessionRecords, ended: SessionExit, now: datetime) -> Diagnosis:
    """How a session that was neither stopped nor timed out by us came to its end (contract section 4)."""
    return Diagnosis(ending=_ending(records, ended, now), usage=records.usage, thread_id=records.thread_id)


def _ending(records: SessionRecords, ended: SessionExit, now: datetime) -> Ending:
    if ended.status == 0:
        return Ending(EndingKind.COMPLETED)
    words = _plain_message(records.message) or _reason(records.stderr)
    kind = _kind(records, ended, words)
    detail = one_line(words, _DETAIL_CHARS) or _how(ended)
    if kind is EndingKind.CRASHED and words:
        detail = one_line(f"{_how(ended)}: {words}", _DETAIL_CHARS)
    resets_at = reset_moment(records.windows, words, now) if kind is EndingKind.USAGE_LIMIT else None
    return Ending(kind, detail, resets_at)


def _kind(records: SessionRecords, ended: SessionExit, words: str) -> EndingKind:
    if _killed_by(ended):
        return EndingKind.CRASHED
    if records.http_status in _LOGIN_STATUSES:
        return EndingKind.NOT_LOGGED_IN
    if records.cause in _CAUSES:
        return _CAUSES[records.cause]
    spoken = next((kind for kind, pattern in _WORDS if pattern.search(words)), None)
    if spoken is not None:
        return spoken
    never_started = records.thread_id is None and ended.status in _REFUSED_TO_START
    explained = bool(words) or ended.status != 1
    return EndingKind.MISCONFIGURED if never_started and explained else EndingKind.CRASHED


def _plain_message(message: str) -> str:
    """``message``, or the one inside it: Codex passes a server's JSON answer on as it came."""
    answer = parse_object(message)
    return message if answer is None else string(child(answer, "error"), "message") or message


def _reason(stderr: str) -> str:
    """The lines of ``stderr`` that say why: from the first error on, without usage and log noise."""
    lines = [line for line in visible(stderr).splitlines() if not _NOISE.match(line)]
    first = next((position for position, line in enumerate(lines) if _REASON.search(line)), None)
    shown = lines[-_REASON_LINES:] if first is None else lines[first : first + _REASON_LINES]
    return " ".join(line.strip() for line in shown)


def _killed_by(ended: SessionExit) -> int | None:
    """The signal that ended the session; a wrapper reports it as 128 and more."""
    if ended.signal is not None:
        return ended.signal
    return ended.status - 128 if ended.status is not None and ended.status > 128 else None


def _how(ended: SessionExit) -> str:
    number = _killed_by(ended)
    if number is None:
        return "codex ended without a status" if ended.status is None else f"codex exited with status {ended.status}"
    try:
        return f"codex was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"codex was killed by signal {number}"
