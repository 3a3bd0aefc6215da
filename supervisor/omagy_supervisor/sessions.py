"""One agent session from launch to collection (contract section 4): found again, never started twice."""

import contextlib
import math
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from omagy_autoresearch.candidate import (
    SIZE_LIMIT,
    Candidate,
    CandidateStatus,
    Malformed,
    parse_candidate,
)
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.errors import IncompleteCommitError, RepositoryError
from omagy_autoresearch.events import Collected, SessionEnded
from omagy_autoresearch.integrity import Claim, integrity_problem
from omagy_autoresearch.names import candidate_ref, leftovers_ref, session_cookie, strayed_ref, window_name
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.prompt import instructions
from omagy_autoresearch.run import RunState
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind
from omagy_autoresearch.steps import RunSession
from omagy_autoresearch.surface import Surface
from omagy_supervisor.adapters.lock import this_machine
from omagy_supervisor.files import make_folder, read_regular, shown_path, write_atomic
from omagy_supervisor.handover import HandoverError, make_pipe, offer
from omagy_supervisor.launching import runner_argv
from omagy_supervisor.paths import AttemptFolder
from omagy_supervisor.ports import LaneStatus, Places, ProcessRef, SessionExit, SessionSpec, Wake
from omagy_supervisor.world import World

_GRACE_S = 20.0
_START_S = 20.0
_AGENT_LEFTOVERS = (".agents", ".aws", ".codex")
_RECORD_LIMIT = 1 << 16
_KILLED = "the session's runner was killed, so what it left running may still change what would be measured"

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
        hidden=(world.folder.held_out,),
    )


def run_session(world: World, state: RunState, step: RunSession) -> SessionEnded:
    """Run, adopt or collect the session of ``step``, and save everything it left. Raises OmagyError."""
    attempt = world.folder.attempt(step.iteration, step.attempt)
    spec = session_spec(world, state.plan, step.iteration, step.attempt, step.base)
    seen, wake = _run_to_end(world, state, step, spec, attempt)
    ended = read_record(attempt.exit, ExitRecord)
    if ended is None or ended.problem:
        world.processes.sweep(session_cookie(state.plan.worktree_path, step.iteration, step.attempt))
    diagnosis = _diagnose(world, step, spec, wake, ended)
    collected = collect(world, spec, attempt, state.surface)
    if ended is None:
        collected = _of_killed_runner(collected, seen=seen, rebooted=_rebooted(attempt))
    return SessionEnded(diagnosis, collected, ended.duration_s if ended else 0.0)


def _of_killed_runner(collected: Collected, *, seen: bool, rebooted: bool) -> Collected:
    """A runner that could not say how its session ended could not end what the session had started either.

    No candidate of it is measured. When we saw it die, that is the iteration's error. When we were dead ourselves,
    the attempt is lost, and repeated. Nothing outlives a reboot: what was handed in before one counts.
    """
    candidate = collected.candidate
    if rebooted or candidate is None or candidate.status is not CandidateStatus.CANDIDATE:
        return collected
    return replace(collected, problem=_KILLED) if seen else replace(collected, candidate=None, problem="")


def _rebooted(attempt: AttemptFolder) -> bool:
    runner, boot_id = read_record(attempt.runner, RunnerRecord), this_machine()[1]
    return runner is not None and "" not in (runner.boot_id, boot_id) and runner.boot_id != boot_id


# -- running it


