"""What askers and people are told of questions: the command line prints it, MCP tools hand it on (section 8)."""

import shlex
from collections.abc import Mapping
from typing import Any

from omagy_autoresearch.answering import answers_from_data, result_of
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.questions import Question, Status
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.calls import as_called


def answer_question(settings: Settings, root: StateRoot, question_id: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Answer an open question with ``answer`` or ``answers`` of ``data``. Raises OmagyError, always in a session."""
    refuse_in_session(settings, "answer")
    files = QuestionFiles(root.state)
    answers = answers_from_data(files.find(question_id), data)
    return told(files.answer(question_id, answers, SystemClock().now()), settings)


def told(asked: Question, settings: Settings) -> dict[str, Any]:
    """What an asker reads of ``asked``: from inside a session, with what to do next."""
    result = result_of(asked, as_called(answering_command(asked)))
    if settings.inside_session is not None and asked.status is Status.OPEN:
        result["next"] = end_session(settings)
    return result


def end_session(settings: Settings) -> str:
    """What a session does that has asked."""
    candidate = settings.environment.get("OMAGY_CANDIDATE_FILE", "the candidate file")
    return (
        f"End this session now. Write {candidate} first: status candidate for a commit worth measuring, else abort. "
        "The run then waits for the person, and a later session gets the answer."
    )


def answering_command(asked: Question) -> str:
    """How a person answers ``asked`` from a shell."""
    blanks = ["'<your answer>'"] if len(asked.prompts) == 1 else [f"'<{n}>'" for n, _ in enumerate(asked.prompts, 1)]
    return f"omagy question answer {shlex.quote(asked.id)} {' '.join(blanks)}"


def refuse_in_session(settings: Settings, verb: str) -> None:
    """Raises ContractError for a session that would ``verb`` a question: that is the person's."""
    if settings.inside_session is not None:
        told = f"a session cannot {verb} questions: they are the person's to {verb}"
        raise ContractError(told, end_session(settings))
