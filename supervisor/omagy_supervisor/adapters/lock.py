"""The lock of a repository: one run at a time, and the kernel drops it when its holder dies (contract section 3)."""

import fcntl
import os
import threading
from pathlib import Path

import msgspec

from omagy_supervisor.files import write_atomic


class Pointer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which run is, or was last, active. Information for people: only the lock itself is believed."""

    run_id: str
    active: bool
    pid: int = 0
    process_started_at: float = 0.0
    host: str = ""
    boot_id: str = ""
    since: str = ""
    tmux_socket: str = ""
    schema_version: int = 1
    process_mark: str = ""  # its start, as processes.start_mark tells it
    repo_root: str = ""  # the worktree whose run it is


class RunLock:
    """Holds the lock from ``acquire`` until ``release`` or the end of the process; children never inherit it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def acquire(self, tries: int = 1) -> bool:
        """False when somebody else holds it, on each of ``tries`` 20 ms apart. Raises OSError."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        for _ in range(tries):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                threading.Event().wait(0.02)
            else:
                self._fd = fd
                return True
        os.close(fd)
        return False

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def lock_is_held(path: Path) -> bool:
    """True while a supervisor lives that holds the lock at ``path``."""
    lock = RunLock(path)
    try:
        free = path.exists() is False or lock.acquire()
    except OSError:
        return False
    lock.release()
    return not free


def read_pointer(path: Path) -> Pointer | None:
    """The pointer, or None when there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Pointer)
    except (OSError, msgspec.DecodeError):
        return None


def write_pointer(path: Path, pointer: Pointer) -> None:
    write_atomic(path, msgspec.json.format(msgspec.json.encode(pointer), indent=2) + b"\n", durable=False)
