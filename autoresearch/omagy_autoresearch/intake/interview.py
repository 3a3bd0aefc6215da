"""The interview as a state: which step comes next, and what an answer makes of it (contract section 9).

A state is what is known beforehand, and the answers so far in order. Everything else follows from these: the next
question, the draft, what is missing before a launch. So one step back is one answer less, and a draft that was read
from a file is the state that wrote it.
"""

from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from omagy_autoresearch.intake.answers import Problem, understood
from omagy_autoresearch.intake.background import Background, Inferred
from omagy_autoresearch.intake.drafting import draft_of
from omagy_autoresearch.intake.questions import (
    EDITED,
    Answers,
    Choice,
    Question,
    QuestionId,
    Situation,
    order,
    question,
)
from omagy_autoresearch.intake.scripts import inner_command
from omagy_autoresearch.intake.trials import Trial, TrialKind, steadied, subject
from omagy_autoresearch.mission_draft import MissionDraft
from omagy_autoresearch.placeholder import placeholder, unfinished


class Answered(Struct, frozen=True):
    """One question and its answer, in the form that is kept."""

    question: QuestionId
    answer: str


class Interview(Struct, frozen=True, kw_only=True):
    """``inferred`` are measurements that a model proposed, ``trials`` the newest of each kind."""

    known: Background
    answered: tuple[Answered, ...] = ()
    inferred: tuple[Inferred, ...] = ()
    trials: tuple[Trial, ...] = ()

    @property
    def answers(self) -> Answers:
        return {one.question: one.answer for one in self.answered}

    @property
    def situation(self) -> Situation:
        return Situation(self.known, self.inferred, self.answers)

    @property
    def draft(self) -> MissionDraft:
        draft = draft_of(self.situation)
        trial = self._trial_of(draft, TrialKind.EVALUATOR)
        return draft if trial is None else steadied(draft, trial.scores)

    @property
    def slug(self) -> str:
        return self.answers.get(QuestionId.SLUG, "")

    def trial(self, kind: TrialKind) -> Trial | None:
        """The trial of what the draft says now; None when it was not tried, or was changed since."""
        return self._trial_of(self.draft, kind)

    def _trial_of(self, draft: MissionDraft, kind: TrialKind) -> Trial | None:
        wanted = subject(draft, kind)
        return next((one for one in self.trials if one.kind is kind and one.subject == wanted), None)


class Try(Struct, frozen=True):
    """The next step is to try what was chosen."""

    kind: TrialKind


class Ready(Struct, frozen=True):
    """Everything was asked."""

    draft: MissionDraft
    agent: str


def next_step(state: Interview) -> Question | Try | Ready:
    """The next question, a trial, or the finished draft."""
    asked = _open_question(state)
    due = _due_trial(state, asked)
    if due is not None:
        return Try(due)
    if asked is not None:
        return asked
    return Ready(state.draft, state.answers[QuestionId.AGENT])


def _open_question(state: Interview) -> Question | None:
    answers = state.answers
    for wanted in order(state.situation):
        if wanted not in answers:
            return question(wanted, state.situation)
    return None


def _due_trial(state: Interview, asked: Question | None) -> TrialKind | None:
    """The evaluator once its time limit is known, the guard once there is one."""
    answers = state.answers
    if asked is not None and asked.id not in _AFTER_LIMIT:
        return None
    if state.trial(TrialKind.EVALUATOR) is None:
        return TrialKind.EVALUATOR
    if QuestionId.GUARD in answers and state.draft.guard and state.trial(TrialKind.GUARD) is None:
        return TrialKind.GUARD
    return None


_AFTER_LIMIT = frozenset(
    (QuestionId.EDITABLE, QuestionId.GUARD, QuestionId.PROTECTED, QuestionId.BUDGET, QuestionId.AGENT)
)


def answer(state: Interview, text: str) -> Interview | Problem:
    """``state`` with ``text`` as the answer to its open question; nothing at all takes the default."""
    asked = _open_question(state)
    if asked is None:
        return Problem("everything was asked already")
    found = understood(asked, state.known, text)
    if isinstance(found, Problem):
        return found
    return replace(state, answered=(*state.answered, Answered(asked.id, found)))


