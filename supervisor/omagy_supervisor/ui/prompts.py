"""Asking a person at a terminal: a port with two implementations, arrow keys and plain numbered lines.

What is asked is a ``Prompt`` of the core, and what counts as its answer is said there, too: the interview and
``omagy question`` ask in the same way. What is shown may come from a repository or a program of a stranger, so
everything goes through ``fit``: nothing that is asked or told can move the cursor or reach the clipboard.
"""

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from omagy_autoresearch.questions import Answer, Option, Prompt


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
    """What was typed before a question could be read is no answer to it; a pipe keeps what it holds."""
    import termios

    with contextlib.suppress(termios.error):
        termios.tcflush(fd, termios.TCIFLUSH)
