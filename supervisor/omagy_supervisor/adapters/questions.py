"""The questions of a repository, as files (contract section 8): ``.omagy/state/{scope}/questions/<id>.json``.

A record is written before anybody is shown it. Answers and cancels take turns under a lock: of two people who answer
at once, one is told that the other was first.
"""

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from omagy_autoresearch.errors import ContractError, StorageError
from omagy_autoresearch.mode_scope import parse_session_id
from omagy_autoresearch.prompt import Asked
from omagy_autoresearch.question_record import question_of, record_of
from omagy_autoresearch.questions import Answer, Question, Status, fit_id
from omagy_autoresearch.strict_json import JsonProblem, loads_object
from omagy_supervisor.files import cannot_write, is_folder, make_own_folder, read_regular, write_atomic

_LIMIT = 1 << 20
_READABLE = "make it a folder that you can read"
_TRIES = 250  # 20 ms apart: whoever holds the lock writes one small file


class QuestionFiles:
    """Implements ports.Questions. Files that hold no question are passed over, whatever they are."""

    def __init__(self, state_folder: Path) -> None:
        self.folder = state_folder

    # -- what a run needs

    def open_question(self, run_id: str) -> str | None:
        return next((one.id for one in self._of(run_id) if one.status is Status.OPEN), None)

    def text(self, question_id: str) -> str:
        """The words of the question ``question_id``."""
        with contextlib.suppress(ContractError):
            return self.find(question_id).words
        return ""

    def answers(self, run_id: str) -> tuple[Asked, ...]:
        return tuple(asked for question in self._of(run_id) for asked in _told(question))

    # -- what people and askers need

    def all(self) -> list[Question]:
        """All questions, oldest first."""
        return sorted((question for _, _, question in self._files()), key=lambda one: (one.created_at, one.id))

    def find(self, question_id: str) -> Question:
        """Raises ContractError when there is no such question."""
        return self._find(question_id)[2]

    def path(self, question_id: str) -> Path:
        """Where the record of ``question_id`` lies. Raises ContractError."""
        return self._find(question_id)[0]

    def add(self, question: Question) -> Question:
        """Record ``question`` unless its id is taken; returns what stands there. Raises OmagyError."""
        folder = self._scope(question.session_id)
        with self._claimed(folder):
            path = folder / f"{question.id}.json"
            standing = _read(path)
            if standing is not None:
                return standing[1]
            if os.path.lexists(path):
                raise StorageError(f"{path} is in the way: it is no question", "look at it, and move it away")
            _write(path, record_of(question))
        return question

    def answer(self, question_id: str, answers: tuple[Answer, ...], at: datetime) -> Question:
        """Record the ``answers`` of an open question. Raises ContractError for one that is not open any more."""
        return self._close(question_id, at, Status.ANSWERED, answers)

    def cancel(self, question_id: str, at: datetime) -> Question:
        """Withdraw an open question. Raises ContractError for one that is not open any more."""
        return self._close(question_id, at, Status.CANCELLED)

    def expire(self, question_id: str, at: datetime) -> Question:
        """Close a question whose time is over; one that was answered in the last moment stays answered."""
        with contextlib.suppress(ContractError):
            return self._close(question_id, at, Status.EXPIRED)
        return self.find(question_id)

    def _close(self, question_id: str, at: datetime, status: Status, answers: tuple[Answer, ...] = ()) -> Question:
        with self._claimed(self.path(question_id).parent):
            path, record, question = self._find(question_id)
            if question.status is not Status.OPEN:
                raise _not_open(question)
            late = question.overdue(at)
            closed = replace(
                question,
                status=Status.EXPIRED if late else status,
                answers=() if late else answers,
                answered_at=at.isoformat(timespec="milliseconds"),
            )
            # Keys that are not ours stay: the record may be another tool's, or a newer version's.
            _write(path, {**record, **record_of(closed)})
        if closed.status is not status:
            raise _not_open(closed)
        return closed

    # -- files

    def _scope(self, session_id: str | None) -> Path:
        session = parse_session_id(session_id)
        return (self.folder / session if session else self.folder) / "questions"

    @contextlib.contextmanager
    def _claimed(self, folder: Path) -> Iterator[None]:
        """Alone with the questions in ``folder``, which is made where it is missing. Raises StorageError."""
        for place in dict.fromkeys((self.folder, folder.parent, folder)):
            make_own_folder(place)
        with _locked(folder):
            yield

    def _is_own(self, folder: Path) -> bool:
        """Whether nobody put a link in the place of ``folder``, or of the session's folder around it."""
        return not any(place.is_symlink() for place in (folder, folder.parent) if place != self.folder)

    def _find(self, question_id: str) -> tuple[Path, dict[str, Any], Question]:
        for found in self._files(question_id) if fit_id(question_id) else ():
            return found
        raise ContractError(f"there is no question {question_id}", "see what there is: omagy question list")

    def _of(self, run_id: str) -> Iterator[Question]:
        return (question for question in self.all() if question.run_id == run_id)

    def _files(self, name: str = "*") -> Iterator[tuple[Path, dict[str, Any], Question]]:
        for path in self._paths(name):
            found = _read(path) if self._is_own(path.parent) else None
            if found is not None:
                yield path, *found

    def _paths(self, name: str) -> list[Path]:
        for place in (self.folder, self.folder / "questions"):
            if is_folder(place) and not os.access(place, os.R_OK | os.X_OK):
                raise StorageError(f"{place} cannot be looked into: Permission denied", _READABLE)
        places = (self.folder.glob(f"{place}questions/{name}.json") for place in ("", "*/"))
        try:
            return sorted(path for paths in places for path in paths)
        except OSError as error:
            raise StorageError(f"{self.folder} cannot be looked into: {error.strerror}", _READABLE) from None


def _not_open(question: Question) -> ContractError:
    told = "; ".join(answer.text for answer in question.answers)
    return ContractError(
        f"question {question.id} is not open: it is {question.status}" + (f", with: {told}" if told else ""),
        f"see it: omagy question show {question.id}",
    )


def _told(question: Question) -> Iterator[Asked]:
    """What a later session is told of ``question``; nothing while it is open."""
    if question.status is Status.ANSWERED and len(question.answers) == len(question.prompts):
        for prompt, answer in zip(question.prompts, question.answers, strict=True):
            yield Asked(prompt.question, answer.text)
    elif question.status is Status.ANSWERED:
        yield Asked(question.words, "; ".join(answer.text for answer in question.answers))
    elif question.status is not Status.OPEN:
        yield Asked(question.words, None)


def _read(path: Path) -> tuple[dict[str, Any], Question] | None:
    """The question in ``path``; None for whatever else somebody put there."""
    try:
        raw = read_regular(path, _LIMIT)
        record = loads_object(raw) if raw is not None and len(raw) <= _LIMIT else {}
    except (OSError, ValueError, JsonProblem):
        return None
    question = question_of(record)
    return (record, question) if question is not None and question.id == path.stem else None


def _write(path: Path, record: dict[str, Any]) -> None:
    write_atomic(path, json.dumps(record, indent=2, ensure_ascii=False).encode() + b"\n")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone with the questions in ``folder``. Raises StorageError."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        for _ in range(_TRIES):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            threading.Event().wait(0.02)
        else:
            raise StorageError(f"{folder} is held by another program", "try again")
        yield
    finally:
        os.close(fd)
