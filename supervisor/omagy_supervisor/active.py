"""Which run is active in a repository: the lock says whether, the pointer says which (contract section 3)."""

import os
from pathlib import Path

from omagy_supervisor.adapters.lock import Pointer, lock_is_held, read_pointer
from omagy_supervisor.machine import this_machine
from omagy_supervisor.paths import StateRoot


def supervisor_lives(root: StateRoot) -> bool:
    """True while a supervisor lives in the repository, in whichever worktree of it."""
    return lock_is_held(root.lock) or works_without_lock(root)


def works_without_lock(root: StateRoot) -> bool:
    """True when a supervisor lives whose lock a session, or a person, removed.

    It holds its journal, too. Where that was removed as well, it is known by the process that the pointer names.
    """
    pointer = last_pointer(root)
    if pointer is None or not pointer.active:
        return False
    journal = place_of(pointer, root).run(pointer.run_id).journal
    return process_lives(pointer) if not os.path.lexists(journal) else lock_is_held(journal)


def process_lives(pointer: Pointer) -> bool:
    """Whether the process that wrote ``pointer`` is still there; False also on every other machine.

    It is known by its start, so no later process that got its number is taken for it.
    """
    if not pointer.pid or (pointer.host, pointer.boot_id) != this_machine():
        return False
    from omagy_supervisor.adapters.processes import is_same

    return is_same(pointer.pid, pointer.process_mark, pointer.process_started_at)


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
