"""Numbered questions for terminals that can do nothing but lines: the exact text, and what answers mean."""

import io

import pytest

from omagy_supervisor.ui.prompts import Gesture, Option, PlainPrompts, fit, make_prompts, wrapped

OPTIONS = (Option("a", "the tests", "pytest -q"), Option("b", "a command of my own"))


def asked(typed: str) -> tuple[PlainPrompts, io.StringIO]:
    screen = io.StringIO()
    return PlainPrompts(io.StringIO(typed), screen), screen


def test_a_choice_is_a_numbered_list() -> None:
    prompts, screen = asked("2\n")
    assert prompts.select("How would you notice?", OPTIONS, "a") == "b"
    assert screen.getvalue() == (
        "\nHow would you notice?\n"
        "  1) the tests (pytest -q)\n"
        "  2) a command of my own\n"
        "number [1], < back, ? explain: "
    )


def test_a_text_shows_what_enter_takes() -> None:
    prompts, screen = asked("\n")
    assert prompts.text("What should get better?", "make it faster") == "make it faster"
    assert screen.getvalue() == "\nWhat should get better?\n[make it faster], < back, ? explain: "


@pytest.mark.parametrize(
    ("typed", "meant"), [("\n", "b"), ("1\n", "a"), (" 2 \n", "b"), ("<\n", Gesture.BACK), ("?\n", Gesture.EXPLAIN)]
)
def test_what_an_answer_to_a_choice_means(typed: str, meant: str | Gesture) -> None:
    assert asked(typed)[0].select("q", OPTIONS, "b") == meant


def test_a_number_that_is_not_there_is_asked_again() -> None:
    prompts, screen = asked("3\nx\n1\n")
    assert prompts.select("q", OPTIONS, "b") == "a"
    assert "3: a number from 1 to 2 is expected" in screen.getvalue()


@pytest.mark.parametrize(("typed", "meant"), [("\n", True), ("2\n", False), ("<\n", Gesture.BACK)])
def test_yes_or_no(typed: str, meant: bool | Gesture) -> None:
    assert asked(typed)[0].confirm("Sure?", default=True) is meant


def test_the_end_of_input_is_like_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt):
        asked("")[0].text("q", "")


def test_nothing_that_is_shown_or_typed_can_steer_the_terminal() -> None:
    prompts, screen = asked("a\x1b[2Jb\x07\n")
    hostile = "x\x1b]52;c;aGk=\x07y\u202ez\r"
    assert prompts.text(hostile, hostile) == "ab"
    prompts.tell(hostile)
    asked_again, other = asked("1\n")
    asked_again.select(hostile, (Option("v", hostile, hostile),), "v")
    shown = screen.getvalue() + other.getvalue()
    assert not set(shown) & {"\x1b", "\x07", "\u202e", "\r"}
    assert "52;c" not in shown


def test_lines_break_between_words_below_what_they_belong_to() -> None:
    assert wrapped("- one two three four", 14).split("\n") == ["- one two", "  three four"]
    assert wrapped("  | a line of a program's output", 12) == "  | a line of a program's output"
    assert fit("a  b\tc") == "a  b    c"


@pytest.mark.parametrize("term", ["dumb", "", "unknown", None])
def test_terminals_that_cannot_move_their_cursor_get_lines(term: str | None) -> None:
    environment = {} if term is None else {"TERM": term}
    assert isinstance(make_prompts(environment), PlainPrompts)


def test_a_capable_terminal_gets_arrow_keys_and_lines_can_be_asked_for() -> None:
    assert not isinstance(make_prompts({"TERM": "xterm-256color"}), PlainPrompts)
    assert isinstance(make_prompts({"TERM": "xterm-256color", "OMAGY_PLAIN_PROMPTS": "1"}), PlainPrompts)
