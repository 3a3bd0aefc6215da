"""The decision table of the contract (section 4), as data."""

from typing import NamedTuple

import pytest

from omagy_autoresearch.decision import (
    Decision,
    Direction,
    KeepPolicy,
    Standing,
    judge,
    show,
)
from omagy_autoresearch.evaluation import Evaluation, EvaluatorFault

SCORE, PASS = KeepPolicy.SCORE_IMPROVEMENT, KeepPolicy.PASS_ONLY
UP, DOWN = Direction.MAXIMIZE, Direction.MINIMIZE
KEEP, DISCARD, AMBIGUOUS = Decision.KEEP, Decision.DISCARD, Decision.AMBIGUOUS


class Row(NamedTuple):
    policy: KeepPolicy
    direction: Direction
    kept: tuple[bool | None, float | None]
    new: tuple[bool, float | None]
    decision: Decision
    reason: str


TABLE = [
    # pass=false is discarded, whatever the policy and however good the score
    Row(SCORE, UP, (True, 1.0), (False, 9.0), DISCARD, "pass=false"),
    Row(SCORE, DOWN, (True, 1.0), (False, 0.1), DISCARD, "pass=false"),
    Row(PASS, UP, (True, 1.0), (False, 9.0), DISCARD, "pass=false"),
    Row(SCORE, UP, (False, 1.0), (False, 9.0), DISCARD, "pass=false"),
    Row(SCORE, UP, (None, None), (False, 9.0), DISCARD, "pass=false"),
    # pass_only keeps what passes, however bad the score
    Row(PASS, UP, (True, 1.0), (True, 0.1), KEEP, "pass_only"),
    Row(PASS, DOWN, (True, 1.0), (True, 9.0), KEEP, "pass_only"),
    Row(PASS, UP, (True, 1.0), (True, None), KEEP, "pass_only"),
    Row(PASS, UP, (False, None), (True, None), KEEP, "pass_only"),
    Row(PASS, UP, (None, None), (True, None), KEEP, "pass_only"),
    # score_improvement keeps what is better
    Row(SCORE, UP, (True, 1.0), (True, 1.5), KEEP, "score improved: 1 → 1.5 (+50.0%)"),
    Row(SCORE, DOWN, (True, 1.0), (True, 0.5), KEEP, "score improved: 1 → 0.5 (-50.0%)"),
    Row(SCORE, UP, (True, -2.0), (True, -1.0), KEEP, "score improved: -2 → -1 (+50.0%)"),
    Row(SCORE, UP, (True, 0.0), (True, 1e-9), KEEP, "score improved: 0 → 1e-09"),
    # … and discards what is equal or worse
    Row(SCORE, UP, (True, 1.0), (True, 1.0), DISCARD, "score is the same: 1"),
    Row(SCORE, DOWN, (True, 1.0), (True, 1.0), DISCARD, "score is the same: 1"),
    Row(SCORE, UP, (True, 0.0), (True, -0.0), DISCARD, "score is the same"),
    Row(SCORE, UP, (True, 1.0), (True, 0.5), DISCARD, "score got worse: 1 → 0.5 (-50.0%)"),
    Row(SCORE, DOWN, (True, 1.0), (True, 1.5), DISCARD, "score got worse: 1 → 1.5 (+50.0%)"),
    # … and is ambiguous where there is nothing to compare
    Row(SCORE, UP, (True, 1.0), (True, None), AMBIGUOUS, "without a score"),
    Row(SCORE, DOWN, (True, None), (True, 1.0), AMBIGUOUS, "before has no score"),
    Row(SCORE, UP, (True, None), (True, None), AMBIGUOUS, "without a score"),
    # where the last kept state did not pass there was nothing to improve on
    Row(SCORE, UP, (False, 9.0), (True, 0.1), KEEP, "what was kept before did not"),
    Row(SCORE, DOWN, (False, 0.1), (True, 9.0), KEEP, "what was kept before did not"),
    Row(SCORE, UP, (False, None), (True, None), KEEP, "what was kept before did not"),
    Row(SCORE, UP, (None, None), (True, 1.0), KEEP, "what was kept before did not"),
]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_every_row_of_the_decision_table(row: Row) -> None:
    """Each row of the contract's table decides as it says, and gives its reason."""
    evaluation = Evaluation(passed=row.new[0], score=row.new[1])
    verdict = judge(row.policy, row.direction, Standing(*row.kept), evaluation)
    assert verdict.decision is row.decision
    assert row.reason in verdict.reason


@pytest.mark.parametrize("fault", list(EvaluatorFault))
@pytest.mark.parametrize("policy", list(KeepPolicy))
@pytest.mark.parametrize("kept", [(True, 1.0), (False, None), (None, None)])
def test_an_evaluator_that_failed_discards_and_says_which_way(
    fault: EvaluatorFault, policy: KeepPolicy, kept: tuple[bool | None, float | None]
) -> None:
    """Whatever was kept before, an evaluation that failed never keeps; the reason is the evaluator's fault."""
    verdict = judge(policy, UP, Standing(*kept), Evaluation(fault=fault, error=f"it was {fault}"))
    assert verdict.decision is DISCARD
    assert verdict.reason == f"it was {fault}"


@pytest.mark.parametrize("direction", list(Direction))
def test_extreme_scores_are_compared_and_shown(direction: Direction) -> None:
    """Scores at the edge of what a number can be are decided like any other."""
    for kept, score in ((5e-324, 1e308), (1e308, -1e308), (-1e308, 1e308), (1e308, 5e-324)):
        verdict = judge(SCORE, direction, Standing(passed=True, score=kept), Evaluation(passed=True, score=score))
        assert verdict.decision is (KEEP if direction.better(score, kept) else DISCARD)


@pytest.mark.parametrize(
    ("score", "target", "up", "down"), [(1.0, 1.0, True, True), (2.0, 1.0, True, False), (0.5, 1.0, False, True)]
)
def test_a_target_is_reached_by_meeting_it(score: float, target: float, up: bool, down: bool) -> None:
    """A target counts once the score meets it, from whichever side the direction comes."""
    assert UP.reached(score, target) is up
    assert DOWN.reached(score, target) is down


@pytest.mark.parametrize(
    ("score", "text"), [(None, "–"), (1.0, "1"), (0.123456789, "0.123457"), (1e-9, "1e-09"), (-2.5, "-2.5")]
)
def test_a_score_is_shown_short(score: float | None, text: str) -> None:
    """Six digits without trailing zeros, and a dash where there is no score."""
    assert show(score) == text


def test_a_standing_is_what_the_evaluation_said() -> None:
    """What failed to be measured stands as unknown, which is not the same as not passing."""
    assert Standing.of(Evaluation(passed=False, score=2.0)) == Standing(passed=False, score=2.0)
    assert Standing.of(Evaluation(fault=EvaluatorFault.TIMEOUT, error="late")) == Standing(passed=None, score=None)
