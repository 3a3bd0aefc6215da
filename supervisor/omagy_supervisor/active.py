"""Which run is active in a repository: the lock says whether, the pointer says which (contract section 3)."""

from omagy_supervisor.adapters.lock import Pointer, lock_is_held, read_pointer
from omagy_supervisor.paths import StateRoot


def active_pointer(root: StateRoot) -> Pointer | None:
    """What is known of the run whose supervisor lives, in whichever worktree of the repository."""
    return last_pointer(root) if lock_is_held(root.lock) else None


def last_pointer(root: StateRoot) -> Pointer | None:
    """The run that is, or was last, active in the repository."""
    return read_pointer(root.shared_pointer) or read_pointer(root.pointer)


def active_run(root: StateRoot) -> str | None:
    """The run of this worktree whose supervisor lives."""
    pointer = active_pointer(root)
    return pointer.run_id if pointer is not None and pointer.repo_root in ("", str(root.repo_root)) else None


def is_supervised(root: StateRoot, run_id: str) -> bool:
    """True unless it is certain that no supervisor of ``run_id`` lives: one that starts is not in the pointer yet."""
    if not lock_is_held(root.lock):
        return False
    pointer = read_pointer(root.shared_pointer)
    if pointer is None or not pointer.active:
        return True
    return (pointer.run_id, pointer.repo_root) == (run_id, str(root.repo_root))
