"""What counts as an answer: what a person typed, or a program sent, against what was asked (contract section 8).

Nothing is taken for an option that is none: words that fit nowhere are an answer only where the asker allows them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.lines import one_line, plain_text
from omagy_autoresearch.question_record import answer_record, answers_of, prompts_of
from omagy_autoresearch.questions import ANSWER_LIMIT, Answer, AnswerKind, Option, Prompt, Question, Status
from omagy_autoresearch.spelling import nearest


class Unfit(Struct, frozen=True):
    """Words that are no answer to a prompt, and why."""

    reason: str


def answer_from_text(prompt: Prompt, text: str) -> Answer | Unfit:
    """The answer that ``text`` gives: numbers or names of options, several with commas, or free words.

    No text at all means the default.
    """
    text = plain_text(text)
    if not text:
        return answer_from_parts(prompt, prompt.default) if prompt.default else Unfit(_nothing(prompt))
    if not prompt.multi_select or _find(prompt, text) is not None:
        return answer_from_parts(prompt, [text])
    if "," not in text and all(part.isdigit() for part in text.split()):
        return answer_from_parts(prompt, text.split())
    return answer_from_parts(prompt, [part.strip() for part in text.split(",") if part.strip()])


def answer_from_parts(prompt: Prompt, parts: Sequence[str]) -> Answer | Unfit:
    """The answer that ``parts`` give, each being one option or free words."""
    parts = [text for text in map(plain_text, parts) if text]
    if not parts:
        return Unfit(_nothing(prompt))
    if len(parts) > 1 and not prompt.multi_select:
        return Unfit("one answer is asked for, not several")
    found = [_find(prompt, part) for part in parts]
    chosen = [option for option in prompt.options if option in found]
    others = [part for part, option in zip(parts, found, strict=True) if option is None]
    if others and not prompt.allow_other:
        return Unfit(_no_option(prompt, others[0]))
    other = ", ".join(others)
    if len(other) > ANSWER_LIMIT:
        return Unfit(f"the answer has {len(other):,} characters; {ANSWER_LIMIT:,} at most are taken")
    return _answer(prompt, chosen, other or None)


def _answer(prompt: Prompt, chosen: list[Option], other: str | None) -> Answer:
    labels = (*(option.label for option in chosen), *((prompt.other_label,) if other is not None else ()))
    values = (*(option.value for option in chosen), *((other,) if other is not None else ()))
    if prompt.multi_select:
        return Answer(AnswerKind.MULTI, values, labels, values, other)
    kind = AnswerKind.OPTION if other is None else AnswerKind.OTHER
    return Answer(kind, values[0], labels, values, other)


def _find(prompt: Prompt, text: str) -> Option | None:
    named = next((option for option in prompt.options if text.casefold() in option.names), None)
    if named is not None or not prompt.numbered or not (text.isascii() and text.isdigit()) or len(text) > 4:
        return named
    number = int(text)
    return prompt.options[number - 1] if 1 <= number <= len(prompt.options) else None


def _nothing(prompt: Prompt) -> str:
    return "choose at least one option" if prompt.multi_select else "the answer is missing"


def _no_option(prompt: Prompt, text: str) -> str:
    names = [option.label for option in prompt.options]
    listed = one_line(", ".join(names), 300)
    return f"{one_line(text, 60)!r} is none of the options{nearest(text, names)}: {listed}"


# -- the answers of a whole question


def answers_from_words(question: Question, words: Sequence[str]) -> tuple[Answer, ...]:
    """The answers in the words of a command line: all together for one prompt, one each for several.

    Raises ContractError that says what would be taken.
    """
    count = len(question.prompts)
    texts = [" ".join(words)] if count == 1 else list(words)
    if len(texts) != count:
        raise ContractError(
            f"question {question.id} asks {count} things, and {len(texts)} were answered",
            f"answer each, in order and in quotes: omagy question answer {question.id} '<1>' '<2>' …",
        )
    return _all_fit(question, [answer_from_text(*pair) for pair in zip(question.prompts, texts, strict=True)])


def answers_from_data(question: Question, data: Mapping[str, Any]) -> tuple[Answer, ...]:
    """The answers in a program's JSON object: ``answer`` for one prompt, or ``answers`` in order.

    Each is a text, a list of texts, or an object as this tool itself prints it. Raises ContractError.
    """
    found = data.get("answers", [data["answer"]] if "answer" in data else None)
    if set(data) - {"answer", "answers"} or not isinstance(found, list):
        raise ContractError("answer or answers is missing", """for example --input '{"answers":["yes"]}'""")
    if len(found) != len(question.prompts):
        raise ContractError(
            f"question {question.id} asks {len(question.prompts)} things, and answers holds {len(found)}",
            f"see what is asked: omagy question show {question.id}",
        )
    return _all_fit(question, [_from_data(*pair) for pair in zip(question.prompts, found, strict=True)])


def _from_data(prompt: Prompt, value: Any) -> Answer | Unfit:
    while isinstance(value, dict):
        inner = value.get("answer", value.get("other_text", value.get("value")))
        if "answer" not in value and isinstance(value.get("selected_values"), list):
            inner = value["selected_values"]
        value = inner
    if isinstance(value, str):
        return answer_from_text(prompt, value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return answer_from_parts(prompt, value)
    return Unfit("an answer is a text, a list of texts, or an object with value")


def _all_fit(question: Question, found: Sequence[Answer | Unfit]) -> tuple[Answer, ...]:
    answers = []
    for number, answer in enumerate(found, 1):
        if isinstance(answer, Unfit):
            which = f" {number}" if len(found) > 1 else ""
            raise ContractError(
                f"answer{which} to question {question.id}: {answer.reason}",
                f"see what is asked: omagy question show {question.id}",
            )
        answers.append(answer)
    return tuple(answers)


# -- what the asker reads


def result_of(question: Question, command: str) -> dict[str, Any]:
    """What an asker reads: ``answers`` is what counts, ``error`` says why there are none.

    ``command`` is how the question can be answered later. ``prompt`` and ``answer`` repeat what a single question
    asked and got, for askers that know the public siblings' older form.
    """
    facts = {
        "session_id": question.session_id,
        "run_id": question.run_id,
        "iteration": question.iteration,
        "expires_at": question.expires_at,
        "answered_at": question.answered_at,
    }
    prompts = prompts_of(question)
    result: dict[str, Any] = {
        "ok": question.status is Status.ANSWERED,
        "question_id": question.id,
        "status": str(question.status),
        **{key: value for key, value in facts.items() if value is not None},
        "questions": prompts,
        "answers": answers_of(question),
    }
    if question.status is not Status.ANSWERED:
        message = _WHY_NOT[question.status].format(command=command)
        return {**result, "error": {"code": f"question_{question.status}", "message": message}}
    if len(prompts) == 1 and question.answers:
        result |= {"prompt": prompts[0], "answer": answer_record(question.answers[0])}
    return result


_WHY_NOT = {
    Status.OPEN: "nobody has answered yet; it can be answered with: {command}",
    Status.CANCELLED: "the person withdrew the question",
    Status.EXPIRED: "nobody answered in time",
}
