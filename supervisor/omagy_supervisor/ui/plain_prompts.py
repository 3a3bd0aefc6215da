"""Asking with numbered lines, answered by a typed line: for terminals that can do no more, and for pipes."""

import os
import select
import sys
from typing import IO

from omagy_autoresearch.answering import answer_from_text
from omagy_autoresearch.questions import Answer, Prompt
from omagy_supervisor.ui.calls import as_called
from omagy_supervisor.ui.fitting import columns_of, wrapped
from omagy_supervisor.ui.prompts import Gesture, Manner, forget_typed_ahead
from omagy_supervisor.ui.question_text import how_to_answer, option_lines
from omagy_supervisor.ui.style import styled

_TICK_S = 0.3
_WIDEST = 100


class PlainPrompts:
    """Implements Prompts with lines alone; ``answers`` is a file descriptor."""

    def __init__(self, manner: Manner, answers: int | None = None, screen: IO[str] | None = None) -> None:
        self._manner = manner
        self._answers = sys.stdin.fileno() if answers is None else answers
        self._screen = screen or sys.stderr
        self._held = b""

    def tell(self, text: str) -> None:
        print(wrapped(as_called(text), self._columns), file=self._screen, flush=True)

    def ask(self, prompt: Prompt) -> Answer | Gesture:
        self._forget_typed_ahead()
        self.tell(f"\n{prompt.question}")
        for line in option_lines(prompt, min(self._columns, _WIDEST) - 1):
            self.tell(line)
        while True:
            self.tell(f"({how_to_answer(prompt)}; {self._manner.hint})")
            print(styled("> ", "dim", self._screen), end="", file=self._screen, flush=True)
            text = self._line()
            gesture = next((one for one in self._manner.gestures if one.value == text.strip()), None)
            found = answer_from_text(prompt, text) if gesture is None else gesture
            if isinstance(found, Answer | Gesture):
                return found
            self.tell(found.reason)

    @property
    def _columns(self) -> int:
        return columns_of(self._screen)

    def _forget_typed_ahead(self) -> None:
        if os.isatty(self._answers):
            forget_typed_ahead(self._answers)
            self._held = b""

    def _line(self) -> str:
        """The next typed line; whoever waits for it looks up now and then. The end of input is like Ctrl-C."""
        while b"\n" not in self._held:
            self._manner.look()
            ready, _, _ = select.select([self._answers], [], [], _TICK_S)
            part = os.read(self._answers, 1 << 16) if ready else b""
            if ready and not part and not self._held:
                raise KeyboardInterrupt
            self._held += part or (b"\n" if ready else b"")
        self._manner.look()
        line, _, self._held = self._held.partition(b"\n")
        return line.decode("utf-8", "replace")
