"""Questions as files that anybody may have written."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fakes.workspace import PATIENCE_S
from omagy_autoresearch.errors import ContractError, StorageError
from omagy_autoresearch.prompt import Asked
from omagy_autoresearch.questions import Answer, AnswerKind, Prompt, Question, Status
from omagy_supervisor.adapters.questions import QuestionFiles

DATA = Path(__file__).parents[1] / "data"
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
YES = Answer(AnswerKind.OTHER, "yes", ("Other",), ("yes",), "yes")
NO = Answer(AnswerKind.OTHER, "no", ("Other",), ("no",), "no")


def _write(folder: Path, name: str, **record: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(record))
    return path


def _ask(files: QuestionFiles, name: str = "q-1", **changes: Any) -> Question:
    (files.folder / "questions").mkdir(parents=True, exist_ok=True)
    return files.add(Question(name, (Prompt("Really?"),), **changes))


# -- what a run needs


def test_an_open_question_of_a_run_is_found_in_every_scope(tmp_path: Path) -> None:
    """The root's questions and those of a session count alike."""
    questions = QuestionFiles(tmp_path)
    assert questions.open_question("r") is None
    _write(tmp_path / "session-1/questions", "q2", id="q2", run_id="r", status="open", question="B?")
    assert questions.open_question("r") == "q2"
    _write(tmp_path / "questions", "q1", id="q1", run_id="r", status="open", question="A?")
    assert questions.open_question("r") == "q1"
    assert (questions.text("q1"), questions.text("q2"), questions.text("q3")) == ("A?", "B?", "")


@pytest.mark.parametrize(
    "record",
    [
        {"id": "q", "run_id": "other", "status": "open"},
        {"id": "q", "run_id": "r", "status": "answered"},
        {"id": "q", "run_id": "r", "status": "cancelled"},
        {"id": "q", "run_id": "r", "status": "expired"},
        {"id": "q", "run_id": "r", "status": "frobnicated"},
        {"id": "q", "run_id": "r"},
        {"id": "q", "status": "open"},
        {"run_id": "r", "status": "open"},
        {"id": "", "run_id": "r", "status": "open"},
        {"id": "another", "run_id": "r", "status": "open"},
        {"id": "../q", "run_id": "r", "status": "open"},
    ],
)
def test_other_questions_stop_no_run(tmp_path: Path, record: dict[str, Any]) -> None:
    """Only an open question of this run, with an id to answer it by, counts."""
    _write(tmp_path / "questions", "q", question="A?", **record)
    assert QuestionFiles(tmp_path).open_question("r") is None


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([{"answer": "yes"}], "yes"),
        ([{"answer": "a"}, {"answer": "b"}], "a; b"),
        (["plain"], "plain"),
        ([{"other": 1}], ""),
        ([], ""),
        (None, ""),
        ("yes", "yes"),
    ],
)
def test_answers_reach_the_next_session(tmp_path: Path, answers: Any, text: str) -> None:
    """Every form in which answers are recorded is read."""
    _write(tmp_path / "questions", "q", id="q", run_id="r", status="answered", question="A?", answers=answers)
    _write(tmp_path / "questions", "p", id="p", run_id="other", status="answered", question="B?", answers=["x"])
    assert QuestionFiles(tmp_path).answers("r") == (Asked("A?", text),)


def test_each_part_of_a_batch_reaches_the_next_session(tmp_path: Path) -> None:
    """A withdrawn question is told as such, an open one not at all."""
    files = QuestionFiles(tmp_path)
    files.add(Question("q-1", (Prompt("A?"), Prompt("B?")), run_id="r", created_at="2026-01-31T12:00:00+00:00"))
    files.answer("q-1", (YES, NO), NOW)
    _ask(files, "q-2", run_id="r", created_at="2026-01-31T12:00:01+00:00")
    files.cancel("q-2", NOW)
    _ask(files, "q-3", run_id="r", created_at="2026-01-31T12:00:02+00:00")
    assert files.answers("r") == (Asked("A?", "yes"), Asked("B?", "no"), Asked("Really?", None))


# -- files of strangers


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 200_000, b'{"id": "\\ud800", "run_id": "r", "status": "open"}']
)
def test_a_damaged_question_hides_no_other(tmp_path: Path, raw: bytes) -> None:
    """Files that hold no question are passed over, whatever is in them."""
    _write(tmp_path / "questions", "q9", id="q9", run_id="r", status="open", question="A?")
    (tmp_path / "questions/q0.json").write_bytes(raw)
    assert QuestionFiles(tmp_path).open_question("r") == "q9"


@pytest.mark.timeout(PATIENCE_S)
def test_what_is_no_file_is_no_question(tmp_path: Path) -> None:
    """A pipe in a question's place does not block the supervisor, and a folder is not read."""
    _write(tmp_path / "questions", "q9", id="q9", run_id="r", status="open", question="A?")
    os.mkfifo(tmp_path / "questions/q0.json")
    (tmp_path / "questions/q1.json").mkdir()
    (tmp_path / "questions/q2.json").symlink_to("/dev/zero")
    assert QuestionFiles(tmp_path).open_question("r") == "q9"


