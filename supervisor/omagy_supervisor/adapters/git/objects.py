"""Makes the objects of a commit durable."""

import contextlib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from omagy_supervisor.files import fsync_dir

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def make_durable(common_dir: Path, ids: Iterable[bytes]) -> None:
    """The agent's git may have written loose objects without syncing them; a kept ref must not outlive them.

    Only full ids are looked at, and only regular files are opened.
    """
    folders = set()
    for oid in (found.decode() for found in ids if _ID.fullmatch(found)):
        path = common_dir / "objects" / oid[:2] / oid[2:]
        if _sync(path):
            folders.add(path.parent)
    for folder in folders:
        fsync_dir(folder)


def _sync(path: Path) -> bool:
    """False when ``path`` is no regular file: the object lies in a pack, or elsewhere behind a link."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        return True
    return False
