"""Numbered questions for terminals that can do nothing but lines: the exact text, and what answers mean."""

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omagy_autoresearch.questions import Answer, Option, Prompt
from omagy_supervisor.ui.fitting import fit, wrapped
from omagy_supervisor.ui.plain_prompts import PlainPrompts
from omagy_supervisor.ui.prompts import ClosedError, Gesture, Manner, choose, confirm, make_prompts, write

OPTIONS = (Option("the tests", "a", "pytest -q"), Option("a command of my own", "b"))
MANNER = Manner(tuple(Gesture), "< back, ? explain", lambda: None)
Asked = Callable[..., tuple[PlainPrompts, io.StringIO]]


@pytest.fixture
def asked() -> Iterator[Asked]:
    """Prompts for a person who typed this much, and then left."""
    opened = []

    def ask(typed: str, manner: Manner = MANNER) -> tuple[PlainPrompts, io.StringIO]:
        ours, theirs = os.pipe()
        os.write(theirs, typed.encode())
        os.close(theirs)
        opened.append(ours)
        screen = io.StringIO()
        return PlainPrompts(manner, ours, screen), screen

    yield ask
    for fd in opened:
        os.close(fd)


def test_a_choice_is_a_numbered_list(asked: Asked) -> None:
    prompts, screen = asked("2\n")
    assert choose(prompts, "How would you notice?", OPTIONS, "a") == "b"
    assert screen.getvalue() == (
        "\nHow would you notice?\n"
        "  1) the tests: pytest -q\n"
        "  2) a command of my own\n"
        "(a number or a name (Enter: 1); < back, ? explain)\n"
        "> "
    )


def test_a_text_shows_what_enter_takes(asked: Asked) -> None:
    prompts, screen = asked("\n")
    assert write(prompts, "What should get better?", "make it faster") == "make it faster"
    assert screen.getvalue() == (
        "\nWhat should get better?\n(your answer (Enter: make it faster); < back, ? explain)\n> "
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("\n", "b"),
        ("1\n", "a"),
        (" 2 \n", "b"),
        ("The Tests\n", "a"),
        ("1", "a"),
        ("<\n", Gesture.BACK),
        ("?\n", Gesture.EXPLAIN),
    ],
)
def test_what_an_answer_to_a_choice_means(asked: Asked, typed: str, meant: str | Gesture) -> None:
    assert choose(asked(typed)[0], "q", OPTIONS, "b") == meant


def test_own_words_are_taken_where_they_are_offered(asked: Asked) -> None:
    prompts, screen = asked("make check\n")
    assert choose(prompts, "q", OPTIONS, "b", own="another command") == "make check"
    assert "or another command" in screen.getvalue()


def test_gestures_are_words_where_there_are_none(asked: Asked) -> None:
    prompts, _ = asked("?\n", Manner((), "Ctrl-C: later", lambda: None))
    answer = prompts.ask(Prompt("Which sign?"))
    assert isinstance(answer, Answer)
    assert answer.value == "?"


def test_a_number_that_is_not_there_is_asked_again(asked: Asked) -> None:
    prompts, screen = asked("3\nx\n1\n")
    assert choose(prompts, "q", OPTIONS, "b") == "a"
    assert "'3' is none of the options: the tests, a command of my own" in screen.getvalue()


@pytest.mark.parametrize(("typed", "meant"), [("\n", True), ("2\n", False), ("<\n", Gesture.BACK)])
def test_yes_or_no(asked: Asked, typed: str, meant: bool | Gesture) -> None:
    assert confirm(asked(typed)[0], "Sure?", default=True) is meant


def test_the_end_of_input_is_like_ctrl_c(asked: Asked) -> None:
    with pytest.raises(KeyboardInterrupt):
        write(asked("")[0], "q", "")


def test_a_question_that_was_answered_elsewhere_is_not_waited_for(asked: Asked) -> None:
    def look() -> None:
        raise ClosedError

    with pytest.raises(ClosedError):
        choose(asked("1\n", Manner((), "", look))[0], "q", OPTIONS, "a")


def test_nothing_that_is_shown_or_typed_can_steer_the_terminal(asked: Asked) -> None:
    prompts, screen = asked("a\x1b[2Jb\x07\n")
    hostile = "x\x1b]52;c;aGk=\x07y\u202ez\r"
    assert write(prompts, hostile, hostile) == "ab"
    prompts.tell(hostile)
    asked_again, other = asked("1\n")
    choose(asked_again, hostile, (Option(hostile, "v", hostile),), "v")
    shown = screen.getvalue() + other.getvalue()
    assert not set(shown) & {"\x1b", "\x07", "\u202e", "\r"}
    assert "52;c" not in shown


def test_lines_break_between_words_below_what_they_belong_to() -> None:
    assert wrapped("- one two three four", 14).split("\n") == ["- one two", "  three four"]
    assert wrapped("  12) one two three", 14).split("\n") == ["  12) one two", "      three"]
    assert wrapped("may change  one two three four", 24).split("\n") == [
        "may change  one two",
        "            three four",
    ]
    assert wrapped("first:   one two three", 20).split("\n") == ["first:   one two", "         three"]
    assert wrapped("  | a line of a program's output", 12) == "  | a line of a program's output"
    assert fit("a  b\tc") == "a  b    c"


def test_a_row_with_nothing_but_a_path_is_left_to_the_terminal() -> None:
    """On a line of its own it would be broken as well, and its name would stand alone."""
    row = "worktree  /a/longer/path/than/there/is/room/for"
    assert wrapped(row, 30, whole_words=True) == row


def test_lines_of_a_log_break_below_their_text_and_leave_paths_whole() -> None:
    """A path that a line break stands in cannot be copied from a terminal."""
    assert wrapped("12:34:56  iteration 1: keep, better", 27).split("\n") == [
        "12:34:56  iteration 1:",
        "          keep, better",
    ]
    path = "/a/longer/path/than/that"
    assert path in wrapped(f"12:34:56  lane in {path}", 20, whole_words=True).split()


@pytest.mark.parametrize(
    "command",
    [
        "omagy autoresearch --resume m-20260131t120000z",
        "/somewhere/bin/omagy state clear --all",
        "`git merge --no-ff autoresearch/m/x`",
        "'/some where/bin/omagy' state clear --all",
        "cd /another/worktree && omagy state clear team",
        "cd '/another work tree' && omagy state clear team",
    ],
)
def test_a_command_is_never_broken(command: str) -> None:
    """Whoever copies it from the screen runs it as it is; what stands before and after breaks between words."""
    text = f"note: it can go on ({command}); all of what was kept stands on its branch"
    lines = wrapped(text, 60, whole_words=True).split("\n")
    assert [line for line in lines if command in line]
    assert all(len(line) < 60 for line in lines)
    assert " ".join(line.strip() for line in lines) == text
    assert all(line.startswith(" " * len("note: ")) for line in lines[1:])


@pytest.mark.parametrize("letter", ["x", "/", "'", ",", "`"])
def test_a_word_of_a_megabyte_is_shown_at_once(letter: str) -> None:
    """A command in a contract can be one; the supervisor shows it, too, and is not to stand still meanwhile."""
    word = letter * (1 << 20)
    assert wrapped(f"note: {word} end", 60, whole_words=True).endswith("end")


@pytest.mark.parametrize("term", ["dumb", "", "unknown", None, "xterm-256color"])
def test_what_cannot_move_a_cursor_gets_lines(term: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that says so, and what is no terminal at all."""
    environment = {} if term is None else {"TERM": term}
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert isinstance(make_prompts(environment, MANNER), PlainPrompts)
