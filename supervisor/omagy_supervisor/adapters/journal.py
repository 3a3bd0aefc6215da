"""The journal of a run: one line for each record, appended and made durable before it is acted on."""

import errno
import fcntl
import os
import sys
import threading
import zlib
from pathlib import Path

import msgspec

from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.events import Record
from omagy_supervisor.files import cannot_write, fsync_dir, read_regular, write_all

_TRIES = 25
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Record)


def encode_line(record: Record) -> bytes:
    """``<crc32 as 8 hex digits> <JSON>`` and a newline."""
    data = _ENCODER.encode(record)
    return b"%08x %s\n" % (zlib.crc32(data), data)


def decode_line(line: bytes) -> Record:
    """The record in ``line`` (without its newline). Raises ValueError."""
    checksum, _, data = line.partition(b" ")
    if len(checksum) != 8 or int(checksum, 16) != zlib.crc32(data):
        raise ValueError("the checksum does not fit")
    return _DECODER.decode(data)


def read_journal(path: Path) -> tuple[list[Record], int]:
    """The records of the journal, and the length in bytes of what is whole.

    A torn last line (the machine died while it was written) is not part of it. Anything else that cannot be
    read raises StorageError: history is never skipped silently.
    """
    try:
        data = read_regular(path, sys.maxsize - 1)
    except ValueError as problem:
        raise StorageError(f"{path} cannot be read: {problem}") from None
    if data is None:
        raise StorageError(f"{path} cannot be read: No such file or directory")
    records: list[Record] = []
    length = 0
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        try:
            records.append(decode_line(line.rstrip(b"\n")))
        except ValueError as error:
            if number == len(lines):
                break
            raise StorageError(
                f"{path}:{number} is damaged: {error}",
                "restore the file from a backup; the kept work is safe on the run's branch",
            ) from None
        if not line.endswith(b"\n"):
            records.pop()
            break
        length += len(line)
    return records, length


class FileJournal:
    """Implements ports.Journal. A failed write is never repeated: the file is read anew by the next start."""

    def __init__(self, path: Path, whole: int) -> None:
        """Opens the journal at ``path`` and cuts it to its ``whole`` first bytes. Raises StorageError.

        As long as it is open nobody else can open it to write: what two wrote nobody could read.
        """
        self._path = path
        self._broken = False
        try:
            new = not path.exists()
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            _lock(self._fd, path)
            os.ftruncate(self._fd, whole)
            os.fsync(self._fd)
            if new:
                fsync_dir(path.parent)
        except OSError as error:
            raise cannot_write(path, error) from error

    def append(self, record: Record) -> None:
        if self._broken:
            raise StorageError(f"{self._path} is closed after a failed write")
        try:
            write_all(self._fd, encode_line(record))
            os.fsync(self._fd)
        except OSError as error:
            self._broken = True
            raise cannot_write(self._path, error) from error

    def close(self) -> None:
        os.close(self._fd)


def _lock(fd: int, path: Path) -> None:
    """Some network file systems have no locks: then the one of the repository has to do. Raises StorageError."""
    for _ in range(_TRIES):  # whoever only looks whether somebody holds it does so for a moment
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            threading.Event().wait(0.02)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL):
                raise
            return
        else:
            return
    os.close(fd)
    raise StorageError(
        f"{path} is open in another supervisor", f"stop that first: omagy autoresearch stop {path.parent.name}"
    )
