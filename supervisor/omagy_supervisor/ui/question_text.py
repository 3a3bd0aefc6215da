"""A question as lines for a person."""

import textwrap

from omagy_autoresearch.lines import one_line
from omagy_autoresearch.questions import OTHER, Option, Prompt, Question, Status


def title_of(question: Question, index: int) -> str:
    """What stands above prompt ``index``; empty for nothing."""
    prompt, count = question.prompts[index], len(question.prompts)
    titles = [
        f"{index + 1} of {count}" if count > 1 else "",
        *dict.fromkeys((question.header if not index else "", prompt.header)),
    ]
    return ": ".join(text for text in titles if text)


def _heading_lines(question: Question, index: int, width: int) -> list[str]:
    title = title_of(question, index)
    return [*([title] if title else []), *_wrapped(question.prompts[index].question, width)]


def option_lines(prompt: Prompt, width: int) -> list[str]:
    """The options, numbered where a number chooses one."""
    lines = []
    for number, option in enumerate(prompt.options, 1):
        mark = f"{number:>3}) " if prompt.numbered else "  - "
        lines += textwrap.wrap(option_title(option), width, initial_indent=mark, subsequent_indent=" " * len(mark))
    return lines


def option_title(option: Option, limit: int | None = None) -> str:
    return one_line(f"{option.label}: {option.description}" if option.description else option.label, limit)


def how_to_answer(prompt: Prompt) -> str:
    """What may be typed."""
    default = f" (Enter: {one_line(_default_words(prompt), 60)})" if prompt.default else ""
    if not prompt.options:
        return f"your answer{default}"
    one = "a number or a name" if prompt.numbered else "one of these"
    several = f"{one}, several with commas" if prompt.multi_select else one
    own = "your own words" if prompt.other_label == OTHER else prompt.other_label
    return f"{several}{f', or {own}' if prompt.allow_other else ''}{default}"


def _default_words(prompt: Prompt) -> str:
    named = {
        option.value: str(number) if prompt.numbered else option.label
        for number, option in enumerate(prompt.options, 1)
    }
    return ", ".join(named.get(value, value) for value in prompt.default)


def question_lines(question: Question, width: int = 100) -> list[str]:
    """All of ``question`` with its answers, as ``question show`` prints it."""
    lines = []
    for index, prompt in enumerate(question.prompts):
        lines += ["", *_heading_lines(question, index, width), *option_lines(prompt, width)]
        if index < len(question.answers):
            lines.append(f"answered: {one_line(question.answers[index].text)}")
        elif question.status is Status.OPEN:
            lines.append(f"({how_to_answer(prompt)})")
    return lines[1:]


def height_of(question: Question, width: int) -> int:
    """How many lines the tallest prompt of ``question`` takes, with room for what is typed."""
    return 5 + max(
        len(_heading_lines(question, index, width)) + len(option_lines(prompt, width))
        for index, prompt in enumerate(question.prompts)
    )


def _wrapped(text: str, width: int) -> list[str]:
    return [line for part in text.split("\n") for line in textwrap.wrap(part, max(width, 20)) or [""]]