def test_a_record_of_an_older_version_is_read(tmp_path: Path) -> None:
    """Its answers were plain words beside the question."""
    (tmp_path / "questions").mkdir()
    (tmp_path / "questions/q-1.json").write_bytes((DATA / "question-2026-01.json").read_bytes())
    (found,) = QuestionFiles(tmp_path).all()
    assert (found.status, found.words, found.answers[0].text) == (Status.ANSWERED, "Which of the two?", "the second")
    assert [option.label for option in found.prompts[0].options] == ["the first", "the second"]


def test_keys_of_others_stay_in_a_record(tmp_path: Path) -> None:
    """An answer changes what is ours of it, and nothing else."""
    path = _write(tmp_path / "questions", "q", id="q", status="open", question="A?", theirs={"kept": [1]})
    QuestionFiles(tmp_path).answer("q", (YES,), NOW)
    record = json.loads(path.read_text())
    assert (record["theirs"], record["status"]) == ({"kept": [1]}, "answered")


# -- taking turns


def test_a_question_is_answered_once(tmp_path: Path) -> None:
    """Whoever comes second is told what the first said; nothing of it changes."""
    files = QuestionFiles(tmp_path)
    _ask(files)
    files.answer("q-1", (YES,), NOW)
    before = files.path("q-1").read_bytes()
    with pytest.raises(ContractError, match="q-1 is not open: it is answered, with: yes"):
        files.answer("q-1", (NO,), NOW)
    with pytest.raises(ContractError, match="q-1 is not open"):
        files.cancel("q-1", NOW)
    assert files.expire("q-1", NOW).answers == (YES,)
    assert files.path("q-1").read_bytes() == before


def test_a_question_is_recorded_once(tmp_path: Path) -> None:
    """The second with the same id finds the first, whatever became of it, and changes nothing."""
    files = QuestionFiles(tmp_path)
    _ask(files, run_id="r")
    answered = files.answer("q-1", (YES,), NOW)
    assert _ask(files, run_id="other") == answered
    assert files.all() == [answered]


def test_what_stands_in_the_place_of_a_question_is_not_overwritten(tmp_path: Path) -> None:
    """A link or somebody's file is left alone, and named."""
    files = QuestionFiles(tmp_path)
    (tmp_path / "questions").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "questions/q-1.json").symlink_to(victim)
    with pytest.raises(StorageError, match="in the way"):
        _ask(files)
    assert victim.read_text() == "mine"


def test_an_answer_after_the_time_is_over_is_refused(tmp_path: Path) -> None:
    """Whoever notices first closes the question as expired."""
    files = QuestionFiles(tmp_path)
    _ask(files, expires_at=(NOW + timedelta(seconds=10)).isoformat())
    with pytest.raises(ContractError, match="it is expired"):
        files.answer("q-1", (YES,), NOW + timedelta(seconds=10))
    assert files.find("q-1").status is Status.EXPIRED
    assert files.find("q-1").answers == ()


@pytest.mark.parametrize(
    "session", ["../x", "a/b", "", ".", "-x", "questions", "x" * 129, "ä", "a.b", "Questions", "sessions", "start-1"]
)
def test_a_session_id_that_can_name_no_scope_is_refused(tmp_path: Path, session: str) -> None:
    """Questions and modes of a session lie in one folder, so its names are the same."""
    with pytest.raises(ContractError, match=r"cannot name a scope|is a reserved name"):
        _ask(QuestionFiles(tmp_path), session_id=session)
    assert not list(tmp_path.rglob("q-1.json"))


@pytest.mark.parametrize(("link", "session"), [("s1", "s1"), ("s1/questions", "s1"), ("questions", None)])
def test_a_link_in_a_folders_place_is_not_followed(tmp_path: Path, link: str, session: str | None) -> None:
    """Nothing is written where it leads, and what lies there is no question of this repository."""
    elsewhere, planted = tmp_path / "elsewhere", tmp_path / "state" / link
    for folder in (elsewhere, elsewhere / "questions"):
        _write(folder, "q-2", id="q-2", status="open", question="B?")
    before = sorted(elsewhere.rglob("*"))
    planted.parent.mkdir(parents=True)
    planted.symlink_to(elsewhere)
    files = QuestionFiles(tmp_path / "state")
    with pytest.raises(StorageError, match="not a folder of its own"):
        _ask(files, session_id=session)
    assert files.all() == []
    with pytest.raises(ContractError, match="there is no question"):
        files.answer("q-2", (YES,), NOW)
    assert sorted(elsewhere.rglob("*")) == before


def test_through_a_link_to_the_state_nothing_is_written(tmp_path: Path) -> None:
    """What lies there can be read, as modes can."""
    elsewhere, state = tmp_path / "elsewhere", tmp_path / "state"
    _ask(QuestionFiles(elsewhere))
    state.symlink_to(elsewhere)
    before = {path: path.read_bytes() for path in elsewhere.rglob("*.json")}
    files = QuestionFiles(state)
    assert files.find("q-1").status is Status.OPEN
    refused = "not a folder of its own, but a link"
    with pytest.raises(StorageError, match=refused):
        _ask(files, "q-2")
    with pytest.raises(StorageError, match=refused):
        files.answer("q-1", (YES,), NOW)
    with pytest.raises(StorageError, match=refused):
        files.cancel("q-1", NOW)
    with pytest.raises(StorageError, match=refused):
        files.expire("q-1", NOW)
    assert {path: path.read_bytes() for path in elsewhere.rglob("*.json")} == before
