"""The loop: one step, one fact, one state after another, until the run has ended."""

import errno
from pathlib import Path

from omagy_autoresearch.advance import advance
from omagy_autoresearch.errors import OmagyError
from omagy_autoresearch.events import (
    Applied,
    Decided,
    Evaluated,
    Event,
    LaneReady,
    PauseOver,
    Remeasured,
    RunCreated,
    RunEnded,
    RunResumed,
    SessionBegun,
    SessionEnded,
    StopRequested,
)
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.remedies import remedy_of
from omagy_autoresearch.run import RunState
from omagy_autoresearch.steps import next_step
from omagy_autoresearch.summary import handoff
from omagy_supervisor.files import cannot_write
from omagy_supervisor.perform import perform
from omagy_supervisor.recover import asked_words
from omagy_supervisor.world import World


def drive(world: World, state: RunState) -> RunState:
    """Take the run to its end. Raises OmagyError for what not even its end can be recorded after."""
    while not state.ended:
        try:
            event = perform(world, state, next_step(state))
        except OmagyError as error:
            event = _fault(state, error)
        except OSError as error:  # the file system failed where no adapter expected it to
            fault = cannot_write(Path(error.filename or world.folder.root), error)
            fault.__cause__ = error
            event = _fault(state, fault)
        state = record(world, state, event)
    return state


def record(world: World, state: RunState, event: Event) -> RunState:
    """Make ``event`` a fact: journal first, then the state, then what the world reads."""
    entry = world.stamp(event)
    world.journal.append(entry)
    if isinstance(event, StopRequested):
        world.stops.take(event)
    state = advance(state, entry)
    _publish(world, state, event)
    world.reporter.event(state, entry)
    return state


def _fault(state: RunState, error: OmagyError) -> RunEnded:
    """A run that met a fault can go on, unless the fault says that nobody can mend it."""
    cause = error.__cause__
    # Of what a file system says, only a dying disk is final: a folder in the way, say, can be taken away.
    passing = error.recoverable or (isinstance(cause, OSError) and cause.errno != errno.EIO)
    outcome = Outcome.BLOCKED if passing else Outcome.FAILED
    return RunEnded(outcome, _with_hint(error), remedy_of(error, state.plan))


def _with_hint(error: OmagyError) -> str:
    return f"{error.message}{f' ({error.hint})' if error.hint else ''}"


def _publish(world: World, state: RunState, event: Event) -> None:
    match event:
        case Applied():
            entry = state.last_entry
            assert entry is not None
            world.records.iteration_recorded(entry, state)
        case RunEnded():
            asked = asked_words(state, world.questions)
            end = handoff(state, str(world.folder.root), world.records.kept(), question=asked)
            world.records.write_end(state, end)
            _write_lessons(world, state)
        case SessionBegun() | SessionEnded():
            world.records.write_manifest(state, lasting=False)  # where a run is at the moment; the journal has it
        case RunResumed():
            world.records.reopen(state)
        case LaneReady() | PauseOver() | RunCreated():
            world.records.write_manifest(state)
        case Decided() | Evaluated() | Remeasured() | StopRequested():
            pass


def _write_lessons(world: World, state: RunState) -> None:
    """Last, and as well as it goes: a run has ended whether or not its lessons can be written."""
    try:
        world.lessons.run_ended(state, state.recent)
    except (OmagyError, OSError) as error:
        world.reporter.note(f"the lessons of this run could not be written: {error}")