def back(state: Interview) -> Interview:
    """``state`` before its last answer; the beginning stays the beginning."""
    return replace(state, answered=state.answered[:-1])


def change(state: Interview, changes: Answers) -> Interview | Problem:
    """``state`` with other answers; what was answered after them stays as far as it still holds.

    Answers about one measurement do not stay when another is chosen.
    """
    kept = state.answers
    if QuestionId.MEASURE in changes and _key(changes) != _key(kept):
        kept = {which: given for which, given in kept.items() if which in _OF_ANY_MEASURE}
    wanted = {**kept, **changes}
    result = replace(state, answered=())
    while (asked := _open_question(result)) is not None and asked.id in wanted:
        held = answer(result, wanted[asked.id])
        if isinstance(held, Problem):
            return held if asked.id in changes else result
        result = held
    return result


_OF_ANY_MEASURE = (QuestionId.GOAL, QuestionId.SLUG, QuestionId.BUDGET, QuestionId.AGENT)


def _key(answers: Answers) -> str:
    return answers.get(QuestionId.MEASURE, "").removesuffix(EDITED)


def reopened(state: Interview, which: QuestionId) -> Question:
    """The question ``which`` again, with the answer that stands as its default."""
    given = _key(state.answers) if which is QuestionId.MEASURE else state.answers.get(which, "")
    before = dict(takewhile(lambda pair: pair[0] is not which, state.answers.items()))
    asked = question(which, Situation(state.known, state.inferred, before))
    if not given:
        return replace(asked, seed="")
    listed = not asked.choices or given in (choice.value for choice in asked.choices)
    choices = asked.choices if listed else (Choice(given, f"{given} (as it is)"), *asked.choices)
    return replace(asked, default=given, choices=choices, seed="")


def with_trial(state: Interview, trial: Trial) -> Interview:
    """``state`` with ``trial`` as the newest of its kind."""
    return replace(state, trials=(*(one for one in state.trials if one.kind is not trial.kind), trial))


def tried_anew(state: Interview) -> Interview:
    """``state`` as if what did not work had not been tried: the next step is to try it."""
    return replace(state, trials=tuple(one for one in state.trials if one.works))


def with_inferred(state: Interview, found: Inferred) -> Interview:
    """``state`` with another measurement to choose from."""
    others = (one for one in state.inferred if one.proposal.key != found.proposal.key)
    return replace(state, inferred=(found, *others))


def with_taken(state: Interview, name: str, reason: str) -> Interview:
    """``state`` knowing that somebody else has ``name``."""
    return replace(state, known=replace(state.known, taken=(*state.known.taken, (name, reason))))


def missing(state: Interview, *, broken_baseline: bool = False) -> tuple[str, ...]:
    """What keeps the draft from being launched; with ``broken_baseline`` it need not work yet."""
    asked = _open_question(state)
    open_question = [f"the question {asked.text!r} is open"] if asked is not None else []
    draft = state.draft
    problem = placeholder_problem(draft)
    trials = () if broken_baseline else trial_problems(state)
    return (*open_question, *([problem] if problem else []), *trials)


def trial_problems(state: Interview) -> tuple[str, ...]:
    """What was not seen working yet."""
    return tuple(problem for kind in TrialKind if (problem := _trial_problem(state, kind)))


def placeholder_problem(draft: MissionDraft) -> str:
    """Names the command of ``draft`` that stands for one not written yet; empty when there is none."""
    inner = inner_command(draft.script) if draft.script is not None else None
    found = placeholder(draft.command) or (placeholder(inner) if inner else "")
    if found:
        return f"the evaluator is a placeholder: {found}"
    guard = unfinished(draft.guard) if draft.guard else ""
    return f"the guard is a placeholder: {guard}" if guard else ""


def _trial_problem(state: Interview, kind: TrialKind) -> str:
    if kind is TrialKind.GUARD and not state.draft.guard:
        return ""
    trial = state.trial(kind)
    if trial is None:
        return f"the {kind} was not tried yet"
    return "" if trial.works else f"the {kind} did not work when it was tried: {trial.problem}"
