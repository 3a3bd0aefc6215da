"""What counts as an answer."""

import json
from typing import Any

import pytest

from omagy_autoresearch.answering import (
    Unfit,
    answer_from_text,
    answers_from_data,
    answers_from_words,
    result_of,
)
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.question_record import question_of, record_of
from omagy_autoresearch.questions import Answer, AnswerKind, Option, Prompt, Question, Status

OPTIONS = (Option("sqlite", "sqlite"), Option("Postgres", "pg"), Option("none, really", "none"))
STRICT = Prompt("Which?", options=OPTIONS, allow_other=False)
OPEN = Prompt("Which?", options=OPTIONS)
SEVERAL = Prompt("Which?", options=OPTIONS, multi_select=True, allow_other=False)
SEVERAL_OPEN = Prompt("Which?", options=OPTIONS, multi_select=True)
FREE = Prompt("Why?")
NUMBERS = Prompt("How many?", options=tuple(Option(n, n) for n in ("2", "4", "8")), allow_other=False)


def chosen(option: Option) -> Answer:
    return Answer(AnswerKind.OPTION, option.value, (option.label,), (option.value,))


def said(text: str) -> Answer:
    return Answer(AnswerKind.OTHER, text, ("Other",), (text,), text)


def several(*options: Option, other: str | None = None) -> Answer:
    own = () if other is None else (other,)
    values = (*(option.value for option in options), *own)
    labels = (*(option.label for option in options), *("Other" for _ in own))
    return Answer(AnswerKind.MULTI, values, labels, values, other)


@pytest.mark.parametrize(
    ("prompt", "text", "answer"),
    [
        (STRICT, "1", chosen(OPTIONS[0])),
        (STRICT, " 02 ", chosen(OPTIONS[1])),
        (STRICT, "postgres", chosen(OPTIONS[1])),
        (STRICT, "PG", chosen(OPTIONS[1])),
        (STRICT, "none, really", chosen(OPTIONS[2])),
        (OPEN, "mysql", said("mysql")),
        (OPEN, "2", chosen(OPTIONS[1])),
        (FREE, "because\nof that", said("because\nof that")),
        (FREE, "1", said("1")),
        (FREE, "a\x1b[2Jb", said("ab")),
        (SEVERAL, "3, sqlite", several(OPTIONS[0], OPTIONS[2])),
        (SEVERAL, "1 2", several(OPTIONS[0], OPTIONS[1])),
        (SEVERAL, "pg,pg,2", several(OPTIONS[1])),
        (SEVERAL, "none, really", several(OPTIONS[2])),
        (SEVERAL_OPEN, "1, mysql, redis", several(OPTIONS[0], other="mysql, redis")),
        (NUMBERS, "2", chosen(NUMBERS.options[0])),
        (NUMBERS, "8", chosen(NUMBERS.options[2])),
        (Prompt("Which?", options=OPTIONS, allow_other=False, default=("pg",)), "", chosen(OPTIONS[1])),
        (Prompt("Why?", default=("so",)), " ", said("so")),
    ],
)
def test_typed_words_are_an_answer(prompt: Prompt, text: str, answer: Answer) -> None:
    """Numbers, labels and values choose options; where the asker allows it, other words are an answer too."""
    assert answer_from_text(prompt, text) == answer


@pytest.mark.parametrize(
    ("prompt", "text", "reason"),
    [
        (STRICT, "", "the answer is missing"),
        (STRICT, "0", "'0' is none of the options"),
        (STRICT, "4", "'4' is none of the options"),
        (STRICT, "²", "'²' is none of the options"),
        (STRICT, "postgras", "did you mean Postgres?: sqlite, Postgres, none, really"),
        (STRICT, "1,2", "'1,2' is none of the options"),
        (SEVERAL, "1, mysql", "'mysql' is none of the options"),
        (SEVERAL, " , ", "choose at least one option"),
        (NUMBERS, "1", "'1' is none of the options"),
        (FREE, "", "the answer is missing"),
        (FREE, "x" * 8001, "8,001 characters; 8,000 at most"),
    ],
)
def test_nothing_is_taken_for_an_option_that_is_none(prompt: Prompt, text: str, reason: str) -> None:
    """Where a number is an option's own name, numbers mean nothing else."""
    found = answer_from_text(prompt, text)
    assert isinstance(found, Unfit)
    assert reason in found.reason


