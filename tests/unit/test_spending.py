"""What a run has used, and what it may use at most."""

import pytest

from omagy_autoresearch.mission import Budget, Contract, EvaluatorSettings, Guard, Holdout, Prices, SessionSettings
from omagy_autoresearch.sessions import Usage
from omagy_autoresearch.spending import cost, most_it_can_cost, show_money, total_tokens

USAGE = Usage(
    input_tokens=3_000_000, cached_input_tokens=1_000_000, output_tokens=500_000, reasoning_output_tokens=400_000
)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(0.0, "0.00"), (0.0042, "0.0042"), (0.01234, "0.012"), (0.1, "0.10"), (12.345, "12.35"), (1234.5, "1234.50")],
)
def test_a_small_amount_of_money_is_not_shown_as_none(amount: float, shown: str) -> None:
    """What is less than a tenth has two digits that count."""
    assert show_money(amount) == shown


def test_tokens_are_those_in_and_out() -> None:
    """Cached ones are part of those in, reasoning ones of those out."""
    assert total_tokens(USAGE) == 3_500_000
    assert total_tokens(Usage()) == 0


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        (None, None),
        (Prices(2.0, 10.0), 3 * 2 + 0.5 * 10),
        (Prices(2.0, 10.0, 0.5), 2 * 2 + 1 * 0.5 + 0.5 * 10),
        (Prices(0.0, 0.0, 0.0), 0.0),
        (Prices(2.0, 10.0, 0.0), 2 * 2 + 0.5 * 10),
    ],
)
def test_money_is_what_the_users_prices_say(prices: Prices | None, expected: float | None) -> None:
    """Cached input has its own price where one is given."""
    assert cost(USAGE, prices) == expected


def test_more_cached_tokens_than_tokens_cost_no_less_than_nothing() -> None:
    """Records that contradict themselves do not give money back."""
    assert cost(Usage(input_tokens=1, cached_input_tokens=5), Prices(1.0, 1.0, 0.0)) == 0.0


def _most(evaluator: EvaluatorSettings, budget: Budget | None = None, guard: Guard | None = None) -> str:
    budget = budget or Budget(max_iterations=2)
    return most_it_can_cost(Contract(evaluator, budget, SessionSettings(600.0), guard=guard), budget)


def test_the_longest_evaluation_counts_everything_that_a_candidate_may_need() -> None:
    """Repeats, builds, side-by-side rounds, guard and held-out check are all in it."""
    plain = EvaluatorSettings("x", timeout_s=60.0)
    assert "10m 00s of session and 1m 00s of evaluation" in _most(plain)
    assert "and 2m 00s of evaluation" in _most(EvaluatorSettings("x", timeout_s=60.0, build="make"))
    assert "and 3m 00s of evaluation" in _most(EvaluatorSettings("x", timeout_s=60.0, repeats=3, retest=0))
    assert "and 33m 00s of evaluation" in _most(EvaluatorSettings("x", timeout_s=60.0, repeats=3))
    checked = EvaluatorSettings("x", timeout_s=60.0, holdout=Holdout("h", 30.0))
    assert "and 1m 50s of evaluation" in _most(checked, guard=Guard("g", 20.0))


def test_each_budget_has_its_part_of_the_line() -> None:
    """Only where neither tokens nor money are limited the line says so."""
    evaluator = EvaluatorSettings("x", timeout_s=60.0)
    assert _most(evaluator, Budget()).startswith("at most: iterations without limit, each at most ")
    assert "; 8h 00m in all" in _most(evaluator, Budget(max_wall_time_s=28800.0))
    assert "; 1,500 tokens and the session that passes them" in _most(evaluator, Budget(max_tokens=1500))
    money = _most(evaluator, Budget(max_cost=2.5, prices=Prices(1.0, 1.0)))
    assert money.endswith("; 2.50 in money and the session that passes it")
    assert _most(evaluator, Budget()).endswith("; no limit on tokens (budget.max_tokens, budget.max_cost)")
