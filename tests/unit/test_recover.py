"""Reading a run back, and every refusal of a resume with its way out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.errors import ContractError, ExitStatus, StorageError
from omagy_autoresearch.events import Applied, LaneReady, StopMode, StopRequested
from omagy_autoresearch.ledger import DiffStat
from omagy_autoresearch.manifest import manifest, manifest_json
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.prompt import Asked
from omagy_autoresearch.questions import Question
from omagy_autoresearch.surface import Change
from omagy_supervisor.paths import RunFolder, StateRoot
from omagy_supervisor.ports import Difference, LaneStatus, Pinned
from omagy_supervisor.recover import (
    read_manifest,
    refuse_dirty_lane,
    refuse_missing_worktree,
    refuse_terminal,
    refuse_unanswered,
    replay,
    require_manifest,
    settle_lane,
)
from unit.histories import BASELINE, PLAN, History, commit, plan

RUN = PLAN.run_id


class Questions:
    """Questions with at most one that is open."""

    def __init__(self, is_open: str | None = None) -> None:
        self._open = is_open

    def open_question(self, run_id: str) -> str | None:
        return self._open if run_id == RUN else None

    def text(self, question_id: str) -> str:
        return f"words of {question_id}"

    def answers(self, run_id: str) -> tuple[Asked, ...]:
        return ()

    def add(self, question: Question) -> Question:
        return question


class StandingLane:
    """A lane that stands as it was told, and remembers what was saved of it."""

    worktree = git_dir = common_dir = Path("/lane")

    def __init__(self, head: str = BASELINE, dirty: tuple[str, ...] = ()) -> None:
        self._status = LaneStatus(head, PLAN.branch_name, dirty)
        self.calls: list[str] = []

    def prepare(self) -> str:
        return BASELINE

    def sweep_locks(self) -> None:
        self.calls.append("sweep")

    def status(self) -> LaneStatus:
        return self._status

    def take_over(self) -> LaneStatus:
        return self._status

    def resolve(self, commit: str) -> str | None:
        return commit

    def branch_tip(self) -> str | None:
        return self._status.head

    def pin(self, ref: str, commit: str, base: str) -> Pinned:
        self.calls.append(f"pin {commit} {ref}")
        return Pinned(descends=True, difference=Difference((), DiffStat(0, 0, 0)))

    def unfit(self, commit: str, changes: Sequence[Change]) -> str:
        return ""

    def tracked_files(self, commit: str) -> frozenset[str]:
        return frozenset()

    def dependency_key(self, commit: str) -> str:
        return ""

    def leave_out(self, commit: str) -> None:
        raise NotImplementedError

    def obeyed(self) -> Mapping[str, str]:
        return {}

    def save_leftovers(self, ref: str, keep_aside: Path) -> str | None:
        self.calls.append(f"save {ref} {keep_aside.name}")
        return ref

    def advance_kept(self, commit: str) -> None:
        self.calls.append(f"kept {commit}")

    def converge(self, commit: str) -> None:
        self.calls.append(f"converge {commit}")


def _stopped() -> History:
    return History().measured().kept().tell(StopRequested(StopMode.NOW, "Ctrl-C")).ended()


def _finished() -> History:
    return History(plan(Budget(max_iterations=1))).measured().kept().ended()


# -- replay


def test_a_run_is_read_back_with_every_entry() -> None:
    """State and history are those that the run had, however many entries the state itself remembers."""
    history = History()
    history.measured()
    for _ in range(25):
        history.noop()
    run = replay(history.records, 123)
    assert run.state == history.state
    assert [entry.iteration for entry in run.entries] == list(range(26))
    assert run.whole == 123


def test_an_empty_journal_is_an_error() -> None:
    """A run that never began cannot go on."""
    with pytest.raises(StorageError, match="never began"):
        replay([], 0)


def test_records_that_cannot_follow_are_an_error() -> None:
    """A journal with a record taken out is not followed."""
    records = History().measured().kept().records
    without = [record for record in records if not isinstance(record.event, LaneReady)]
    with pytest.raises(StorageError, match="the journal says Evaluated where the run was Preparing"):
        replay(without, 0)
    twice = [record for record in records for _ in range(2 if isinstance(record.event, Applied) else 1)]
    with pytest.raises(StorageError, match="the journal says Applied where the run was Idle"):
        replay(twice, 0)


# -- manifests


@pytest.fixture
def root(tmp_path: Path) -> StateRoot:
    (tmp_path / ".git").mkdir()
    made = StateRoot(tmp_path)
    made.prepare()
    return made


def _run(root: StateRoot, run_id: str, manifest_bytes: bytes | None = None, *, journal: bool = True) -> RunFolder:
    folder = root.run(run_id)
    folder.root.mkdir()
    if journal:
        folder.journal.write_text("")
    if manifest_bytes is not None:
        folder.manifest.write_bytes(manifest_bytes)
    return folder


def test_a_manifest_is_read(root: StateRoot) -> None:
    """What a run wrote is what a resume reads."""
    state = _stopped().state
    _run(root, RUN, manifest_json(state))
    assert require_manifest(root, RUN) == manifest(state)


def test_an_unknown_run_is_refused_with_those_there_are(root: StateRoot) -> None:
    """The newest runs are named, oldest first, and a repository without any says so."""
    with pytest.raises(ContractError) as caught:
        require_manifest(root, "nothing")
    assert caught.value.hint == "there are no runs in this repository"
    tags = ["20260131t120000z", "20260131t120000z-2", "20260131t120000z-10", "20260201t000000z"]
    for tag in reversed(tags):
        _run(root, f"m-{tag}")
    (root.runs / "not-a-run").mkdir()
    (root.runs / "a-file").write_text("")
    assert root.known_runs() == [f"m-{tag}" for tag in tags]
    with pytest.raises(ContractError) as caught:
        require_manifest(root, "nothing")
    assert caught.value.message == f"there is no run nothing in {root.runs}"
    assert caught.value.hint == "known runs: " + ", ".join(f"m-{tag}" for tag in tags)


@pytest.mark.parametrize("run_id", ["", ".", "..", "../state", "a/b", "/etc"])
def test_a_run_id_is_no_path(root: StateRoot, run_id: str) -> None:
    """Nothing outside of the runs' folder is ever read as a run."""
    (root.runs / "manifest.json").write_text("{}")
    (root.state / "manifest.json").write_text("{}")
    with pytest.raises(ContractError, match="there is no run"):
        require_manifest(root, run_id)


