"""The finished draft on one screen, in the words of its questions."""

from collections.abc import Sequence
from statistics import fmean

from omagy_autoresearch.decision import KeepPolicy
from omagy_autoresearch.decision import show as show_score
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.intake.interview import Interview
from omagy_autoresearch.intake.questions import QuestionId, chosen, confidence, edited, shown_command
from omagy_autoresearch.intake.trials import TrialKind
from omagy_autoresearch.lines import one_line

_WIDE = 100
_ROOM = _WIDE - len(" and 99 more")


def review(state: Interview) -> list[str]:
    """What a person is about to launch."""
    draft, answers = state.draft, state.answers
    rows = [
        ("goal", draft.topic),
        ("mission", draft.place),
        ("measured", _measured(state)),
        ("better", _better(state)),
        ("tried", _tried(state)),
        ("may change", _listed(draft.editable) or "anything that is not protected"),
        ("must work", draft.guard or "nothing besides"),
        ("protected", _listed(draft.protected) or "the measurement itself"),
        ("stops after", answers.get(QuestionId.BUDGET, "")),
        ("agent", answers.get(QuestionId.AGENT, "")),
    ]
    return [f"{name:<12}{one_line(value, _WIDE)}" for name, value in rows if value]


def _listed(names: Sequence[str]) -> str:
    """The first of ``names`` that have room in a row, each of them whole, and how many more there are."""
    shown = next((count for count in range(len(names), 0, -1) if len(", ".join(names[:count])) <= _ROOM), 1)
    left = len(names) - shown
    return f"{', '.join(names[:shown])}{f' and {left} more' if left > 0 else ''}"


def _measured(state: Interview) -> str:
    proposal, sure = chosen(state.situation), confidence(state.situation)
    own = state.answers.get(QuestionId.COMMAND)
    if proposal is None:
        return own or ""
    mark = f" (inferred by Codex, confidence {sure:.2f})" if sure is not None else ""
    mark = " (edited by you)" if edited(state.situation) else mark
    return f"{proposal.title}: {own or shown_command(proposal)}{mark}"


def _better(state: Interview) -> str:
    draft = state.draft
    if draft.keep_policy is KeepPolicy.PASS_ONLY:
        return "whatever passes is kept"
    return "a higher score" if draft.direction == "maximize" else "a lower score"


def _tried(state: Interview) -> str:
    trial = state.trial(TrialKind.EVALUATOR)
    if trial is None:
        return "not yet"
    if not trial.works:
        return trial.problem
    score = f"score {show_score(trial.scores[-1])}, " if trial.scores else ""
    return f"it works: {score}{format_duration(fmean(trial.seconds or (0.0,)))} each"
