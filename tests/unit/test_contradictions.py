"""What a crash can leave is gone on from; what none can leave is refused and named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from omagy_autoresearch.contradictions import Ledger, Row, contradictions
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.events import StopMode, StopRequested
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.manifest import Manifest, manifest
from omagy_autoresearch.mission import Budget
from omagy_supervisor.paths import RunFolder
from omagy_supervisor.reconcile import refuse_contradictions
from omagy_supervisor.recover import LoadedRun, replay
from unit.histories import PLAN, History, plan


def _loaded(history: History, whole: int = 0) -> LoadedRun:
    return replay(history.records, whole)


def _ledger(run: LoadedRun) -> Ledger:
    rows = tuple(Row(entry.iteration, entry.decision, entry.kept_commit) for entry in run.entries)
    return Ledger(PLAN.run_id, rows)


def _running() -> History:
    return History().measured().kept().discarded().kept()


def _stopped() -> History:
    return _running().tell(StopRequested(StopMode.NOW, "Ctrl-C")).ended()


def _finished() -> History:
    return History(plan(Budget(max_iterations=2))).measured().kept().discarded().ended()


def _found(run: LoadedRun, manifest: Manifest, ledger: Ledger | None) -> tuple[str, ...]:
    return contradictions(run.state, run.entries, run.ends, manifest, ledger)


@pytest.mark.parametrize("make", [_running, _stopped, _finished, lambda: _stopped().resumed().kept()])
def test_every_earlier_state_of_the_records_is_what_a_crash_leaves(make: Callable[[], History]) -> None:
    """The manifest and the ledger of any moment of the run's past contradict nothing: they only lag behind."""
    history = make()
    now = _loaded(history)
    for length in range(1, len(history.records) + 1):
        past = replay(history.records[:length], 0)
        assert _found(now, manifest(past.state), _ledger(past)) == (), f"after record {length}"


def test_no_record_of_the_future_is_gone_on_from() -> None:
    """With an older copy of the journal, records that know an iteration, an end or an entry more are refused."""
    history = _finished()
    now = _loaded(history)
    ahead = [
        length
        for length in range(1, len(history.records))
        if _found(replay(history.records[:length], 0), manifest(now.state), _ledger(now))
    ]
    assert ahead == list(range(1, len(history.records)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"run_id": "other"}, "the manifest's run_id is other"),
        ({"branch_name": "main"}, "the manifest's branch_name is main"),
        ({"worktree_path": "/elsewhere"}, "the manifest's worktree_path is /elsewhere"),
        ({"lifecycle_outcome": Outcome.FINISHED}, "the manifest says finished, and the journal has no such end"),
        ({"lifecycle_outcome": Outcome.BLOCKED}, "the manifest says blocked, and the journal has no such end"),
        ({"iteration": 9}, "the manifest is at iteration 9, the journal at 3"),
        ({"last_kept_commit": "f" * 40}, "was never kept by the journal"),
    ],
)
def test_a_manifest_that_says_otherwise_is_named(changes: dict[str, Any], words: str) -> None:
    """Each with what the journal says."""
    run = _loaded(_running())
    (found, *_) = _found(run, replace(manifest(run.state), **changes), None)
    assert words in found


def test_an_end_for_good_that_was_gone_on_from_is_named() -> None:
    """Nothing resumes a finished run, so no journal goes on behind one."""
    run = _loaded(_stopped())
    gone_on = replace(run.state, phase=run.state.work)
    claimed = replace(manifest(run.state), lifecycle_outcome=Outcome.FAILED)
    found = contradictions(gone_on, run.entries, frozenset({Outcome.FAILED}), claimed, None)
    assert found == ("the manifest says failed, which is for good, and the journal goes on",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ledger: replace(ledger, run_id="other"), "the ledger is that of run other"),
        (lambda ledger: replace(ledger, entries=(*ledger.entries, Row(4, "keep", "f" * 40))), "has 5 entries"),
        (lambda ledger: replace(ledger, entries=(*ledger.entries[:-1], Row(3, "discard", "f" * 40))), "3: discard"),
    ],
)
def test_a_ledger_that_says_otherwise_is_named(change: Callable[[Ledger], Ledger], words: str) -> None:
    """More entries, other entries, another run's entries."""
    run = _loaded(_running())
    (found,) = _found(run, manifest(run.state), change(_ledger(run)))
    assert words in found


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / PLAN.run_id)
    made.root.mkdir()
    return made


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b'{"run_id": 1}', b"[" * 5000, b"\xff"])
def test_a_ledger_that_says_nothing_contradicts_nothing(folder: RunFolder, data: bytes | None) -> None:
    """Missing or unreadable, it is written anew; a link in its place is not followed."""
    run = _loaded(_running())
    if data is None:
        folder.ledger.symlink_to("/dev/zero")
    else:
        folder.ledger.write_bytes(data)
    refuse_contradictions(folder, run, manifest(run.state))


def test_the_refusal_names_the_rule_the_contradiction_and_the_way_out(folder: RunFolder) -> None:
    """Everything that a person needs to settle it."""
    run = _loaded(_running())
    more = replace(_ledger(run), entries=(*_ledger(run).entries, Row(4, "keep", "f" * 40)))
    folder.ledger.write_bytes(msgspec.json.encode(more))
    with pytest.raises(ContractError) as caught:
        refuse_contradictions(folder, run, manifest(run.state))
    assert "STOP-RECONCILE-001" in caught.value.message
    assert "the ledger has 5 entries, the journal decided 4" in caught.value.message
    assert f"omagy autoresearch rebuild {PLAN.run_id}" in caught.value.hint


def test_a_copied_run_folder_is_told_by_its_journal(tmp_path: Path) -> None:
    """Its journal is another run's; that one can go on, and rebuilding this one would not help."""
    copied = RunFolder(tmp_path / "copy")
    run = _loaded(_running())
    with pytest.raises(ContractError) as caught:
        refuse_contradictions(copied, run, manifest(run.state))
    assert f"that of run {PLAN.run_id} (STOP-RECONCILE-001)" in caught.value.message
    assert caught.value.hint == f"go on with that run: omagy autoresearch --resume {PLAN.run_id}"
