"""One agent session from launch to collection (contract section 4): found again, never started twice."""

import contextlib
import math
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from omagy_autoresearch.candidate import (
    CandidateStatus,
)
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.events import Collected, SessionEnded
from omagy_autoresearch.names import session_cookie, window_name
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.prompt import instructions
from omagy_autoresearch.run import RunState
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind
from omagy_autoresearch.steps import RunSession
from omagy_autoresearch.stop_conditions import QUIET
from omagy_supervisor.agents import SessionExit, SessionSpec
from omagy_supervisor.collecting import collect, refuse_changed_files
from omagy_supervisor.files import make_folder, read_regular, write_atomic
from omagy_supervisor.handover import HandoverError, make_pipe, offer
from omagy_supervisor.launching import omagy_in_a_session, runner_argv
from omagy_supervisor.machine import this_machine
from omagy_supervisor.paths import AttemptFolder
from omagy_supervisor.ports import Places, ProcessRef, Wake
from omagy_supervisor.quiet import LOOK_S, QuietWatch
from omagy_supervisor.world import World

_GRACE_S = 20.0
_START_S = 20.0
_RECORD_LIMIT = 1 << 16

_Form = TypeVar("_Form", bound=Struct)


class RunnerRecord(Struct, frozen=True):
    """runner.json. Agents can write it too: nothing but a record of this very form counts."""

    pid: Annotated[int, Meta(gt=1, lt=1 << 31)]
    boot_id: str = ""


class ExitRecord(Struct, frozen=True):
    """exit.json. Agents can write it too: nothing but a record of this very form counts."""

    status: Annotated[int, Meta(ge=0, le=255)] | None = None
    signal: Annotated[int, Meta(ge=1, le=255)] | None = None
    duration_s: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    problem: str = ""
    asked: str | None = None


def read_record(path: Path, form: type[_Form]) -> _Form | None:
    """The record at ``path``; None when there is none that can be trusted to be one. Never blocks."""
    try:
        data = read_regular(path, _RECORD_LIMIT)
        return None if data is None or len(data) > _RECORD_LIMIT else msgspec.json.decode(data, type=form)
    except (ValueError, RecursionError):  # msgspec's own errors are ValueErrors
        return None


def session_spec(world: Places, plan: RunPlan, iteration: int, attempt: int, base: str) -> SessionSpec:
    """What the agent is told of the session; makes the folders it needs."""
    folder = world.folder.attempt(iteration, attempt)
    make_folder(folder.outbox)
    environment = {
        **world.session_environment,
        "OMAGY_RUN_ID": plan.run_id,
        "OMAGY_ITERATION": str(iteration),
        "OMAGY_WORKTREE": plan.worktree_path,
        "OMAGY_BASE_COMMIT": base,
        "OMAGY_CANDIDATE_FILE": str(folder.candidate),
        "OMAGY_INSTRUCTIONS_FILE": str(folder.instructions),
        "OMAGY_COOKIE": session_cookie(plan.worktree_path, iteration, attempt),
    }
    return SessionSpec(
        run_id=plan.run_id,
        iteration=iteration,
        attempt=attempt,
        worktree=world.lane.worktree,
        git_dir=world.lane.git_dir,
        common_dir=world.lane.common_dir,
        branch=plan.branch_name,
        base_commit=base,
        folder=folder.root,
        outbox=folder.outbox,
        candidate_file=folder.candidate,
        instructions_file=folder.instructions,
        environment=environment,
        hidden=(world.folder.held_out, *_held_out_files(plan)),
    )


def _held_out_files(plan: RunPlan) -> list[Path]:
    """The held-out check's own files in the user's checkout: a session that read them could fit its work to them."""
    holdout = plan.contract.evaluator.holdout
    return [Path(plan.repo_root) / name for name in holdout.files] if holdout is not None else []


