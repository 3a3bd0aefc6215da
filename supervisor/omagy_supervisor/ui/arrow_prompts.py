"""Asking with arrow keys. Loads prompt_toolkit, so it is imported only where somebody is asked."""

import sys
from collections.abc import Callable, Sequence
from typing import cast

import questionary
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.output import Output, create_output

from omagy_supervisor.ui.messages import as_called
from omagy_supervisor.ui.prompts import YES_OR_NO, Gesture, Option, columns_of, fit, wrapped

_STYLE = questionary.Style(
    [
        ("qmark", "fg:ansiyellow"),
        ("question", "bold"),
        ("answer", ""),
        ("pointer", "fg:ansiyellow"),
        ("highlighted", "bold"),
        ("instruction", "fg:ansibrightblack"),
        ("placeholder", "fg:ansibrightblack"),
    ]
)


class ArrowPrompts:
    """Implements Prompts for a terminal that can move its cursor."""

    def __init__(self) -> None:
        self._output: Output = create_output(stdout=sys.stderr)

    def tell(self, text: str) -> None:
        print(wrapped(as_called(text), columns_of(sys.stderr)), file=sys.stderr, flush=True)  # noqa: T201

    def select(self, question: str, options: Sequence[Option], default: str) -> str | Gesture:
        values = [option.value for option in options]
        asked = questionary.select(
            fit(question),
            [questionary.Choice(_title(option), value=option.value) for option in options],
            default=default if default in values else None,
            qmark=">",
            pointer=">",
            style=_STYLE,
            instruction="(arrow keys, Enter; < back, ? explain)",
            output=self._output,
            erase_when_done=True,
        )
        bindings = cast("KeyBindings", asked.application.key_bindings)
        for gesture in Gesture:
            bindings.add(gesture.value, eager=True)(_leaves_with(gesture))
        given = cast("str | Gesture", asked.unsafe_ask())
        self._leave_behind(question, next((one.label for one in options if one.value == given), ""))
        return given

    def text(self, question: str, default: str) -> str | Gesture:
        asked = questionary.text(
            fit(question),
            qmark=">",
            style=_STYLE,
            instruction="(Enter takes what is offered, Tab edits it)" if default else None,
            placeholder=[("class:placeholder", fit(default))],
            key_bindings=_text_bindings(default),
            output=self._output,
            erase_when_done=True,
        )
        try:
            answer = str(asked.unsafe_ask()).strip()
        except EOFError:
            raise KeyboardInterrupt from None
        if answer in (Gesture.BACK.value, Gesture.EXPLAIN.value):
            return Gesture(answer)
        self._leave_behind(question, answer)
        return answer

    def _leave_behind(self, question: str, answer: str) -> None:
        """What stays of a question that was answered, without its hints and the other answers."""
        if answer:
            self.tell(f"> {question} {answer}")

    def confirm(self, question: str, *, default: bool) -> bool | Gesture:
        answer = self.select(question, YES_OR_NO, "yes" if default else "no")
        return answer if isinstance(answer, Gesture) else answer == "yes"


def _title(option: Option) -> list[tuple[str, str]]:
    hint = [("class:instruction", f"  {fit(option.hint)}")] if option.hint else []
    return [("class:text", fit(option.label)), *hint]


def _leaves_with(gesture: Gesture) -> Callable[[KeyPressEvent], None]:
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(result=gesture)

    return leave


def _text_bindings(default: str) -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("tab")
    def _edit(event: KeyPressEvent) -> None:
        _fill(event.current_buffer, default)

    @bindings.add("enter")
    def _accept(event: KeyPressEvent) -> None:
        _fill(event.current_buffer, default)
        event.current_buffer.validate_and_handle()

    return bindings


def _fill(buffer: Buffer, default: str) -> None:
    if not buffer.text.strip():
        buffer.text = default
        buffer.cursor_position = len(default)
