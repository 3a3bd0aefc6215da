"""The candidate artifact: the file in which a session says what it made (contract section 4)."""

import json
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from omagy_autoresearch.lines import one_line
from omagy_autoresearch.strict_json import JsonProblem, loads_object

SIZE_LIMIT = 64 * 1024
_TEXT_LIMIT = 2000
_NOTES_LIMIT = 20


class CandidateStatus(StrEnum):
    CANDIDATE = "candidate"
    NOOP = "noop"
    ABORT = "abort"
    INTERRUPTED = "interrupted"


class Candidate(Struct, frozen=True):
    """What a session says of itself. Nothing in it is believed before git has confirmed it."""

    status: CandidateStatus
    candidate_commit: str | None
    base_commit: str
    description: str
    notes: tuple[str, ...] = ()
    created_at: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


class Malformed(Struct, frozen=True):
    """An artifact that cannot be read, and why."""

    reason: str


def parse_candidate(raw: bytes) -> Candidate | Malformed:
    """The artifact in ``raw``; every way of being wrong is a Malformed with a reason, never an exception."""
    try:
        data = loads_object(raw)
        return _candidate(data)
    except (JsonProblem, _WrongFieldError) as problem:
        return Malformed(str(problem))


class _WrongFieldError(Exception):
    pass


def _candidate(data: dict[str, Any]) -> Candidate:
    known = {"status", "candidate_commit", "base_commit", "description", "notes", "created_at"}
    status = _status(data.get("status"))
    commit = data.get("candidate_commit")
    if commit is not None and not isinstance(commit, str):
        raise _WrongFieldError("candidate_commit is neither a string nor null")
    if status is CandidateStatus.CANDIDATE and not commit:
        raise _WrongFieldError("status is candidate, but candidate_commit names no commit")
    return Candidate(
        status=status,
        candidate_commit=commit or None,
        base_commit=_text(data, "base_commit", required=True),
        description=one_line(_text(data, "description", required=True)),
        notes=_notes(data.get("notes", [])),
        created_at=_time(data),
        extra=_bounded({key: value for key, value in data.items() if key not in known}),
    )


def _status(value: object) -> CandidateStatus:
    try:
        return CandidateStatus(value)  # type: ignore[arg-type]
    except ValueError:
        raise _WrongFieldError(
            f"status is {_shown(value)}; it must be candidate, noop, abort or interrupted"
        ) from None


def _text(data: dict[str, Any], key: str, *, required: bool) -> str:
    value = data.get(key)
    if isinstance(value, str):
        return value[:_TEXT_LIMIT]
    if value is None and not required:
        return ""
    raise _WrongFieldError(f"{key} is missing" if value is None else f"{key} is not a string")


def _notes(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(note, str) for note in value):
        raise _WrongFieldError("notes is not a list of strings")
    return tuple(note[:_TEXT_LIMIT] for note in value[:_NOTES_LIMIT])


def _time(data: dict[str, Any]) -> str:
    value = _text(data, "created_at", required=True)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise _WrongFieldError(f"created_at is {_shown(value)}; it must be an ISO time") from None
    return value


def _bounded(extra: dict[str, Any]) -> dict[str, Any]:
    """``extra`` as long as it is small: a record must not grow because an agent was talkative."""
    return extra if len(json.dumps(extra)) <= _TEXT_LIMIT else {"dropped": "extra fields over 2,000 characters"}


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "…"
