"""A recorded question to the person at this terminal. Somebody else may answer it elsewhere meanwhile."""

import os
from collections.abc import Callable

from omagy_autoresearch.questions import Answer, Question
from omagy_supervisor.ui.prompts import ClosedError, Gesture, Manner, make_prompts
from omagy_supervisor.ui.question_text import title_of


def ask_person(question: Question, still_open: Callable[[], bool]) -> tuple[Answer, ...] | None:
    """The answers of the person at this terminal; None when the question was closed meanwhile.

    Raises KeyboardInterrupt for Ctrl-C and the end of input.
    """

    def look() -> None:
        if not still_open():
            raise ClosedError

    prompts = make_prompts(os.environ, Manner(gestures=(), hint="Ctrl-C: later", look=look))
    answers = []
    for index, prompt in enumerate(question.prompts):
        title = title_of(question, index)
        if title:
            prompts.tell(title)
        try:
            answer = prompts.ask(prompt)
        except ClosedError:
            return None
        assert not isinstance(answer, Gesture), "it takes none"
        answers.append(answer)
    return tuple(answers)
