"""Asking a person at a terminal: a port with two implementations, arrow keys and plain numbered lines.

What is asked is a ``Prompt`` of the core, and what counts as its answer is said there, too: the interview and
``omagy question`` ask in the same way. What is shown may come from a repository or a program of a stranger, so
everything goes through ``fit``: nothing that is asked or told can move the cursor or reach the clipboard.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from omagy_autoresearch.questions import Answer, Option, Prompt

_CTRL_C = b"\x03"
_MOST_TYPED = 1 << 20


class Gesture(Enum):
    """What a person does instead of answering."""

    BACK = "<"
    EXPLAIN = "?"


class ClosedError(Exception):
    """The question is not open any more: somebody answered it elsewhere."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How somebody is asked: the ``gestures`` that are understood, and the ``hint`` that tells of them.

    ``look`` is called now and then while an answer is waited for; it raises ClosedError or KeyboardInterrupt to end
    the wait.
    """

    gestures: tuple[Gesture, ...]
    hint: str
    look: Callable[[], None]


class Prompts(Protocol):
    """Ctrl-C and the end of input raise KeyboardInterrupt."""

    def tell(self, text: str) -> None:
        """Show ``text``, which may have several lines."""
        ...

    def ask(self, prompt: Prompt) -> Answer | Gesture:
        """What the person answers; what was typed before the question could be read is no answer to it.

        Raises ClosedError.
        """
        ...


def choose(
    prompts: Prompts, question: str, options: Sequence[Option], default: str, *, own: str = ""
) -> str | Gesture:
    """The value of the chosen option, or own words where ``own`` offers them; Enter takes the value ``default``."""
    answer = prompts.ask(
        Prompt(question, options=tuple(options), allow_other=bool(own), other_label=own, default=(default,))
    )
    return answer if isinstance(answer, Gesture) else str(answer.value)


def write(prompts: Prompts, question: str, default: str) -> str | Gesture:
    """What the person wrote, ``default`` for nothing."""
    answer = prompts.ask(Prompt(question, default=(default,) if default else ()))
    return answer if isinstance(answer, Gesture) else str(answer.value)


def confirm(prompts: Prompts, question: str, *, default: bool) -> bool | Gesture:
    given = choose(prompts, question, (Option("yes", "yes"), Option("no", "no")), "yes" if default else "no")
    return given if isinstance(given, Gesture) else given == "yes"


def on_a_terminal() -> bool:
    """Whether a person can be asked: both what they type and what they read is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def make_prompts(environment: Mapping[str, str], manner: Manner) -> Prompts:
    """Arrow keys where the terminal can move its cursor, numbered lines elsewhere."""
    plain = environment.get("TERM", "dumb") in ("", "dumb", "unknown") or environment.get("OMAGY_PLAIN_PROMPTS")
    if plain or not on_a_terminal():
        from omagy_supervisor.ui.plain_prompts import PlainPrompts

        return PlainPrompts(manner)
    from omagy_supervisor.ui.arrow_prompts import ArrowPrompts

    return ArrowPrompts(manner)


def forget_typed_ahead(fd: int) -> None:
    """What was typed before a question could be read is no answer to it; a pipe keeps what it holds.

    Raises KeyboardInterrupt when Ctrl-C was typed: where keys are read one by one it is a key like any other.
    """
    import termios

    with contextlib.suppress(termios.error, OSError):
        if _CTRL_C in _typed_ahead(fd):
            raise KeyboardInterrupt


def _typed_ahead(fd: int) -> bytes:
    """All that was typed at the terminal ``fd`` and not read yet. Raises termios.error for anything else."""
    import termios

    before = termios.tcgetattr(fd)
    one_by_one = termios.tcgetattr(fd)
    one_by_one[3] &= ~(termios.ICANON | termios.ECHO)
    one_by_one[6][termios.VMIN] = one_by_one[6][termios.VTIME] = 0  # what is there, and no waiting
    termios.tcsetattr(fd, termios.TCSANOW, one_by_one)
    typed = b""
    try:
        while (part := os.read(fd, 1 << 16)) and len(typed) < _MOST_TYPED:
            typed += part
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
    return typed