def _run_to_end(
    world: World, state: RunState, step: RunSession, spec: SessionSpec, attempt: AttemptFolder
) -> tuple[bool, Wake]:
    """Whether we saw the session live, and why its wait ended.

    Returns at once for a session that has already ended, or left no trace.
    """
    window = window_name(step.iteration, step.attempt)
    runner = _living_runner(world, attempt, window)
    if runner is None:
        if attempt.exit.exists() or attempt.runner.exists():
            return False, Wake.READY  # it was started, and is gone
        if world.stops.now:
            return False, Wake.STOP
        return True, _follow(world, _launch(world, state, spec, attempt, window), step.limit_s)
    world.reporter.note(f"found the session of iteration {step.iteration} alive, going on with it")
    # What is left of the run's time is counted from now, its own time limit from when it was started.
    age_s = max(world.clock.now().timestamp() - runner.started_at, 0.0)
    own_s = max(state.plan.contract.session.timeout_s - age_s, 0.0)
    return True, _follow(world, runner, min(step.limit_s, own_s))


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
    world.lane.sweep_locks()
    world.lane.converge(spec.base_commit)
    _refuse_changed_attributes(world)
    answers = world.questions.answers(spec.run_id)
    lessons = world.lessons.text()
    text = instructions(state, spec.base_commit, str(spec.candidate_file), answers, lessons)
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


def _follow(world: World, runner: ProcessRef | None, limit_s: float) -> Wake:
    if runner is None:
        return Wake.STOP if world.stops.now else Wake.READY
    wake = world.processes.wait(runner, limit_s)
    if wake is not Wake.READY:
        world.processes.end(runner, _GRACE_S)
    return wake


# -- telling how it ended


def _diagnose(world: World, step: RunSession, spec: SessionSpec, wake: Wake, ended: ExitRecord | None) -> Diagnosis:
    cut_short = _cut_short(step, wake, ended.asked if ended is not None else None)
    if ended is None:
        return Diagnosis(cut_short or Ending(EndingKind.LOST, "the session ended without a trace"))
    if ended.problem.startswith("handover"):
        return Diagnosis(Ending(EndingKind.LOST, ended.problem))
    if ended.problem:
        return Diagnosis(Ending(EndingKind.MISCONFIGURED, ended.problem))
    found = world.agent.diagnose(spec, SessionExit(ended.status, ended.signal, ended.duration_s))
    return found if cut_short is None else Diagnosis(cut_short, found.usage, found.thread_id)


def _cut_short(step: RunSession, wake: Wake, asked: str | None) -> Ending | None:
    """The ending of a session that did not end by itself, whether or not its runner could still tell."""
    if wake is Wake.STOP:
        return Ending(EndingKind.STOPPED, "the run was asked to stop")
    if wake is Wake.LIMIT and step.cut_by_budget:
        return Ending(EndingKind.STOPPED, "the run's time budget was used")
    if wake is Wake.LIMIT:
        return Ending(
            EndingKind.TIMED_OUT, f"stopped at its time limit of {format_duration(math.ceil(step.limit_s))}"
        )
    return Ending(EndingKind.CRASHED, f"its window was closed ({asked})") if asked else None


# -- collecting what it left


def collect(world: World, spec: SessionSpec, attempt: AttemptFolder, surface: Surface) -> Collected:
    """What the session left, saved under the run's refs before anything is cleaned. Raises RepositoryError."""
    world.lane.sweep_locks()
    _remove_agent_leftovers(world)
    artifact = _read_artifact(world, attempt)
    status = world.lane.status()
    moved = status.head not in ("", spec.base_commit)
    descends, incomplete = _pin(world, spec, status.head) if moved else (False, "")
    moved = moved and not incomplete
    _pin_strayed_branch(world, spec, status)
    candidate = artifact if isinstance(artifact, Candidate) else None
    problem = artifact.reason if isinstance(artifact, Malformed) else ""
    if candidate is not None and candidate.status is CandidateStatus.CANDIDATE:
        problem = incomplete or _integrity(world, spec, candidate, status.head, descends)
    return Collected(
        head=status.head,
        candidate=candidate,
        problem=problem,
        candidate_commit=status.head if moved else None,
        dirty_files=tuple(map(shown_path, status.dirty[:20])),
        leftovers_ref=_save_leftovers(world, spec, candidate, status),
        diff=world.lane.diff_stat(spec.base_commit, status.head) if moved else None,
        question_id=world.questions.open_question(spec.run_id),
        violation=_violation(world, spec, status.head, surface) if moved and descends else "",
    )


