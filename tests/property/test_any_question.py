"""Questions, answers and records of strangers: whatever they hold is read, or refused with a reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.answering import Unfit, answer_from_text, answers_from_data
from omagy_autoresearch.asking import parse_request, request_record
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.question_record import question_of, record_of
from omagy_autoresearch.questions import Prompt, Question, Status

TEXT = st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ("question", "questions", "options", "multi_select", "allow_other", "other_label", "type", "default", "header",
     "source", "session_id", "timeout", "id", "label", "value", "description", "status", "answers", "answer", "kind")
)  # fmt: skip
LIKELY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | TEXT
    | st.sampled_from(("open", "answered", "option", "multi-answerable")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=5) | st.dictionaries(KEYS, LIKELY, max_size=8)
PROMPTS = st.builds(
    lambda question, labels, several, other: parse_request(
        {"question": question, "options": labels, "multi_select": several, "allow_other": other}
    ).prompts[0],
    st.just("Which?"),
    st.lists(st.sampled_from(("A", "b, c", "3", "Other", "é")), min_size=1, unique=True),
    st.booleans(),
    st.booleans(),
)


def is_plain(value: object) -> bool:
    """No text anywhere in ``value`` holds what a terminal acts on, line ends left out."""
    if isinstance(value, str):
        return not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in value.replace("\n", ""))
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return all(map(is_plain, parts))


def says_what_is_wrong(error: ContractError) -> None:
    assert error.message
    assert error.hint


@given(OBJECTS)
def test_any_object_is_a_request_or_a_clear_error(data: dict[str, Any]) -> None:
    """A request survives the way to the supervisor, and nothing in it is more than text."""
    try:
        request = parse_request(data)
    except ContractError as error:
        says_what_is_wrong(error)
        return
    record = request_record(request)
    assert is_plain(record)
    assert parse_request(json.loads(json.dumps(record))).prompts == request.prompts


@given(OBJECTS)
def test_any_record_is_a_question_or_none(record: dict[str, Any]) -> None:
    """One that is read is written and read as the same, and is fit for a terminal."""
    question = question_of({"id": "q-1", "status": "open", "question": "Which?", **record})
    if question is not None:
        again = json.loads(json.dumps(record_of(question)))
        assert is_plain(again)
        assert question_of(again) == question


@given(PROMPTS, st.text(max_size=20) | st.lists(st.sampled_from(("1", "2", "a", "b, c", " ", "9"))).map(",".join))
def test_any_text_is_an_answer_or_not(prompt: Prompt, text: str) -> None:
    """What is chosen was offered; own words are taken only where they may be."""
    answer = answer_from_text(prompt, text)
    if isinstance(answer, Unfit):
        assert answer.reason
        return
    own = () if answer.other_text is None else (answer.other_text,)
    assert prompt.allow_other or not own
    assert set(answer.selected_values) - set(own) <= {option.value for option in prompt.options}
    assert is_plain(answer.text)
    question = Question("q-1", (prompt,), Status.ANSWERED, (answer,))
    assert question_of(json.loads(json.dumps(record_of(question)))) == question


@given(PROMPTS, OBJECTS | st.fixed_dictionaries({"answers": st.lists(LIKELY, max_size=2)}))
def test_any_object_is_an_answer_or_a_clear_error(prompt: Prompt, data: dict[str, Any]) -> None:
    question = Question("q-1", (prompt,))
    try:
        (answer,) = answers_from_data(question, data)
    except ContractError as error:
        says_what_is_wrong(error)
    else:
        assert is_plain(answer.text)


@pytest.mark.parametrize("text", ["\udc80", "a\udfff\x1b"])
def test_half_characters_of_a_command_line_are_replaced(text: str) -> None:
    """A record could not be written with them."""
    request = parse_request({"question": f"Which {text}?", "options": [text + "x"]})
    json.dumps(request_record(request), ensure_ascii=False).encode()
