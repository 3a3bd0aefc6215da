"""Performs one step in the world and answers with what happened (contract sections 3 and 4).

Everything here can be repeated after a crash: effects make one thing equal another. The exception, starting a
paid session, was announced in the journal before, so that it is found again instead of started twice.
"""

from typing import assert_never

from msgspec.structs import replace

from omagy_autoresearch.decision import Decision
from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.events import (
    Applied,
    Decided,
    Evaluated,
    Event,
    LaneReady,
    PauseOver,
    Remeasured,
    RunEnded,
    SessionBegun,
)
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.probes import Probe, ProbeKind, Target
from omagy_autoresearch.remedies import remedy_of
from omagy_autoresearch.run import Evaluating, RunState
from omagy_autoresearch.steps import (
    Apply,
    BeginSession,
    Decide,
    EndRun,
    Evaluate,
    Pause,
    PrepareLane,
    Remeasure,
    RunSession,
    Step,
)
from omagy_supervisor.measuring import StoppedError, measure, prepare_checkout, protected_surface
from omagy_supervisor.sessions import run_session, session_spec
from omagy_supervisor.world import World

_LOOK_S = 5.0


def perform(world: World, state: RunState, step: Step) -> Event:  # noqa: C901 - one match over all steps
    """Do ``step``; a request to stop that was not recorded yet comes first. Raises OmagyError."""
    request = world.stops.pending()
    if request is not None:
        return request
    match step:
        case PrepareLane():
            return _prepare(world, state)
        case BeginSession():
            return SessionBegun(step.iteration, step.attempt)
        case RunSession():
            return run_session(world, state, step)
        case Evaluate():
            return _evaluate(world, state, step)
        case Remeasure():
            return _remeasure(world, state, step)
        case Decide():
            return Decided(replace(step.entry, created_at=world.clock.now().isoformat()))
        case Apply():
            return _apply(world, step.entry)
        case Pause():
            return _pause(world, step)
        case EndRun():
            return _end(world, state, step)
        case _:
            assert_never(step)


def _prepare(world: World, state: RunState) -> Event:
    plan = state.plan
    baseline = world.lane.prepare()
    try:
        surface = protected_surface(plan, world.lane.tracked_files(baseline))
        prepare_checkout(world, plan, surface, baseline)
        world.agent.preflight(session_spec(world, plan, 0, 1, baseline))
    except BlockedError as error:
        told = f"{error.message}{f' ({error.hint})' if error.hint else ''}"
        return RunEnded(Outcome.BLOCKED, told, remedy_of(error, plan))
    except StoppedError:
        return _request(world)
    return LaneReady(baseline, surface)


def _request(world: World) -> Event:
    request = world.stops.pending()
    assert request is not None, "only a request to stop cuts a step short"
    return request


def _evaluate(world: World, state: RunState, step: Evaluate) -> Event:
    number = len(state.phase.results) if isinstance(state.phase, Evaluating) else 0
    _say_what_is_measured(world, state, step, number)
    try:
        evaluation = measure(
            world,
            state.plan,
            state.surface,
            iteration=step.iteration,
            commit=step.commit,
            base=step.base,
            probe=step.probe,
            number=number,
        )
    except StoppedError:
        return _request(world)
    return Evaluated(evaluation, step.probe)


def _say_what_is_measured(world: World, state: RunState, step: Evaluate, number: int) -> None:
    """Once for each kind of measurement: repeats of it are not news."""
    contract, probe = state.plan.contract, step.probe
    if probe.kind is ProbeKind.GUARD and contract.guard is not None:
        world.reporter.note(f"guard on {step.commit[:12]}: {contract.guard.command}")
    elif probe.kind is ProbeKind.HOLDOUT:
        world.reporter.note(f"held-out check on {step.commit[:12]}")
    elif number == 0:
        world.reporter.note(f"evaluating {step.commit[:12]}: {contract.evaluator.command}")
    elif probe.target is Target.INCUMBENT and not _measured_before(state, probe):
        world.reporter.note("the gain does not clear the noise yet: measuring it side by side with what is kept")


def _measured_before(state: RunState, probe: Probe) -> bool:
    return isinstance(state.phase, Evaluating) and any(one.probe == probe for one in state.phase.results)


def _remeasure(world: World, state: RunState, step: Remeasure) -> Event:
    if not state.remeasured:
        world.reporter.note("the run is over; measuring baseline and kept commits again, side by side")
    try:
        evaluation = measure(
            world,
            state.plan,
            state.surface,
            iteration=state.iteration,
            commit=step.commit,
            base=step.base,
            probe=Probe(),
            number=len(state.remeasured) + 100,
        )
    except StoppedError:
        return _request(world)
    return Remeasured(step.commit, evaluation)


def _apply(world: World, entry: Entry) -> Event:
    if entry.decision in (Decision.KEEP, Decision.BASELINE):
        world.lane.advance_kept(entry.kept_commit)
    if not entry.leaves_lane_alone:
        world.lane.converge(entry.kept_commit)
    return Applied()


def _pause(world: World, step: Pause) -> Event:
    """Wait on the wall clock, which is what a stated reset is told on. Any request to stop ends the wait."""
    while (left := (step.until - world.clock.now()).total_seconds()) > 0:
        world.stops.wait(min(left, _LOOK_S))
        request = world.stops.pending()
        if request is not None:
            return request
    return PauseOver()


def _end(world: World, state: RunState, step: EndRun) -> Event:
    """A run that has ended leaves its lane at the last kept commit, unless the operator must find it as it is."""
    last = state.last_entry
    untouched = last is not None and last.leaves_lane_alone and state.between_iterations and not state.settled
    if state.tip is not None and not untouched:
        world.lane.converge(state.tip)
    if step.outcome.terminal:
        world.checkout.close()
    return RunEnded(step.outcome, step.reason, step.remedy)
