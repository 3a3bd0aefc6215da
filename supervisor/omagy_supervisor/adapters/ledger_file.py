"""``iteration-ledger.json``: a whole JSON document at any moment, at a cost that does not grow with the run.

Two copies take turns. The shadow lacks the newest entry; recording an entry appends what it lacks, makes it
durable and swaps the two names in one step (``renameat2`` with EXCHANGE, Linux). A reader that still holds the
shadow open would see it change, so it is first leased for writing: where that fails, or where the system has
neither call, the document is written anew and renamed, which is just as whole and costs its length.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import sys
from pathlib import Path

from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.ledger import Entry, entry_json, ledger_head, ledger_tail
from omagy_supervisor.files import cannot_write, fsync_dir, write_all, write_atomic

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


class LedgerFile:
    """The ledger of one run. ``entries`` are those it must hold from the start."""

    def __init__(
        self, path: Path, run_id: str, entries: list[Entry], outcome: str | None, reason: str | None
    ) -> None:
        self._path = path
        self._shadow = path.with_name(f".{path.name}.shadow")
        self._head = ledger_head(run_id)
        self._tail = ledger_tail(outcome, reason)
        self._parts = [entry_json(entry) for entry in entries]
        self._length = len(self._head) + sum(len(part) + 2 for part in self._parts) - (1 if self._parts else 0)
        self._missing: bytes | None = None  # what the shadow lacks; None when there is no shadow to trust
        self._rewrite()

    def append(self, entry: Entry) -> None:
        """Add ``entry``, and set the end back to that of a run that goes on. Raises StorageError."""
        part = entry_json(entry)
        addition = (b",\n" if self._parts else b"\n") + part
        self._parts.append(part)
        tail = ledger_tail(None, None)
        try:
            swapped = self._append_to_shadow(addition, tail)
        except OSError as error:
            raise cannot_write(self._path, error) from error
        self._length += len(addition)
        self._tail = tail
        if swapped:
            self._missing = addition
        else:
            self._rewrite()

    def close_with(self, outcome: str, reason: str) -> None:
        """Record how the run ended."""
        self._tail = ledger_tail(outcome, reason)
        self._rewrite()

    def _rewrite(self) -> None:
        document = self._head + b"\n" + b",\n".join(self._parts) + self._tail
        if not self._parts:
            document = self._head + self._tail
        write_atomic(self._path, document)
        self._missing = None
        with contextlib.suppress(OSError):
            self._shadow.unlink()
        with contextlib.suppress(StorageError):
            write_atomic(self._shadow, document, durable=False)
            self._missing = b""

    def _append_to_shadow(self, addition: bytes, tail: bytes) -> bool:
        """True when the shadow was brought up to date and swapped in."""
        if self._missing is None or sys.platform != "linux":
            return False
        start = self._length - len(self._missing)
        try:
            fd = os.open(self._shadow, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # gone, or something else in its place
            return False
        try:
            if not _nobody_reads(fd) or os.fstat(fd).st_size < start:
                return False
            os.ftruncate(fd, start)
            os.lseek(fd, start, os.SEEK_SET)
            write_all(fd, self._missing + addition + tail)
            os.fsync(fd)
        finally:
            os.close(fd)
        if not _exchange(self._shadow, self._path):
            return False
        fsync_dir(self._path.parent)
        return True


def _nobody_reads(fd: int) -> bool:
    """True when this descriptor is the only one of its file."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return False
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; False where the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    if ctypes.get_errno() in (errno.EINVAL, errno.ENOSYS, errno.ENOENT):  # ENOENT: somebody took the ledger away
        return False
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
