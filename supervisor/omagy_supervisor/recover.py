"""Reads a run back from its journal, and says why it cannot go on where it cannot (contract section 6)."""

from dataclasses import dataclass
from pathlib import Path

from omagy_autoresearch.advance import advance, begin
from omagy_autoresearch.errors import ContractError, StorageError
from omagy_autoresearch.events import Applied, Record, RunEnded
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.manifest import Manifest, decode_manifest, manifest
from omagy_autoresearch.names import leftovers_ref, own_commits_ref
from omagy_autoresearch.run import Idle, InSession, Pausing, RunState
from omagy_supervisor.adapters.journal import read_journal
from omagy_supervisor.files import read_regular
from omagy_supervisor.paths import RunFolder, StateRoot
from omagy_supervisor.ports import Lane, LaneStatus, Questions

_SHOWN = 8
_MANIFEST_LIMIT = 1 << 26
_OURS = ("results.tsv", "run.log", "candidate.json")  # a repository may track files of these names


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run as its journal tells it. ``whole`` is how many bytes of the journal are whole.

    ``ends`` are the outcomes that it ever ended with; it may have been resumed since.
    """

    state: RunState
    entries: list[Entry]
    whole: int
    ends: frozenset[Outcome]


def replay(records: list[Record], whole: int) -> LoadedRun:
    """Fold the journal. Raises StorageError for records that cannot follow one another."""
    if not records:
        raise StorageError("the journal is empty: the run never began", "start a new run")
    state = begin(records[0])
    entries: list[Entry] = []
    for record in records[1:]:
        state = advance(state, record)
        if isinstance(record.event, Applied) and state.last_entry is not None:
            entries.append(state.last_entry)
    ends = frozenset(record.event.outcome for record in records if isinstance(record.event, RunEnded))
    return LoadedRun(state, entries, whole, ends)


def read_manifest(folder: RunFolder) -> Manifest | None:
    """The manifest; None when there is none. Raises ContractError when it cannot be read."""
    try:
        data = read_regular(folder.manifest, _MANIFEST_LIMIT)
        return None if data is None else decode_manifest(data)
    except ValueError as error:
        raise ContractError(
            f"{folder.manifest} cannot be read: {error}",
            f"write it anew from the journal: omagy autoresearch rebuild {folder.root.name}",
        ) from None


def require_manifest(root: StateRoot, run_id: str) -> Manifest:
    """The manifest of ``run_id``. Raises ContractError that lists the runs there are."""
    folder = root.run(run_id)
    found = read_manifest(folder) if _plain(run_id) else None
    if found is not None:
        return found
    if _plain(run_id) and folder.journal.exists():
        first = _before_its_first_manifest(folder)
        if first is not None:
            return first
        raise ContractError(
            f"run {run_id} has no manifest ({folder.manifest})",
            f"its journal is there: omagy autoresearch rebuild {run_id}",
        )
    runs = root.known_runs()
    listed = "known runs: " + ", ".join(runs[-_SHOWN:]) if runs else "there are no runs in this repository"
    raise ContractError(f"there is no run {run_id} in {root.runs}", listed)


def _before_its_first_manifest(folder: RunFolder) -> Manifest | None:
    """The manifest of a run that died before it could write one; None for a run whose manifest was lost later."""
    try:
        state = replay(*read_journal(folder.journal)).state
    except StorageError:
        return None
    return manifest(state) if state.baseline_commit is None else None


def _plain(run_id: str) -> bool:
    return "/" not in run_id and run_id not in ("", ".", "..")


def refuse_terminal(state: RunState) -> None:
    """Raises ContractError for a run that has ended for good."""
    if state.outcome is not None and state.outcome.terminal:
        raise _ended_for_good(manifest(state))


def refuse_without_journal(folder: RunFolder, found: Manifest) -> None:
    """Raises ContractError for a run that left a manifest and nothing to go on from, as other tools leave it."""
    if folder.journal.exists():
        return
    if found.outcome is not None and found.outcome.terminal:
        raise _ended_for_good(found)
    raise ContractError(
        f"run {found.run_id} has no journal ({folder.journal}): omagy cannot go on from its manifest alone",
        f"its kept work is on its branch: git log {found.branch_name}\n"
        f"start a new run: omagy autoresearch {found.mission_dir}",
    )


def _ended_for_good(found: Manifest) -> ContractError:
    reason = f", {found.stop_reason}" if found.stop_reason else ""
    return ContractError(
        f"run {found.run_id} has ended for good: {found.outcome}{reason}",
        f"start a new run: omagy autoresearch {found.mission_dir}",
    )


def refuse_unanswered(state: RunState, questions: Questions) -> None:
    """Raises ContractError while a question of the run waits for its answer, whatever ended the run.

    A run that was killed before it could say that it ends with its question goes on, to say so.
    """
    question = questions.open_question(state.plan.run_id)
    if question is not None and not _ends_with_its_question(state):
        raise ContractError(
            f"question {question} of this run is not answered: {questions.text(question)}",
            f"answer it: omagy question answer {question} '<your answer>'",
        )


def asked_words(state: RunState, questions: Questions) -> str:
    """The words of the question that the run's last session asked; empty when it asked none."""
    last = state.last_entry
    return questions.text(last.question_id) if last is not None and last.question_id else ""


