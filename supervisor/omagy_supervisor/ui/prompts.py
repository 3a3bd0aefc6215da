"""Asking a person at a terminal: a port with two implementations, arrow keys and plain numbered lines.

What is shown may come from a repository or a program of a stranger, so everything goes through ``fit``: nothing that
is asked or told can move the cursor, colour the screen or reach the clipboard.
"""

import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import IO, Protocol

from omagy_autoresearch.lines import one_line, visible
from omagy_supervisor.ui.messages import as_called
from omagy_supervisor.ui.style import styled


class Gesture(Enum):
    """What a person does instead of answering."""

    BACK = "<"
    EXPLAIN = "?"


@dataclass(frozen=True, slots=True)
class Option:
    """One of several answers: ``label`` is shown, ``hint`` says more, ``value`` is what it means."""

    value: str
    label: str
    hint: str = ""


class Prompts(Protocol):
    """Every question can be answered with a gesture; Ctrl-C and the end of input raise KeyboardInterrupt."""

    def tell(self, text: str) -> None:
        """Show ``text``, which may have several lines."""
        ...

    def select(self, question: str, options: Sequence[Option], default: str) -> str | Gesture:
        """The value of the chosen option; ``default`` is the value that Enter takes."""
        ...

    def text(self, question: str, default: str) -> str | Gesture:
        """What the person wrote, ``default`` for nothing."""
        ...

    def confirm(self, question: str, *, default: bool) -> bool | Gesture: ...


def on_a_terminal() -> bool:
    """Whether a person can be asked: both what they type and what they read is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def make_prompts(environment: Mapping[str, str]) -> Prompts:
    """Arrow keys where the terminal can move its cursor, numbered lines elsewhere."""
    if environment.get("TERM", "dumb") in ("", "dumb", "unknown") or environment.get("OMAGY_PLAIN_PROMPTS"):
        return PlainPrompts()
    from omagy_supervisor.ui.arrow_prompts import ArrowPrompts

    return ArrowPrompts()


def fit(text: str) -> str:
    """``text`` without anything a terminal would obey."""
    return visible(text).expandtabs(4)


def wrapped(text: str, columns: int) -> str:
    """``text`` with its lines broken between words; what belongs to an indented line or an item stays below it."""
    return "\n".join(_broken(line, columns) for line in fit(text).split("\n"))


def _broken(line: str, columns: int) -> str:
    content = line.lstrip(" -")
    if len(line) < columns or line.lstrip().startswith("|"):
        return line
    indent = " " * min(len(line) - len(content), columns // 2)
    return textwrap.fill(
        line, columns - 1, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False
    )


def columns_of(screen: IO[str]) -> int:
    """How wide ``screen`` is; what is no terminal has no end."""
    try:
        columns = os.get_terminal_size(screen.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return sys.maxsize
    return max(columns, 20) if columns else sys.maxsize  # 0 says that it does not know


class PlainPrompts:
    """Implements Prompts with lines alone, for terminals that can do no more and for people who prefer them."""

    def __init__(self, answers: IO[str] | None = None, screen: IO[str] | None = None) -> None:
        self._answers = answers or sys.stdin
        self._screen = screen or sys.stderr

    def tell(self, text: str) -> None:
        print(wrapped(as_called(text), columns_of(self._screen)), file=self._screen, flush=True)

    def select(self, question: str, options: Sequence[Option], default: str) -> str | Gesture:
        numbered = {str(number): option.value for number, option in enumerate(options, start=1)}
        first = next((number for number, value in numbered.items() if value == default), "1")
        self.tell(f"\n{question}")
        for number, option in enumerate(options, start=1):
            self.tell(f"  {number}) {option.label}{f' ({option.hint})' if option.hint else ''}")
        while True:
            answer = self._read(f"number [{first}], < back, ? explain: ") or first
            if answer in (Gesture.BACK.value, Gesture.EXPLAIN.value):
                return Gesture(answer)
            if answer in numbered:
                return numbered[answer]
            self.tell(f"{answer}: a number from 1 to {len(options)} is expected")

    def text(self, question: str, default: str) -> str | Gesture:
        self.tell(f"\n{question}")
        answer = self._read(f"[{default}], < back, ? explain: " if default else "< back, ? explain: ")
        return Gesture(answer) if answer in (Gesture.BACK.value, Gesture.EXPLAIN.value) else answer or default

    def confirm(self, question: str, *, default: bool) -> bool | Gesture:
        answer = self.select(question, YES_OR_NO, "yes" if default else "no")
        return answer if isinstance(answer, Gesture) else answer == "yes"

    def _read(self, prompt: str) -> str:
        print(styled(fit(prompt), "dim", self._screen), end="", file=self._screen, flush=True)
        line = self._answers.readline()
        if not line:
            raise KeyboardInterrupt
        return one_line(line)


YES_OR_NO = (Option("yes", "yes"), Option("no", "no"))
