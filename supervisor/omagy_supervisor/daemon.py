"""A supervisor's life: take the lock, create or recover the run, drive it to its end, let go (contract section 3)."""

import contextlib
import os
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil

from omagy_autoresearch.errors import BlockedError, ContractError, OmagyError, StorageError
from omagy_autoresearch.events import Record, RunCreated, RunResumed
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.names import evaluator_cookie, session_cookie, sessions_cookie
from omagy_autoresearch.plan import AgentChoice
from omagy_autoresearch.remedies import remedy_of
from omagy_autoresearch.run import Applying, Deciding, Evaluating, InSession, Preparing, RunState
from omagy_autoresearch.steps import EndRun, next_step
from omagy_autoresearch.summary import handoff
from omagy_supervisor.active import last_pointer, place_of, works_without_lock
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.journal import FileJournal, read_journal
from omagy_supervisor.adapters.lock import Pointer, RunLock, write_pointer
from omagy_supervisor.adapters.processes import start_mark
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.bootstrap import make_records, make_stops, make_terminal, make_world
from omagy_supervisor.copying import remove_held_out
from omagy_supervisor.files import cannot_write, fsync_dir, make_folder
from omagy_supervisor.interrupted import end_session_of_interrupted_run, end_sessions
from omagy_supervisor.launching import tmux_session
from omagy_supervisor.loop import drive, record
from omagy_supervisor.machine import this_machine
from omagy_supervisor.paths import RunFolder, StateRoot
from omagy_supervisor.perform import perform
from omagy_supervisor.ports import Journal, Reporter
from omagy_supervisor.reconcile import refuse_contradictions
from omagy_supervisor.recover import (
    LoadedRun,
    asked_words,
    refuse_missing_worktree,
    refuse_terminal,
    refuse_unanswered,
    replay,
    require_manifest,
    settle_lane,
)
from omagy_supervisor.requests import Fresh, Request, Resume
from omagy_supervisor.sessions import session_spec
from omagy_supervisor.settings import Settings
from omagy_supervisor.stopping import is_of_the_run_before
from omagy_supervisor.workflow_run import enlisted
from omagy_supervisor.workflow_store import mend
from omagy_supervisor.world import World

MakeReporter = Callable[[RunFolder], Reporter]


def supervise(
    request: Request, settings: Settings, make_reporter: MakeReporter, started: Callable[[], None]
) -> RunState:
    """Run ``request`` to its end and return the ended state; calls ``started`` once the run is under way.

    Raises OmagyError: before ``started`` nothing was begun, after it the run can be resumed.
    """
    root = StateRoot(Path(request.repo_root))
    folder = root.run(request.run_id)
    with _locked(root), enlisted(root, request.run_id):
        run = _create(folder, request) if isinstance(request, Fresh) else _load(root, request)
        end_session_of_interrupted_run(root, request.run_id)
        os.chdir(folder.root)
        reporter = make_reporter(folder)
        stops = make_stops(folder, SystemClock())
        world = make_world(settings, root, run, _agent(run, request), stops, reporter)
        world = replace(
            world,
            journal=_SameFile(world.journal, folder.journal),
            terminal=make_terminal(settings, tmux_session(request.run_id, root.repo_root)),
        )
        state = _take_on(world, run, request)
        _point_to(root, request.run_id, settings, active=True)
        started()
        state = _drive(world, state)
        _point_to(root, request.run_id, settings, active=False)
    return state


def _agent(run: LoadedRun, request: Request) -> AgentChoice:
    """The agent of this life: the one that the resume names, else the run's."""
    named = request.overrides.agent if isinstance(request, Resume) else None
    return named or run.state.plan.agent


def _drive(world: World, state: RunState) -> RunState:
    """Drive the run; whatever stops it without an end stands in its log, with the way to go on."""
    try:
        return drive(world, state)
    except Exception as error:
        if not _can_be_read_back(world.folder):
            end_sessions(state.plan.worktree_path)
            raise _gone(world, state) from error
        if not isinstance(error, OmagyError):
            world.reporter.note(f"a fault of omagy's own:\n{traceback.format_exc()}")
            raise
        resume = f"the run can go on: omagy autoresearch --resume {state.plan.run_id}"
        error.hint = f"{error.hint}\n{resume}".strip()
        world.reporter.note(f"stopped without an end: {error.message}; {resume}")
        raise


def _can_be_read_back(folder: RunFolder) -> bool:
    try:
        return bool(read_journal(folder.journal)[0])
    except StorageError:
        return False


def _gone(world: World, state: RunState) -> StorageError:
    """What is left to say when the journal is gone: where the kept work is, or that all of it is elsewhere."""
    plan = state.plan
    if StateRoot(Path(plan.repo_root)).is_gone:
        message = f"the repository {plan.repo_root} was moved or deleted while run {plan.run_id} worked on it"
        hint = f"move it back, then go on: omagy autoresearch --resume {plan.run_id}"
    else:
        message = f"the records of run {plan.run_id} were deleted or replaced while it ran ({world.folder.root})"
        hint = f"the run cannot go on; the kept work is on its branch: git log {plan.branch_name}"
    world.reporter.note(f"stopped without an end: {message}; {hint}")
    return StorageError(message, hint, recoverable=False)