def _ends_with_its_question(state: RunState) -> bool:
    if state.ended or isinstance(state.work, Pausing):
        return False
    last = state.last_entry
    asked = last is not None and last.question_id is not None and not state.settled
    return asked or not isinstance(state.work, Idle)


def refuse_missing_worktree(state: RunState) -> None:
    plan = state.plan
    if not Path(plan.worktree_path).is_dir() and state.tip is not None:
        path = plan.worktree_path
        raise ContractError(
            f"the worktree of run {plan.run_id} is missing: {path}",
            f"make it again: git worktree prune && git worktree add '{path}' {plan.branch_name}",
        )


def refuse_dirty_lane(state: RunState, lane: Lane) -> None:
    """Raises ContractError when the lane of an ended run has changes that the run did not leave."""
    if state.tip is not None and not isinstance(state.work, InSession):
        _refuse_dirty(state, lane.status())


def _refuse_dirty(state: RunState, status: LaneStatus) -> None:
    """An end between iterations leaves a lane that is nobody's but the person's.

    A full disk, or git, can end a run in the middle of an iteration: what lies there then is the run's own.
    """
    dirty = [path for path in status.dirty if path not in _OURS]
    if not dirty or not state.ended or not isinstance(state.work, Idle | Pausing):
        return
    plan = state.plan
    shown = ", ".join(dirty[:_SHOWN]) + (", …" if len(dirty) > _SHOWN else "")
    raise ContractError(
        f"the worktree {plan.worktree_path} has uncommitted changes: {shown}",
        "stash or remove them, or let omagy save them under the run's refs and go on: "
        f"omagy autoresearch --resume {plan.run_id} --save-leftovers",
    )


def settle_lane(state: RunState, lane: Lane, folder: RunFolder, *, save_leftovers: bool) -> list[str]:
    """Make sure that going on overwrites nothing: what the run cannot have left itself is refused or saved.

    A session that may still live is left alone: what it leaves is saved when it is collected. Returns what was
    saved, for the person to read. Raises ContractError for changes in the lane of a run that had ended.
    """
    if state.tip is None or isinstance(state.work, InSession):
        return []
    lane.sweep_locks()
    plan = state.plan
    if not save_leftovers:
        _refuse_dirty(state, lane.status())
    status = lane.take_over()  # shows what an index hides from a person's git, too
    if not save_leftovers:
        _refuse_dirty(state, status)
    label = f"resume-{state.lives}"
    saved = []
    if status.dirty:
        ref = lane.save_leftovers(leftovers_ref(plan.run_id, label), folder.root / f"leftovers-{label}")
        saved.append(f"uncommitted changes in the lane are saved as {ref}")
    # The check at the end of a run measures the baseline and earlier kept commits in the lane, too.
    known = {"", state.tip, state.latest_candidate, *(kept.commit for kept in state.kept)}
    if status.head not in known:
        ref = own_commits_ref(plan.run_id, state.lives)
        lane.pin(ref, status.head, state.tip)
        saved.append(f"the commits at the lane's HEAD are saved as {ref}")
    return saved