def test_a_missing_manifest_beside_a_journal_can_be_written_anew(root: StateRoot) -> None:
    """The journal is the truth, and the command that uses it is named."""
    _run(root, RUN)
    with pytest.raises(ContractError) as caught:
        require_manifest(root, RUN)
    assert f"run {RUN} has no manifest" in caught.value.message
    assert f"omagy autoresearch rebuild {RUN}" in caught.value.hint


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"run_id": 1}', b"[" * 4000])
def test_an_unreadable_manifest_is_refused_with_its_path(root: StateRoot, data: bytes) -> None:
    """Damage is told, and so is the way to write it anew."""
    folder = _run(root, RUN, data)
    with pytest.raises(ContractError) as caught:
        read_manifest(folder)
    assert str(folder.manifest) in caught.value.message
    assert "rebuild" in caught.value.hint


# -- refusals


def test_a_run_that_ended_for_good_is_refused() -> None:
    """finished and failed are terminal; the way out is a new run of the same mission."""
    failed = History(plan(Budget(max_consecutive_errors=1))).measured().wrong().ended()
    for history in (_finished(), failed):
        with pytest.raises(ContractError) as caught:
            refuse_terminal(history.state)
        assert caught.value.exit_status is ExitStatus.USAGE
        assert f"run {RUN} has ended for good" in caught.value.message
        assert caught.value.hint == "start a new run: omagy autoresearch missions/faster"
    for history in (_stopped(), History(), History().measured().begun()):
        refuse_terminal(history.state)


def test_an_unanswered_question_is_refused_with_its_words() -> None:
    """The question is shown with the command that answers it; once answered, the run goes on."""
    asked = History().measured().said(CandidateStatus.NOOP, question_id="q1").ended().state
    with pytest.raises(ContractError) as caught:
        refuse_unanswered(asked, Questions("q1"))
    assert caught.value.message == "question q1 of this run is not answered: words of q1"
    assert caught.value.hint == "answer it: omagy question answer q1 '<your answer>'"
    refuse_unanswered(asked, Questions())
    refuse_unanswered(_stopped().state, Questions())


