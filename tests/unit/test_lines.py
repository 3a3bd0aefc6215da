"""What strangers wrote, made fit for a terminal: one table, and what holds of any text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.lines import cut, one_line, plain_text, visible

_PIECES = st.sampled_from(
    [
        "\x1b",
        "\x1b[",
        "\x1b]0;",
        "\x1bP",
        "\x9d",
        "\x9b",
        "\x9c",
        "\x07",
        "\x1b\\",
        "\r",
        "\n",
        "\t",
        "\u202e",
        "\u2028",
        "\x85",
    ]
)
_texts = st.lists(_PIECES | st.text(max_size=4) | st.characters(categories=["Cc", "Cf", "Cs"]), max_size=12).map(
    "".join
)
_ALLOWED = {"\n", "\t"}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain", "plain"),
        ("red \x1b[1;31mtext\x1b[0m", "red text"),
        ("\x1b]0;a title\x07after", "after"),
        ("\x1b]8;;http://elsewhere.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\\x9d52;c;aGk=\x9cafter", "after"),
        ("\x9b2Jcleared\x1bc", "cleared"),
        ("10%\r20%\r\ndone", "10%\n20%\ndone"),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g", "a\nb\nc\nd\ne\nf\ng"),
        ("a\x00\x07\x08b\x7f", "ab"),
        ("gnp.\u202eexe\u2066x\u2069\u200f", "gnp.exex"),
        ("\tkept\n", "\tkept\n"),
        ("שלום عربى 👩\u200d🔬 é", "שלום عربى 👩\u200d🔬 é"),
        ("half \ud800", "half ?"),
    ],
)
def test_what_can_be_seen_stays_and_what_a_terminal_obeys_goes(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_what_begins_and_never_ends_hides_nothing() -> None:
    """A title without an end is no reason to keep the rest of a question from its person."""
    assert (
        visible("Delete it? \x1b]0;(yes: all data is lost)\nReally?")
        == "Delete it? 0;(yes: all data is lost)\nReally?"
    )


@given(_texts)
def test_nothing_dangerous_is_left_of_any_text(text: str) -> None:
    for shown in (visible(text), plain_text(text), one_line(text)):
        assert all(char.isprintable() or char in _ALLOWED or ord(char) >= 0xA0 for char in shown)
        assert not set(shown) & {*"\u061c\u200e\u200f\u2028\u2029", *map(chr, range(0x202A, 0x202F))}
        shown.encode()
    assert "\n" not in one_line(text)
    assert "\t" not in plain_text(text)


@given(_texts)
def test_what_was_made_fit_is_fit(text: str) -> None:
    """Records are cleaned when they are written and when they are read: the second time changes nothing."""
    for clean in (visible, plain_text, one_line):
        assert clean(clean(text)) == clean(text)


@given(_texts, st.integers(1, 20))
def test_a_line_is_as_long_as_is_allowed(text: str, limit: int) -> None:
    assert len(one_line(text, limit)) <= limit
    assert cut(one_line(text), limit) == one_line(text, limit)


@pytest.mark.parametrize("piece", ["\x1b]", "\x9d", "\x1bP", "\x1b[", "\x1b ", "\x1b]a", "\r"])
def test_a_long_text_takes_no_longer_than_it_is(piece: str) -> None:
    """No text makes the search start over at each of its characters."""
    began = time.thread_time()  # what others use of the machine does not count
    visible(piece * 200_000)
    assert time.thread_time() - began < 5
