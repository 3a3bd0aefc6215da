"""Puts right what a session, or a person, did to the folders of a lane, before git looks at them.

All that matters of a lane is in the refs. Its admin folder (``.git/worktrees/<name>``) is written anew from what
omagy knows, and what git would wait for without end, a pipe in place of a file, is taken away.
"""

import contextlib
import os
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from omagy_autoresearch.errors import RepositoryError
from omagy_supervisor.adapters.git.leftovers import free_name
from omagy_supervisor.files import read_regular, remove, write_atomic
from omagy_supervisor.ports import ALTERNATES

_HEAD = re.compile(
    rb"(?:ref:\s*refs/(?!\S*(?:\.\.|//|@\{|/\.|\.lock(?:/|\s|$)|[/.](?:\s|$)))[^\x00-\x20\x7f~^:?*\[\\]+"
    rb"|[0-9a-f]{40}(?:[0-9a-f]{24})?)\s*"
)
_SHARED = ("info/attributes", "info/exclude", "info/sparse-checkout", ALTERNATES)
_SMALL = 1 << 16


@dataclass(frozen=True, slots=True)
class LaneFolders:
    """``ref`` is the lane's branch; ``common_dir`` is the user's, and only pipes are taken out of it.

    ``sparse_patterns`` say which part of the repository is checked out; None where all of it is.
    """

    worktree: Path
    git_dir: Path
    common_dir: Path
    ref: str
    sparse_patterns: bytes | None = None

    def stand(self) -> bool:
        """True when worktree and admin folder belong together and are complete."""
        if not all((self.git_dir / name).is_file() for name in ("gitdir", "HEAD", "commondir")):
            return False
        return (self.worktree / ".git").is_file() and self._backlink() == str(self.worktree / ".git")

    def mend(self) -> list[Path]:
        """Make them stand, with all that can be kept of them. Raises RepositoryError.

        Returns the repositories inside the worktree.
        """
        try:
            return self._mend()
        except OSError as error:
            message = f"the folders of the lane {self.worktree} cannot be made: {error}"
            raise RepositoryError(message, "make them writable, then resume", recoverable=True) from None

    def _mend(self) -> list[Path]:
        if not self.common_dir.is_dir():  # nothing is made where a repository was
            raise RepositoryError(
                f"{self.common_dir} was moved or deleted", "move it back, then resume", recoverable=True
            )
        if self.git_dir.is_symlink() or not self.git_dir.is_dir():
            remove(self.git_dir)
            self.git_dir.mkdir(parents=True)
        for folder in (self.git_dir, *(self.git_dir / name for name in ("logs", "refs", "info"))):
            _clear_admin(folder)
        for path in (*(self.common_dir / name for name in _SHARED), self.common_dir / self.ref):
            if _blocks(path):
                path.unlink()
        self._refuse_moved()
        if self.worktree.is_symlink() or (self.worktree.exists() and not self.worktree.is_dir()):
            self.worktree.rename(free_name(self.worktree.with_name(f"{self.worktree.name}.moved-aside-by-omagy")))
        self.worktree.mkdir(parents=True, exist_ok=True)
        repositories = clear_pipes(self.worktree)
        self._mend_admin()
        self._mend_link()
        return repositories

    def _backlink(self) -> str:
        with contextlib.suppress(OSError):
            return os.fsdecode((self.git_dir / "gitdir").read_bytes().removesuffix(b"\n"))
        return ""

    def _refuse_moved(self) -> None:
        """A person may have moved the worktree, with git, which then knows it at another place."""
        other = Path(self._backlink())
        if other == self.worktree / ".git" or not other.is_absolute() or os.path.lexists(self.worktree):
            return
        if _text(other).strip() == b"gitdir: " + os.fsencode(self.git_dir):
            raise RepositoryError(
                f"the worktree {self.worktree} was moved to {other.parent}",
                f"move it back: git worktree move '{other.parent}' '{self.worktree}'",
                recoverable=True,
            )

    def _mend_admin(self) -> None:
        head, common, back = (self.git_dir / name for name in ("HEAD", "commondir", "gitdir"))
        legacy = head.is_symlink() and str(head.readlink()).startswith("refs/")
        if not legacy and not _HEAD.fullmatch(_text(head)):
            _put(head, b"ref: " + os.fsencode(self.ref) + b"\n")
        shared = self.git_dir / os.fsdecode(_text(common).removesuffix(b"\n"))
        if not _text(common) or shared.resolve() != self.common_dir.resolve():
            _put(common, b"../..\n")
        if self._backlink() != str(self.worktree / ".git"):
            _put(back, os.fsencode(self.worktree / ".git") + b"\n")
        patterns = self.git_dir / "info" / "sparse-checkout"
        if self.sparse_patterns is not None and _whole(patterns, len(self.sparse_patterns)) != self.sparse_patterns:
            patterns.parent.mkdir(exist_ok=True)
            _put(patterns, self.sparse_patterns)

    def _mend_link(self) -> None:
        """The worktree's ``.git`` file says where its admin folder is, whatever a session did to it."""
        link = self.worktree / ".git"
        wanted = b"gitdir: " + os.fsencode(self.git_dir) + b"\n"
        if link.is_symlink() or (link.exists() and not link.is_file()):
            link.rename(free_name(link.with_name("git.moved-aside-by-omagy")))  # git sees it as untracked there
        elif _text(link) == wanted:
            return
        write_atomic(link, wanted, durable=False)


def clear_pipes(worktree: Path) -> list[Path]:
    """Take pipes and devices out of the worktree, and whatever is no file under a name that git itself reads.

    A socket under another name is left alone: opening one never blocks. Returns the repositories inside, links to
    repositories among them.
    """
    root = os.fspath(worktree)
    folders, repositories = [root], []
    while folders:
        folder = folders.pop()
        inside = folder.endswith("/.git")
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.lower() == ".git" and folder != root:
                    repositories.append(Path(folder))
                if entry.is_file(follow_symlinks=False):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                if entry.is_symlink() and os.path.lexists(f"{entry.path}/.git"):
                    repositories.append(Path(entry.path))
                if inside or entry.name.startswith(".git"):
                    _unlink(entry.path, _blocks(Path(entry.path)))
                elif not entry.is_symlink():
                    _unlink(entry.path, not stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode))
    return repositories


def _clear_admin(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in list(folder.iterdir()):
            if _blocks(path):
                path.unlink()


def _blocks(path: Path) -> bool:
    """True when ``path`` stands for something that is neither a file nor a folder."""
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    return False


def _unlink(path: str, wanted: bool) -> None:
    if wanted:
        with contextlib.suppress(OSError):  # a folder that nobody may write: git's time limit is left
            Path(path).unlink()


def _text(path: Path) -> bytes:
    """The beginning of the file ``path``; empty when there is none."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(_SMALL)
    return b""


def _whole(path: Path, size: int) -> bytes | None:
    """What the regular file ``path`` holds, no more than one byte beyond ``size``; None for anything else."""
    with contextlib.suppress(ValueError):
        return read_regular(path, size)
    return None


def _put(path: Path, data: bytes) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    write_atomic(path, data, durable=False)
