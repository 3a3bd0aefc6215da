"""What an interview says around its questions: explanations, choices, quotations (contract section 9)."""

from collections.abc import Sequence

from omagy_autoresearch.intake.interview import Interview, trial_problems
from omagy_autoresearch.intake.questions import Question
from omagy_autoresearch.intake.trials import Trial, TrialKind
from omagy_autoresearch.questions import Option

END_EXPLAINED = (
    "launch writes the mission's folder into your repository and starts a run of it: the same as writing the files "
    "yourself and calling omagy autoresearch with the folder. Nothing is committed for you."
)
NOT_LAUNCHED = "nothing was launched: provide it and launch again, or change an answer (refine further)"
REFINE_EXPLAINED = (
    "The answer you choose is asked for again. The others stay; what depends on it is asked or tried once more."
)


def mend_options(trial: Trial) -> Sequence[Option]:
    """What can be done about a trial that did not work; the first is offered."""
    return (
        Option("change the command", "edit"),
        Option("choose another measurement" if trial.kind is TrialKind.EVALUATOR else "choose again", "other"),
        Option("change its time limit", "time"),
        *([Option("look at all that it printed", "output")] if trial.output else []),
        Option("try it once more", "again"),
        Option("go on, and mend it later", "on", "nothing can be launched before"),
    )


def end_options(state: Interview) -> Sequence[Option]:
    """What can be done with a draft that is complete; the first is offered: never a launch, which can cost money."""
    again = Option("try it again", "try", "what did not work, as the repository is now")
    return (
        *([again] if trial_problems(state) else []),
        Option("refine further", "refine", "change an answer"),
        Option("launch", "launch", "write the mission and start a run"),
        Option("only write the mission", "write", "start it when you like"),
        Option("leave", "leave", "the draft is kept"),
    )


def in_words(question: Question, given: str) -> str:
    """The answer ``given`` as ``question`` shows it."""
    return next((choice.label for choice in question.choices if choice.value == given), given)


def explained(question: Question) -> str:
    """Why ``question`` is asked, and what each answer means."""
    lines = [question.why]
    for choice in question.choices:
        more = choice.more or choice.hint
        lines.append(f"- {choice.label}{f': {more}' if more else ''}")
    lines += [f"- {question.own}"] if question.own else []
    lines += [f"Enter takes: {in_words(question, question.default)}"] if question.default else []
    return "\n".join(lines)


def quoted(text: str) -> str:
    """``text`` of another program, told apart from what omagy says."""
    return "\n".join(f"  | {line}" for line in text.splitlines())


def last_lines(text: str, most: int) -> str:
    """The last ``most`` lines of ``text``."""
    found = text.rstrip().splitlines()
    return "\n".join(["…", *found[-most:]] if len(found) > most else found)
