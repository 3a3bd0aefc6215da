"""What a session left (contract section 4): saved under the run's refs first, then read, then believed or not."""

import contextlib
import os
from pathlib import Path

import msgspec

from omagy_autoresearch.candidate import (
    SIZE_LIMIT,
    Candidate,
    CandidateStatus,
    Malformed,
    parse_candidate,
)
from omagy_autoresearch.errors import IncompleteCommitError, RepositoryError
from omagy_autoresearch.events import Collected
from omagy_autoresearch.integrity import Claim, integrity_problem
from omagy_autoresearch.names import candidate_ref, leftovers_ref, strayed_ref
from omagy_autoresearch.surface import Surface
from omagy_supervisor.agents import SessionSpec
from omagy_supervisor.files import read_regular, shown_path, write_atomic
from omagy_supervisor.outbox import take_up_questions
from omagy_supervisor.paths import AttemptFolder
from omagy_supervisor.ports import ALTERNATES, Difference, LaneStatus, Pinned
from omagy_supervisor.world import World

_AGENT_LEFTOVERS = (".agents", ".aws", ".codex")


def collect(world: World, spec: SessionSpec, attempt: AttemptFolder, surface: Surface) -> Collected:
    """What the session left, saved under the run's refs before anything is cleaned. Raises RepositoryError."""
    world.lane.sweep_locks()
    _remove_agent_leftovers(world)
    take_up_questions(world, spec)
    artifact = _read_artifact(world, attempt)
    candidate = artifact if isinstance(artifact, Candidate) else None
    gone = not os.path.lexists(world.lane.worktree)
    status = _look(world, candidate)
    if gone:
        world.reporter.note(f"the worktree {world.lane.worktree} was gone; it is made anew from what was committed")
    moved = status.head not in ("", spec.base_commit)
    ref = candidate_ref(spec.run_id, spec.iteration, spec.attempt)
    pinned, incomplete = _pin(world, ref, status.head, spec.base_commit) if moved else (None, "")
    _pin_strayed_branch(world, spec, status)
    problem = artifact.reason if isinstance(artifact, Malformed) else ""
    if candidate is not None and candidate.status is CandidateStatus.CANDIDATE:
        problem = incomplete or _integrity(world, spec, candidate, status.head, pinned)
    return Collected(
        head=status.head,
        candidate=candidate,
        problem=problem,
        candidate_commit=status.head if pinned else None,
        dirty_files=tuple(map(shown_path, status.dirty[:20])),
        leftovers_ref=_save_leftovers(world, spec, candidate, status),
        diff=pinned.difference.stat if pinned else None,
        question_id=world.questions.open_question(spec.run_id),
        violation=_violation(world, pinned.difference, status.head, surface) if pinned and pinned.descends else "",
    )


def _look(world: World, candidate: Candidate | None) -> LaneStatus:
    """By the session's own index only where the operator is to find the lane as it is: it can hide changes."""
    if not _is_for_operator(candidate):
        return world.lane.take_over()
    status = world.lane.status()
    goes_on = candidate is not None and candidate.status is CandidateStatus.INTERRUPTED and not status.dirty
    return world.lane.take_over() if goes_on else status


def _pin(world: World, ref: str, commit: str, base: str) -> tuple[Pinned | None, str]:
    """Keep what the session committed, or say why it cannot be kept."""
    if ALTERNATES in _changed(world):
        world.lane.leave_out(commit)
        return None, f"git's {ALTERNATES} changed: what was committed may lie outside the repository"
    try:
        return world.lane.pin(ref, commit, base), ""
    except IncompleteCommitError as error:
        return None, error.message


def _violation(world: World, difference: Difference, head: str, surface: Surface) -> str:
    """What the candidate changed that it must not. Judged on commits, before anything of it runs."""
    violation = surface.violation(difference.changes)
    if violation:
        return violation
    unfit = world.lane.unfit(head, difference.changes)
    if unfit:
        return f"{shown_path(unfit)}: a file of that name is refused, so no checkout can hold it"
    changed = " and ".join(_changed(world))
    return f"git's {changed} changed, which can change what files contain" if changed else ""


def _changed(world: World) -> list[str]:
    """The files of git's, obeyed whatever we say, that are not as when this run's first session was started."""
    note, now = world.folder.obeyed, world.lane.obeyed()
    before = _noted(note)
    if before is None:
        write_atomic(note, msgspec.json.encode(now))
        return []
    return [name for name, old in before.items() if now.get(name, "") != old]


def _noted(path: Path) -> dict[str, str] | None:
    with contextlib.suppress(ValueError):  # msgspec's own errors are ValueErrors
        return msgspec.json.decode(read_regular(path, 4096) or b"", type=dict[str, str])
    return None


def refuse_changed_files(world: World) -> None:
    """git cannot be told to leave them out, and a session may have planted them. Raises RepositoryError."""
    names = _changed(world)
    if names:
        shown = " and ".join(str(world.lane.common_dir / name) for name in names)
        raise RepositoryError(
            f"git's {' and '.join(names)} changed since this run began, and can change what files contain",
            f"look at {shown}; put back what was there, then resume",
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
        _pin(world, strayed_ref(spec.run_id, spec.iteration, spec.attempt), tip, spec.base_commit)


def _integrity(world: World, spec: SessionSpec, candidate: Candidate, head: str, pinned: Pinned | None) -> str:
    base = spec.base_commit
    claim = Claim(
        candidate=_resolve(world, candidate.candidate_commit or "", head),
        base=_resolve(world, candidate.base_commit, base),
        head=head,
        descends=pinned is not None and pinned.descends,
    )
    return integrity_problem(claim, base)


def _resolve(world: World, claimed: str, likely: str) -> str | None:
    return likely if claimed == likely else world.lane.resolve(claimed)


def _is_for_operator(candidate: Candidate | None) -> bool:
    """True when the lane may have to stay exactly as it is."""
    return candidate is not None and candidate.status in (CandidateStatus.ABORT, CandidateStatus.INTERRUPTED)


def _save_leftovers(world: World, spec: SessionSpec, candidate: Candidate | None, status: LaneStatus) -> str | None:
    if not status.dirty or _is_for_operator(candidate):
        return None
    ref = leftovers_ref(spec.run_id, f"{spec.iteration}.{spec.attempt}")
    return world.lane.save_leftovers(ref, spec.folder / "leftovers")
