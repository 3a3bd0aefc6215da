"""Asking with arrow keys. Loads prompt_toolkit, so it is imported only where somebody is asked."""

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import questionary
from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output, create_output

from omagy_autoresearch.answering import Unfit, answer_from_parts, answer_from_text
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.questions import Answer, Prompt
from omagy_supervisor.ui.calls import as_called
from omagy_supervisor.ui.fitting import columns_of, fit, wrapped
from omagy_supervisor.ui.prompts import ClosedError, Gesture, Manner, forget_typed_ahead

_TICK_S = 0.3
_MOST_NUMBERS = 9
_SHORTEST_HINT = 8
_MOST_LINES = 3  # of a question beside its choices; a longer one stands above, where it pushes none of them away
_OTHER = "\0other"
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

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self._output: Output = create_output(stdout=sys.stderr)

    def tell(self, text: str) -> None:
        print(wrapped(as_called(text), self._columns), file=sys.stderr, flush=True)  # noqa: T201

    def ask(self, prompt: Prompt) -> Answer | Gesture:
        forget_typed_ahead(sys.stdin.fileno())
        _forget_read_ahead()
        message = self._message(prompt.question)
        given = self._chosen(prompt, message) if prompt.options else self._typed(prompt, message)
        if isinstance(given, Answer):
            self.tell(f"> {one_line(prompt.question)} {one_line(given.text)}")
        return given

    @property
    def _columns(self) -> int:
        return columns_of(sys.stderr)

    def _message(self, question: str) -> str:
        lines = wrapped(question, self._columns - 3).split("\n")
        if len(lines) <= _MOST_LINES:
            return "\n  ".join(lines)
        self.tell(question)
        return one_line(question, max(self._columns - 5, 20))

    # -- choosing

    def _chosen(self, prompt: Prompt, message: str) -> Answer | Gesture:
        picked: Sequence[str] = prompt.default
        while True:
            asked = self._checkbox(prompt, message, picked) if prompt.multi_select else self._select(prompt, message)
            _bind(cast("KeyBindings", asked.application.key_bindings), self._manner.gestures)
            given = self._run(asked)
            if isinstance(given, Gesture):
                return given
            values = [given] if isinstance(given, str) else list(given)
            if _OTHER in values:
                own = self._text(prompt.other_label, "", lambda _: True)
                if own is Gesture.EXPLAIN:
                    return own
                picked = [value for value in values if value != _OTHER]
                if not isinstance(own, str) or not own:  # back to the choices
                    continue
                values = [*picked, own]
            answer = answer_from_parts(prompt, values)
            if isinstance(answer, Answer):
                return answer
            self.tell(answer.reason)

    def _select(self, prompt: Prompt, message: str) -> questionary.Question:
        choices = self._choices(prompt, numbers=True)
        numbers = _with_numbers(prompt)
        keys = "arrow keys or a number" if numbers else "arrow keys"
        return questionary.select(
            message,
            choices,
            default=next((one for one in choices if one.value in prompt.default), None),
            qmark=">",
            pointer=">",
            style=_STYLE,
            use_shortcuts=numbers,
            use_jk_keys=not numbers,
            instruction=self._instruction(message, f"{keys}, then Enter"),
            output=self._output,
            erase_when_done=True,
        )

    def _checkbox(self, prompt: Prompt, message: str, picked: Sequence[str]) -> questionary.Question:
        choices = self._choices(prompt, numbers=False)
        for choice in choices:
            choice.checked = choice.value in picked
        return questionary.checkbox(
            message,
            choices,
            validate=lambda picked: bool(picked) or "choose at least one option",
            qmark=">",
            pointer=">",
            style=_STYLE,
            instruction=self._instruction(message, "arrow keys and space, then Enter"),
            output=self._output,
            erase_when_done=True,
        )

    def _choices(self, prompt: Prompt, *, numbers: bool) -> list[questionary.Choice]:
        options = [(option.label, option.description, option.value) for option in prompt.options]
        options += [(f"{prompt.other_label} …", "", _OTHER)] if prompt.allow_other else []
        numbered = numbers and _with_numbers(prompt)
        return [
            questionary.Choice(self._title(f"{number}) " if numbered else "", label, hint), value=value)
            for number, (label, hint, value) in enumerate(options, 1)
        ]

    def _title(self, mark: str, label: str, hint: str) -> list[tuple[str, str]]:
        """One choice on one line, and no longer than that."""
        room = max(self._columns - 5, 12)
        shown = one_line(f"{mark}{label}", room)
        left = room - len(shown) - 2
        more = [("class:instruction", f"  {one_line(hint, left)}")] if hint and left > _SHORTEST_HINT else []
        return [("class:text", shown), *more]

    # -- writing

    def _typed(self, prompt: Prompt, message: str) -> Answer | Gesture:
        def fits(text: str) -> bool | str:
            found = answer_from_text(prompt, text)
            return found.reason if isinstance(found, Unfit) else True

        given = self._text(message, ", ".join(prompt.default), fits)
        answer = given if isinstance(given, Gesture) else answer_from_text(prompt, given)
        assert not isinstance(answer, Unfit), "it fitted"
        return answer

    def _text(self, message: str, default: str, fits: Callable[[str], bool | str]) -> str | Gesture:
        how = "Enter takes what stands here, Tab edits it" if default else "type it, then Enter"
        asked = questionary.text(
            message,
            validate=fits,
            qmark=">",
            style=_STYLE,
            instruction=f"{self._instruction(message, how)}\n ",
            placeholder=[("class:placeholder", f"[{fit(default)}]")] if default else None,
            key_bindings=_text_bindings(default),
            output=self._output,
            erase_when_done=True,
        )
        text = str(self._run(asked)).strip()
        return next((one for one in self._manner.gestures if one.value == text), text)

    # -- both

    def _instruction(self, message: str, how: str) -> str:
        """Beside the question where there is room, else below it."""
        told = f"({how}; {self._manner.hint})"
        last = message.rpartition("\n")[2]
        if len(last) + len(told) + 5 < self._columns:
            return told
        lines = wrapped(told, self._columns - 3).split("\n")
        return "".join(f"\n  {line}" for line in lines)

    def _run(self, asked: questionary.Question) -> Any:
        """What the person gives; meanwhile it is looked whether that is still waited for."""
        application = asked.application

        async def look() -> None:
            while True:
                try:
                    self._manner.look()
                except (ClosedError, KeyboardInterrupt) as ended:
                    if not application.is_done:
                        application.exit(exception=ended)
                    return
                await asyncio.sleep(_TICK_S)

        def begin_looking() -> None:
            application.create_background_task(look())

        application.pre_run_callables.append(begin_looking)
        try:
            given = application.run(handle_sigint=False)
        except EOFError:
            raise KeyboardInterrupt from None
        self._manner.look()
        return given


def _forget_read_ahead() -> None:
    """As ``forget_typed_ahead``, for keys that the prompt before has read already."""
    if any(press.key is Keys.ControlC for press in get_typeahead(get_app_session().input)):
        raise KeyboardInterrupt


def _with_numbers(prompt: Prompt) -> bool:
    return prompt.numbered and len(prompt.options) + prompt.allow_other <= _MOST_NUMBERS


def _bind(bindings: KeyBindings, gestures: Iterable[Gesture]) -> None:
    for gesture in gestures:
        bindings.add(gesture.value, eager=True)(_leaves_with(gesture))


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
