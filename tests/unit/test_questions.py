"""Questions of sessions, as files that anybody may have written."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from omagy_autoresearch.prompt import Answer
from omagy_supervisor.adapters.questions import QuestionFiles


def _write(folder: Path, name: str, **record: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(record))
    return path


def test_an_open_question_of_a_run_is_found_in_every_scope(tmp_path: Path) -> None:
    """The root's questions and those of a session count alike, the first by its name first."""
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
        {"id": "q", "run_id": "r"},
        {"id": "q", "status": "open"},
        {"run_id": "r", "status": "open"},
        {"id": "", "run_id": "r", "status": "open"},
    ],
)
def test_other_questions_stop_no_run(tmp_path: Path, record: dict[str, Any]) -> None:
    """Only an open question of this run, with an id to answer it by, counts."""
    _write(tmp_path / "questions", "q", **record)
    assert QuestionFiles(tmp_path).open_question("r") is None


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([{"answer": "yes"}], "yes"),
        ([{"answer": "a"}, {"answer": "b"}], "a; b"),
        (["plain"], "plain"),
        ([{"other": 1}], "{'other': 1}"),
        ([], ""),
        (None, ""),
        ("yes", ""),
    ],
)
def test_answers_reach_the_next_session(tmp_path: Path, answers: Any, text: str) -> None:
    """Every form in which answers are recorded is read."""
    _write(tmp_path / "questions", "q", id="q", run_id="r", status="answered", question="A?", answers=answers)
    _write(tmp_path / "questions", "p", id="p", run_id="other", status="answered", question="B?", answers=["x"])
    assert QuestionFiles(tmp_path).answers("r") == (Answer("A?", text),)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 200_000, b'{"id": "\\ud800", "run_id": "r", "status": "open"}']
)
def test_a_damaged_question_hides_no_other(tmp_path: Path, raw: bytes) -> None:
    """Files that hold no question are passed over, whatever is in them."""
    _write(tmp_path / "questions", "q9", id="q9", run_id="r", status="open", question="A?")
    (tmp_path / "questions/q0.json").write_bytes(raw)
    assert QuestionFiles(tmp_path).open_question("r") == "q9"


@pytest.mark.timeout(20)
def test_what_is_no_file_is_no_question(tmp_path: Path) -> None:
    """A pipe in a question's place does not block the supervisor, and a folder is not read."""
    _write(tmp_path / "questions", "q9", id="q9", run_id="r", status="open", question="A?")
    os.mkfifo(tmp_path / "questions/q0.json")
    (tmp_path / "questions/q1.json").mkdir()
    (tmp_path / "questions/q2.json").symlink_to("/dev/zero")
    assert QuestionFiles(tmp_path).open_question("r") == "q9"
