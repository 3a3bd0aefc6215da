"""What may be asked."""

from typing import Any

import pytest

from omagy_autoresearch.asking import QuestionRequest, parse_request, request_record, session_question_id
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.questions import Option, Prompt

A_AND_B = (Option("A", "A"), Option("B", "B"))


@pytest.mark.parametrize(
    ("data", "prompt"),
    [
        ({"question": "Why?"}, Prompt("Why?")),
        ({"question": "Why?", "options": []}, Prompt("Why?")),
        ({"question": "Why?", "options": None, "header": None}, Prompt("Why?")),
        ({"question": "Which?", "options": ["A", "B"]}, Prompt("Which?", options=A_AND_B, allow_other=False)),
        (
            {"question": "Which?", "options": ["A", {"label": "B", "value": None}], "allow_other": True},
            Prompt("Which?", options=A_AND_B),
        ),
        (
            {"question": "Which?", "options": [{"label": "Pg", "value": "postgres", "description": "a server"}]},
            Prompt("Which?", options=(Option("Pg", "postgres", "a server"),), allow_other=False),
        ),
        (
            {"question": "Which?", "options": ["A", "B"], "multi_select": True, "default": ["b", "1"]},
            Prompt("Which?", options=A_AND_B, multi_select=True, allow_other=False, default=("A", "B")),
        ),
        (
            {"question": "Which?", "options": ["A", "B"], "type": "multi-answerable", "allow_other": True},
            Prompt("Which?", options=A_AND_B, multi_select=True),
        ),
        ({"question": "Why?", "default": "because"}, Prompt("Why?", default=("because",))),
        (
            {"question": "Why?", "header": "Reasons", "other_label": "Mine"},
            Prompt("Why?", "", "Reasons", other_label="Mine"),
        ),
    ],
)
def test_a_single_question_is_read(data: dict[str, Any], prompt: Prompt) -> None:
    """Options may be plain texts; without options any answer is taken, with them only where the asker says so."""
    request = parse_request(data)
    assert request.prompts == (prompt,)
    assert parse_request(request_record(request)).prompts == (prompt,)


def test_several_questions_are_one_request() -> None:
    """Each has its own options; what belongs to all stands beside them."""
    asked = {
        "questions": [{"id": "db", "question": "Which?", "options": ["A", "B"]}, {"question": "Why?"}],
        "header": "Storage",
        "source": "deep-interview",
        "session_id": "s1",
        "timeout": "10m",
    }
    prompts = (Prompt("Which?", "db", options=A_AND_B, allow_other=False), Prompt("Why?"))
    assert parse_request(asked) == QuestionRequest(prompts, "Storage", "deep-interview", "s1", 600.0)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({}, "question: the question itself is missing"),
        ({"question": " \x1b "}, "the question itself is missing"),
        ({"question": 7}, "question is not a text"),
        ({"question": "?", "optons": ["A"]}, "no key optons, did you mean options?"),
        ({"question": "?", "multiSelect": True}, "did you mean multi_select?"),
        ({"question": "?", "run_id": "m"}, "there is no key run_id"),
        ({"question": "?", "id": "q-1"}, "there is no key id"),
        ({"question": "?", "options": "A"}, "options is not a list"),
        ({"question": "?", "options": [7]}, "option 1: an option is a text, or an object"),
        ({"question": "?", "options": ["A", ""]}, "option 2: its label is missing"),
        ({"question": "?", "options": [{"label": "A", "vale": "a"}]}, "did you mean value?"),
        ({"question": "?", "options": ["A", "a"]}, "two options are called a"),
        ({"question": "?", "options": ["A", {"label": "B", "value": "a"}]}, "two options are called B"),
        ({"question": "?", "options": ["A"] * 41}, "41 options; 40 at most"),
        ({"question": "?", "allow_other": False}, "nothing could be answered"),
        ({"question": "?", "allow_other": "yes"}, "allow_other is neither true nor false"),
        ({"question": "?", "multi_select": True}, "no options to choose from"),
        ({"question": "?", "options": ["A"], "type": "many"}, "type must be single-answerable or"),
        ({"question": "?", "options": ["A"], "type": "multi-answerable", "multi_select": False}, "contradict"),
        ({"question": "?", "options": ["A"], "default": "C"}, "default: 'C' is none of the options"),
        ({"question": "?", "options": ["A", "B"], "default": ["A", "B"]}, "default: one answer is asked for"),
        ({"question": "?", "default": []}, "default is not a text"),
        ({"question": "x" * 4001}, "question has 4,001 characters; 4,000 at most"),
        ({"question": "?", "options": ["x" * 201]}, "label has 201 characters"),
        ({"question": "?", "timeout": "soon"}, "timeout: 'soon' is not a duration"),
        ({"question": "?", "timeout": 0}, "timeout is out of range"),
        ({"question": "?", "timeout": True}, "timeout is neither a duration"),
        ({"questions": []}, "questions holds 0; 1 to 10"),
        ({"questions": [{"question": "?"}] * 11}, "questions holds 11"),
        ({"questions": {"question": "?"}}, "questions is not a list of objects"),
        ({"questions": [{"question": "?", "timeout": 3}]}, "question 1: there is no key timeout"),
        ({"questions": [{"question": "?"}, {}]}, "question 2: the question itself is missing"),
        ({"questions": [{"question": "?", "id": "a"}] * 2}, "two of the questions have the id a"),
        ({"questions": [{"question": "?"}], "options": ["A"]}, "options stands beside questions"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(data: dict[str, Any], problem: str) -> None:
    """The message names the place and the key, the hint shows how it is meant."""
    with pytest.raises(ContractError) as caught:
        parse_request(data)
    assert problem in caught.value.message
    assert "omagy question --input" in caught.value.hint


def test_nothing_in_a_question_moves_the_terminal() -> None:
    """Escapes, bells, carriage returns and marks that turn the reading direction do not survive; lines do."""
    asked = parse_request(
        {
            "question": "Red \x1b[31mor\x07\nblue\r\n\u202eeulb\u2028?\x9b2J",
            "options": [{"label": "a\x1b]0;title\x07\nb", "description": "x\x00y"}],
            "header": "h\x1bc",
        }
    )
    (prompt,) = asked.prompts
    shown = f"{prompt.question}{prompt.header}{prompt.options[0].label}{prompt.options[0].description}"
    assert not set(shown) & {*map(chr, range(32)), *map(chr, range(127, 160)), "\u202e", "\u2028"} - {"\n"}
    assert prompt.question.split("\n") == ["Red or", "blue", "eulb", "?"]
    assert "\n" not in prompt.options[0].label


def test_a_sessions_question_is_called_by_who_asks_and_what() -> None:
    """Asked again it has the same id; another session, or other words, have another one."""
    one, other = parse_request({"question": "Which?"}), parse_request({"question": "Why?"})
    same = session_question_id("/run/1/candidate.json", one)
    assert same == session_question_id(
        "/run/1/candidate.json", parse_request({"questions": [{"question": "Which?"}]})
    )
    ids = {
        same,
        session_question_id("/run/1/candidate.json", other),
        session_question_id("/run/2/candidate.json", one),
    }
    assert len(ids) == 3