def _pin(world: World, spec: SessionSpec, head: str) -> tuple[bool, str]:
    """Keep what the session committed; says whether it descends from the base, and why it cannot be kept."""
    try:
        return world.lane.pin(candidate_ref(spec.run_id, spec.iteration, spec.attempt), head, spec.base_commit), ""
    except IncompleteCommitError as error:
        return False, error.message


def _violation(world: World, spec: SessionSpec, head: str, surface: Surface) -> str:
    """What the candidate changed that it must not. Judged on commits, before anything of it runs."""
    violation = surface.violation(world.lane.changes(spec.base_commit, head))
    if violation:
        return violation
    unfit = world.lane.unfit(head)
    if unfit:
        return f"{shown_path(unfit)}: git refuses a file of that name, so no checkout can hold it"
    if _attributes_changed(world):
        return "git's info/attributes changed, which can change what files contain"
    return ""


def _attributes_changed(world: World) -> bool:
    """True when git's info/attributes is not as it was when this run's first session was started."""
    note, key = world.folder.attributes_key, world.lane.attributes_key().encode()
    before = read_regular(note, 1000)
    if before is None:
        write_atomic(note, key, durable=False)
    return before is not None and before != key


def _refuse_changed_attributes(world: World) -> None:
    """git cannot be told to leave them out, and a session may have planted them. Raises RepositoryError."""
    if _attributes_changed(world):
        raise RepositoryError(
            "git's info/attributes changed since this run began, and can change what files contain",
            f"look at {world.lane.common_dir / 'info' / 'attributes'}; put it back as it was, then resume",
            recoverable=True,
        )


def _remove_agent_leftovers(world: World) -> None:
    """Codex's sandbox leaves empty folders behind when it is interrupted; full ones are somebody's."""
    for name in _AGENT_LEFTOVERS:
        with contextlib.suppress(OSError):
            (world.lane.worktree / name).rmdir()


def _read_artifact(world: World, attempt: AttemptFolder) -> Candidate | Malformed | None:
    """The artifact at the path of this attempt alone: a stale one of another session lies elsewhere."""
    try:
        raw = read_regular(attempt.candidate, SIZE_LIMIT)
    except ValueError as error:
        return Malformed(f"candidate.json: {error}")
    if raw is None:
        return None
    if len(raw) > SIZE_LIMIT:
        return Malformed("candidate.json is larger than 64 KiB")
    write_atomic(world.folder.candidate, raw, durable=False)
    write_atomic(attempt.root / "candidate.json", raw, durable=False)
    found = parse_candidate(raw)
    return Malformed(f"candidate.json: {found.reason}") if isinstance(found, Malformed) else found


def _pin_strayed_branch(world: World, spec: SessionSpec, status: LaneStatus) -> None:
    """A session that switched away may have left commits on the lane's own branch: they stay reachable too."""
    if status.branch == spec.branch:
        return
    tip = world.lane.branch_tip()
    if tip is not None and tip not in (spec.base_commit, status.head):
        with contextlib.suppress(IncompleteCommitError):
            world.lane.pin(strayed_ref(spec.run_id, spec.iteration, spec.attempt), tip, spec.base_commit)


def _integrity(world: World, spec: SessionSpec, candidate: Candidate, head: str, descends: bool) -> str:
    base = spec.base_commit
    claim = Claim(
        candidate=_resolve(world, candidate.candidate_commit or "", head),
        base=_resolve(world, candidate.base_commit, base),
        head=head,
        descends=descends,
    )
    return integrity_problem(claim, base)


def _resolve(world: World, claimed: str, likely: str) -> str | None:
    return likely if claimed == likely else world.lane.resolve(claimed)


def _save_leftovers(world: World, spec: SessionSpec, candidate: Candidate | None, status: LaneStatus) -> str | None:
    for_operator = candidate is not None and candidate.status in (CandidateStatus.ABORT, CandidateStatus.INTERRUPTED)
    if not status.dirty or for_operator:
        return None
    ref = leftovers_ref(spec.run_id, f"{spec.iteration}.{spec.attempt}")
    return world.lane.save_leftovers(ref, spec.folder / "leftovers")
