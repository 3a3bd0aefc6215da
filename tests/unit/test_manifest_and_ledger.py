"""The files that other programs read: field names, values and rows exactly as the contract lists them."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from omagy_autoresearch.candidate import Candidate, CandidateStatus
from omagy_autoresearch.decision import Decision, KeepPolicy
from omagy_autoresearch.evaluation import Evaluation, EvaluatorFault
from omagy_autoresearch.events import Collected, Evaluated, LaneReady, StopMode, StopRequested
from omagy_autoresearch.ledger import (
    TSV_HEADER,
    DiffStat,
    Entry,
    SessionSummary,
    entry_json,
    ledger_head,
    ledger_tail,
    tsv_row,
)
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.manifest import decode_manifest, manifest, manifest_json
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.sessions import EndingKind, Usage
from unit.histories import BASELINE, PLAN, START, History, commit, plan, scored

MANIFEST_FIELDS = [
    "schema_version",
    "run_id",
    "run_tag",
    "mission_dir",
    "mission_slug",
    "repo_root",
    "worktree_path",
    "branch_name",
    "baseline_commit",
    "last_kept_commit",
    "last_kept_score",
    "latest_candidate_commit",
    "keep_policy",
    "direction",
    "iteration",
    "status",
    "lifecycle_outcome",
    "stop_reason",
    "created_at",
    "updated_at",
    "completed_at",
]
ENTRY_FIELDS = [
    "iteration",
    "kind",
    "decision",
    "decision_reason",
    "candidate_status",
    "base_commit",
    "candidate_commit",
    "kept_commit",
    "keep_policy",
    "evaluator",
    "created_at",
    "notes",
    "description",
]


def _manifest(history: History) -> dict[str, Any]:
    data = json.loads(manifest_json(history.state))
    assert isinstance(data, dict)
    return data


def test_the_manifest_has_every_field_of_the_contract() -> None:
    """Readers of sibling tools find each name they know, from the first moment of a run."""
    for history in (History(), History().measured().kept().begun()):
        assert [name for name in MANIFEST_FIELDS if name not in _manifest(history)] == []


def test_the_manifest_tells_where_a_run_stands() -> None:
    """Identity, commits, scores and times are those of the state."""
    history = History(plan(policy=KeepPolicy.PASS_ONLY)).measured().kept().discarded().begun()
    found = _manifest(history)
    expected = {
        "schema_version": 1,
        "run_id": PLAN.run_id,
        "run_tag": PLAN.run_tag,
        "mission_dir": "missions/faster",
        "mission_slug": "faster",
        "repo_root": "/repo",
        "worktree_path": PLAN.worktree_path,
        "branch_name": PLAN.branch_name,
        "baseline_commit": BASELINE,
        "baseline_score": 1.0,
        "last_kept_commit": commit(1),
        "last_kept_score": 2.0,
        "latest_candidate_commit": commit(2),
        "keep_policy": "pass_only",
        "direction": "maximize",
        "iteration": 3,
        "attempt": 1,
        "status": "in_session",
        "lifecycle_outcome": None,
        "stop_reason": None,
        "created_at": START.isoformat(),
        "updated_at": history.records[-1].at.isoformat(),
        "completed_at": None,
        "agent": "command",
    }
    assert {name: found[name] for name in expected} == expected
    assert found["tally"]["keep"] == found["tally"]["discard"] == 1


def test_an_ended_run_has_outcome_reason_and_time() -> None:
    """The outcome is one of the canonical words, and completed_at is the moment of the end."""
    history = History(plan(Budget(max_iterations=1))).measured().kept().ended()
    found = _manifest(history)
    assert found["lifecycle_outcome"] == "finished"
    assert found["stop_reason"] == "iteration budget used: 1 (budget.max_iterations)"
    assert found["completed_at"] == found["updated_at"] == history.records[-1].at.isoformat()


def test_a_resumed_run_has_no_outcome_any_more() -> None:
    """lifecycle_outcome is null while a run is under way, whatever it ended as before."""
    history = History().measured().tell(StopRequested(StopMode.NOW, "x")).ended().resumed()
    found = _manifest(history)
    assert (found["lifecycle_outcome"], found["stop_reason"], found["completed_at"]) == (None, None, None)


@pytest.mark.parametrize(
    ("history", "status"),
    [
        (History, "preparing"),
        (lambda: History().tell(LaneReady(BASELINE)), "evaluating"),
        (lambda: History().measured(), "running"),
        (lambda: History().measured().begun(), "in_session"),
        (lambda: History().measured().session(kind=EndingKind.CRASHED), "deciding"),
        (lambda: History().measured().session(kind=EndingKind.UNREACHABLE), "waiting"),
        (lambda: History().measured().session(kind=EndingKind.NOT_LOGGED_IN).ended(), "ended"),
    ],
)
def test_the_status_names_what_a_run_is_doing(history: Callable[[], History], status: str) -> None:
    """Every phase has its word."""
    assert _manifest(history())["status"] == status


def test_a_waiting_run_says_until_when_and_for_what() -> None:
    """A person who looks at night sees that nothing is stuck."""
    history = History().measured().session(kind=EndingKind.UNREACHABLE, detail="connection refused")
    found = _manifest(history)
    assert found["waiting_until"] == (history.records[-1].at + timedelta(seconds=10)).isoformat()
    assert found["waiting_for"] == "connection refused"


def test_a_manifest_reads_back() -> None:
    """What is written is what omagy itself reads."""
    state = History().measured().kept().state
    assert decode_manifest(manifest_json(state)) == manifest(state)
    assert manifest(state).outcome is None


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("sibling-manifest-completed", Outcome.FINISHED),
        ("sibling-manifest-stopped", None),
        ("manifest-cancelled", Outcome.USERINTERLUDE),
    ],
)
def test_a_manifest_of_an_earlier_tool_reads(name: str, outcome: Outcome | None) -> None:
    """It lacks what did not exist yet, and its words for an end are read as what they meant."""
    data = (Path(__file__).parents[1] / "data/lifecycle" / f"{name}.json").read_bytes()
    found = decode_manifest(data)
    assert (found.outcome, found.over, found.agent) == (outcome, True, "")


@pytest.mark.parametrize(
    "change",
    [
        {"lifecycle_outcome": "exploded"},
        {"lifecycle_outcome": 7},
        {"updated_at": "yesterday"},
        {"created_at": "2026-01-31T12:00:00"},
        {"waiting_until": "soon"},
        {"iteration": "three"},
        {"run_id": None},
        {"waiting_until": "0001-01-01T00:00:00+23:00"},
        {"waiting_until": "9999-12-31T23:59:59-23:00"},
    ],
)
def test_a_manifest_that_nobody_understands_is_no_manifest(change: dict[str, Any]) -> None:
    """An outcome that is none, a moment that is none: nothing is made up from it."""
    record = {**json.loads(manifest_json(History().measured().kept().state)), **change}
    with pytest.raises(ValueError, match=r"\w"):
        decode_manifest(json.dumps(record).encode())


def _entry(**changes: Any) -> Entry:
    entry = Entry(
        iteration=3,
        kind="iteration",
        decision=Decision.KEEP,
        decision_reason="score improved: 1 → 2",
        candidate_status=CandidateStatus.CANDIDATE,
        base_commit=BASELINE,
        candidate_commit=commit(3),
        kept_commit=commit(3),
        keep_policy=KeepPolicy.SCORE_IMPROVEMENT,
        evaluator=Evaluation(passed=True, score=2.0),
        created_at=START.isoformat(),
        agent="codex",
        description="cache the parser",
    )
    return msgspec.structs.replace(entry, **changes)


def test_an_entry_has_every_field_of_the_contract() -> None:
    """Each name stands in every entry, the baseline's included, so that no reader has to ask."""
    for entry in (_entry(), _entry(candidate_commit=None, evaluator=None), History().measured().last):
        assert [name for name in ENTRY_FIELDS if name not in json.loads(entry_json(entry))] == []


