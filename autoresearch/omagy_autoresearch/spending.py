"""What a run has used, and what it may use at most: tokens, money, time."""

from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.mission import Budget, Contract, Prices
from omagy_autoresearch.sessions import Usage

_MILLION = 1_000_000


def total_tokens(usage: Usage) -> int:
    """Tokens in and out; cached ones count, reasoning ones are part of those that go out."""
    return usage.input_tokens + usage.output_tokens


def cost(usage: Usage, prices: Prices | None) -> float | None:
    """What ``usage`` costs, in the currency of ``prices``; None without prices."""
    if prices is None:
        return None
    cached = min(usage.cached_input_tokens, usage.input_tokens)
    price_cached = prices.input if prices.cached_input is None else prices.cached_input
    fresh = usage.input_tokens - cached
    return (fresh * prices.input + cached * price_cached + usage.output_tokens * prices.output) / _MILLION


def show_money(amount: float) -> str:
    """With two decimals; an amount of less than a tenth, with two digits that count."""
    return f"{amount:.2f}" if amount == 0 or amount >= 0.1 else f"{amount:.2g}"


def most_it_can_cost(contract: Contract, budget: Budget) -> str:
    """One line that bounds a run before it starts; says so where nothing bounds it."""
    session_s, evaluation_s = contract.session.timeout_s, _evaluation_s(contract)
    each = f"each at most {format_duration(session_s)} of session and {format_duration(evaluation_s)} of evaluation"
    parts = [f"{_iterations(budget.max_iterations)}, {each}"]
    if budget.max_wall_time_s is not None:
        parts.append(f"{format_duration(budget.max_wall_time_s)} in all")
    if budget.max_tokens is not None:
        parts.append(f"{budget.max_tokens:,} tokens and the session that passes them")
    if budget.max_cost is not None:
        parts.append(f"{show_money(budget.max_cost)} in money and the session that passes it")
    if budget.max_tokens is None and budget.max_cost is None:
        parts.append("no limit on tokens (budget.max_tokens, budget.max_cost)")
    return "at most: " + "; ".join(parts)


def _iterations(limit: int | None) -> str:
    if limit is None:
        return "iterations without limit"
    return "1 iteration" if limit == 1 else f"{limit} iterations"


def _evaluation_s(contract: Contract) -> float:
    """The longest that deciding on one candidate can take."""
    evaluator = contract.evaluator
    runs = evaluator.repeats
    if evaluator.repeats > 1:
        runs += 2 * evaluator.retest * evaluator.repeats
    limits_s = [check.timeout_s for check in (contract.guard, evaluator.holdout) if check is not None]
    limits_s += [evaluator.timeout_s] * runs
    build_s = evaluator.timeout_s if evaluator.build else 0.0
    return sum(limit_s + build_s for limit_s in limits_s)
