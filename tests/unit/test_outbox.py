"""Questions in the outbox of a session, which the session may have filled with anything."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.ports import RUN_ID, FakeStops, Machine, a_machine, a_world
from fakes.workspace import PATIENCE_S
from omagy_autoresearch.asking import parse_request
from omagy_autoresearch.questions import Prompt, Question, Status
from omagy_supervisor.agents import SessionSpec
from omagy_supervisor.outbox import leave_question, take_up_questions
from omagy_supervisor.sessions import session_spec
from omagy_supervisor.world import World


class Session:
    """One session of a run, whose outbox a test fills."""

    def __init__(self, root: Path) -> None:
        self.machine: Machine = a_machine(root, {})
        run = self.machine.load()
        self.world: World = a_world(self.machine, run, lambda _: None, FakeStops(self.machine))
        self.spec: SessionSpec = session_spec(self.world, run.state.plan, 3, 2, "b" * 40)
        self.folder = self.spec.outbox / "questions"

    def leaves(self, name: str, data: Any) -> Path:
        self.folder.mkdir(exist_ok=True)
        path = self.folder / name
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return path

    def ends(self) -> list[Question]:
        take_up_questions(self.world, self.spec)
        return list(self.machine.asked.values())


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_what_a_session_asks_is_recorded_as_its_own(session: Session) -> None:
    """With run, iteration and attempt; the id is the one that its asker was told."""
    request = parse_request({"question": "Which?", "options": ["A", "B"], "timeout": "1m", "source": "me"})
    told = leave_question(session.spec.candidate_file, request)
    (asked,) = session.ends()
    assert (asked.id, asked.status, asked.prompts) == (told, Status.OPEN, request.prompts)
    assert (asked.run_id, asked.iteration, asked.attempt, asked.source) == (RUN_ID, 3, 2, "me")
    assert asked.expires_at is None
    assert "the session asks: Which?" in session.machine.notes[-1]


def test_taking_up_again_changes_nothing(session: Session) -> None:
    """A supervisor that died after it had recorded a question finds it, answered or not."""
    session.leaves("a.json", {"question": "Which?"})
    (asked,) = session.ends()
    answered = Question(asked.id, asked.prompts, Status.ANSWERED, run_id=RUN_ID, iteration=3, attempt=2)
    session.machine.asked[asked.id] = answered
    assert session.ends() == [answered]


def test_the_same_question_twice_is_one(session: Session) -> None:
    session.leaves("a.json", {"question": "Which?"})
    session.leaves("b.json", {"questions": [{"question": "Which?"}]})
    assert len(session.ends()) == 1


@pytest.mark.parametrize(
    "data",
    [
        {"question": "Which?", "status": "answered", "answers": [{"answer": "mine"}]},
        {"question": "Which?", "answer": "mine"},
        {"question": "Which?", "run_id": "other"},
        {"question": "Which?", "id": "q-1"},
        {"id": "q-1", "run_id": "other", "status": "open", "question": "Which?"},
        {"question": "Which?", "frobnicate": 1},
        {"question": ""},
        "",
        "{",
        "[]",
        '{"question": "\\ud800"}',
        '{"question": "' + "x" * 300_000 + '"}',
        "[" * 100_000,
    ],
)
def test_no_session_answers_itself_or_speaks_for_another(session: Session, data: Any) -> None:
    """Whatever is no plain request is left out, with a note that says why."""
    session.leaves("a.json", data)
    assert session.ends() == []
    assert "a question of the session cannot be" in session.machine.notes[-1]


def test_a_question_with_the_id_of_another_is_left_out(session: Session) -> None:
    """Nothing that stands is changed, or taken for this session's."""
    session.leaves("a.json", {"question": "Which?"})
    (asked,) = session.ends()
    other = Question(asked.id, (Prompt("Another's?"),), run_id="other")
    session.machine.asked[asked.id] = other
    assert session.ends() == [other]
    assert "has the id of another" in session.machine.notes[-1]


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _foreign(path: Path) -> None:
    theirs = path.parents[2] / "theirs.json"
    theirs.write_text('{"question": "Not mine?"}')
    path.symlink_to(theirs)


def _folder(path: Path) -> None:
    path.mkdir()


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("plant", [_pipe, _loop, _foreign, _folder, _endless])
def test_what_is_no_file_is_not_read(session: Session, plant: Callable[[Path], None]) -> None:
    session.leaves("z.json", {"question": "Which?"})
    plant(session.folder / "a.json")
    assert [asked.words for asked in session.ends()] == ["Which?"]
    assert "cannot be read (a.json)" in session.machine.notes[0]


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("plant", [_pipe, _loop, _folder, lambda path: path.write_text("x")])
def test_a_folder_of_questions_that_is_none_is_not_read(session: Session, plant: Callable[[Path], None]) -> None:
    plant(session.folder)
    assert session.ends() == []


def test_a_link_in_the_place_of_the_folder_is_not_followed(session: Session, tmp_path: Path) -> None:
    """The questions of others stay theirs."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/a.json").write_text('{"question": "Not mine?"}')
    session.folder.symlink_to(tmp_path / "theirs")
    assert session.ends() == []
    assert "is not read" in session.machine.notes[-1]


def test_a_thousand_questions_are_too_many(session: Session) -> None:
    """Five of them are asked, and two notes say what became of the others."""
    for number in range(1200):
        session.leaves(f"{number:04}.json", {"question": f"Question {number}?"})
    assert len(session.ends()) == 5
    assert len(session.machine.notes) == 7


def test_a_thousand_files_of_garbage_do_not_fill_the_log(session: Session) -> None:
    for number in range(1200):
        session.leaves(f"{number:04}.json", "garbage")
    assert session.ends() == []
    assert len(session.machine.notes) == 21
