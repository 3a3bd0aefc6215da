"""Limits of metrics that refer to the baseline: what a score must not be bought with."""

import pytest

from omagy_autoresearch.assay import Case, assay
from omagy_autoresearch.decision import Decision, Standing, Verdict
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.mission import Constraint, Contract, EvaluatorSettings
from omagy_autoresearch.probes import Probe, Result


def _verdict(constraint: Constraint, baseline: dict[str, float] | None, found: dict[str, float]) -> Verdict:
    settings = EvaluatorSettings("./measure", constraints=(constraint,))
    standing = None if baseline is None else Standing(passed=True, score=1.0, metrics=baseline)
    case = Case(Contract(settings), Standing(passed=True, score=1.0), baseline=standing)
    verdict = assay(case, [Result(Probe(), Evaluation(passed=True, score=2.0, metrics=found))])
    assert isinstance(verdict, Verdict)
    return verdict


@pytest.mark.parametrize(
    ("constraint", "found", "reason"),
    [
        (Constraint("tests", min="baseline"), {"tests": 9.0}, "tests is 9, below its limit of 10 (the baseline's)"),
        (Constraint("tests", max="baseline"), {"tests": 11.0}, "tests is 11, above its limit of 10 (the baseline's)"),
        (Constraint("tests", min="baseline", max="baseline"), {"tests": 10.0}, ""),
        (Constraint("tests", min="baseline"), {}, "the evaluator gave no metric tests, which a constraint needs"),
    ],
)
def test_the_baselines_metric_is_a_limit(constraint: Constraint, found: dict[str, float], reason: str) -> None:
    """A better score with fewer tests than the baseline had is discarded, and the reason says whose limit it is."""
    verdict = _verdict(constraint, {"tests": 10.0}, found)
    assert (verdict.decision is Decision.DISCARD) == bool(reason)
    assert reason in verdict.reason


@pytest.mark.parametrize("baseline", [None, {}])
def test_a_baseline_without_the_metric_sets_no_limit(baseline: dict[str, float] | None) -> None:
    """A baseline that could not be measured must not discard a whole night."""
    assert _verdict(Constraint("tests", min="baseline"), baseline, {"tests": 1.0}).decision is Decision.KEEP
