"""Files that are whole whenever they can be read, and durable when it is said so."""

import contextlib
import errno
import os
import stat
from enum import Enum
from pathlib import Path

from omagy_autoresearch.errors import StorageError

_TMP = ".omagy-tmp"
_IN_THE_WAY = "something else stands in the place of a folder: look at it, and move it away"


def fsync_dir(folder: Path) -> None:
    """Make the names in ``folder`` durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class Durability(Enum):
    """What a power cut can do to a file that was just replaced."""

    NONE = "anything"
    WHOLE = "bring the old content back"
    FULL = "nothing"


def write_atomic(path: Path, data: bytes, *, durable: bool = True, mode: int = 0o644) -> None:
    """Make ``path`` hold exactly ``data``; a reader sees the old content or the new, never a part.

    Whatever stood there (a link too) is replaced, never followed. Raises StorageError.
    """
    replace_file(path, data, Durability.FULL if durable else Durability.NONE, mode)


def replace_file(path: Path, data: bytes, durability: Durability, mode: int = 0o644) -> None:
    """As ``write_atomic``, with a say in what is left after a power cut."""
    # A name that nobody can have put something under: a folder in its place would be in the way for good.
    tmp = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}{_TMP}")
    try:
        fd = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        try:
            write_all(fd, data)
            if durability is not Durability.NONE:
                os.fsync(fd)
        finally:
            os.close(fd)
        tmp.replace(path)
        if durability is Durability.FULL:
            fsync_dir(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            tmp.unlink()
        raise cannot_write(path, error) from error


def write_all(fd: int, data: bytes) -> None:
    """Write every byte of ``data``; a short write goes on, an error is raised."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def make_folder(path: Path) -> None:
    """Make ``path`` with its parents. Raises StorageError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def make_own_folder(path: Path) -> None:
    """As ``make_folder``, but a link in its place is refused: nothing of ours is written where it leads."""
    if os.path.islink(path):  # noqa: PTH114 - a Path raises where it may not look
        raise StorageError(
            f"{path} is not a folder of its own, but a link", "look at where it leads, and remove the link"
        )
    make_folder(path)


def is_folder(path: Path) -> bool:
    """Whether a folder can be seen at ``path``: what may not be looked into is none, and no error either."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """As ``is_folder``, for a regular file or a link to one."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_regular(path: Path, limit: int) -> bytes | None:
    """The content of the regular file ``path``, at most ``limit`` + 1 bytes; None when nothing is there.

    Never follows a link and never blocks on a pipe. Raises ValueError for anything but a regular file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = (
            "it is a link that is not followed"
            if error.errno == errno.ELOOP
            else f"it cannot be read ({error.strerror})"
        )
        raise ValueError(why) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("it is not a regular file")
        return _read_up_to(fd, limit + 1)
    finally:
        os.close(fd)


def _read_up_to(fd: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := os.read(fd, min(size, 1 << 16))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def remove(path: Path) -> None:
    """Take away whatever stands at ``path``; a link is removed, never followed."""
    import shutil

    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def shown_path(path: str) -> str:
    """``path`` as text that can be written down: bytes that are no UTF-8 are replaced."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def sweep_temporary(folder: Path, name: str = "") -> None:
    """Remove what a killed ``write_atomic`` left in ``folder``, of the file ``name`` or of all."""
    for path in folder.glob(f".{name}*{_TMP}"):
        with contextlib.suppress(OSError):
            path.unlink()


def cannot_write(path: Path, error: OSError) -> StorageError:
    """``error`` as a StorageError that names the file and the remedy."""
    hints = {
        "No space left on device": "free some space, then resume",
        "Permission denied": "make the folder writable for you",
        "Read-only file system": "use a repository on a writable file system",
        "Not a directory": _IN_THE_WAY,
        "File exists": _IN_THE_WAY,
    }
    reason = error.strerror or str(error)
    recoverable = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE)
    return StorageError(f"{path} cannot be written: {reason}", hints.get(reason, ""), recoverable=recoverable)
