"""The check at the end of a run: what is measured again, in which order, and what the handoff says of it."""

from typing import Any

import pytest
from msgspec.structs import replace

from omagy_autoresearch.confirm import held, held_line, next_to_measure, reserve_s
from omagy_autoresearch.decision import Direction
from omagy_autoresearch.events import Remeasured
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.plan import Overrides
from omagy_autoresearch.steps import BeginSession, EndRun, Remeasure
from unit.histories import BASELINE, PLAN, History, broken, commit, scored


def _run(*scores: float, iterations: int | None = None, **settings: Any) -> History:
    """A run that kept ``scores`` after a baseline of 10, each evaluation having taken a second, at its end."""
    evaluator = replace(PLAN.contract.evaluator, **{"final_check": "kept", **settings})
    budget = Budget(max_iterations=iterations or len(scores) or 1)
    history = History(replace(PLAN, contract=replace(PLAN.contract, evaluator=evaluator, budget=budget)))
    history.measured(_took(10.0))
    for score in scores:
        history.candidate(_took(score))
    return history


def _took(score: float) -> Any:
    return replace(scored(score), duration_s=1.0)


def _measure(history: History, *scores: float | None) -> list[str]:
    """Let the check measure ``scores`` in turn (None: it fails); returns the commits in that order."""
    commits = []
    for score in scores:
        step = history.step()
        assert isinstance(step, Remeasure), step
        commits.append(step.commit)
        history.tell(Remeasured(step.commit, broken() if score is None else scored(score)))
    return commits


def test_baseline_and_kept_commits_take_turns_until_the_check_is_complete() -> None:
    """Two rounds over all of them, the baseline first; then the run ends for the reason it had."""
    history = _run(11.0, 12.0)
    order = _measure(history, 10.0, 11.0, 12.0, 10.2, 11.2, 12.2)
    assert order == [BASELINE, commit(1), commit(2)] * 2
    end = history.end
    assert (end.outcome, end.reason) == (Outcome.FINISHED, "iteration budget used: 2 (budget.max_iterations)")
    found = held(history.state)
    assert found is not None
    assert found.measured == ((BASELINE, 10.1), (commit(1), 11.1), (commit(2), 12.1))
    assert (found.keeps, found.holding) == (2, 2)
    assert "2 of 2 keeps hold; 10.1 → 12.1 (+19.8%), claimed 10 → 12" in held_line(history.state)


def test_repeats_make_as_many_rounds() -> None:
    """A mission that measures three times checks three times."""
    state = _run(11.0).state
    evaluator = replace(state.plan.contract.evaluator, repeats=3)
    state = replace(state, plan=replace(state.plan, contract=replace(state.plan.contract, evaluator=evaluator)))
    order = []
    while (one := next_to_measure(state)) is not None:
        order.append(one)
        state = replace(state, remeasured=(*state.remeasured, (one, 1.0)))
    assert order == [BASELINE, commit(1)] * 3


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ((10.0, 11.0, 10.5) * 2, "1 of 2 keeps holds; 10 → 10.5 (+5.0%), claimed 10 → 12"),
        ((10.0, 9.0, 10.0) * 2, "the gain does not hold: 1 of 2 keeps holds; 10 → 10 (+0.0%), claimed 10 → 12"),
        ((10.0, None, 12.0) * 2, "none of 2 keeps hold; 10 → 12 (+20.0%), claimed 10 → 12"),
        ((10.0, 11.0, None) * 2, f"{commit(2)[:12]} failed, supervisor.log says why (claimed 10 → 12)"),
    ],
)
def test_the_line_compares_claim_and_finding(measured: tuple[float | None, ...], words: str) -> None:
    """Each keep holds when it is still better than what it replaced; a commit that fails now is told."""
    history = _run(11.0, 12.0)
    _measure(history, *measured)
    assert words in held_line(history.state)
    assert held_line(history.state).startswith("measured again side by side: ")


def test_lower_is_better_where_the_mission_says_so() -> None:
    """With direction minimize a lower fresh score holds."""
    history = _run(9.0, direction=Direction.MINIMIZE)
    _measure(history, 10.0, 9.0, 10.0, 9.0)
    assert held_line(history.state) == "measured again side by side: 10 → 9 (-10.0%), claimed 10 → 9"


@pytest.mark.parametrize("history", [_run(), _run(11.0, final_check="off"), _run(11.0, iterations=9)])
def test_nothing_is_measured_without_a_reason(history: History) -> None:
    """Not without a keep, not when it is switched off, and not while the run goes on."""
    assert not isinstance(history.step(), Remeasure)
    assert held_line(history.state) == ""


def test_best_measures_the_two_ends_only() -> None:
    """``best`` is for evaluations that are expensive."""
    history = _run(11.0, 12.0, final_check="best")
    assert _measure(history, 10.0, 12.0, 10.0, 12.0) == [BASELINE, commit(2)] * 2
    assert held_line(history.state) == "measured again side by side: 10 → 12 (+20.0%), claimed 10 → 12"


def test_a_check_that_would_take_too_long_measures_the_two_ends_only() -> None:
    """More than a minute, and more than a tenth of the run's time, is not spent without being asked for."""
    history = _run(*[11.0 + number for number in range(4)])
    slow = replace(history.state, evaluation_s=100.0)
    history.state = slow
    assert _measure(history, 10.0, 14.0) == [BASELINE, commit(4)]


def test_a_run_that_is_stopped_or_blocked_is_not_checked() -> None:
    """The check belongs to the end of the work, not to an interruption."""
    history = _run(11.0, iterations=9)
    assert isinstance(history.step(), BeginSession)
    history.wrong("a").wrong("a").wrong("a")
    assert isinstance(history.step(), EndRun)
    assert history.end.outcome is Outcome.FAILED


def test_a_resume_after_a_crash_goes_on_with_the_check() -> None:
    """What was measured before the supervisor died is not measured again."""
    history = _run(11.0)
    _measure(history, 10.0, 11.0)
    history.resumed()
    assert _measure(history, 10.0, 11.0) == [BASELINE, commit(1)]
    assert isinstance(history.step(), EndRun)


def test_a_check_that_more_iterations_follow_is_made_anew_at_the_end() -> None:
    """Fresh measurements of a check belong together."""
    history = _run(11.0)
    _measure(history, 10.0)
    history.resumed(Overrides(budget=Budget(max_iterations=2))).candidate(_took(12.0))
    assert _measure(history, *[1.0] * 6) == [BASELINE, commit(1), commit(2)] * 2


def test_time_for_the_check_is_set_aside() -> None:
    """As much as it will take; where that is more than a tenth of the time budget there is no check."""
    state = _run(11.0).state
    assert reserve_s(state) == 0.0
    assert reserve_s(replace(state, budget=Budget(max_wall_time_s=1000.0))) == 4.0
    assert reserve_s(replace(state, budget=Budget(max_wall_time_s=30.0))) == 0.0
