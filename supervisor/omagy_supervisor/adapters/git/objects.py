"""Makes the objects of a commit durable, and takes away what a power cut made of others."""

import contextlib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from omagy_autoresearch.errors import IncompleteCommitError
from omagy_supervisor.files import fsync_dir

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def make_durable(common_dir: Path, ids: Iterable[bytes]) -> None:
    """The agent's git may have written loose objects without syncing them; a kept ref must not outlive them.

    Only full ids are looked at, and only regular files are opened. Raises IncompleteCommitError for an empty one.
    """
    folders = set()
    for oid in (found.decode() for found in ids if _ID.fullmatch(found)):
        path = common_dir / "objects" / oid[:2] / oid[2:]
        if _sync(path):
            folders.add(path.parent)
    for folder in folders:
        fsync_dir(folder)


def _sync(path: Path) -> bool:
    """False when there is no such file: the object lies in a pack. Raises IncompleteCommitError for another thing."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode) or path.parent.is_symlink():
            raise IncompleteCommitError(f"the object {path.parent.name}{path.name} lies outside the repository")
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if os.fstat(fd).st_size == 0:
                raise IncompleteCommitError(f"the object {path.parent.name}{path.name} is empty")
            os.fsync(fd)
        finally:
            os.close(fd)
        return True
    return False


def remove_empty(common_dir: Path, since_s: float) -> None:
    """Remove empty files among the objects that were written at ``since_s`` or later.

    A power cut leaves them. git counts such an object as there, so that nothing of the same content is ever written.
    """
    for folder in (common_dir / "objects").glob("[0-9a-f][0-9a-f]"):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and found.st_size == 0 and found.st_mtime >= since_s:
                    Path(entry.path).unlink()
