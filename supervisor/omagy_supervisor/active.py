"""Which run is active in a repository: the lock says whether, the pointer says which (contract section 3)."""

from pathlib import Path

from omagy_supervisor.adapters.lock import Pointer, lock_is_held, read_pointer
from omagy_supervisor.paths import StateRoot


def supervisor_lives(root: StateRoot) -> bool:
    """True while a supervisor lives in the repository, in whichever worktree of it."""
    return lock_is_held(root.lock) or works_without_lock(root)


def works_without_lock(root: StateRoot) -> bool:
    """True when a supervisor lives whose lock a session, or a person, removed: it holds its journal, too."""
    pointer = last_pointer(root)
    if pointer is None or not pointer.active:
        return False
    return lock_is_held(place_of(pointer, root).run(pointer.run_id).journal)


def place_of(pointer: Pointer, root: StateRoot) -> StateRoot:
    """Where the records of the run are that ``pointer``, which was found from ``root``, names."""
    return StateRoot(Path(pointer.repo_root)) if pointer.repo_root else root


def active_pointer(root: StateRoot) -> Pointer | None:
    """What is known of the run whose supervisor lives, in whichever worktree of the repository."""
    return last_pointer(root) if supervisor_lives(root) else None


def last_pointer(root: StateRoot) -> Pointer | None:
    """The run that is, or was last, active in the repository."""
    return read_pointer(root.shared_pointer) or read_pointer(root.pointer)


def active_run(root: StateRoot) -> str | None:
    """The run of this worktree whose supervisor lives."""
    pointer = active_pointer(root)
    return pointer.run_id if pointer is not None and pointer.repo_root in ("", str(root.repo_root)) else None


def is_supervised(root: StateRoot, run_id: str) -> bool:
    """True unless it is certain that no supervisor of ``run_id`` lives: one that starts is not in the pointer yet."""
    if not supervisor_lives(root):
        return False
    pointer = read_pointer(root.shared_pointer)
    if pointer is None or not pointer.active:
        return True
    return (pointer.run_id, pointer.repo_root) == (run_id, str(root.repo_root))