def test_an_entry_tells_what_happened() -> None:
    """The entry of a whole iteration holds what the session said, what was measured and what was decided."""
    history = History().measured()
    own = Candidate(CandidateStatus.CANDIDATE, commit(1), BASELINE, "faster", ("a", "b"), START.isoformat())
    left = Collected(commit(1), own, candidate_commit=commit(1), diff=DiffStat(1, 2, 3), leftovers_ref="refs/x")
    history.session(left, usage=Usage(1, 0, 2, 0), duration_s=12.5).tell(Evaluated(scored(4.0))).decided()
    data = json.loads(entry_json(history.last))
    assert data["iteration"] == 1
    assert (data["kind"], data["decision"], data["candidate_status"]) == ("iteration", "keep", "candidate")
    assert (data["base_commit"], data["candidate_commit"], data["kept_commit"]) == (BASELINE, commit(1), commit(1))
    assert (data["evaluator"]["pass"], data["evaluator"]["score"]) == (True, 4.0)
    assert (data["notes"], data["description"]) == (["a", "b"], "faster")
    assert data["session"]["duration_s"] == 12.5
    assert data["diff"] == {"files": 1, "insertions": 2, "deletions": 3}
    assert data["leftovers_ref"] == "refs/x"
    assert data["created_at"]


