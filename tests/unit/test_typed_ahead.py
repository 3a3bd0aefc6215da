"""What was typed before a question is no answer to it, and Ctrl-C is no answer either: it is never lost."""

import os
import select
import termios
import tty
from collections.abc import Iterator

import pytest
from prompt_toolkit.application.current import create_app_session
from prompt_toolkit.input.defaults import create_pipe_input
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from fakes.workspace import PATIENCE_S
from omagy_supervisor.ui import arrow_prompts
from omagy_supervisor.ui.prompts import forget_typed_ahead


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Where a person types, and where a program reads it."""
    keyboard, screen = os.openpty()
    yield keyboard, screen
    os.close(keyboard)
    os.close(screen)


def typed(keyboard: int, screen: int, keys: bytes) -> None:
    """``keys``, once they have arrived: typed while the prompt before still read them one by one."""
    tty.setraw(screen)
    os.write(keyboard, keys)
    assert select.select([screen], [], [], PATIENCE_S)[0]


@pytest.mark.parametrize("keys", [b"y", b"one\ntwo\nth"])
@pytest.mark.parametrize("mode", ["lines", "keys"])
def test_what_was_typed_is_gone_and_the_terminal_is_as_it_was(
    terminal: tuple[int, int], mode: str, keys: bytes
) -> None:
    keyboard, screen = terminal
    by_lines = termios.tcgetattr(screen)
    typed(keyboard, screen, keys)
    if mode == "lines":
        termios.tcsetattr(screen, termios.TCSANOW, by_lines)
    before = termios.tcgetattr(screen)
    forget_typed_ahead(screen)
    assert termios.tcgetattr(screen) == before
    typed(keyboard, screen, b"!")
    assert os.read(screen, 100) == b"!"


def test_ctrl_c_that_was_typed_as_a_key_counts(terminal: tuple[int, int]) -> None:
    """While the prompt before is put away the terminal makes no signal of it."""
    keyboard, screen = terminal
    by_lines = termios.tcgetattr(screen)
    typed(keyboard, screen, b"abc\x03")
    termios.tcsetattr(screen, termios.TCSANOW, by_lines)
    with pytest.raises(KeyboardInterrupt):
        forget_typed_ahead(screen)
    forget_typed_ahead(screen)


def test_a_pipe_keeps_what_it_holds() -> None:
    read, write = os.pipe()
    os.write(write, b"kept")
    forget_typed_ahead(read)
    assert os.read(read, 10) == b"kept"
    os.close(read)
    os.close(write)


def test_ctrl_c_that_the_prompt_before_has_read_counts() -> None:
    with create_pipe_input() as keys, create_app_session(input=keys):
        store_typeahead(keys, [KeyPress("a"), KeyPress(Keys.ControlC)])
        with pytest.raises(KeyboardInterrupt):
            arrow_prompts._forget_read_ahead()
        arrow_prompts._forget_read_ahead()
