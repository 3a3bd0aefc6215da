"""Repositories that a lane's commits link to, while the lane is at other commits (contract section 3)."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from omagy_supervisor.adapters.git.lane_git import LaneGit
from omagy_supervisor.adapters.git.leftovers import keep_repository


class LinkedRepositories:
    """Those of a discarded candidate are moved to ``aside``; without one they are removed."""

    def __init__(self, git: LaneGit, worktree: Path, aside: Path | None) -> None:
        self._git = git
        self._worktree = worktree
        self._aside = aside

    def set_aside(self, dirty: Iterable[str], head: str) -> None:
        """Move away repositories that stand where the wanted tree has none, or another commit of them.

        One that the commit ``head`` links to is kept: its objects are in no commit of ours.
        """
        for path in (path for path in dirty if path.endswith("/")):
            linked = head and self._git.run("ls-tree", head, "--", path.rstrip("/")).startswith(b"160000")
            if linked and self._aside is not None:
                keep_repository(self._worktree / path, self._aside / head[:12] / path)
            else:
                shutil.rmtree(self._worktree / path, ignore_errors=True)

    def bring_back(self, commit: str) -> bool:
        """Whether any came back that were set aside with ``commit``, when another commit was measured meanwhile."""
        folder = self._aside / commit[:12] if self._aside is not None else None
        if folder is None or not folder.is_dir():
            return False
        rows = self._git.run("ls-tree", "-r", "-z", commit).split(b"\0")
        linked = (os.fsdecode(row.partition(b"\t")[2]) for row in rows if row.startswith(b"160000"))
        missing = [path for path in linked if (folder / path).is_dir() and _is_nothing(self._worktree / path)]
        for path in missing:
            shutil.rmtree(self._worktree / path, ignore_errors=True)
            shutil.move(folder / path, self._worktree / path)
        return bool(missing)


def _is_nothing(path: Path) -> bool:
    """True for an empty folder, which git leaves where a link is, and for no link or folder at all."""
    return not path.is_symlink() and not (path.is_dir() and any(path.iterdir()))