def test_the_baselines_entry_is_marked() -> None:
    """The first entry is iteration 0, kind and decision baseline, on the baseline commit."""
    entry = History().measured().last
    assert (entry.iteration, entry.kind, entry.decision) == (0, "baseline", Decision.BASELINE)
    assert entry.base_commit == entry.kept_commit == BASELINE
    assert entry.candidate_commit is None


def test_the_ledger_is_one_document_with_its_outcome() -> None:
    """Head, entries and tail make the JSON that the contract names."""
    document = ledger_head("r") + b"\n" + entry_json(_entry()) + ledger_tail("finished", "done")
    data = json.loads(document)
    assert list(data) == ["schema_version", "run_id", "entries", "lifecycle_outcome", "stop_reason"]
    assert (data["schema_version"], data["run_id"], len(data["entries"])) == (1, "r", 1)
    assert (data["lifecycle_outcome"], data["stop_reason"]) == ("finished", "done")
    empty = json.loads(ledger_head('odd "id"') + ledger_tail(None, None))
    assert (empty["run_id"], empty["entries"], empty["lifecycle_outcome"]) == ('odd "id"', [], None)


def test_the_table_has_the_columns_of_the_contract() -> None:
    """results.tsv begins with its six names."""
    assert TSV_HEADER == "iteration\tcommit\tpass\tscore\tstatus\tdescription\n"


@pytest.mark.parametrize(
    ("entry", "row"),
    [
        (_entry(), ["3", commit(3)[:12], "true", "2", "keep", "cache the parser"]),
        (
            _entry(decision=Decision.DISCARD, evaluator=Evaluation(passed=False, score=None)),
            ["3", commit(3)[:12], "false", "", "discard", "cache the parser"],
        ),
        (
            _entry(
                decision=Decision.ERROR, candidate_commit=None, evaluator=None, description="", decision_reason="why"
            ),
            ["3", BASELINE[:12], "", "", "error", "why"],
        ),
        (
            _entry(decision=Decision.DISCARD, evaluator=Evaluation(fault=EvaluatorFault.TIMEOUT, error="late")),
            ["3", commit(3)[:12], "", "", "discard", "cache the parser"],
        ),
        (
            _entry(evaluator=Evaluation(passed=True, score=1.23456789)),
            ["3", commit(3)[:12], "true", "1.23457", "keep", "cache the parser"],
        ),
        (
            _entry(description="a\tb\nc\r\nd\x0be\x0cf\x1cg\x85h\u2028i\u2029j  k"),
            ["3", commit(3)[:12], "true", "2", "keep", "a b c d e f g h i j k"],
        ),
    ],
)
def test_a_row_is_one_line_of_six_cells(entry: Entry, row: list[str]) -> None:
    """No tab, newline or other separator of a description can add a cell or a row."""
    text = tsv_row(entry)
    assert text.endswith("\n")
    assert text[:-1].split("\t") == row
    assert len(text.splitlines()) == 1


def test_a_session_is_summed_up_in_its_entry() -> None:
    """The attempt that counted, its ending and its time stand in the entry."""
    history = History().measured().session(kind=EndingKind.LOST)
    history.session(history.left(CandidateStatus.NOOP), kind=EndingKind.CRASHED, detail="late").decided()
    assert history.last.session == SessionSummary(EndingKind.CRASHED, "late", 100.0, attempt=2)
