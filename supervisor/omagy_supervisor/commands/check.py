"""``omagy autoresearch check <mission-dir>``: is this mission ready to be left alone for a night?

Everything a run would do before its first session is done once, in a lane that is taken away again.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from omagy_autoresearch.assay import combine, scores
from omagy_autoresearch.decision import show as show_score
from omagy_autoresearch.errors import ExitStatus, OmagyError
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.noise import noise_note, pairs, spread
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.probes import Probe, ProbeKind
from omagy_autoresearch.spending import most_it_can_cost
from omagy_autoresearch.surface import Surface
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.arguments import Arguments
from omagy_supervisor.bootstrap import make_agent
from omagy_supervisor.commands.launch import plan_run
from omagy_supervisor.commands.probing import Patience, ProbePlaces, measure_often, probe_places
from omagy_supervisor.measuring import measure, prepare_checkout, protected_surface
from omagy_supervisor.sessions import session_spec
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import say, show_json, show_prose

_FOR_THE_CHECK_ONLY = {"--json", "--debug"}
_PATIENCE = Patience(most=8, least=3, enough_s=60.0)


@dataclass
class Findings:
    """What the check found, in the order it was looked at. ``problems`` keep a run from being worth starting."""

    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


def check(arguments: Arguments, settings: Settings) -> int:
    """Check a mission; exit status 0 when it is ready, 3 when something is missing. Raises OmagyError."""
    assert arguments.mission is not None
    plan, notes = plan_run(arguments, arguments.mission, settings)
    tag = f"{plan.run_tag}-check"
    plan = replace(
        plan,
        run_id=f"{plan.run_id}-check",
        run_tag=tag,
        branch_name=f"{plan.branch_name}-check",
        worktree_path=f"{plan.worktree_path}-check",
    )
    findings = Findings(advice=list(notes))
    findings.facts["contract"] = msgspec.to_builtins(plan.contract)
    findings.facts["limits"] = most_it_can_cost(plan.contract, plan.contract.budget)
    try:
        with probe_places(plan, settings) as places:
            _look(places, plan, settings, findings)
    except KeyboardInterrupt:
        say("stopped; nothing of the check is left")
        raise
    _tell(findings, plan, arguments)
    return int(ExitStatus.BLOCKED if findings.problems else ExitStatus.OK)


def _look(places: ProbePlaces, plan: RunPlan, settings: Settings, findings: Findings) -> None:
    baseline = places.lane.prepare()
    surface = protected_surface(plan, places.lane.tracked_files(baseline))
    findings.facts["protected"] = sorted({*surface.closed, *surface.protected})
    findings.advice += _surface_advice(surface)
    if _step(findings, "set-up", lambda: prepare_checkout(places, plan, surface, baseline)):
        _measure(places, plan, surface, baseline, findings)
    _step(findings, "agent", lambda: _probe_agent(places, plan, settings, baseline, findings))


def _surface_advice(surface: Surface) -> list[str]:
    """What a person should know of the files that nobody may change, before a night is spent on it."""
    if surface.liftable:
        named = ", ".join(surface.liftable)
        return [f"candidates may not change {named}, which a command names (editable lifts that)"]
    if surface.named or surface.protected or surface.editable:
        return []
    return ["the commands name no file of the repository, so nothing of the evaluator is protected: add protected:"]


def _step(findings: Findings, name: str, act: Callable[[], None]) -> bool:
    try:
        act()
    except OmagyError as error:
        findings.problems.append(f"{name}: {error.message}{f' ({error.hint})' if error.hint else ''}")
        return False
    return True


def _probe_agent(places: ProbePlaces, plan: RunPlan, settings: Settings, baseline: str, findings: Findings) -> None:
    agent = make_agent(plan.agent, plan, settings, SystemClock())
    spec = session_spec(places, plan, 0, 1, baseline)
    agent.preflight(spec)
    findings.facts["agent"] = {"kind": str(plan.agent.kind), "sandbox": agent.probe_commit(spec)}


def _measure(places: ProbePlaces, plan: RunPlan, surface: Surface, baseline: str, findings: Findings) -> None:
    found = measure_often(places, plan, surface, baseline, _PATIENCE)
    whole = combine(plan.contract.evaluator, found)
    findings.facts["baseline"] = {
        "pass": whole.passed,
        "score": whole.score,
        "scores": scores(found),
        "seconds_each": round(sum(one.duration_s for one in found) / len(found), 3),
        "metrics": whole.metrics,
        "error": whole.error,
    }
    if whole.fault is not None:
        findings.problems.append(f"evaluator: {whole.error}{_tail(whole)}")
        return
    _judge_baseline(plan, found, whole, findings)
    for kind, wanted in (
        (ProbeKind.GUARD, plan.contract.guard),
        (ProbeKind.HOLDOUT, plan.contract.evaluator.holdout),
    ):
        if wanted is not None:
            _check_command(places, plan, surface, baseline, kind, findings)


def _tail(one: Evaluation) -> str:
    text = one.stderr_tail or one.stdout_tail
    return f"; the end of its output:\n{text[-600:]}" if text else ""


def _judge_baseline(plan: RunPlan, found: list[Evaluation], whole: Evaluation, findings: Findings) -> None:
    settings = plan.contract.evaluator
    if settings.keep_policy == "score_improvement" and whole.passed and whole.score is None:
        findings.problems.append("evaluator: it gives no score, so nothing can improve on it (or use pass_only)")
    note = noise_note(scores(found), pairs(scores(found)), guarded=settings.guarded_from_noise)
    sigma = spread(pairs(scores(found)))
    findings.facts["noise"] = {"spread": sigma, "says": note}
    if sigma and not settings.guarded_from_noise and settings.keep_policy == "score_improvement":
        findings.advice.append(note)
    if any(one.dirty for one in found):
        names = sorted({name for one in found for name in one.dirty})
        findings.advice.append(f"the evaluator changes files, which is undone each time: {', '.join(names[:5])}")


def _check_command(
    places: ProbePlaces, plan: RunPlan, surface: Surface, baseline: str, kind: ProbeKind, findings: Findings
) -> None:
    result = measure(places, plan, surface, iteration=0, commit=baseline, base=baseline, probe=Probe(kind), number=0)
    findings.facts[kind.value] = {"pass": result.passed, "error": result.error, "seconds": result.duration_s}
    if not result.passed:
        name = "guard" if kind is ProbeKind.GUARD else "held-out check"
        findings.problems.append(f"{name}: on the current commit {result.error}; every candidate would fail it too")


def _tell(findings: Findings, plan: RunPlan, arguments: Arguments) -> None:
    ready = not findings.problems
    if arguments.has("--json"):
        answer = {"ready": ready, "problems": findings.problems, "advice": findings.advice, **findings.facts}
        show_json(answer)
        return
    for line in (*_contract_lines(findings, plan), "", *(f"note: {advice}" for advice in findings.advice)):
        show_prose(line)
    for problem in findings.problems:
        show_prose(f"missing: {problem}")
    show_prose(f"ready: {_launch_command(arguments)}" if ready else "not ready")


def _launch_command(arguments: Arguments) -> str:
    """What starts the run that was checked: with the options that were given here."""
    flags = sorted(arguments.flags - _FOR_THE_CHECK_ONLY)
    values = [word for pair in arguments.values.items() for word in pair]
    codex_args = ["--", *arguments.codex_args] if arguments.codex_args else []
    return shlex.join(["omagy", "autoresearch", *flags, *values, str(arguments.mission), *codex_args])


def _policy(plan: RunPlan) -> str:
    evaluator = plan.contract.evaluator
    times = "once" if evaluator.repeats == 1 else f"{evaluator.repeats} times"
    place = f"measured {times} in the {evaluator.isolation} checkout"
    return f"policy     {evaluator.keep_policy}, {evaluator.direction}, {place}"


def _contract_lines(findings: Findings, plan: RunPlan) -> list[str]:
    evaluator, facts = plan.contract.evaluator, findings.facts
    lines = [
        f"mission    {plan.mission_dir}",
        f"evaluator  {evaluator.command}",
        _policy(plan),
        f"protected  {', '.join(facts.get('protected', []))}",
    ]
    if plan.contract.editable:
        lines.append(f"editable   {', '.join(plan.contract.editable)}")
    if plan.contract.guard is not None:
        lines.append(f"guard      {plan.contract.guard.command}")
    baseline = facts.get("baseline")
    if baseline is not None and baseline["error"]:
        lines.append(f"baseline   {baseline['error']}")
    elif baseline is not None:
        values = ", ".join(show_score(score) for score in baseline["scores"])
        lines.append(
            f"baseline   pass={str(baseline['pass']).lower()}, scores {values}, {baseline['seconds_each']} s each"
        )
    if "noise" in facts:
        lines.append(f"noise      {facts['noise']['says']}")
    if "agent" in facts:
        lines.append(f"agent      {facts['agent']['kind']}: {facts['agent']['sandbox']}")
    return [*lines, f"a run      {facts['limits']}"]
