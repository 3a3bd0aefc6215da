"""A question as numbered lines, answered by a typed line: for terminals that can do no more, and for pipes."""

import os
import select
import shutil
import sys
from collections.abc import Callable, Iterator

from omagy_autoresearch.answering import Unfit, answer_from_text
from omagy_autoresearch.questions import Answer, Question
from omagy_supervisor.ui.messages import say
from omagy_supervisor.ui.question_text import heading_lines, how_to_answer, option_lines

_TICK_S = 0.5


def ask_plainly(question: Question, still_open: Callable[[], bool]) -> tuple[Answer, ...] | None:
    """The person's answers; None when there is no more input, or the question is not open any more."""
    width = shutil.get_terminal_size().columns - 2
    lines = _lines(still_open)
    answers = []
    for index in range(len(question.prompts)):
        for line in heading_lines(question, index, width):
            say(line)
        answer = _one(question, index, width, lines)
        if answer is None:
            return None
        answers.append(answer)
    return tuple(answers)


def _one(question: Question, index: int, width: int, lines: Iterator[str]) -> Answer | None:
    prompt = question.prompts[index]
    for line in option_lines(prompt, width):
        say(line)
    say(f"({how_to_answer(prompt)})")
    for text in lines:
        answer = answer_from_text(prompt, text)
        if isinstance(answer, Answer):
            return answer
        assert isinstance(answer, Unfit)
        say(answer.reason)
    return None


def _lines(still_open: Callable[[], bool]) -> Iterator[str]:
    """Typed lines, as long as they are wanted: whoever waits looks up now and then."""
    fd, held = sys.stdin.fileno(), b""
    while True:
        line, found, rest = held.partition(b"\n")
        if found:
            held = rest
            yield line.decode("utf-8", "replace")
            continue
        ready, _, _ = select.select([fd], [], [], _TICK_S)
        if not still_open():
            return
        if not ready:
            continue
        part = os.read(fd, 1 << 16)
        if not part:
            if held:
                yield held.decode("utf-8", "replace")
            return
        held += part
