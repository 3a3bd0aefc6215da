"""The terminal stop model (contract section 5): the five ways to end, and which of them a record's words mean.

Everything that reads an outcome goes through ``normalise``: a manifest, a mode's state, a record of an older tool.
Nothing but its result is shown to anybody, so that a legacy word never passes for an outcome.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from omagy_autoresearch.asked import Asked, question_of
from omagy_autoresearch.errors import ExitStatus
from omagy_autoresearch.lines import one_line


class Outcome(StrEnum):
    """Canonical lifecycle outcomes, spelt as everything that reads our records expects them."""

    FINISHED = "finished"
    BLOCKED = "blocked"
    FAILED = "failed"
    USERINTERLUDE = "userinterlude"
    ASK_USER_QUESTION = "askuserQuestion"

    @property
    def terminal(self) -> bool:
        """True when a run that ended so cannot be resumed."""
        return self in (Outcome.FINISHED, Outcome.FAILED)

    @property
    def exit_status(self) -> ExitStatus:
        return _EXIT[self]


_EXIT = {
    Outcome.FINISHED: ExitStatus.OK,
    Outcome.BLOCKED: ExitStatus.BLOCKED,
    Outcome.FAILED: ExitStatus.FAILED,
    Outcome.USERINTERLUDE: ExitStatus.INTERLUDE,
    Outcome.ASK_USER_QUESTION: ExitStatus.QUESTION,
}

LEGACY: Mapping[str, Outcome] = {
    "finish": Outcome.FINISHED,
    "complete": Outcome.FINISHED,
    "completed": Outcome.FINISHED,
    "done": Outcome.FINISHED,
    "cancelled": Outcome.USERINTERLUDE,
    "canceled": Outcome.USERINTERLUDE,
    "abort": Outcome.USERINTERLUDE,
    "aborted": Outcome.USERINTERLUDE,
}
"""Words of older records with one meaning each. ``BLOCKED_ON_USER`` has two, so it is not among them."""

BLOCKED_ON_USER = "blocked_on_user"
"""``askuserQuestion`` when a question's record proves that one was asked, else ``blocked``."""

GOING_ON = ("continue", "progress")
"""What a legacy ``run_outcome`` says of a workflow that has not ended."""

_WORDS = {
    **{outcome.lower(): outcome for outcome in Outcome},
    "user_interlude": Outcome.USERINTERLUDE,
    "ask_user_question": Outcome.ASK_USER_QUESTION,
    **LEGACY,
}


class Source(StrEnum):
    """Which part of a record decided. The order is the precedence."""

    LIFECYCLE_OUTCOME = "lifecycle_outcome"
    RUN_OUTCOME = "run_outcome"
    CURRENT_PHASE = "current_phase"
    QUESTION = "question"
    CONTEXT = "context"
    NOTHING = "nothing"


class Reading(NamedTuple):
    """What a record says of how its workflow ended.

    ``outcome`` is None when it has not ended or does not say how; ``ended`` tells these apart. ``question`` is the
    question that the record names, ``reason`` its own words. ``problem`` says what in it was not understood.
    """

    outcome: Outcome | None
    source: Source = Source.NOTHING
    ended: bool = False
    question: Asked | None = None
    reason: str = ""
    problem: str = ""


def normalise(record: object) -> Reading:
    """Read a record of any age. Total: whatever JSON value stands there gives a reading, never an error.

    Precedence: ``lifecycle_outcome``, ``run_outcome``, then what phase, question and context let infer. Case and
    blanks around a word do not matter. A word that nobody knows, or a value that is no word, is skipped and told as
    ``problem``, and from then on nothing may read ``finished``: an end that nobody understood was no success.
    """
    if not isinstance(record, Mapping):
        return Reading(None, problem="the record is no JSON object")
    question = question_of(record)
    outcome, source, problems = _decide(record, question)
    if problems and outcome is Outcome.FINISHED:
        outcome, source = None, Source.NOTHING
    return Reading(
        outcome=outcome,
        source=source,
        ended=outcome is not None or (source is Source.NOTHING and _says_over(record)),
        question=question,
        reason=_text(record, "stop_reason", "reason"),
        problem="; ".join(problems),
    )


def _decide(record: Mapping[str, object], question: Asked | None) -> tuple[Outcome | None, Source, list[str]]:
    problems: list[str] = []
    for source in (Source.LIFECYCLE_OUTCOME, Source.RUN_OUTCOME):
        value = record.get(source)
        if _is_absent(value):
            continue
        if source is Source.RUN_OUTCOME and _word(value) in GOING_ON:
            return None, source, problems
        outcome = meaning(_word(value), question)
        if outcome is not None:
            return outcome, source, problems
        problems.append(f"{source} holds {_quoted(value)}, which is no outcome")
    outcome, source = _infer(record, question)
    if outcome is not None and record.get("active") is True:
        problems.append(f"{source} says that it has ended, and active that it has not")
        return None, Source.NOTHING, problems
    return outcome, source, problems


def _infer(record: Mapping[str, object], question: Asked | None) -> tuple[Outcome | None, Source]:
    """From what was written for other purposes. Only a word for it makes ``finished``: being over is no success."""
    phase = meaning(_word(record.get("current_phase")), question)
    if phase is not None:
        return phase, Source.CURRENT_PHASE
    if question is not None and question.open:
        return Outcome.ASK_USER_QUESTION, Source.QUESTION
    status = meaning(_word(record.get("status")), question)
    if status is not None:
        return status, Source.CONTEXT
    if _says_over(record) and _text(record, "error"):
        return Outcome.FAILED, Source.CONTEXT
    return None, Source.NOTHING


def _says_over(record: Mapping[str, object]) -> bool:
    """A ``lifecycle_outcome`` stands only in a record of something that ended, whatever it holds."""
    if record.get("active") is True:
        return False
    over = record.get("active") is False or bool(_text(record, "completed_at"))
    return over or not _is_absent(record.get(Source.LIFECYCLE_OUTCOME))


def meaning(word: str, question: Asked | None = None) -> Outcome | None:
    """What ``word`` means, canonical or legacy; None for one that nobody knows."""
    key = word.strip().lower().replace("-", "_") if word.isascii() else ""
    if key == BLOCKED_ON_USER:
        return Outcome.BLOCKED if question is None else Outcome.ASK_USER_QUESTION
    return _WORDS.get(key)


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _text(record: Mapping[str, object], *names: str) -> str:
    found = (record.get(name) for name in names)
    return next((one_line(value) for value in found if isinstance(value, str) and value.strip()), "")


def _quoted(value: object) -> str:
    if not isinstance(value, str):
        return f"a {type(value).__name__}"
    return f"'{one_line(value, 40)}'"
