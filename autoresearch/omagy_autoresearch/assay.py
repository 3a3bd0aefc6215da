"""What has to be measured of a candidate before it can be decided on, and the decision once it is enough.

One function answers both: ``assay`` looks at the measurements so far and gives the next one to make, or the
verdict. A candidate is compared cheaply first; only one that would be kept pays for the guard, the held-out check
and, where its gain does not clear the noise, for being measured again side by side with what it would replace.
"""

from collections.abc import Sequence
from statistics import fmean, median

from msgspec import Struct
from msgspec.structs import replace

from omagy_autoresearch.decision import Decision, Direction, KeepPolicy, Standing, Verdict, judge, show
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.ledger import DiffStat
from omagy_autoresearch.mission import BASELINE, Contract, EvaluatorSettings, Limit
from omagy_autoresearch.noise import margin, pairs
from omagy_autoresearch.probes import Probe, ProbeKind, Result, Target

_HOPE = 0.2  # of the margin: a gain that shows less is not worth more measurements


class Case(Struct, frozen=True):
    """What a candidate is judged against; ``kept`` is None for the baseline itself."""

    contract: Contract
    kept: Standing | None
    differences: tuple[float, ...] = ()  # of scores of the same commit, measured earlier in this run
    diff: DiffStat | None = None
    baseline: Standing | None = None  # what a constraint's limit can refer to


def assay(case: Case, results: Sequence[Result]) -> Probe | Verdict:
    """The next measurement, or the verdict when there is enough."""
    settings = case.contract.evaluator
    first = _of(results, ProbeKind.EVALUATOR, Target.CANDIDATE)
    failed = next((one for one in first if one.fault is not None or not one.passed), None)
    wanted = baseline_repeats(settings) if case.kept is None else settings.repeats
    if failed is None and len(first) < wanted:
        return Probe()
    combined = combine(settings, first[:wanted])
    if case.kept is None:
        return Verdict(Decision.BASELINE, _baseline_reason(combined))
    verdict = _first_verdict(case, combined)
    if verdict.decision is not Decision.KEEP:
        return verdict
    return _checks(case, results) or _retests(case, results, combined, verdict)


def baseline_repeats(settings: EvaluatorSettings) -> int:
    """More where repeats are used: the noise is estimated from them."""
    return (
        settings.baseline_repeats if settings.repeats == 1 else max(settings.baseline_repeats, 2 * settings.repeats)
    )


def _of(results: Sequence[Result], kind: ProbeKind, target: Target) -> list[Evaluation]:
    return [one.evaluation for one in results if one.probe == Probe(kind, target)]


def scores(evaluations: Sequence[Evaluation]) -> tuple[float, ...]:
    return tuple(one.score for one in evaluations if one.score is not None)


def combine(settings: EvaluatorSettings, evaluations: Sequence[Evaluation]) -> Evaluation:
    """Several evaluations of one commit as one: the first that failed, or all with their aggregated score."""
    failed = next((one for one in evaluations if one.fault is not None or not one.passed), None)
    if failed is not None or len(evaluations) == 1:
        return failed or evaluations[0]
    found = scores(evaluations)
    score = grouped(settings, found) if len(found) == len(evaluations) else None
    names = set.intersection(*(set(one.metrics) for one in evaluations))
    return replace(
        evaluations[-1],
        score=score,
        samples=found,
        metrics={name: median(one.metrics[name] for one in evaluations) for name in sorted(names)},
        duration_s=round(sum(one.duration_s for one in evaluations), 3),
    )


def _baseline_reason(evaluation: Evaluation) -> str:
    if evaluation.fault is not None:
        return evaluation.error
    passed = "passes" if evaluation.passed else "does not pass yet"
    return f"the starting point {passed}, score {show(evaluation.score)}"


# -- the first comparison


def _first_verdict(case: Case, evaluation: Evaluation) -> Verdict:
    settings, kept = case.contract.evaluator, case.kept
    assert kept is not None
    verdict = judge(settings.keep_policy, settings.direction, kept, evaluation)
    if verdict.decision is not Decision.KEEP:
        return _tie(case, evaluation, verdict)
    broken = _broken_constraint(case, evaluation)
    if broken:
        return Verdict(Decision.DISCARD, broken)
    if settings.keep_policy is KeepPolicy.PASS_ONLY or not kept.passed:
        return verdict
    assert kept.score is not None
    assert evaluation.score is not None
    gain, least = abs(evaluation.score - kept.score), least_gain(settings, kept.score)
    if gain < least:
        reason = f"the gain {show(kept.score)} → {show(evaluation.score)} is below min_improvement ({show(least)})"
        return Verdict(Decision.DISCARD, reason)
    return verdict


