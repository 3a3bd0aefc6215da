"""The manifest: the authoritative state of a run as other programs read it (contract section 3)."""

from datetime import MAXYEAR, MINYEAR, datetime
from typing import Any

import msgspec

from omagy_autoresearch.lifecycle import Outcome, normalise
from omagy_autoresearch.run import (
    Applying,
    Deciding,
    Ended,
    Evaluating,
    Idle,
    InSession,
    Pausing,
    Phase,
    Preparing,
    RunState,
)

SCHEMA_VERSION = 1
_SCORES = 12

_STATUS: dict[type[Phase], str] = {
    Preparing: "preparing",
    Idle: "running",
    InSession: "in_session",
    Evaluating: "evaluating",
    Deciding: "deciding",
    Applying: "applying",
    Pausing: "waiting",
    Ended: "ended",
}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What readers of manifests rely on; everything else in the file is extra.

    What has a default is missing in manifests of older tools. ``lifecycle_outcome`` is canonical: ``decode_manifest``
    is the only way from a file to here.
    """

    run_id: str
    run_tag: str
    mission_dir: str
    mission_slug: str
    repo_root: str
    worktree_path: str
    branch_name: str
    baseline_commit: str | None = None
    last_kept_commit: str | None = None
    last_kept_score: float | None = None
    latest_candidate_commit: str | None = None
    keep_policy: str = ""
    direction: str = ""
    iteration: int = 0
    status: str = ""
    lifecycle_outcome: Outcome | None = None
    stop_reason: str | None = None
    created_at: str
    updated_at: str
    completed_at: str | None = None
    schema_version: int = SCHEMA_VERSION
    baseline_score: float | None = None
    agent: str = ""
    attempt: int = 0
    elapsed_s: float = 0.0
    max_iterations: int | None = None  # the totals of the run, as a resume may have raised them
    max_wall_time_s: float | None = None
    waiting_until: str | None = None
    waiting_for: str | None = None
    tally: dict[str, int] = msgspec.field(default_factory=dict)
    kept_scores: tuple[float | None, ...] = ()  # of the baseline and the newest keeps, oldest first
    usage: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def outcome(self) -> Outcome | None:
        return self.lifecycle_outcome

    @property
    def over(self) -> bool:
        """True for a run that has ended, even one that an older tool left without saying how."""
        return self.outcome is not None or self.completed_at is not None


def decode_manifest(data: bytes) -> Manifest:
    """The manifest that the bytes of a file hold, whichever tool of this family wrote it.

    Raises ValueError for anything else, and for an outcome that nobody understands: whether such a run may go on
    cannot be told.
    """
    try:
        record = msgspec.json.decode(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    reading = normalise(record)
    if reading.problem:
        raise ValueError(reading.problem)
    found = msgspec.convert({**record, "lifecycle_outcome": reading.outcome}, Manifest)
    for name in ("created_at", "updated_at", "waiting_until"):
        moment = getattr(found, name)
        if moment is not None:
            _refuse_time(name, datetime.fromisoformat(moment))
    return found


def _refuse_time(name: str, moment: datetime) -> None:
    """Raises ValueError for a time that not every clock can show."""
    if moment.tzinfo is None:
        raise ValueError(f"{name} has no time zone: {moment}")
    if not MINYEAR < moment.year < MAXYEAR:
        raise ValueError(f"{name} is no time of a run: {moment}")


def manifest(state: RunState) -> Manifest:
    """The projection of ``state``."""
    plan, phase = state.plan, state.phase
    return Manifest(
        run_id=plan.run_id,
        run_tag=plan.run_tag,
        mission_dir=plan.mission_dir,
        mission_slug=plan.mission_slug,
        repo_root=plan.repo_root,
        worktree_path=plan.worktree_path,
        branch_name=plan.branch_name,
        baseline_commit=state.baseline_commit,
        last_kept_commit=state.tip,
        last_kept_score=state.standing.score if state.standing else None,
        latest_candidate_commit=state.latest_candidate,
        keep_policy=plan.contract.evaluator.keep_policy,
        direction=plan.contract.evaluator.direction,
        iteration=state.iteration,
        status=_STATUS[type(phase)],
        lifecycle_outcome=state.outcome,
        stop_reason=state.stop_reason,
        created_at=plan.created_at,
        updated_at=state.updated_at.isoformat(),
        completed_at=phase.at.isoformat() if isinstance(phase, Ended) else None,
        baseline_score=state.baseline_standing.score if state.baseline_standing else None,
        agent=plan.agent.kind,
        attempt=state.attempt,
        elapsed_s=round(state.elapsed_s, 3),
        max_iterations=state.budget.max_iterations,
        max_wall_time_s=state.budget.max_wall_time_s,
        waiting_until=phase.until.isoformat() if isinstance(phase, Pausing) else None,
        waiting_for=phase.ending.detail if isinstance(phase, Pausing) else None,
        tally=_fields(state.tally),
        kept_scores=tuple(kept.score for kept in state.kept[-_SCORES:]),
        usage=_fields(state.usage),
    )


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def manifest_json(state: RunState) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest(state)), indent=2) + b"\n"
