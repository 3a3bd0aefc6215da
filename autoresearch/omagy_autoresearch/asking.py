"""What may be asked: a request to ask the person something, read strictly (contract section 8).

The keys are those of the public siblings, so that their askers work. A key that nobody knows is an error with the
nearest known one: a misspelt ``allow_other`` would make a different question of it.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from omagy_autoresearch.answering import Unfit, answer_from_parts
from omagy_autoresearch.durations import parse_duration
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.lines import one_line, plain_text
from omagy_autoresearch.question_record import prompt_record
from omagy_autoresearch.questions import (
    LABEL_LIMIT,
    OPTIONS_LIMIT,
    OTHER,
    PROMPTS_LIMIT,
    QUESTION_LIMIT,
    VALUE_LIMIT,
    Option,
    Prompt,
)
from omagy_autoresearch.spelling import nearest

_EXAMPLE = """for example: omagy question --input '{"question":"Which one?","options":["A","B"]}' --json"""
_SINGLE_KEYS = ("question", "header", "options", "multi_select", "allow_other", "other_label", "type", "default")
_PROMPT_KEYS = (*_SINGLE_KEYS, "id")
_REQUEST_KEYS = ("source", "session_id", "timeout")
_OPTION_KEYS = ("label", "value", "description")
_TYPES = {"single-answerable": False, "multi-answerable": True}
_LONGEST_S = 366 * 86400.0


class QuestionRequest(Struct, frozen=True):
    """What an asker wants to know. ``timeout_s`` is how long it waits, None for as long as it takes."""

    prompts: tuple[Prompt, ...]
    header: str = ""
    source: str = ""
    session_id: str | None = None
    timeout_s: float | None = None


def parse_request(data: Mapping[str, Any]) -> QuestionRequest:
    """The request in ``data``. Raises ContractError that names the key and how it is meant."""
    data = {key: value for key, value in data.items() if value is not None}
    several = data.get("questions")
    if several is None:
        _refuse_unknown(data, (*_REQUEST_KEYS, *_SINGLE_KEYS, "questions"), "question")
        prompts: tuple[Prompt, ...] = (_prompt(_only(data, _PROMPT_KEYS), "question"),)
        header = prompts[0].header
    else:
        _refuse_unknown(data, (*_REQUEST_KEYS, "questions", "header"), "question", _PROMPT_KEYS)
        prompts, header = _batch(several), _line(data, "header", LABEL_LIMIT, "question")
    return QuestionRequest(
        prompts=prompts,
        header=header,
        source=_line(data, "source", LABEL_LIMIT, "question"),
        session_id=_line(data, "session_id", LABEL_LIMIT, "question") or None,
        timeout_s=_timeout(data.get("timeout")),
    )


def request_record(request: QuestionRequest) -> dict[str, Any]:
    """``request`` as the JSON object that ``parse_request`` reads."""
    named = {"header": request.header, "source": request.source}
    prompts = list(map(prompt_record, request.prompts))
    return {**{key: value for key, value in named.items() if value}, "questions": prompts}


def session_question_id(place: str, request: QuestionRequest) -> str:
    """The id of a question from the session whose candidate file is ``place``.

    It follows from what is asked: asked twice it is one question, and nobody can choose it.
    """
    text = json.dumps([place, request_record(request)], sort_keys=True)
    return f"q-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _only(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key in keys}


def _batch(value: object) -> tuple[Prompt, ...]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise _wrong("questions is not a list of objects", "question")
    if not 1 <= len(value) <= PROMPTS_LIMIT:
        raise _wrong(f"questions holds {len(value)}; 1 to {PROMPTS_LIMIT} are asked together", "question")
    prompts = []
    for number, one in enumerate(value, 1):
        where = f"question {number}"
        data = {key: held for key, held in one.items() if held is not None}
        _refuse_unknown(data, _PROMPT_KEYS, where)
        prompts.append(_prompt(data, where))
    names = [prompt.id for prompt in prompts if prompt.id]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _wrong(f"two of the questions have the id {twice}", "question")
    return tuple(prompts)


def _refuse_unknown(
    data: Mapping[str, Any], known: tuple[str, ...], where: str, elsewhere: tuple[str, ...] = ()
) -> None:
    for key in data:
        if key in elsewhere and key not in known:
            raise _wrong(f"{key} stands beside questions; it belongs into each of them", where)
        if key not in known:
            raise _wrong(f"there is no key {one_line(str(key), 40)}{nearest(str(key), known)}", where)


# -- one prompt


def _prompt(data: Mapping[str, Any], where: str) -> Prompt:
    question = _text(data, "question", QUESTION_LIMIT, where)
    if not question:
        raise _wrong("the question itself is missing", where)
    options = _options(data.get("options", []), where)
    multi = _multi_select(data, where)
    other = _flag(data, "allow_other", not options, where)
    if not options and not other:
        raise _wrong("there are no options, and allow_other is false: nothing could be answered", where)
    if multi and not options:
        raise _wrong("multi_select is true, but there are no options to choose from", where)
    prompt = Prompt(
        question=question,
        id=_line(data, "id", LABEL_LIMIT, where),
        header=_line(data, "header", LABEL_LIMIT, where),
        options=options,
        multi_select=multi,
        allow_other=other,
        other_label=_line(data, "other_label", LABEL_LIMIT, where) or OTHER,
    )
    return replace(prompt, default=_default(prompt, data.get("default"), where))


def _multi_select(data: Mapping[str, Any], where: str) -> bool:
    named = data.get("type")
    if named is None:
        return _flag(data, "multi_select", False, where)
    if not isinstance(named, str) or named not in _TYPES:
        raise _wrong(f"type must be {' or '.join(_TYPES)}", where)
    if "multi_select" in data and _flag(data, "multi_select", False, where) is not _TYPES[named]:
        raise _wrong("type and multi_select contradict each other", where)
    return _TYPES[named]


def _options(value: object, where: str) -> tuple[Option, ...]:
    if not isinstance(value, list):
        raise _wrong("options is not a list", where)
    if len(value) > OPTIONS_LIMIT:
        raise _wrong(f"there are {len(value)} options; {OPTIONS_LIMIT} at most can be offered", where)
    options = tuple(_option(one, f"{where}, option {number}") for number, one in enumerate(value, 1))
    taken: set[str] = set()
    for option in options:
        if option.names & taken:
            raise _wrong(f"two options are called {option.label}: an answer could mean either", where)
        taken |= option.names
    return options


def _option(value: object, where: str) -> Option:
    if isinstance(value, str):
        value = {"label": value}
    if not isinstance(value, dict):
        raise _wrong("an option is a text, or an object with label, value and description", where)
    data = {key: held for key, held in value.items() if held is not None}
    _refuse_unknown(data, _OPTION_KEYS, where)
    label = _line(data, "label", LABEL_LIMIT, where)
    named = _line(data, "value", VALUE_LIMIT, where) or label
    if not label:
        raise _wrong("its label is missing", where)
    return Option(label, named, _text(data, "description", VALUE_LIMIT, where))


def _default(prompt: Prompt, value: object, where: str) -> tuple[str, ...]:
    """The values that the default stands for: it has to be an answer that would be taken."""
    if value is None:
        return ()
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) for part in parts):
        raise _wrong("default is not a text, nor a list of texts", where)
    answer = answer_from_parts(prompt, [plain_text(part) for part in parts])
    if isinstance(answer, Unfit):
        raise _wrong(f"default: {answer.reason}", where)
    return answer.selected_values


# -- values


def _text(data: Mapping[str, Any], key: str, limit: int, where: str) -> str:
    value = data.get(key, "")
    if not isinstance(value, str):
        raise _wrong(f"{key} is not a text", where)
    text = plain_text(value)
    if len(text) > limit:
        raise _wrong(f"{key} has {len(text):,} characters; {limit:,} at most are shown", where)
    return text


def _line(data: Mapping[str, Any], key: str, limit: int, where: str) -> str:
    return one_line(_text(data, key, limit, where))


def _flag(data: Mapping[str, Any], key: str, otherwise: bool, where: str) -> bool:
    value = data.get(key, otherwise)
    if not isinstance(value, bool):
        raise _wrong(f"{key} is neither true nor false", where)
    return value


def _timeout(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError as error:
            raise _wrong(f"timeout: {error}", "question") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong("timeout is neither a duration such as 10m nor a number of seconds", "question")
    if not math.isfinite(value) or not 0 < value <= _LONGEST_S:
        raise _wrong("timeout is out of range: more than 0 seconds, at most a year", "question")
    return float(value)


def _wrong(problem: str, where: str) -> ContractError:
    return ContractError(f"{where}: {problem}", _EXAMPLE)
