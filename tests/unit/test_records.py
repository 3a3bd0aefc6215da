"""The records of a run: complete, in their order, and never written through what an agent planted."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.workspace import PATIENCE_S
from omagy_autoresearch.decision import Decision
from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.ledger import TSV_HEADER, Entry, tsv_row
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.run import RunState
from omagy_autoresearch.summary import handoff
from omagy_supervisor.adapters.records import FileRecords
from omagy_supervisor.paths import RunFolder
from unit.histories import BASELINE, History, broken, commit, plan


class Ledger:
    """A ledger that only remembers what it was told."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.end: tuple[str, str] | None = None

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)

    def close_with(self, outcome: str, reason: str) -> None:
        self.end = (outcome, reason)


class Place:
    """A worktree and a run folder, and records that are written there entry by entry."""

    def __init__(self, root: Path) -> None:
        self.worktree, self.folder = root / "lane", RunFolder(root / "run")
        self.worktree.mkdir()
        self.folder.root.mkdir()
        self.ledger = Ledger()
        self.results = self.worktree / "results.tsv"
        self.history = History().measured()
        self.entries: list[Entry] = []
        self.records = self.opened()
        self.add()

    def opened(self) -> FileRecords:
        return FileRecords(self.folder, self.results, self.ledger, self.entries)

    def add(self) -> None:
        """Record the newest entry."""
        self.entries.append(self.history.last)
        self.records.iteration_recorded(self.history.last, self.history.state)

    def rows(self) -> str:
        return "".join([TSV_HEADER, *(tsv_row(entry) for entry in self.entries)])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_every_entry_reaches_every_file(place: Place) -> None:
    """Ledger, table, evaluation and manifest tell of the same iteration."""
    place.history.kept()
    place.add()
    assert place.ledger.entries == place.entries
    assert place.results.read_text() == place.rows()
    assert json.loads(place.folder.manifest.read_bytes())["last_kept_commit"] == commit(1)
    evaluation = json.loads(place.folder.latest_evaluation.read_bytes())
    assert evaluation == {
        "iteration": 1,
        "commit": commit(1),
        "decision": "keep",
        "pass": True,
        "score": 2.0,
        "exit_status": 0,
    }
    own = place.folder.iteration(1) / "evaluation.json"
    assert own.read_bytes() == place.folder.latest_evaluation.read_bytes()


def test_an_iteration_without_an_evaluation_leaves_the_last_one(place: Place) -> None:
    """The newest evaluator record stays the newest there is."""
    place.history.noop()
    place.add()
    assert json.loads(place.folder.latest_evaluation.read_bytes())["commit"] == BASELINE
    assert not (place.folder.iteration(1) / "evaluation.json").exists()


