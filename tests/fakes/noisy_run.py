"""Plays the decisions of a run against a noisy evaluator, with nothing but the core: fast enough for thousands."""

import random
from collections.abc import Callable, Sequence

from omagy_autoresearch.assay import Case, assay, differences_within, standing_after
from omagy_autoresearch.decision import Decision, Standing, Verdict
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.mission import Contract, EvaluatorSettings
from omagy_autoresearch.noise import remembered
from omagy_autoresearch.probes import Result, Target

Measure = Callable[[float], float]
"""A score as it is measured, from the true one."""


def gaussian(seed: int, relative: float) -> Measure:
    """Normal noise whose standard deviation is ``relative`` of the true score."""
    source = random.Random(seed)
    return lambda true: source.gauss(true, relative * true)


def heavy_tailed(seed: int, relative: float) -> Measure:
    """As ``gaussian``, but one measurement in twenty is off by ten times as much."""
    source = random.Random(seed)
    return lambda true: source.gauss(true, relative * true * (10 if source.random() < 0.05 else 1))


def play(
    settings: EvaluatorSettings, candidates: Sequence[float], measure: Measure, start: float = 100.0
) -> list[bool]:
    """Which of ``candidates`` (true scores) are kept, in turn; each is compared with what is kept by then."""
    kept_true, standing = start, None
    differences: tuple[float, ...] = ()
    decisions = []
    for true in (start, *candidates):
        results, verdict = _assay(settings, standing, differences, true, kept_true, measure)
        differences = remembered(differences, differences_within(results))
        if verdict.decision in (Decision.KEEP, Decision.BASELINE):
            kept_true, standing = true, standing_after(settings, results)
        decisions.append(verdict.decision is Decision.KEEP)
    return decisions[1:]


def _assay(
    settings: EvaluatorSettings,
    standing: Standing | None,
    differences: tuple[float, ...],
    true: float,
    kept_true: float,
    measure: Measure,
) -> tuple[list[Result], Verdict]:
    case = Case(Contract(settings), standing, differences)
    results: list[Result] = []
    while True:
        step = assay(case, results)
        if isinstance(step, Verdict):
            return results, step
        score = measure(true if step.target is Target.CANDIDATE else kept_true)
        results.append(Result(step, Evaluation(passed=True, score=score, duration_s=1.0)))