class _SameFile:
    """A journal that is written only while its name still leads to it: what nobody can read back is no fact."""

    def __init__(self, journal: Journal, path: Path) -> None:
        self._journal = journal
        self._path = path
        self._file = _identity(path)

    def append(self, record: Record) -> None:
        if self._file is None or _identity(self._path) != self._file:
            raise StorageError(f"{self._path} was deleted or replaced while the run wrote it", recoverable=False)
        self._journal.append(record)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def rewrite_records(root: StateRoot, run_id: str) -> RunState:
    """Make all that the world reads of a run equal its journal; returns the run's state. Raises OmagyError."""
    folder = root.run(run_id)
    with _locked(root):
        run = replay(*read_journal(folder.journal))
        state, records = run.state, make_records(folder, run)
        if state.ended:
            asked = asked_words(state, QuestionFiles(root.state))
            records.write_end(state, handoff(state, str(folder.root), records.kept(), question=asked))
        else:
            records.reopen(state)
    mend(root, None)  # its supervisor died with the run in the active set
    return state


@contextlib.contextmanager
def _locked(root: StateRoot) -> Iterator[None]:
    root.prepare()
    make_folder(root.shared)
    lock = RunLock(root.lock)
    try:
        # Whoever only looks whether a run is active holds the lock for a moment: that must not refuse a launch.
        free = lock.acquire(tries=25)
    except OSError as error:
        raise StorageError(f"{root.lock} cannot be locked: {error.strerror}") from None
    if not free:
        raise another_run_active(root)
    if works_without_lock(root):
        lock.release()
        raise another_run_active(root)
    try:
        yield
    finally:
        lock.release()


def another_run_active(root: StateRoot) -> ContractError:
    """The refusal of a second run, with what can be done about the first."""
    pointer = last_pointer(root)
    if pointer is None or is_of_the_run_before(pointer):  # its supervisor is just starting
        return ContractError(f"a run is starting in {root.repo_root}: one run at a time", "omagy autoresearch list")
    run, its_root = pointer.run_id, place_of(pointer, root)
    way = its_root.way_from(root)
    where = f"{its_root.repo_root}{', a worktree of the same repository' if way else ''}"
    return ContractError(
        f"run {run} is active in {where}: one run at a time",
        f"watch it: {way}omagy autoresearch watch {run}\nstop it:  omagy autoresearch stop {run}",
    )


def _point_to(root: StateRoot, run_id: str, settings: Settings, *, active: bool) -> None:
    """Tell in both places which run this supervisor works on. Raises StorageError."""
    host, boot = this_machine()
    me = psutil.Process()
    pointer = Pointer(
        run_id,
        active,
        pid=me.pid,
        process_started_at=me.create_time(),
        process_mark=start_mark(me.pid),
        host=host,
        boot_id=boot,
        since=SystemClock().now().isoformat(timespec="seconds"),
        tmux_socket=settings.tmux_socket,
        repo_root=str(root.repo_root),
    )
    make_folder(root.shared)  # a session, or a person, may have removed it
    write_pointer(root.shared_pointer, pointer)
    write_pointer(root.pointer, pointer)


# -- a new run


def _create(folder: RunFolder, request: Fresh) -> LoadedRun:
    """The run as its first record tells it, which is durable when this returns. Raises StorageError."""
    if folder.journal.exists():
        raise ContractError(f"run {request.run_id} exists already", "start again: the next run gets another name")
    make_folder(folder.root)
    try:
        fsync_dir(folder.root.parent)
    except OSError as error:
        raise cannot_write(folder.root, error) from error
    first = Record(SystemClock().now(), 0.0, RunCreated(request.plan))
    journal = FileJournal(folder.journal, 0)
    journal.append(first)
    journal.close()
    return replay(*read_journal(folder.journal))


# -- a run that goes on


def _load(root: StateRoot, request: Resume) -> LoadedRun:
    found, folder = require_manifest(root, request.run_id), root.run(request.run_id)
    run = replay(*read_journal(folder.journal))
    refuse_contradictions(folder, run, found)
    refuse_terminal(run.state)
    refuse_missing_worktree(run.state)
    return run


def _take_on(world: World, run: LoadedRun, request: Request) -> RunState:
    """The state from which the loop goes on. Raises ContractError for what a person has to settle first."""
    state = run.state
    if isinstance(request, Fresh):
        world.records.write_manifest(state)
        world.reporter.event(state, Record(state.updated_at, 0.0, RunCreated(state.plan)))
        return state
    refuse_unanswered(state, world.questions)
    _end_strays(world, state)
    if isinstance(state.work, Evaluating):
        remove_held_out(state.plan, world.lane.worktree)  # or it would be saved, for everybody to read
    saved = settle_lane(state, world.lane, world.folder, save_leftovers=request.save_leftovers)
    state = record(world, state, RunResumed(request.overrides))
    for line in saved:
        world.reporter.note(line)
    return _preflight(world, state)


def _end_strays(world: World, state: RunState) -> None:
    """End what earlier lives left running; the session that is under way is adopted instead."""
    worktree, phase = state.plan.worktree_path, state.work
    world.processes.sweep(evaluator_cookie(worktree))
    if not isinstance(phase, InSession):
        world.processes.sweep(sessions_cookie(worktree))
        return
    for attempt in range(1, phase.attempt):
        world.processes.sweep(session_cookie(worktree, state.iteration, attempt))


def _preflight(world: World, state: RunState) -> RunState:
    """A fresh lane's preflight is part of preparing it; a run that goes on proves anew that sessions can work.

    What was decided needs no agent, so it is applied before.
    """
    while isinstance(state.phase, Deciding | Applying):
        state = record(world, state, perform(world, state, next_step(state)))
    if isinstance(state.phase, Preparing | InSession) or state.tip is None:
        return state
    try:
        world.agent.preflight(session_spec(world, state.plan, 0, 1, state.tip))
    except BlockedError as error:
        hint = f" ({error.hint})" if error.hint else ""
        end = EndRun(Outcome.BLOCKED, f"{error.message}{hint}", remedy_of(error, state.plan))
        return record(world, state, perform(world, state, end))
    return state