def run_session(world: World, state: RunState, step: RunSession) -> SessionEnded:
    """Run, adopt or collect the session of ``step``, and save everything it left. Raises OmagyError."""
    attempt = world.folder.attempt(step.iteration, step.attempt)
    spec = session_spec(world, state.plan, step.iteration, step.attempt, step.base)
    unwatched = attempt.exit.exists()  # it ended while no supervisor lived
    wake = _run_to_end(world, state, step, spec, attempt)
    ended = read_record(attempt.exit, ExitRecord)
    if ended is None or ended.problem:
        world.processes.sweep(session_cookie(state.plan.worktree_path, step.iteration, step.attempt))
    diagnosis = _diagnose(world, step, spec, wake, ended, unwatched=unwatched)
    collected = collect(world, spec, attempt, state.surface)
    if ended is None and not _rebooted(attempt) and _is_candidate(collected):
        # A runner that could not say how its session ended could not end what the session had started either: no
        # candidate of it is measured, and the attempt is repeated within bounds. Nothing outlives a reboot.
        collected = replace(collected, candidate=None, problem="")
    return SessionEnded(diagnosis, collected, ended.duration_s if ended else 0.0)


def _is_candidate(collected: Collected) -> bool:
    return collected.candidate is not None and collected.candidate.status is CandidateStatus.CANDIDATE


def _rebooted(attempt: AttemptFolder) -> bool:
    runner, boot_id = read_record(attempt.runner, RunnerRecord), this_machine()[1]
    return runner is not None and "" not in (runner.boot_id, boot_id) and runner.boot_id != boot_id


# -- running it


def _run_to_end(world: World, state: RunState, step: RunSession, spec: SessionSpec, attempt: AttemptFolder) -> Wake:
    """Why the session's wait ended. Returns at once for one that has already ended, or left no trace."""
    window = window_name(step.iteration, step.attempt)
    runner = _living_runner(world, attempt, window)
    if runner is None:
        if attempt.exit.exists() or attempt.runner.exists():
            return Wake.READY  # it was started, and is gone
        if world.stops.now:
            return Wake.STOP
        return _follow(world, _launch(world, state, spec, attempt, window), step, step.limit_s, attempt)
    world.reporter.note(f"found the session of iteration {step.iteration} alive, going on with it")
    # What is left of the run's time is counted from now, its own time limit from when it was started.
    age_s = max(world.clock.now().timestamp() - runner.started_at, 0.0)
    own_s = max(state.plan.contract.session.timeout_s - age_s, 0.0)
    return _follow(world, runner, step, min(step.limit_s, own_s), attempt)


def _living_runner(world: World, attempt: AttemptFolder, window: str) -> ProcessRef | None:
    runner = _runner(world, attempt)
    if runner is not None or attempt.runner.exists() or attempt.exit.exists():
        return runner
    if not world.terminal.has_window(window):
        return None
    # Its window opened, and the supervisor that opened it died: give the runner a moment to say who it is.
    return _await_runner(world, attempt, window)


def _runner(world: World, attempt: AttemptFolder) -> ProcessRef | None:
    record = read_record(attempt.runner, RunnerRecord)
    return world.processes.find(record.pid, str(attempt.root)) if record is not None else None


def _await_runner(world: World, attempt: AttemptFolder, window: str) -> ProcessRef | None:
    deadline = world.clock.monotonic_s() + _START_S
    while world.clock.monotonic_s() < deadline and not attempt.exit.exists():
        runner = _runner(world, attempt)
        if runner is not None:
            return runner
        if world.stops.wait(0.05) is Wake.STOP or not world.terminal.has_window(window):
            break
    return _runner(world, attempt)


def _launch(
    world: World, state: RunState, spec: SessionSpec, attempt: AttemptFolder, window: str
) -> ProcessRef | None:
    world.lane.converge(spec.base_commit)
    refuse_changed_files(world)
    answers = world.questions.answers(spec.run_id)
    lessons = world.lessons.text()
    text = instructions(state, spec.base_commit, str(spec.candidate_file), answers, lessons, ask=omagy_in_a_session())
    write_atomic(spec.instructions_file, text.encode(), durable=False)
    command = world.agent.command(spec)
    attempt.remove_handovers()
    pipe = attempt.handover()
    make_pipe(pipe)
    payload: dict[str, Any] = {
        "argv": list(command.argv),
        "environment": dict(command.environment),
        "cwd": str(spec.worktree),
        "stdin_file": str(command.stdin_file) if command.stdin_file else None,
        "render": command.render,
    }
    try:
        world.terminal.open_window(window, runner_argv(attempt.root, pipe), spec.worktree)
        offer(pipe, payload, _can_still_come(world, window))
    except HandoverError as error:
        # Nothing was paid for yet: the attempt counts as lost, and is repeated within bounds.
        world.terminal.close_window(window)
        world.reporter.note(f"the session's window closed before it began: {error}")
        return None
    finally:
        attempt.remove_handovers()
    return _await_runner(world, attempt, window)