ONE = Question("q-1", (STRICT,))
TWO = Question("q-2", (STRICT, FREE))


def test_the_words_of_a_command_line_are_one_answer_or_one_each() -> None:
    """For a single question the words belong together; for several each has its own."""
    assert answers_from_words(Question("q", (FREE,)), ["as", "you", "like"]) == (said("as you like"),)
    assert answers_from_words(TWO, ["2", "as you like"]) == (chosen(OPTIONS[1]), said("as you like"))
    with pytest.raises(ContractError, match="asks 2 things, and 1 were answered"):
        answers_from_words(TWO, ["2"])
    with pytest.raises(ContractError, match="answer 1 to question q-2: 'x' is none"):
        answers_from_words(TWO, ["x", "y"])


@pytest.mark.parametrize(
    "data",
    [
        {"answer": "pg"},
        {"answer": {"kind": "option", "value": "pg", "selected_labels": ["Postgres"]}},
        {"answers": ["2"]},
        {"answers": [["pg"]]},
        {"answers": [{"index": 0, "answer": "Postgres"}]},
        {"answers": [{"index": 0, "question_id": "q-1", "answer": {"value": "pg", "selected_values": ["pg"]}}]},
    ],
)
def test_programs_answer_in_any_of_the_forms_they_read(data: dict[str, Any]) -> None:
    assert answers_from_data(ONE, data) == (chosen(OPTIONS[1]),)


@pytest.mark.parametrize(
    "data",
    [{}, {"answers": {}}, {"answers": []}, {"answers": [1]}, {"answers": ["x"]}, {"answer": None}, {"answr": "pg"},
     {"answers": ["pg", "pg"]}, {"answers": [{"value": ["pg", "sqlite"]}]}],
)  # fmt: skip
def test_programs_are_refused_like_people(data: dict[str, Any]) -> None:
    with pytest.raises(ContractError):
        answers_from_data(ONE, data)


def test_free_words_of_a_program_keep_their_commas() -> None:
    """What it sends as the person's own words is one of them, not several."""
    answer = several(OPTIONS[0], other="a, b")
    asked = Question("q", (SEVERAL_OPEN,), Status.ANSWERED, (answer,))
    assert answers_from_data(asked, {"answers": result_of(asked, "")["answers"]}) == (answer,)


def test_the_result_of_an_answered_question() -> None:
    """The public siblings' callers find what they read: ok, answers[], and for one question prompt and answer."""
    result = result_of(Question("q-1", (OPEN,), Status.ANSWERED, (said("mysql"),)), "")
    assert (result["ok"], result["question_id"], result["status"]) == (True, "q-1", "answered")
    assert result["answers"] == [
        {
            "index": 0,
            "question_id": "q-1",
            "question": "Which?",
            "answer": {
                "kind": "other",
                "value": "mysql",
                "selected_labels": ["Other"],
                "selected_values": ["mysql"],
                "other_text": "mysql",
            },
        }
    ]
    assert result["answer"] == result["answers"][0]["answer"]
    assert result["prompt"]["question"] == "Which?"


@pytest.mark.parametrize("status", [Status.OPEN, Status.CANCELLED, Status.EXPIRED])
def test_without_an_answer_the_result_says_why(status: Status) -> None:
    result = result_of(Question("q-1", (OPEN,), status), "omagy question answer q-1")
    assert (result["ok"], result["status"], result["answers"]) == (False, status, [])
    assert result["error"]["code"] == f"question_{status}"
    assert ("omagy question answer q-1" in result["error"]["message"]) is (status is Status.OPEN)


@pytest.mark.parametrize(
    "question",
    [
        ONE,
        Question("q", (Prompt("Which?", "named", options=OPTIONS),)),
        Question(
            "q-2",
            (SEVERAL_OPEN, Prompt("Why?", "why", "Reasons", default=("so",))),
            Status.ANSWERED,
            (several(OPTIONS[1], other="x"), said("so")),
            header="Both",
            source="test",
            run_id="r",
            session_id="s",
            iteration=3,
            attempt=2,
            created_at="2026-01-31T12:00:00+00:00",
            expires_at="2026-01-31T13:00:00+00:00",
            answered_at="2026-01-31T12:30:00+00:00",
        ),
    ],
)
def test_a_record_holds_the_whole_question(question: Question) -> None:
    assert question_of(json.loads(json.dumps(record_of(question)))) == question
