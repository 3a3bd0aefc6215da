"""The record of a question: the JSON object in its file, written in one form and read in any (contract section 8).

Whatever an asker wrote is cleaned on the way out of a record as it was on the way in: nothing in a question can be
more than text in the person's terminal. What is no question is None, never an error.
"""

from collections.abc import Mapping
from typing import Any

from omagy_autoresearch.lines import one_line, plain_text
from omagy_autoresearch.questions import (
    ANSWER_LIMIT,
    LABEL_LIMIT,
    OPTIONS_LIMIT,
    OTHER,
    PROMPTS_LIMIT,
    QUESTION_LIMIT,
    VALUE_LIMIT,
    Answer,
    AnswerKind,
    Option,
    Prompt,
    Question,
    Status,
    fit_id,
)

SCHEMA_VERSION = 1


def record_of(question: Question) -> dict[str, Any]:
    """The JSON object that a question's file holds: flat for one prompt, with ``questions`` for several."""
    prompts = list(map(prompt_record, question.prompts))
    several = len(prompts) > 1 or "id" in prompts[0]
    facts = {
        "source": question.source,
        "run_id": question.run_id,
        "session_id": question.session_id,
        "iteration": question.iteration,
        "attempt": question.attempt,
        "created_at": question.created_at,
        "expires_at": question.expires_at,
        "answered_at": question.answered_at,
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "id": question.id,
        "status": str(question.status),
        **{key: value for key, value in facts.items() if value not in (None, "")},
        **({"header": question.header} if question.header else {}),
        **({"question": question.words, "questions": prompts} if several else prompts[0]),
        "answers": answers_of(question),
    }


def prompts_of(question: Question) -> list[dict[str, Any]]:
    """The prompts as JSON; one without a name of its own is called by its number."""
    return [
        {**prompt_record(prompt), "id": prompt.id or f"q-{number}"}
        for number, prompt in enumerate(question.prompts, 1)
    ]


def prompt_record(prompt: Prompt) -> dict[str, Any]:
    """One prompt as JSON, in the form in which it can be asked again."""
    named = {"id": prompt.id, "header": prompt.header, "default": list(prompt.default)}
    return {
        "question": prompt.question,
        **{key: value for key, value in named.items() if value},
        "options": [_option_record(option) for option in prompt.options],
        "multi_select": prompt.multi_select,
        "allow_other": prompt.allow_other,
        **({"other_label": prompt.other_label} if prompt.other_label != OTHER else {}),
    }


def _option_record(option: Option) -> dict[str, str]:
    record = {"label": option.label, "value": option.value}
    return {**record, "description": option.description} if option.description else record


def answers_of(question: Question) -> list[dict[str, Any]]:
    """The answers as JSON: one for each prompt, in order."""
    return [
        {
            "index": index,
            "question_id": prompt.id or f"q-{index + 1}",
            "question": prompt.question,
            "answer": answer_record(answer),
        }
        for index, (prompt, answer) in enumerate(zip(question.prompts, question.answers, strict=False))
    ]


def answer_record(answer: Answer) -> dict[str, Any]:
    record = {
        "kind": str(answer.kind),
        "value": answer.value if isinstance(answer.value, str) else list(answer.value),
        "selected_labels": list(answer.selected_labels),
        "selected_values": list(answer.selected_values),
    }
    return record if answer.other_text is None else {**record, "other_text": answer.other_text}


# -- reading a record back, whoever wrote it


