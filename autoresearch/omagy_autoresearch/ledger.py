"""The ledger: the iteration history that people and other programs read (contract section 3)."""

from typing import Any

import msgspec
from msgspec import Struct

from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.decision import Decision, KeepPolicy, show
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.probes import Measurement
from omagy_autoresearch.sessions import EndingKind, Usage

SCHEMA_VERSION = 1


class DiffStat(Struct, frozen=True):
    files: int
    insertions: int
    deletions: int


class SessionSummary(Struct, frozen=True, omit_defaults=True):
    """What one entry keeps of its session; the whole of it lies in the iteration's folder."""

    ending: EndingKind
    detail: str = ""
    duration_s: float = 0.0
    attempt: int = 1
    thread_id: str | None = None
    usage: Usage | None = None


class Entry(Struct, frozen=True):
    """One row of history. Field names are those that readers of sibling tools know."""

    iteration: int
    kind: str  # "baseline" or "iteration"
    decision: Decision
    decision_reason: str
    candidate_status: CandidateStatus | None
    base_commit: str
    candidate_commit: str | None
    kept_commit: str
    keep_policy: KeepPolicy
    evaluator: Evaluation | None
    created_at: str
    agent: str
    notes: tuple[str, ...] = ()
    description: str = ""
    session: SessionSummary | None = None
    diff: DiffStat | None = None
    leftovers_ref: str | None = None
    question_id: str | None = None
    dirty_files: tuple[str, ...] = ()
    measurements: tuple[Measurement, ...] = ()  # each of them, where there was more than one

    @property
    def leaves_lane_alone(self) -> bool:
        """True when the operator must find the lane exactly as the session left it."""
        interrupted_dirty = self.decision is Decision.INTERRUPTED and bool(self.dirty_files)
        return self.decision is Decision.ABORT or interrupted_dirty


TSV_HEADER = "iteration\tcommit\tpass\tscore\tstatus\tdescription\n"


def tsv_row(entry: Entry) -> str:
    """The line of ``results.tsv`` for ``entry``: no tab or newline of a description survives.

    Where nobody described anything, the reason of the decision does.
    """
    evaluation = entry.evaluator
    passed = "" if evaluation is None or evaluation.passed is None else str(evaluation.passed).lower()
    score = "" if evaluation is None or evaluation.score is None else show(evaluation.score)
    commit = (entry.candidate_commit or entry.base_commit)[:12]
    text = " ".join((entry.description or entry.decision_reason).split())
    return f"{entry.iteration}\t{commit}\t{passed}\t{score}\t{entry.decision}\t{text}\n"


def entry_json(entry: Entry) -> bytes:
    return msgspec.json.encode(entry)


def ledger_head(run_id: str) -> bytes:
    """Everything of the ledger file before its first entry."""
    head = msgspec.json.encode({"schema_version": SCHEMA_VERSION, "run_id": run_id})
    return head[:-1] + b',"entries":['


def ledger_tail(outcome: str | None, reason: str | None) -> bytes:
    """Everything of the ledger file after its last entry."""
    tail: dict[str, Any] = {"lifecycle_outcome": outcome, "stop_reason": reason}
    return b"\n]," + msgspec.json.encode(tail)[1:] + b"\n"
