"""The interview with a person: asks what the state says, tries what was chosen, keeps the draft as it goes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from omagy_autoresearch.errors import OmagyError
from omagy_autoresearch.intake.answers import Problem
from omagy_autoresearch.intake.background import Inferred
from omagy_autoresearch.intake.interview import (
    Interview,
    Ready,
    Try,
    answer,
    back,
    change,
    next_step,
    reopened,
    tried_anew,
    with_inferred,
    with_taken,
    with_trial,
)
from omagy_autoresearch.intake.questions import EDITED, OWN, Question, QuestionId
from omagy_autoresearch.intake.review import review
from omagy_autoresearch.intake.telling import (
    END_EXPLAINED,
    NOT_LAUNCHED,
    REFINE_EXPLAINED,
    end_options,
    explained,
    in_words,
    last_lines,
    mend_options,
    quoted,
)
from omagy_autoresearch.intake.trials import Trial, TrialKind, could_not_try, shown_trial, told
from omagy_autoresearch.mission_draft import MissionDraft
from omagy_autoresearch.questions import Option
from omagy_supervisor.ui.prompts import Gesture, Prompts, choose, write

_INFER = "infer"
_OUTPUT_LINES = 8


class End(StrEnum):
    """What a person wants with a finished draft."""

    LAUNCH = "launch"
    WRITE = "write"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Acts:
    """What an interview does in the world. ``try_out`` and ``infer`` may be stopped with Ctrl-C.

    ``keep`` says why the draft cannot have its name, empty once it is kept. ``obstacles`` are all reasons against
    launching the draft now.
    """

    keep: Callable[[Interview], str]
    try_out: Callable[[MissionDraft, TrialKind], Trial]
    infer: Callable[[str], Inferred] | None
    obstacles: Callable[[Interview], Sequence[str]]


class Conversation:
    """``state`` is the interview so far; it is kept after every change.

    With ``infer_first`` a model is asked for a measurement before the person is.
    """

    def __init__(self, prompts: Prompts, acts: Acts, state: Interview, *, infer_first: bool = False) -> None:
        self._prompts = prompts
        self._acts = acts
        self._infer_due = infer_first
        self.state = state

    def run(self) -> tuple[End, Ready]:
        """Ask until the person launches, only writes, or leaves. Ctrl-C raises KeyboardInterrupt."""
        forward = True
        while True:
            match next_step(self.state):
                case Question(id=QuestionId.MEASURE) if self._infer_due:
                    self._infer_due = False
                    self._infer()
                case Question() as question if forward and question.seed:
                    forward = self._take_seed(question)
                case Question() as question:
                    forward = self._ask_open(question)
                case Try(kind):
                    self._try(kind)
                    forward = True
                case Ready() as ready:
                    end = self._finish()
                    if end is not None:
                        return end, ready
                    forward = False
                case other:
                    assert_never(other)

    def _become(self, state: Interview) -> bool:
        """True once ``state`` is kept; without the name that another has, it is as before."""
        refused = self._acts.keep(state)
        if refused:
            self._prompts.tell(f"{refused}; choose another name")
            self.state = with_taken(self.state, state.slug, refused)
            return False
        self.state = state
        return True

    # -- questions

    def _take_seed(self, question: Question) -> bool:
        found = answer(self.state, question.seed)
        if isinstance(found, Problem):
            self._prompts.tell(f"{question.seed}: {found.text}")
            return False
        given = found.answered[-1].answer
        self._prompts.tell(f"{question.text} {in_words(question, given)} (from the command line)")
        return self._become(found)

    def _ask_open(self, question: Question) -> bool:
        """True after an answer, False after a step back or an answer that does not hold."""
        given = self._ask(question)
        if given is None:
            if not self.state.answered:
                self._prompts.tell("This is the first question; Ctrl-C leaves.")
            self._become(back(self.state))
            return False
        return self._take(answer(self.state, given))

    def _take(self, found: Interview | Problem) -> bool:
        if isinstance(found, Problem):
            self._prompts.tell(found.text)
            return False
        return self._become(found)

    def _ask(self, question: Question) -> str | None:
        """The answer in the person's words or the value of a choice; None for a step back."""
        while True:
            given = self._ask_once(question)
            if given is Gesture.BACK:
                return None
            if given is Gesture.EXPLAIN:
                self._prompts.tell(explained(question))
            elif given == _INFER and question.id is QuestionId.MEASURE:
                self._infer()
                question = reopened(self.state, QuestionId.MEASURE)
            elif isinstance(given, str):
                return given

    def _ask_once(self, question: Question) -> str | Gesture:
        if not question.choices:
            return write(self._prompts, question.text, question.default)
        options = [Option(choice.label, choice.value, choice.hint) for choice in question.choices]
        if question.id is QuestionId.MEASURE and self._acts.infer is not None:
            options.append(Option("let Codex look and propose one", _INFER, "a read-only session on your account"))
        return choose(self._prompts, question.text, options, question.default, own=question.own)

    def _infer(self) -> None:
        """Let Codex propose a measurement; when it cannot, that is told and the interview goes on without."""
        if self._acts.infer is None:
            self._prompts.tell(
                "Codex is not installed, so it cannot look (`npm install -g @openai/codex && codex login`)."
            )
            return
        self._prompts.tell("Codex looks at a copy of the repository and may change nothing (Ctrl-C: without it).")
        try:
            found = self._acts.infer(self.state.answers.get(QuestionId.GOAL, ""))
        except OmagyError as error:
            self._prompts.tell(_with_hint(error))
        except KeyboardInterrupt as stopped:
            _only_ctrl_c(stopped)
            self._prompts.tell("Stopped; the interview goes on without it.")
        else:
            self._prompts.tell(
                f"Inferred by Codex, with confidence {found.confidence:.2f}:\n"
                f"  {found.proposal.command}\n  {found.proposal.why}"
            )
            self._become(with_inferred(self.state, found))

    # -- trials

    def _try(self, kind: TrialKind) -> None:
        draft = self.state.draft
        self._prompts.tell(f"Trying: {shown_trial(draft, kind)}")
        try:
            trial = self._acts.try_out(draft, kind)
        except KeyboardInterrupt as stopped:
            _only_ctrl_c(stopped)
            trial = could_not_try(draft, kind, "", "it was stopped before it answered")
        for line in told(trial):
            self._prompts.tell(line)
        if trial.output:
            self._prompts.tell("it printed:\n" + quoted(last_lines(trial.output, _OUTPUT_LINES)))
        self._become(with_trial(self.state, trial))
        if not trial.works:
            self._mend(trial)

    def _mend(self, trial: Trial) -> None:
        """What to do about a trial that did not work."""
        options = mend_options(trial)
        while True:
            given = choose(self._prompts, "What now?", options, options[0].value)
            match given:
                case "output":
                    self._prompts.tell(quoted(trial.output))
                case Gesture.EXPLAIN:
                    self._prompts.tell(f"{told(trial)[-1]}\nThe draft is kept, whatever you choose.")
                case "again":
                    self._try(trial.kind)
                    return
                case "on":
                    return
                case _:
                    if self._mended(given, trial.kind):
                        return

    def _mended(self, given: str | Gesture, kind: TrialKind) -> bool:
        """Whether an answer was changed, so that the interview goes on from there."""
        guard = kind is TrialKind.GUARD
        match given:
            case "edit" if guard:
                return self._change_in_words(QuestionId.GUARD)
            case "edit":
                return self._edit_command()
            case "time":
                return self._change(QuestionId.LIMIT)
            case _:
                return self._change(QuestionId.GUARD if guard else QuestionId.MEASURE)

    def _edit_command(self) -> bool:
        measure = self.state.answers[QuestionId.MEASURE]
        wanted = measure if measure == OWN else f"{measure.removesuffix(EDITED)}{EDITED}"
        before = change(self.state, {QuestionId.MEASURE: wanted})
        if isinstance(before, Problem):
            return False
        given = self._ask(reopened(before, QuestionId.COMMAND))
        if given is None:
            return False
        return self._take(change(self.state, {QuestionId.MEASURE: wanted, QuestionId.COMMAND: given}))

    def _change_in_words(self, which: QuestionId) -> bool:
        question = reopened(self.state, which)
        given = write(self._prompts, question.text, question.default)
        return isinstance(given, str) and self._take(change(self.state, {which: given}))

    def _change(self, which: QuestionId) -> bool:
        """True once another answer holds, False after a step back; one that does not hold is asked for again."""
        while (given := self._ask(reopened(self.state, which))) is not None:
            if self._take(change(self.state, {which: given})):
                return True
        return False

    # -- the end

    def _finish(self) -> End | None:
        """What the person wants with the draft; None to go on with the interview."""
        self._prompts.tell("\n" + "\n".join(review(self.state)))
        obstacles = self._acts.obstacles(self.state)
        for obstacle in obstacles:
            self._prompts.tell(f"missing: {obstacle}")
        options = end_options(self.state)
        while True:
            given = choose(self._prompts, "Launch it, or refine further?", options, options[0].value)
            match given:
                case "try":
                    self._become(tried_anew(self.state))
                    return None
                case "launch" if obstacles:
                    told = [f"missing: {obstacle}" for obstacle in obstacles]
                    self._prompts.tell("\n".join([*told, NOT_LAUNCHED]))
                case "launch" | "write" | "leave":
                    return End(given)
                case Gesture.EXPLAIN:
                    self._prompts.tell(END_EXPLAINED)
                case Gesture.BACK:
                    self._become(back(self.state))
                    return None
                case _:
                    self._refine()
                    return None

    def _refine(self) -> None:
        asked = [reopened(self.state, one.question) for one in self.state.answered]
        options = [
            Option(question.text, question.id, in_words(question, one.answer))
            for question, one in zip(asked, self.state.answered, strict=True)
        ]
        while True:
            given = choose(self._prompts, "What should be different?", options, options[0].value)
            if given is not Gesture.EXPLAIN:
                break
            self._prompts.tell(REFINE_EXPLAINED)
        which = next((question.id for question in asked if question.id == given), None)
        if which is not None:
            self._change(which)


def _with_hint(error: OmagyError) -> str:
    return "\n".join([error.message, *(f"  {line}" for line in error.hint.splitlines())])


def _only_ctrl_c(stopped: KeyboardInterrupt) -> None:
    """What ends the whole program goes on to end it."""
    if stopped.args and stopped.args[0] not in ("", "Ctrl-C"):
        raise stopped