def question_of(record: Mapping[str, Any]) -> Question | None:
    """The question in ``record``; None when it is none: no id to answer it by, no words, or an unknown status."""
    name, status = record.get("id"), record.get("status")
    prompts = _prompts(record)
    if not isinstance(name, str) or not fit_id(name) or not prompts or status not in list(Status):
        return None
    return Question(
        id=name,
        prompts=prompts,
        status=Status(status),
        answers=_answers(record.get("answers", record.get("answer")), len(prompts)),
        header=_line(record.get("header"), LABEL_LIMIT),
        source=_line(record.get("source"), LABEL_LIMIT),
        run_id=_line(record.get("run_id"), LABEL_LIMIT) or None,
        session_id=_line(record.get("session_id"), LABEL_LIMIT) or None,
        iteration=_number(record.get("iteration")),
        attempt=_number(record.get("attempt")),
        created_at=_line(record.get("created_at"), 40),
        expires_at=_line(record.get("expires_at"), 40) or None,
        answered_at=_line(record.get("answered_at"), 40) or None,
    )


def _prompts(record: Mapping[str, Any]) -> tuple[Prompt, ...]:
    several = record.get("questions")
    found = several if isinstance(several, list) and several else [{**record, "id": None}]
    prompts = [_prompt(one) for one in found[:PROMPTS_LIMIT] if isinstance(one, dict)]
    return tuple(prompt for prompt in prompts if prompt.question)


def _prompt(record: Mapping[str, Any]) -> Prompt:
    options = record.get("options")
    listed = [_option(one) for one in options[:OPTIONS_LIMIT]] if isinstance(options, list) else []
    known = tuple(option for option in listed if option is not None)
    default = record.get("default")
    return Prompt(
        question=_text(record.get("question"), QUESTION_LIMIT),
        id=_line(record.get("id"), LABEL_LIMIT),
        header=_line(record.get("header"), LABEL_LIMIT),
        options=known,
        multi_select=bool(known) and record.get("multi_select") is True,
        # A record that does not say so is older than the setting: then every answer was taken.
        allow_other=record.get("allow_other") is not False or not known,
        other_label=_line(record.get("other_label"), LABEL_LIMIT) or OTHER,
        default=tuple(_line(one, VALUE_LIMIT) for one in default) if isinstance(default, list) else (),
    )


def _option(value: object) -> Option | None:
    if isinstance(value, str):
        value = {"label": value}
    if not isinstance(value, dict):
        return None
    label = _line(value.get("label"), LABEL_LIMIT)
    named = _line(value.get("value"), VALUE_LIMIT) or label
    return Option(label or named, named, _text(value.get("description"), VALUE_LIMIT)) if named else None


def _answers(value: object, prompts: int) -> tuple[Answer, ...]:
    listed = [_answer(one) for one in (value[:PROMPTS_LIMIT] if isinstance(value, list) else [value])]
    found = tuple(answer for answer in listed if answer is not None)
    # Older records could hold several answers to one question.
    return found if len(found) <= prompts else (_own_words("; ".join(answer.text for answer in found)),)


def _answer(value: object) -> Answer | None:
    """One element of ``answers``: of today, or the plain words that older records hold."""
    inner = value.get("answer") if isinstance(value, dict) and "answer" in value else value
    if isinstance(inner, str):
        text = _text(inner, ANSWER_LIMIT)
        return _own_words(text) if text else None
    if not isinstance(inner, dict) or inner.get("kind") not in list(AnswerKind):
        return None
    told, other = inner.get("value"), inner.get("other_text")
    return Answer(
        AnswerKind(inner["kind"]),
        _text(told, ANSWER_LIMIT) if isinstance(told, str) else _lines(told),
        _lines(inner.get("selected_labels")),
        _lines(inner.get("selected_values")),
        _text(other, ANSWER_LIMIT) if isinstance(other, str) else None,
    )


def _own_words(text: str) -> Answer:
    text = text[:ANSWER_LIMIT]
    return Answer(AnswerKind.OTHER, text, (OTHER,), (text,), text)


def _lines(value: object) -> tuple[str, ...]:
    return tuple(_text(one, ANSWER_LIMIT) for one in value[:OPTIONS_LIMIT]) if isinstance(value, list) else ()


def _line(value: object, limit: int) -> str:
    return one_line(value, limit) if isinstance(value, str) else ""


def _text(value: object, limit: int) -> str:
    return plain_text(value)[:limit] if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None
