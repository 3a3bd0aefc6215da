"""Performs one step in the world and answers with what happened (contract sections 3 and 4).

Everything here can be repeated after a crash: effects make one thing equal another. The exception, starting a
paid session, was announced in the journal before, so that it is found again instead of started twice.
"""

from typing import assert_never

from msgspec.structs import replace

from omagy_autoresearch.decision import Decision
from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.evaluation import read_evaluation
from omagy_autoresearch.events import (
    Applied,
    Decided,
    Evaluated,
    Event,
    LaneReady,
    PauseOver,
    RunEnded,
    SessionBegun,
)
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.names import evaluator_cookie
from omagy_autoresearch.run import RunState
from omagy_autoresearch.steps import (
    Apply,
    BeginSession,
    Decide,
    EndRun,
    Evaluate,
    Pause,
    PrepareLane,
    RunSession,
    Step,
)
from omagy_supervisor.files import make_folder
from omagy_supervisor.sessions import run_session, session_spec
from omagy_supervisor.world import World

_LOOK_S = 5.0


def perform(world: World, state: RunState, step: Step) -> Event:
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
    baseline = world.lane.prepare()
    try:
        world.agent.preflight(session_spec(world, state.plan, 0, 1, baseline))
    except BlockedError as error:
        return RunEnded(Outcome.BLOCKED, f"{error.message}{f' ({error.hint})' if error.hint else ''}")
    return LaneReady(baseline)


def _evaluate(world: World, state: RunState, step: Evaluate) -> Event:
    world.lane.converge(step.commit)
    settings = state.plan.contract.evaluator
    folder = world.folder.iteration(step.iteration)
    make_folder(folder)
    environment = {
        **world.evaluator_environment,
        "OMAGY_RUN_ID": state.plan.run_id,
        "OMAGY_ITERATION": str(step.iteration),
        "OMAGY_BASE_COMMIT": step.base,
        "OMAGY_CANDIDATE_COMMIT": step.commit,
        "OMAGY_WORKTREE": state.plan.worktree_path,
        "OMAGY_RESULT_FILE": str(folder / "evaluator-result.json"),
        "OMAGY_COOKIE": evaluator_cookie(state.plan.worktree_path),
    }
    world.reporter.note(f"evaluating {step.commit[:12]}: {settings.command}")
    worktree = world.lane.worktree
    run = world.evaluator.run(settings.command, worktree, environment, settings.timeout_s, folder / "evaluator.log")
    world.lane.sweep_locks()
    if run is None:
        request = world.stops.pending()
        assert request is not None, "only a request to stop cuts an evaluation short"
        return request
    return Evaluated(read_evaluation(run))


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
    return RunEnded(step.outcome, step.reason)
