"""The check at the end of a run: baseline and kept commits measured once more, side by side.

A score that was kept is the best of many tries, and the best of many tries is lucky. Fresh measurements in turn,
under the same conditions, say how much of the gain holds.
"""

from itertools import pairwise
from statistics import median

from msgspec import Struct

from omagy_autoresearch.decision import show
from omagy_autoresearch.run import RunState

_ROUNDS = 2
_SHARE = 0.1  # of the run's time that the check may take without being asked for
_FREE_S = 60.0


class Held(Struct, frozen=True):
    """What the check found: ``measured`` pairs each commit with its fresh score, baseline first."""

    measured: tuple[tuple[str, float | None], ...]
    keeps: int
    holding: int


def next_to_measure(state: RunState) -> str | None:
    """The commit to measure next; None when the check is complete, or has nothing to compare."""
    order = measuring_order(state)
    return order[len(state.remeasured)] if len(state.remeasured) < len(order) else None


def measuring_order(state: RunState) -> tuple[str, ...]:
    """The commits the check measures, in turn. Settled when it begins: what it costs must not change it."""
    if state.remeasure:
        return state.remeasure
    wanted = state.plan.contract.evaluator.final_check
    commits = tuple(kept.commit for kept in state.kept)
    if wanted == "off" or len(commits) < 2 or any(kept.score is None for kept in state.kept):
        return ()
    rounds = max(_ROUNDS, state.plan.contract.evaluator.repeats)
    least = (commits[0], commits[-1])
    for choice in (commits, least) if wanted == "kept" else (least,):
        if _affordable(state, len(choice) * rounds, needed=choice == least):
            return choice * rounds
    return ()


def _affordable(state: RunState, measurements: int, *, needed: bool) -> bool:
    """Within a time budget the check has its tenth of it, whatever it measures; else the least is always worth it."""
    cost_s, limit = measurements * state.evaluation_s, state.budget.max_wall_time_s
    if limit is not None:
        return cost_s <= _SHARE * limit
    return needed or cost_s <= max(_FREE_S, _SHARE * state.elapsed_s)


def reserve_s(state: RunState) -> float:
    """Seconds of a time budget that are set aside for the check: at most a tenth of it."""
    limit = state.budget.max_wall_time_s
    if limit is None:
        return 0.0
    return len(measuring_order(state)) * state.evaluation_s


def held(state: RunState) -> Held | None:
    """What the check found, once every commit was measured; None without a complete check."""
    if not state.remeasured or next_to_measure(state) is not None:
        return None
    measured = tuple((commit, _score(state, commit)) for commit in dict.fromkeys(state.remeasure))
    direction = state.plan.contract.evaluator.direction
    steps = list(pairwise(measured))
    holding = sum(
        1 for (_, old), (_, new) in steps if None not in (old, new) and direction.better(new or 0, old or 0)
    )
    return Held(measured, len(steps), holding)


def _score(state: RunState, commit: str) -> float | None:
    scores = [score for one, score in state.remeasured if one == commit]
    return None if None in scores else median(score for score in scores if score is not None)


def held_line(state: RunState) -> str:
    """One line for the handoff; empty when there was no check."""
    found = held(state)
    if found is None:
        return ""
    (_, first), (_, last) = found.measured[0], found.measured[-1]
    claimed = f"claimed {show(state.kept[0].score)} → {show(state.kept[-1].score)}"
    if first is None or last is None:
        failed = ", ".join(commit[:12] for commit, score in found.measured if score is None)
        return f"measured again side by side: {failed} failed, supervisor.log says why ({claimed})"
    gain = f" ({(last - first) / abs(first):+.1%})" if first else ""
    told = f"{show(first)} → {show(last)}{gain}, {claimed}"
    better = state.plan.contract.evaluator.direction.better(last, first)
    verdict = "" if better else "the gain does not hold: "
    if found.keeps == 1:
        return f"measured again side by side: {verdict}{told}"
    holds = "holds" if found.holding == 1 else "hold"
    return f"measured again side by side: {verdict}{found.holding or 'none'} of {found.keeps} keeps {holds}; {told}"
