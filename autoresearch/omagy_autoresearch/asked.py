"""What in a record proves that a person was asked a blocking question (contract sections 5 and 8).

Proof is machine-readable: a question's id together with where the question stands. Words that look like a question
prove nothing, for a model can write them without asking anybody. Four forms count:

- ``question_id``, with ``question_status`` where there is one
- ``question``: an object with ``id`` or ``question_id``, and ``status``
- ``questions``: a list of such objects
- ``question_enforcement``: an object with ``obligation_id`` or ``question_id``, and ``status``, as siblings write it
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from omagy_autoresearch.lines import one_line

_OPEN = ("open", "asked", "pending", "prompting")
_ANSWERED = ("answered", "satisfied")


class Asked(NamedTuple):
    """A question that was asked; ``open`` while it waits for its answer."""

    id: str
    open: bool
    text: str = ""


def question_of(record: Mapping[str, object]) -> Asked | None:
    """The question that ``record`` proves was asked, an open one before all others; None without proof.

    A question that was withdrawn, failed to be shown, or says that it does not block proves nothing.
    """
    found = questions_of(record)
    return next((question for question in found if question.open), found[0] if found else None)


def questions_of(record: Mapping[str, object]) -> tuple[Asked, ...]:
    """Every question that ``record`` proves was asked, as it stood when the record was written."""
    return tuple(question for question in _forms(record) if question is not None)


def _forms(record: Mapping[str, object]) -> Iterator[Asked | None]:
    yield _named(record)
    questions = record.get("questions")
    for value in (record.get("question"), *(questions if isinstance(questions, list | tuple) else ())):
        if isinstance(value, Mapping):
            yield _stands(value, _text(value, "id", "question_id"), value.get("status"))
    obligation = record.get("question_enforcement")
    if isinstance(obligation, Mapping):
        yield _stands(obligation, _text(obligation, "question_id", "obligation_id"), obligation.get("status"))


def _named(record: Mapping[str, object]) -> Asked | None:
    """An id is given to a question when it is recorded; that it is still open needs a word of its own."""
    question_id, status = _text(record, "question_id"), record.get("question_status")
    if question_id and status is None and not isinstance(record.get("question"), Mapping):
        return Asked(question_id, open=False, text=_text(record, "question"))
    return _stands(record, question_id, status)


def _stands(form: Mapping[str, object], question_id: str, status: object) -> Asked | None:
    word = status.strip().lower() if isinstance(status, str) else ""
    if not question_id or word not in (*_OPEN, *_ANSWERED) or form.get("blocking") is False:
        return None
    return Asked(question_id, open=word in _OPEN, text=_text(form, "question", "text"))


def _text(form: Mapping[str, object], *names: str) -> str:
    found = (form.get(name) for name in names)
    return next((one_line(value) for value in found if isinstance(value, str) and value.strip()), "")
