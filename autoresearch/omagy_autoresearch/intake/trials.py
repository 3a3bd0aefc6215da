"""What trying an evaluator or a guard on the spot showed, and whether it still speaks of the same command."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from omagy_autoresearch.decision import KeepPolicy
from omagy_autoresearch.decision import show as show_score
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.evaluation import Evaluation, EvaluatorFault
from omagy_autoresearch.intake.scripts import shown_inner_command
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.mission_draft import MissionDraft
from omagy_autoresearch.noise import noise_note, pairs

REPEATS = 3
_STEADY = 0.002


class TrialKind(StrEnum):
    EVALUATOR = "evaluator"
    GUARD = "guard"


class Trial(Struct, frozen=True, kw_only=True):
    """``problem`` is empty when it worked; ``output`` is the end of what was printed."""

    kind: TrialKind
    subject: str
    commit: str
    problem: str = ""
    expected: str = ""
    passed: bool | None = None
    scores: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    noise: str = ""
    output: str = ""

    @property
    def works(self) -> bool:
        return not self.problem


def subject(draft: MissionDraft, kind: TrialKind) -> str:
    """Equal exactly for drafts of which the same thing would be tried."""
    tried = draft.command if kind is TrialKind.EVALUATOR else draft.guard
    script = draft.script.text if draft.script is not None and kind is TrialKind.EVALUATOR else ""
    parts = (draft.place, tried or "", draft.setup or "", script, draft.timeout, draft.keep_policy)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def shown_trial(draft: MissionDraft, kind: TrialKind) -> str:
    """The command that a trial runs in the end, as one line."""
    if kind is TrialKind.GUARD:
        return one_line(draft.guard or "")
    inner = shown_inner_command(draft.script) if draft.script is not None else None
    return one_line(inner or draft.in_place(draft.command))


def evaluator_trial(draft: MissionDraft, commit: str, found: Sequence[Evaluation], output: str) -> Trial:
    """What ``found``, measurements of one commit, say about the evaluator of ``draft``."""
    scores = tuple(one.score for one in found if one.score is not None)
    problem, expected = _evaluator_problem(draft, found)
    return Trial(
        kind=TrialKind.EVALUATOR,
        subject=subject(draft, TrialKind.EVALUATOR),
        commit=commit,
        problem=problem,
        expected=expected,
        passed=found[-1].passed if found else None,
        scores=scores,
        seconds=tuple(one.duration_s for one in found),
        noise=_noise(draft, scores),
        output=output,
    )


def _noise(draft: MissionDraft, scores: tuple[float, ...]) -> str:
    told = noise_note(scores, pairs(scores), guarded=True)
    if draft == steadied(draft, scores):
        return told
    return f"{told}: a run measures everything {REPEATS} times, and the median counts (evaluator.repeats)"


def steadied(draft: MissionDraft, scores: tuple[float, ...]) -> MissionDraft:
    """``draft`` with repeated measurements where ``scores`` of one commit differ and nothing else guards it."""
    guarded = draft.repeats > 1 or draft.min_improvement is not None
    if guarded or not scores or max(scores) - min(scores) <= _STEADY * abs(fmean(scores)):
        return draft
    return replace(draft, repeats=REPEATS)


def guard_trial(draft: MissionDraft, commit: str, result: Evaluation, output: str) -> Trial:
    return Trial(
        kind=TrialKind.GUARD,
        subject=subject(draft, TrialKind.GUARD),
        commit=commit,
        problem="" if result.passed else f"{result.error} on the current commit, so every candidate would fail it",
        expected="" if result.passed else "a command that exits with status 0 as long as everything works",
        passed=result.passed,
        seconds=(result.duration_s,),
        output=output,
    )


def with_uncommitted(trial: Trial, draft: MissionDraft, paths: Sequence[str]) -> Trial:
    """``trial`` with a word on those of ``paths``, uncommitted all, that it seems to have missed."""
    said = f"{draft.command} {draft.guard or ''} {trial.problem} {trial.output}"
    missed = [path for path in paths if path.rstrip("/").rpartition("/")[2] in said]
    if trial.works or not missed:
        return trial
    named = ", ".join(missed[:3])
    hint = f"a run starts from the last commit, and {named} is not in it: commit it, then try again"
    return replace(trial, expected="; ".join(part for part in (trial.expected, hint) if part))


def could_not_try(draft: MissionDraft, kind: TrialKind, commit: str, problem: str) -> Trial:
    """The trial itself was not possible: the set-up failed, or the mission is none."""
    return Trial(kind=kind, subject=subject(draft, kind), commit=commit, problem=problem)


_ANSWER = 'exit status 0 and, as its last line, JSON such as {"pass": true, "score": 12.5}'
_WORKS = "a command that works on the current commit: install or mend what is missing, or measure something else"
_EXPECTED = {
    EvaluatorFault.TIMEOUT: "an answer within the time limit: give it more time, or measure less",
    EvaluatorFault.SETUP: "a set-up that works in a checkout with nothing but what git tracks",
    EvaluatorFault.BUILD: "a build that works in a checkout with nothing but what git tracks",
    EvaluatorFault.NOT_STARTED: "a command that the shell can start",
}


def _evaluator_problem(draft: MissionDraft, found: Sequence[Evaluation]) -> tuple[str, str]:
    broken = next((one for one in found if one.fault is not None), None)
    if broken is not None and broken.fault is not None:
        return broken.error, _EXPECTED.get(broken.fault, _ANSWER if draft.script is None else _WORKS)
    scored = draft.keep_policy is KeepPolicy.SCORE_IMPROVEMENT
    if scored and any(one.passed and one.score is None for one in found):
        return "it gives no score, so nothing could improve on it", _ANSWER
    return "", ""


def told(trial: Trial) -> list[str]:
    """The trial in lines for a person."""
    if trial.problem:
        return [f"it did not work: {trial.problem}", *([f"expected: {trial.expected}"] if trial.expected else [])]
    lines = []
    if trial.kind is TrialKind.EVALUATOR:
        verdict = "passes" if trial.passed else "does not pass yet (a fine starting point)"
        scores = f", score {', '.join(map(show_score, trial.scores))}" if trial.scores else ""
        lines.append(f"it works: the current commit {verdict}{scores}")
    else:
        lines.append("it works: the current commit passes")
    if trial.seconds:
        times, took = len(trial.seconds), format_duration(fmean(trial.seconds))
        lines.append(f"tried {times} times, {took} each" if times > 1 else f"tried once, {took}")
    if trial.noise:
        lines.append(f"noise: {trial.noise}")
    elif len(trial.scores) == 1:
        lines.append("noise: unknown after one measurement; `omagy autoresearch check` measures more often")
    return lines