def _can_still_come(world: World, window: str) -> Any:
    """Whether the runner can still come for its environment; asks the terminal only now and then."""
    deadline = world.clock.monotonic_s() + _START_S
    looked = world.clock.monotonic_s()

    def expected(seconds: float) -> bool:
        nonlocal looked
        stopped = world.stops.wait(seconds) is Wake.STOP
        now = world.clock.monotonic_s()
        if stopped or now > deadline:
            return False
        if now - looked < 0.5:
            return True
        looked = now
        return world.terminal.has_window(window)

    return expected


def _follow(
    world: World, runner: ProcessRef | None, step: RunSession, limit_s: float, attempt: AttemptFolder
) -> Wake:
    if runner is None:
        return Wake.STOP if world.stops.now else Wake.READY
    wake = _watch(world, runner, limit_s, attempt)
    if wake is not Wake.READY:
        with contextlib.suppress(StorageError):  # a full disk must not keep the session alive
            write_atomic(attempt.ending, _farewell(step, wake).encode(), durable=False)
        world.processes.end(runner, _GRACE_S)
    return wake


def _watch(world: World, runner: ProcessRef, limit_s: float, attempt: AttemptFolder) -> Wake:
    """Wait for the session, and tell of it when it is quiet for long; its time limit alone cuts it short."""
    deadline, quiet = world.clock.monotonic_s() + limit_s, QuietWatch(attempt)
    while True:
        left = max(deadline - world.clock.monotonic_s(), 0.0)
        wake = world.processes.wait(runner, min(left, LOOK_S))
        if wake is not Wake.LIMIT or left <= LOOK_S:
            return wake
        silent_s = quiet.look(LOOK_S)
        if silent_s is not None:
            told, most = format_duration(silent_s), format_duration(math.ceil(limit_s))
            world.reporter.note(
                f"the session has been quiet for {told}: observed, not a stop ({QUIET}); limit {most}"
            )


# -- telling how it ended


def _diagnose(
    world: World, step: RunSession, spec: SessionSpec, wake: Wake, ended: ExitRecord | None, *, unwatched: bool
) -> Diagnosis:
    cut_short = _cut_short(step, wake, ended.asked if ended is not None else None, unwatched=unwatched)
    if ended is None:
        lost = "the session ended without a trace: its runner was killed, or its disk was full"
        return Diagnosis(cut_short or Ending(EndingKind.LOST, lost))
    if ended.problem.startswith("handover"):
        return Diagnosis(Ending(EndingKind.LOST, ended.problem))
    if ended.problem:
        return Diagnosis(Ending(EndingKind.MISCONFIGURED, ended.problem))
    found = world.agent.diagnose(spec, SessionExit(ended.status, ended.signal, ended.duration_s))
    return found if cut_short is None else Diagnosis(cut_short, found.usage, found.thread_id)


def _cut_short(step: RunSession, wake: Wake, asked: str | None, *, unwatched: bool) -> Ending | None:
    """The ending of a session that did not end by itself, whether or not its runner could still tell.

    What closes the window of an ``unwatched`` one ended its supervisor, too, or cleaned up after it: nobody's error.
    """
    if wake is not Wake.READY:
        return _ended_by_omagy(step, wake)
    kind = EndingKind.LOST if unwatched else EndingKind.CRASHED
    return Ending(kind, f"its window was closed ({asked})") if asked else None


def _ended_by_omagy(step: RunSession, wake: Wake) -> Ending:
    if wake is Wake.STOP:
        return Ending(EndingKind.STOPPED, "the run was asked to stop")
    if step.cut_by_budget:
        return Ending(EndingKind.STOPPED, "the run's time budget was used")
    return Ending(EndingKind.TIMED_OUT, f"stopped {_at_its_limit(step)}")


def _farewell(step: RunSession, wake: Wake) -> str:
    """What the window and session.log of a session say last when omagy ends it."""
    ending = _ended_by_omagy(step, wake)
    told = f" {_at_its_limit(step)}" if ending.kind is EndingKind.TIMED_OUT else f": {ending.detail}"
    return f"omagy ends this session{told}"


def _at_its_limit(step: RunSession) -> str:
    return f"at its time limit of {format_duration(math.ceil(step.limit_s))}"
