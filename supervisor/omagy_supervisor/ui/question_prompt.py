"""A question in a terminal that can move a cursor: arrow keys, numbers, and a line to type in.

It looks up now and then whether the question is still open: somebody else may answer it elsewhere.
"""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

from omagy_autoresearch.answering import Unfit, answer_from_parts, answer_from_text
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.questions import Answer, Prompt, Question
from omagy_supervisor.ui.messages import say
from omagy_supervisor.ui.question_plain import ask_plainly
from omagy_supervisor.ui.question_text import heading_lines, option_title
from omagy_supervisor.ui.style import styled

_TICK_S = 0.3
_SHORTCUTS_LIMIT = 9
_INSTRUCTION_COLUMNS = 60
_GONE = object()
_OTHER = object()

StillOpen = Callable[[], bool]


def ask_person(question: Question, still_open: StillOpen) -> tuple[Answer, ...] | None:
    """The answers of the person at this terminal; None when the question was closed meanwhile, or put off.

    Raises KeyboardInterrupt for Ctrl-C.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
        return ask_plainly(question, still_open)
    answers = []
    for index, prompt in enumerate(question.prompts):
        for line in _above(question, index):
            say(styled(line, "bold", sys.stderr))
        answer = _ask(prompt, still_open)
        if answer is None:
            return None
        answers.append(answer)
    return tuple(answers)


def _above(question: Question, index: int) -> list[str]:
    """What stands above the choices; a short question stands beside them, where no long list pushes it away."""
    prompt = question.prompts[index]
    lines = heading_lines(question, index, shutil.get_terminal_size().columns - 2)
    return lines[:-1] if prompt.options and _message(prompt) == prompt.question else lines


def _message(prompt: Prompt) -> str:
    return one_line(prompt.question, max(shutil.get_terminal_size().columns - _INSTRUCTION_COLUMNS, 20))


def forget_typed_ahead() -> None:
    """What was typed before the question could be read is no answer to it."""
    import termios

    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _ask(prompt: Prompt, still_open: StillOpen) -> Answer | None:
    if not prompt.options:
        return _typed(prompt, still_open)
    chosen = _chosen_several(prompt, still_open) if prompt.multi_select else _chosen(prompt, still_open)
    if chosen is None:
        return None
    values = [value for value in chosen if isinstance(value, str)]
    if _OTHER in chosen:
        own = _text(prompt.other_label, "", lambda text: bool(text.strip()) or "the answer is missing", still_open)
        if own is None:
            return None
        values.append(own)
    answer = answer_from_parts(prompt, values)
    assert isinstance(answer, Answer), "only what can be chosen was chosen"
    return answer


def _choices(prompt: Prompt) -> list[Any]:
    from questionary import Choice

    width = max(shutil.get_terminal_size().columns - 12, 20)
    choices = [Choice(option_title(option, width), option.value) for option in prompt.options]
    return [*choices, Choice(f"{prompt.other_label} …", _OTHER)] if prompt.allow_other else choices


def _chosen(prompt: Prompt, still_open: StillOpen) -> list[object] | None:
    from questionary import select

    choices = _choices(prompt)
    numbers = prompt.numbered and len(choices) <= _SHORTCUTS_LIMIT
    default = next((choice for choice in choices if choice.value in prompt.default), None)
    asked = select(
        _message(prompt),
        choices,
        default=default,
        use_shortcuts=numbers,
        use_jk_keys=not numbers,
        qmark="",
        instruction=f"({'arrow keys or a number' if numbers else 'arrow keys'}, then Enter; Ctrl-C: later)",
        output=_stderr(),
    )
    return _answered(asked, still_open, wrap=True)


def _chosen_several(prompt: Prompt, still_open: StillOpen) -> list[object] | None:
    from questionary import checkbox

    choices = _choices(prompt)
    for choice in choices:
        choice.checked = choice.value in prompt.default
    asked = checkbox(
        _message(prompt),
        choices,
        validate=lambda picked: bool(picked) or "choose at least one option",
        qmark="",
        instruction="(arrow keys and space, then Enter; Ctrl-C: later)",
        output=_stderr(),
    )
    return _answered(asked, still_open, wrap=False)


def _typed(prompt: Prompt, still_open: StillOpen) -> Answer | None:
    def fits(text: str) -> bool | str:
        found = answer_from_text(prompt, text)
        return found.reason if isinstance(found, Unfit) else True

    text = _text("", ", ".join(prompt.default), fits, still_open)
    answer = None if text is None else answer_from_text(prompt, text)
    return answer if isinstance(answer, Answer) else None


def _text(message: str, default: str, fits: Callable[[str], bool | str], still_open: StillOpen) -> str | None:
    from questionary import text

    found = _answered(text(message or ">", default, validate=fits, qmark="", output=_stderr()), still_open, wrap=True)
    return None if found is None else str(found[0])


def _answered(asked: Any, still_open: StillOpen, *, wrap: bool) -> list[Any] | None:
    """What the person gave to the prompt ``asked``; None once the question is not open any more."""
    application = asked.application

    async def look() -> None:
        while still_open():  # noqa: ASYNC110 - a file is looked at, and it tells nobody that it changed
            await asyncio.sleep(_TICK_S)
        application.exit(result=_GONE)

    application.pre_run_callables.append(lambda: application.create_background_task(look()))
    given = asked.unsafe_ask()
    if given is _GONE:
        return None
    return [given] if wrap else list(given)


def _stderr() -> Any:
    """Prompts go where diagnostics go: stdout is the asker's answer."""
    from prompt_toolkit.output import create_output

    return create_output(stdout=sys.stderr)