def least_gain(settings: EvaluatorSettings, kept: float) -> float:
    """The smallest gain over the score ``kept`` that counts (min_improvement, in units of the score)."""
    wanted = settings.min_improvement
    if wanted is None:
        return 0.0
    return abs(kept) * wanted.amount / 100.0 if wanted.percent else wanted.amount


def _broken_constraint(case: Case, evaluation: Evaluation) -> str:
    for constraint in case.contract.evaluator.constraints:
        value = evaluation.metrics.get(constraint.metric)
        if value is None:
            return f"the evaluator gave no metric {constraint.metric}, which a constraint needs"
        most, least = (_limit(case, constraint.metric, limit) for limit in (constraint.max, constraint.min))
        if most is not None and value > most:
            return f"{constraint.metric} is {show(value)}, above its limit of {_told(most, constraint.max)}"
        if least is not None and value < least:
            return f"{constraint.metric} is {show(value)}, below its limit of {_told(least, constraint.min)}"
    return ""


def _limit(case: Case, metric: str, limit: Limit | None) -> float | None:
    if not isinstance(limit, str):
        return limit
    return case.baseline.metrics.get(metric) if case.baseline is not None else None


def _told(value: float, limit: Limit | None) -> str:
    return f"{show(value)} (the baseline's)" if limit == BASELINE else show(value)


def _tie(case: Case, evaluation: Evaluation, verdict: Verdict) -> Verdict:
    """Where the mission says so, an equal score that removes more lines than it adds is worth keeping."""
    kept, diff = case.kept, case.diff
    equal = evaluation.passed and kept is not None and kept.passed and evaluation.score == kept.score is not None
    if (
        case.contract.evaluator.tie != "smaller_diff"
        or not equal
        or diff is None
        or diff.deletions <= diff.insertions
    ):
        return verdict
    broken = _broken_constraint(case, evaluation)
    if broken:
        return Verdict(Decision.DISCARD, broken)
    lines = f"{diff.insertions} lines added, {diff.deletions} removed"
    return Verdict(Decision.KEEP, f"the same score {show(evaluation.score)} with less code ({lines})")


# -- what a candidate that would be kept has to pass


def _checks(case: Case, results: Sequence[Result]) -> Probe | Verdict | None:
    """Guard, then held-out check: the next to run, the failure of one, or None when both are passed."""
    needed = (
        (ProbeKind.GUARD, case.contract.guard is not None, "guard failed"),
        (ProbeKind.HOLDOUT, case.contract.evaluator.holdout is not None, "held-out check failed"),
    )
    for kind, wanted, name in needed:
        if not wanted:
            continue
        done = _of(results, kind, Target.CANDIDATE)
        if not done:
            return Probe(kind)
        if not done[0].passed:
            return Verdict(Decision.DISCARD, f"{name}: {done[0].error}")
    return None


# -- noise


def _retests(case: Case, results: Sequence[Result], combined: Evaluation, verdict: Verdict) -> Probe | Verdict:
    settings, kept = case.contract.evaluator, case.kept
    noisy = settings.repeats > 1 and settings.keep_policy is KeepPolicy.SCORE_IMPROVEMENT
    if not noisy or kept is None or not kept.passed or kept.score is None or combined.score is None:
        return verdict
    if kept.score == combined.score:
        return verdict  # a tie that is kept for its smaller diff claims no gain
    first = _of(results, ProbeKind.EVALUATOR, Target.CANDIDATE)
    if settings.retest == 0:
        return _against_old_scores(case, kept, combined, verdict)
    return _side_by_side(case, results, first[settings.repeats :])


