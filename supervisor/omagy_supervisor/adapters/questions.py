"""Questions that sessions of a run asked the person (contract section 8), as far as the loop needs them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omagy_autoresearch.prompt import Answer

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

    def _of(self, run_id: str) -> Iterator[dict[str, Any]]:
        return (record for record in self._all() if record.get("run_id") == run_id and record.get("id"))

    def _all(self) -> Iterator[dict[str, Any]]:
        paths = [*self._folder.glob("questions/*.json"), *self._folder.glob("*/questions/*.json")]
        for path in sorted(paths):
            try:
                record = json.loads(path.read_bytes()[:_LIMIT])
            except (OSError, ValueError):
                continue
            if isinstance(record, dict):
                yield record


def _answer(record: dict[str, Any]) -> str:
    answers = record.get("answers")
    if not isinstance(answers, list):
        return ""
    return "; ".join(str(a.get("answer", a)) if isinstance(a, dict) else str(a) for a in answers)