def test_an_unanswered_question_is_refused_whatever_else_ended_the_run() -> None:
    """A run that a person stopped right after a session had asked waits for the answer too."""
    history = History().measured().said(CandidateStatus.NOOP, question_id="q1")
    history.tell(StopRequested(StopMode.NOW, "Ctrl-C")).ended()
    with pytest.raises(ContractError, match="question q1"):
        refuse_unanswered(history.state, Questions("q1"))


def test_a_missing_worktree_is_refused_with_the_commands_that_make_it() -> None:
    """git's own commands bring it back; a run whose lane never stood makes it itself."""
    with pytest.raises(ContractError) as caught:
        refuse_missing_worktree(_stopped().state)
    assert PLAN.worktree_path in caught.value.message
    assert f"git worktree add '{PLAN.worktree_path}' {PLAN.branch_name}" in caught.value.hint
    refuse_missing_worktree(History().state)


def test_changes_in_the_lane_of_an_ended_run_are_refused(tmp_path: Path) -> None:
    """They are listed, a few of many, and the way to keep them is named; nothing is touched."""
    state, many = _stopped().state, tuple(f"f{number}" for number in range(20))
    for refuse in (
        lambda lane: refuse_dirty_lane(state, lane),
        lambda lane: settle_lane(state, lane, RunFolder(tmp_path), save_leftovers=False),
    ):
        lane = StandingLane(commit(1), many)
        with pytest.raises(ContractError) as caught:
            refuse(lane)
        assert "f0, f1, f2, f3, f4, f5, f6, f7, …" in caught.value.message
        assert f"omagy autoresearch --resume {RUN} --save-leftovers" in caught.value.hint
        assert set(lane.calls) <= {"sweep"}
    refuse_dirty_lane(state, StandingLane(commit(1)))
    refuse_dirty_lane(History().state, StandingLane("", many))


def test_changes_are_saved_when_that_was_asked_for(tmp_path: Path) -> None:
    """Each resume has a ref of its own."""
    lane = StandingLane(commit(1), ("a",))
    saved = settle_lane(_stopped().state, lane, RunFolder(tmp_path), save_leftovers=True)
    assert lane.calls == ["sweep", f"save refs/omagy/{RUN}/leftovers/resume-1 leftovers-resume-1"]
    assert saved == [f"uncommitted changes in the lane are saved as refs/omagy/{RUN}/leftovers/resume-1"]
    lane = StandingLane(commit(1), ("a",))
    settle_lane(_stopped().resumed().state, lane, RunFolder(tmp_path), save_leftovers=False)
    assert lane.calls[-1].endswith("resume-2")


def test_what_a_dead_supervisor_left_in_the_lane_is_saved(tmp_path: Path) -> None:
    """A crash refuses nothing: what lies there is kept under the run's refs."""
    lane = StandingLane(BASELINE, ("a",))
    assert settle_lane(History().measured().state, lane, RunFolder(tmp_path), save_leftovers=False)
    assert lane.calls[-1].startswith("save ")


def test_commits_of_somebody_elses_stay_reachable(tmp_path: Path) -> None:
    """A commit that is neither kept nor a candidate is pinned; those that are known are not."""
    state = History().measured().kept().discarded().state
    for head, pinned in ((commit(1), False), (commit(2), False), ("", False), (commit(9), True)):
        lane = StandingLane(head)
        saved = settle_lane(state, lane, RunFolder(tmp_path), save_leftovers=False)
        assert bool(saved) is pinned
        assert [call.split()[1] for call in lane.calls if call.startswith("pin")] == [commit(9)] * pinned


def test_a_session_that_may_live_is_left_alone(tmp_path: Path) -> None:
    """Its lane is not looked at, swept or saved: it is collected when it ends."""
    lane = StandingLane(commit(9), ("a",))
    assert settle_lane(History().measured().begun().state, lane, RunFolder(tmp_path), save_leftovers=False) == []
    assert settle_lane(History().state, lane, RunFolder(tmp_path), save_leftovers=False) == []
    assert lane.calls == []
