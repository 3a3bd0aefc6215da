"""From what a person wrote to an answer that holds, or a problem in plain words."""

import re
from collections.abc import Callable

from msgspec import Struct

from omagy_autoresearch.durations import parse_duration
from omagy_autoresearch.intake.background import Background
from omagy_autoresearch.intake.questions import ANYTHING, EDITED, NONE, OWN, Question, QuestionId
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.mission_keys import LISTS
from omagy_autoresearch.names import plain_letters, slugify
from omagy_autoresearch.placeholder import placeholder, unfinished

_LONGEST_GOAL = 2000
_LONGEST_COMMAND = 4000


class Problem(Struct, frozen=True):
    """Why an answer does not hold, as a person reads it."""

    text: str


class Limits(Struct, frozen=True):
    max_iterations: int | None = None
    max_wall_time: str | None = None


def understood(question: Question, known: Background, text: str) -> str | Problem:
    """``text`` as the answer to ``question`` in the form that is kept; nothing at all means the default."""
    wanted = text.strip() or question.default
    if any("\ud800" <= character <= "\udfff" for character in wanted):
        return Problem("that holds half a character, which no file could be written with")
    try:
        return _READ.get(question.id, _choice)(question, known, wanted)
    except ValueError as error:
        return Problem(str(error))


Reader = Callable[[Question, Background, str], str]


def _choice(question: Question, _known: Background, text: str) -> str:
    for choice in question.choices:
        if text in (choice.value, choice.label):
            return choice.value
    raise ValueError(f"{one_line(text, 40)!r} is none of the answers")


def _measure(question: Question, known: Background, text: str) -> str:
    key = _choice(question, known, text.removesuffix(EDITED))
    return text if key != OWN and text == f"{key}{EDITED}" else key


def _goal(_question: Question, _known: Background, text: str) -> str:
    goal = one_line(text)
    if not goal:
        raise ValueError("say in a few words what should get better")
    if len(goal) > _LONGEST_GOAL:
        raise ValueError(f"that is longer than {_LONGEST_GOAL} characters; details can go into mission.md later")
    found = placeholder(goal) if re.fullmatch(r"\W*\w+\W*", goal) else ""
    if found:
        raise ValueError(f"{found} is no goal yet: say in a few words what should get better")
    return goal


def _slug(_question: Question, known: Background, text: str) -> str:
    name = slugify(plain_letters(text))
    if not name:
        raise ValueError("a name needs a Latin letter or a digit")
    reason = dict(known.taken).get(name)
    if reason is not None:
        raise ValueError(f"{reason}; choose another name")
    return name


def _can_be_run(text: str) -> str:
    """``text`` as a command that a person sees as it is. Raises ValueError."""
    if len(text) > _LONGEST_COMMAND:
        raise ValueError("that is too long for a command; put it into a script and name that")
    if one_line(text) != " ".join(text.split()):
        raise ValueError("it holds characters that cannot be shown, so nobody could see what is run")
    found = unfinished(text)
    if found:
        raise ValueError(f"{found} is a placeholder: name the command that is run")
    return text


def _command(_question: Question, _known: Background, text: str) -> str:
    found = placeholder(_can_be_run(text))
    if found:
        raise ValueError(f"{found} is a placeholder, not a measurement: name the command that is run")
    return text


def _limit(_question: Question, _known: Background, text: str) -> str:
    parse_duration(text)
    return "".join(text.split())


def _globs(nothing: str) -> Reader:
    def read(_question: Question, _known: Background, text: str) -> str:
        if text == nothing:
            return nothing
        globs = split_globs(text)
        LISTS["editable"](list(globs))
        if not globs:
            raise ValueError(f"name at least one path, or say {nothing}")
        if any(one_line(glob) != glob for glob in globs):
            raise ValueError("a path holds characters that cannot be shown")
        return ", ".join(globs)

    return read


def split_globs(text: str) -> tuple[str, ...]:
    """The patterns in ``text``; commas part them."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _guard(_question: Question, _known: Background, text: str) -> str:
    return NONE if text == NONE else _can_be_run(text)


def _budget(_question: Question, _known: Background, text: str) -> str:
    if text == NONE:
        return NONE
    limits = read_limits(text)
    count = limits.max_iterations
    parts = [f"{count} iteration{'' if count == 1 else 's'}"] if count is not None else []
    return ", ".join([*parts, *([limits.max_wall_time] if limits.max_wall_time else [])])


_ITERATIONS = re.compile(r"(\d{1,9})(?: ?(?:iterations?|times|x))?")


def read_limits(text: str) -> Limits:
    """What ``20 iterations, 8h`` and the like say. Raises ValueError with what was expected."""
    if text == NONE:
        return Limits()
    count: int | None = None
    time: str | None = None
    for part in split_globs(text.replace(" or ", ",").replace(" and ", ",")):
        found = _ITERATIONS.fullmatch(part)
        if found and count is None and int(found[1]) > 0:
            count = int(found[1])
        elif found or time is not None:
            raise ValueError(f"{one_line(text, 40)!r} is not clear; write it like 20 iterations, 8h")
        else:
            parse_duration(part)
            time = "".join(part.split()).lower()
    if count is None and time is None:
        raise ValueError("write it like 20 iterations, 8h")
    return Limits(count, time)


def _agent(_question: Question, _known: Background, text: str) -> str:
    if text == "codex":
        return text
    kind, colon, command = text.partition(":")
    if kind == "command" and colon and command.strip():
        return f"command:{_can_be_run(command.strip())}"
    raise ValueError("say codex, or command: and what the shell shall run, such as command:my-agent --once")


_READ: dict[QuestionId, Reader] = {
    QuestionId.GOAL: _goal,
    QuestionId.SLUG: _slug,
    QuestionId.MEASURE: _measure,
    QuestionId.COMMAND: _command,
    QuestionId.LIMIT: _limit,
    QuestionId.EDITABLE: _globs(ANYTHING),
    QuestionId.GUARD: _guard,
    QuestionId.PROTECTED: _globs(NONE),
    QuestionId.BUDGET: _budget,
    QuestionId.AGENT: _agent,
}
