"""Questions that sessions of a run asked the person (contract section 8), as far as the loop needs them."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.prompt import Answer
from omagy_autoresearch.strict_json import JsonProblem, loads_object
from omagy_supervisor.files import read_regular, write_atomic

_LIMIT = 1 << 20


class QuestionFiles:
    """Implements ports.Questions on ``.omagy/state/{scope}/questions/<id>.json``."""

    def __init__(self, state_folder: Path) -> None:
        self._folder = state_folder

    def open_question(self, run_id: str) -> str | None:
        found = (record for record in self._of(run_id) if record.get("status") == "open")
        return next((str(record["id"]) for record in found), None)

    def text(self, question_id: str) -> str:
        """The words of the question ``question_id``."""
        return next((str(r.get("question", "")) for r in self._all() if r.get("id") == question_id), "")

    def answers(self, run_id: str) -> tuple[Answer, ...]:
        return tuple(
            Answer(str(record.get("question", "")), _answer(record))
            for record in self._of(run_id)
            if record.get("status") == "answered"
        )

    def records(self) -> list[dict[str, Any]]:
        """All questions, oldest first by their ids."""
        return [record for record in self._all() if record.get("id")]

    def answer(self, question_id: str, text: str, at: str) -> dict[str, Any]:
        """Record ``text`` as the answer to an open question, and return its record. Raises ContractError."""
        path, record = self._find(question_id)
        if record.get("status") != "open":
            raise ContractError(f"question {question_id} is not open: it is {record.get('status')}")
        answered = {"question": record.get("question", ""), "answer": text}
        record = {**record, "status": "answered", "answers": [answered], "answered_at": at}
        write_atomic(path, json.dumps(record, indent=2, ensure_ascii=False).encode() + b"\n")
        return record

    def _find(self, question_id: str) -> tuple[Path, dict[str, Any]]:
        for path, record in self._files():
            if record.get("id") == question_id:
                return path, record
        raise ContractError(f"there is no question {question_id}", "see what there is: omagy question list")

    def _of(self, run_id: str) -> Iterator[dict[str, Any]]:
        return (record for record in self._all() if record.get("run_id") == run_id and record.get("id"))

    def _all(self) -> Iterator[dict[str, Any]]:
        return (record for _, record in self._files())

    def _files(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        paths = [*self._folder.glob("questions/*.json"), *self._folder.glob("*/questions/*.json")]
        for path in sorted(paths):
            record = _record(path)
            if record is not None:
                yield path, record


def _record(path: Path) -> dict[str, Any] | None:
    """The question in ``path``; None for whatever else somebody put there."""
    with contextlib.suppress(OSError, ValueError, JsonProblem):
        return loads_object(read_regular(path, _LIMIT) or b"")
    return None


def _answer(record: dict[str, Any]) -> str:
    answers = record.get("answers")
    if not isinstance(answers, list):
        return ""
    return "; ".join(str(a.get("answer", a)) if isinstance(a, dict) else str(a) for a in answers)
