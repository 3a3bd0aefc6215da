"""The artifact in which a session says what it made."""

import json
from typing import Any

import msgspec
import pytest

from omagy_autoresearch.candidate import Candidate, CandidateStatus, Malformed, parse_candidate

COMMIT, BASE = "c" * 40, "b" * 40
SOUND: dict[str, Any] = {
    "status": "candidate",
    "candidate_commit": COMMIT,
    "base_commit": BASE,
    "description": "cache the parser",
    "notes": ["parsing is 80 % of the time"],
    "created_at": "2026-01-31T12:00:00Z",
}


def _parse(changes: dict[str, Any], *without: str) -> Candidate | Malformed:
    data = {key: value for key, value in {**SOUND, **changes}.items() if key not in without}
    return parse_candidate(json.dumps(data).encode())


def _sound(changes: dict[str, Any], *without: str) -> Candidate:
    found = _parse(changes, *without)
    assert isinstance(found, Candidate), found
    return found


def test_a_sound_artifact_is_read() -> None:
    """Every field of the contract arrives."""
    assert _sound({}) == Candidate(
        CandidateStatus.CANDIDATE,
        COMMIT,
        BASE,
        "cache the parser",
        ("parsing is 80 % of the time",),
        "2026-01-31T12:00:00Z",
    )


@pytest.mark.parametrize("status", ["noop", "abort", "interrupted"])
@pytest.mark.parametrize("commit", [None, "", COMMIT])
def test_other_statuses_need_no_commit(status: str, commit: str | None) -> None:
    """noop, abort and interrupted are sound with and without a commit."""
    found = _sound({"status": status, "candidate_commit": commit})
    assert found.status == status
    assert found.candidate_commit == (commit or None)
    assert _sound({"status": status}, "candidate_commit").candidate_commit is None


@pytest.mark.parametrize(
    "time",
    [
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00+09:00",
        "2026-01-31T12:00:00.123456",
        "2026-01-31 12:00",
        "20260131",
    ],
)
def test_every_iso_time_is_accepted(time: str) -> None:
    """Agents write ISO times in several ways."""
    assert _sound({"created_at": time}).created_at == time


_WRONG: list[tuple[str, str, list[Any]]] = [
    ("status", "status is ", ["done", "", "CANDIDATE", None, 1, True, [], {}, ["noop"]]),
    ("candidate_commit", "candidate_commit is neither", [1, True, [COMMIT], {}, 0]),
    ("candidate_commit", "names no commit", [None, ""]),
    ("base_commit", "base_commit is not a string", [1, False, [], {}]),
    ("description", "description is not a string", [1, False, [], {}]),
    ("notes", "notes is not a list of strings", [None, "x", 1, {}, [1], ["a", None]]),
    ("created_at", "created_at is ", ["", "yesterday", "2026-13-01", "12:00", 1, [], {}]),
]


@pytest.mark.parametrize(
    ("changes", "reason"), [({key: value}, reason) for key, reason, values in _WRONG for value in values]
)
def test_every_wrong_field_has_its_reason(changes: dict[str, Any], reason: str) -> None:
    """A field of the wrong kind makes the artifact malformed, and the reason names it."""
    found = _parse(changes)
    assert isinstance(found, Malformed)
    assert reason in found.reason
    assert len(found.reason) < 200


@pytest.mark.parametrize("key", ["status", "candidate_commit", "base_commit", "description", "created_at"])
def test_every_required_field_is_required(key: str) -> None:
    """An artifact without a required field is malformed, and the reason names the field."""
    found = _parse({}, key)
    assert isinstance(found, Malformed)
    assert key in found.reason


def test_notes_may_be_missing() -> None:
    """A session without anything to note is sound."""
    assert _sound({}, "notes").notes == ()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "it is not JSON"),
        (b"[]", "it is a list, not a JSON object"),
        (b"null", "it is null, not a JSON object"),
        (b"{", "it is not JSON"),
        (b"\xff", "it is not UTF-8"),
        (b'{"status": "noop", "status": "candidate"}', "'status' stands in it twice"),
        (b'{"x": NaN}', "NaN is not a number"),
        (b'{"description": "\\ud800"}', "half a character"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_object_is_malformed(raw: bytes, reason: str) -> None:
    """Bytes that are no JSON object are told as what they are."""
    found = parse_candidate(raw)
    assert isinstance(found, Malformed)
    assert reason in found.reason


def test_a_long_status_is_cut_in_its_reason() -> None:
    """A reason stays short, whatever stands in the field."""
    found = _parse({"status": "x" * 5000})
    assert isinstance(found, Malformed)
    assert len(found.reason) < 150


def test_texts_are_bounded() -> None:
    """A talkative session cannot make the records grow: texts, notes and extra fields have limits."""
    found = _sound({"description": "d" * 9999, "notes": ["n" * 9999] * 99, "more": "m" * 9999})
    assert len(found.description) == 2000
    assert len(found.notes) == 20
    assert {len(note) for note in found.notes} == {2000}
    assert found.extra == {"dropped": "extra fields over 2,000 characters"}


def test_extra_fields_are_kept() -> None:
    """What the contract does not know stays with the candidate."""
    extra = {"risk": "low", "files": [1, {"a": None}]}
    assert _sound(extra).extra == extra


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("two\nlines\tand\r\n more", "two lines and more"),
        ("\u2028x\x85y\x0cz", "x y z"),
        ("\x1b]0;title\x07red \x1b[31mtext\x00", "red text"),
        ("a\u202egnp.exe", "agnp.exe"),
        ("café 👩‍🔬", "café 👩‍🔬"),
    ],
)
def test_a_description_is_one_line_without_control_characters(text: str, line: str) -> None:
    """A description goes to terminals and tables: it cannot break a line or steer a terminal."""
    assert _sound({"description": text}).description == line


@pytest.mark.parametrize("extra", [{"n": 10**290}, {"n": -(2**63) - 1}, {"f": 1e308}, {"t": "é\u0000\u2028"}])
def test_what_is_parsed_can_be_recorded_and_read_back(extra: dict[str, Any]) -> None:
    """A candidate survives the journal's format unchanged."""
    found = _sound(extra)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Candidate) == found