def test_the_manifest_is_written_last(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a manifest says is true in every other file already."""
    place.history.kept()
    seen: list[str] = []

    def watch(_self: FileRecords, _state: RunState) -> None:
        seen.append(place.results.read_text())
        assert json.loads(place.folder.latest_evaluation.read_bytes())["iteration"] == 1
        assert place.ledger.entries[-1].iteration == 1

    monkeypatch.setattr(FileRecords, "write_manifest", watch)
    place.add()
    assert seen == [place.rows()]


def test_records_are_brought_up_to_the_journal_at_the_start(place: Place) -> None:
    """A table that lacks rows, holds others or is gone is whole once a supervisor has started."""
    place.history.kept()
    place.entries.append(place.history.last)
    for harm in (lambda: None, lambda: place.results.write_text("nonsense"), place.results.unlink):
        harm()
        place.opened()
        assert place.results.read_text() == place.rows()
    assert json.loads(place.folder.latest_evaluation.read_bytes())["iteration"] == 1


def test_what_a_killed_supervisor_left_in_the_run_folder_is_swept(place: Place) -> None:
    """No temporary file survives a start."""
    (place.folder.root / ".manifest.json.omagy-tmp").write_text("half")
    place.opened()
    assert not list(place.folder.root.glob(".*omagy-tmp"))


def test_the_newest_kept_entries_are_known(place: Place) -> None:
    """The handoff can name them, after a restart too, and their number is bounded."""
    for _ in range(25):
        place.history.kept()
        place.add()
        place.history.noop()
        place.add()
    kept = [entry for entry in place.entries if entry.decision is Decision.KEEP][-20:]
    assert list(place.records.kept()) == kept
    assert list(place.opened().kept()) == kept


def test_an_end_is_written_for_people_and_programs(place: Place) -> None:
    """handoff.md, handoff.json, the ledger's outcome and the manifest agree."""
    place.history = History(plan(Budget(max_iterations=1))).measured().kept().ended()
    state = place.history.state
    place.records.write_end(state, handoff(state, str(place.folder.root), place.records.kept()))
    assert "- finished: iteration budget used: 1" in place.folder.handoff_markdown.read_text()
    data = json.loads(place.folder.handoff_json.read_bytes())
    assert data["outcome"] == "finished"
    assert place.ledger.end == ("finished", data["reason"])
    assert json.loads(place.folder.manifest.read_bytes())["lifecycle_outcome"] == "finished"


def test_a_run_that_goes_on_has_no_handoff(place: Place) -> None:
    """What an earlier end told people to do is no longer so."""
    place.history = History(plan(Budget(max_iterations=1))).measured().kept().ended()
    state = place.history.state
    place.records.write_end(state, handoff(state, str(place.folder.root), place.records.kept()))
    place.records.reopen(place.history.resumed().state)
    assert not place.folder.handoff_markdown.exists()
    assert not place.folder.handoff_json.exists()
    assert json.loads(place.folder.manifest.read_bytes())["lifecycle_outcome"] is None
    place.records.reopen(place.history.state)


# -- results.tsv lies where an agent can reach it

Harm = Callable[[Path, Path], None]


def _link(results: Path, precious: Path) -> None:
    results.unlink()
    results.symlink_to(precious)


def _dangling_link(results: Path, precious: Path) -> None:
    results.unlink()
    results.symlink_to(precious.with_name("nothing"))


def _loop(results: Path, _precious: Path) -> None:
    results.unlink()
    results.symlink_to(results)


def _hard_link(results: Path, precious: Path) -> None:
    results.unlink()
    results.hardlink_to(precious)


def _second_name(results: Path, precious: Path) -> None:
    precious.with_name("twin").hardlink_to(results)


def _folder(results: Path, _precious: Path) -> None:
    results.unlink()
    results.mkdir()
    (results / "in").write_text("x")


def _link_to_a_folder(results: Path, precious: Path) -> None:
    results.unlink()
    results.symlink_to(precious.parent)


def _pipe(results: Path, _precious: Path) -> None:
    results.unlink()
    os.mkfifo(results)


def _device(results: Path, _precious: Path) -> None:
    results.unlink()
    results.symlink_to("/dev/null")


def _truncated(results: Path, _precious: Path) -> None:
    os.truncate(results, 5)


def _appended(results: Path, _precious: Path) -> None:
    with results.open("a") as file:
        file.write("9\tfake\n")


def _deleted(results: Path, _precious: Path) -> None:
    results.unlink()


HARMS: list[Harm] = [
    _link,
    _dangling_link,
    _loop,
    _hard_link,
    _second_name,
    _folder,
    _link_to_a_folder,
    _pipe,
    _device,
    _truncated,
    _appended,
    _deleted,
]


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("harm", HARMS)
def test_whatever_stands_in_the_tables_place_is_replaced(place: Place, tmp_path: Path, harm: Harm) -> None:
    """A session can put anything there: the table is whole again with the next row, and no other file changes."""
    precious = tmp_path / "precious"
    precious.write_text("x" * len(place.rows()))
    for _ in range(2):
        harm(place.results, precious)
        place.history.noop()
        place.add()
        assert place.results.is_file()
        assert not place.results.is_symlink()
        assert place.results.read_text() == place.rows()
        assert precious.read_text() == "x" * len(precious.read_text())
        assert not (tmp_path / "nothing").exists()
        (tmp_path / "twin").unlink(missing_ok=True)


def test_a_pipe_with_a_reader_gets_no_row(place: Place) -> None:
    """A session that waits at the other end of a pipe neither blocks the supervisor nor receives anything."""
    place.results.unlink()
    os.mkfifo(place.results)
    reader = os.open(place.results, os.O_RDONLY | os.O_NONBLOCK)
    try:
        place.history.noop()
        place.add()
        assert place.results.read_text() == place.rows()
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


def test_a_link_in_the_temporary_files_place_is_not_followed(place: Place, tmp_path: Path) -> None:
    """Nor is the way of writing it a way to another file."""
    precious = tmp_path / "precious"
    precious.write_text("x")
    (place.worktree / ".results.tsv.omagy-tmp").symlink_to(precious)
    place.results.unlink()
    place.history.noop()
    place.add()
    assert precious.read_text() == "x"


def test_an_untouched_table_is_appended_to(place: Place) -> None:
    """The cost of a row does not grow with the run."""
    inode = place.results.stat().st_ino
    for _ in range(3):
        place.history.candidate(broken())
        place.add()
    assert place.results.stat().st_ino == inode
    assert place.results.read_text() == place.rows()


def test_a_vanished_worktree_is_an_error_and_no_new_folder(place: Place) -> None:
    """Records never make a worktree: a lane that is gone is told."""
    place.results.unlink()
    place.worktree.rmdir()
    place.opened()
    place.history.noop()
    with pytest.raises(StorageError, match=r"results\.tsv cannot be written"):
        place.add()
    assert not place.worktree.exists()