def _against_old_scores(case: Case, kept: Standing, combined: Evaluation, verdict: Verdict) -> Verdict:
    """Without side-by-side measurements: the gain over scores of another hour must clear the noise."""
    settings = case.contract.evaluator
    assert kept.score is not None
    assert combined.score is not None
    known = (*case.differences, *pairs(combined.samples))
    needed = margin(known, settings.aggregate, (settings.repeats, max(len(kept.samples), 1)))
    gain = abs(combined.score - kept.score)
    if needed is not None and gain > needed:
        told = f"{verdict.reason}; the gain {show(gain)} clears the noise ({show(needed)})"
        return Verdict(Decision.KEEP, told)
    limit = "which is unknown" if needed is None else show(needed)
    change = f"{show(kept.score)} → {show(combined.score)} ({show(gain)})"
    return Verdict(Decision.DISCARD, f"the gain {change} does not clear the noise ({limit})")


def _side_by_side(case: Case, results: Sequence[Result], candidate: Sequence[Evaluation]) -> Probe | Verdict:
    """Fresh measurements of candidate and incumbent in turn, and only these decide.

    So luck in the first ones is out, and so is a machine that has become faster or slower since.
    """
    settings = case.contract.evaluator
    incumbent = _of(results, ProbeKind.EVALUATOR, Target.INCUMBENT)
    failed = next((one for one in candidate if one.fault is not None or not one.passed), None)
    if failed is not None:
        return Verdict(Decision.DISCARD, f"measured again, it failed: {failed.error or 'pass=false'}")
    rounds, rest = divmod(len(candidate), settings.repeats)
    if len(incumbent) != len(candidate) or rest or not rounds:
        return _next_of_pair(len(candidate), len(incumbent))
    new, old = scores(candidate), scores(incumbent)
    if len(new) != len(candidate) or len(old) != len(incumbent):
        return Verdict(Decision.AMBIGUOUS, "measured again side by side, one of the two gave no score")
    verdict, worth_more = _compare_side_by_side(case, new, old)
    return _next_of_pair(len(candidate), len(incumbent)) if worth_more and rounds < settings.retest else verdict


def _next_of_pair(candidate: int, incumbent: int) -> Probe:
    """Who is measured next. Every other pair begins with the incumbent, so that a drift favours neither."""
    if candidate == incumbent:
        return Probe(target=Target.CANDIDATE if candidate % 2 == 0 else Target.INCUMBENT)
    return Probe(target=Target.CANDIDATE if candidate < incumbent else Target.INCUMBENT)


def _compare_side_by_side(case: Case, new: Sequence[float], old: Sequence[float]) -> tuple[Verdict, bool]:
    """The verdict that these scores allow, and whether more of them could change it."""
    settings = case.contract.evaluator
    before, after = grouped(settings, old), grouped(settings, new)
    gain = after - before if settings.direction is Direction.MAXIMIZE else before - after
    known = (*case.differences, *pairs(new), *pairs(old))
    noise = margin(known, settings.aggregate, (len(new), len(old))) or 0.0
    needed = max(noise, least_gain(settings, before))
    told = f"measured side by side: {show(before)} → {show(after)} over {len(new)} pairs, a gain of {show(gain)}"
    if gain > needed:
        return Verdict(Decision.KEEP, f"{told} over noise {show(needed)}"), False
    return Verdict(Decision.DISCARD, f"{told} within noise {show(needed)}"), gain > _HOPE * needed


def grouped(settings: EvaluatorSettings, found: Sequence[float]) -> float:
    """One score from many: groups of ``repeats`` are aggregated, then averaged.

    So a minimum of thirty scores is never compared with a minimum of three.
    """
    size = settings.repeats
    groups = [found[start : start + size] for start in range(0, len(found), size)]
    return fmean(settings.aggregate.of(group) for group in groups)


def standing_after(settings: EvaluatorSettings, results: Sequence[Result]) -> Standing:
    """What is known of a commit once it is kept: its side-by-side scores where there are some, else its first."""
    first = _of(results, ProbeKind.EVALUATOR, Target.CANDIDATE)
    fresh = first[settings.repeats :] if _of(results, ProbeKind.EVALUATOR, Target.INCUMBENT) else first
    found = scores(fresh)
    complete = found and len(found) == len(fresh)
    whole = combine(settings, fresh)
    return Standing(whole.passed, grouped(settings, found) if complete else None, found, whole.metrics)


def differences_within(results: Sequence[Result]) -> tuple[float, ...]:
    """What these measurements tell of the noise: differences within each commit."""
    found: tuple[float, ...] = ()
    for target in Target:
        found += pairs(scores(_of(results, ProbeKind.EVALUATOR, target)))
    return found
