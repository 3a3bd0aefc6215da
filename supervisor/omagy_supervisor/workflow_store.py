"""One view of a scope, and one lock for all that change it (contract section 7).

The lock is the repository's, not the worktree's: a run excludes modes in all of them. Whoever holds it may look at
the run's lock; a supervisor takes it while it holds the run's. So neither can slip past the other.
"""

import contextlib
import errno
import shlex
from collections.abc import Iterator, Sequence

from omagy_autoresearch.errors import ContractError, OmagyError, StorageError
from omagy_autoresearch.mode_change import Change, repair
from omagy_autoresearch.mode_scope import Entry, Scope, run_entry
from omagy_autoresearch.workflow import Mode
from omagy_supervisor.active import last_pointer, supervisor_lives
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.lock import RunLock
from omagy_supervisor.adapters.workflow_files import WorkflowFiles
from omagy_supervisor.files import cannot_write, is_folder, make_folder
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.settings import Settings

_TRIES = 500  # 20 ms apart
_AT_ONCE = 100  # so many scopes are mended before others get the lock


def now() -> str:
    return SystemClock().now().isoformat(timespec="milliseconds")


@contextlib.contextmanager
def held(root: StateRoot) -> Iterator[WorkflowFiles]:
    """The files of ``root`` for as long as nobody else may change them. Raises StorageError, OmagyError."""
    root.prepare()
    make_folder(root.shared)
    lock = RunLock(root.workflow_lock)
    try:
        free = lock.acquire(_TRIES)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.ENOSPC, errno.EDQUOT):
            raise cannot_write(root.workflow_lock, error) from None
        raise StorageError(
            f"{root.workflow_lock} cannot be locked: {error.strerror}",
            f"it has to be a file of yours: ls -l {shlex.quote(str(root.workflow_lock))}",
        ) from None
    if not free:
        raise OmagyError(
            "another command is changing the workflow state, and does not come to its end",
            f"see who has it open: fuser -v {shlex.quote(str(root.workflow_lock))}",
        )
    try:
        files = WorkflowFiles(root.state)
        files.finish()
        yield files
    finally:
        lock.release()


def scope_of(files: WorkflowFiles, root: StateRoot, session_id: str | None) -> Scope:
    """What counts in a scope right now: its files, and the run of the repository."""
    scope = files.scope(session_id)
    if not supervisor_lives(root):
        return scope
    return scope._replace(run_lives=True, run=None if session_id else _run_entry(root, scope))


def _run_entry(root: StateRoot, scope: Scope) -> Entry | None:
    """The live run's entry in the inventory of the worktree that it was started in; None in all others."""
    listed = scope.listed().get(Mode.AUTORESEARCH)
    pointer = last_pointer(root)
    if pointer is None or not pointer.active:  # its supervisor is just starting: it enlists itself
        return listed
    if pointer.repo_root not in ("", str(root.repo_root)):
        return None
    if listed is not None and listed.get("run_id") == pointer.run_id:
        return listed
    return run_entry(pointer.run_id, pointer.since, now())


def mend(root: StateRoot, *scopes: str | None) -> list[str]:
    """Make the files of ``scopes`` agree where they do not; returns what a person should know of it.

    Reading goes on without it: where nothing can be written, the answer is the same.
    """
    if not is_folder(root.state):
        return []
    seen = WorkflowFiles(root.state)
    disagreeing = [session_id for session_id, _ in _repairs(seen, root, scopes)]
    notes = seen.notes
    if not disagreeing and not seen.unfinished:
        return notes
    try:
        for first in range(0, max(len(disagreeing), 1), _AT_ONCE):
            with held(root) as files:
                for session_id, change in _repairs(files, root, disagreeing[first : first + _AT_ONCE]):
                    notes = [*notes, *_mended(files, change, session_id)]
            notes = [*notes, *files.notes]
    except OmagyError as error:
        return [*notes, _not_mended(error)]
    return notes


def _mended(files: WorkflowFiles, change: Change, session_id: str | None) -> list[str]:
    try:
        files.mend(change, session_id)
    except OmagyError as error:
        return [_not_mended(error)]
    return []


def _not_mended(error: OmagyError) -> str:
    return f"the workflow state could not be mended: {error.message}"


def _repairs(
    files: WorkflowFiles, root: StateRoot, scopes: Sequence[str | None]
) -> Iterator[tuple[str | None, Change]]:
    for session_id in scopes:
        change = repair(scope_of(files, root, session_id), now())
        if change is not None:
            yield session_id, change


def refuse_inside_run(root: StateRoot, settings: Settings) -> None:
    """Raises ContractError in a run's own session: it works alone, and can neither stop nor confuse the run."""
    if settings.inside_session or root.is_lane:
        run = settings.inside_session or root.repo_root.name
        raise ContractError(
            f"this is a session of run {run}: it cannot change workflow modes",
            "from a shell of your own, outside the lane, it can; here you can read them: omagy state list",
        )
