"""Saves what a session left uncommitted: as a commit, or, what git will not take, as it is beside the records.

What is saved is proved before anybody cleans: git's own exit status tells too little, as one path that it cannot
add (line endings it refuses to convert, a filter that is not installed) makes it add nothing at all.
"""

import contextlib
import itertools
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from omagy_autoresearch.errors import RepositoryError
from omagy_supervisor.adapters.git.commands import Git, failure
from omagy_supervisor.adapters.git.status import differing_from_index
from omagy_supervisor.files import remove

LARGE = 64 << 20  # bytes from which on a file is not put into the user's object store


class Leftovers:
    """Saves from ``worktree``; ``index`` is a copy of the lane's that may be changed, named in ``env``."""

    def __init__(self, git: Git, worktree: Path, env: Mapping[str, str]) -> None:
        self._git = git
        self._worktree = worktree
        self._env = {**env, "OMAGY_NO_COMMAND": "", "OMAGY_NO": "false"}
        self._copied: set[str] = set()

    def commit(self, dirty: Iterable[str], head: str, keep_aside: Path) -> str:
        """A commit on top of ``head`` of all that can be one; the rest of ``dirty`` is then in ``keep_aside``.

        Raises RepositoryError, with everything still in its place or kept, when something cannot be saved.
        """
        self._keep([path for path in dirty if path.endswith("/") or self._is_large(path)], keep_aside)
        settings = ("-c", "core.safecrlf=false", *self._no_filters())
        for _ in range(2):
            self._add(settings)
            unsaved = self._unsaved(settings)
            if not unsaved:
                break
            self._keep(unsaved, keep_aside)
        else:
            self._add(settings)
            unsaved = self._unsaved(settings)
            if unsaved:
                raise _cannot_save(unsaved[0], keep_aside, "git does not take it")
        tree = self._git.line(self._worktree, *settings, "write-tree", env=self._env)  # it looks at files of just now
        parent = ("-p", head) if head else ()
        message = ("-m", "omagy: leftovers of a session")
        return self._git.line(self._worktree, "commit-tree", *parent, *message, tree, env=self._env)

    def _add(self, settings: tuple[str, ...]) -> None:
        """One unreadable file must not keep the others from being saved."""
        args = (*settings, "add", "--all", "--ignore-errors", ".")
        status, _, err = self._git.status(self._worktree, *args, env=self._env)
        if status != 0 and "No space left" in err:
            raise failure(self._worktree, args, status, err)

    def _unsaved(self, settings: tuple[str, ...]) -> list[str]:
        """What the index does not hold as it is in the worktree, and nobody keeps aside."""
        form = ("--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=untracked")
        out = self._git.run(self._worktree, *settings, "status", *form, env=self._env)
        return [
            path
            for path in differing_from_index(out)
            if path not in self._copied and os.path.lexists(self._worktree / path)
        ]

    def _no_filters(self) -> tuple[str, ...]:
        """Settings that switch off every filter there is: what is saved is what the files hold."""
        pattern = r"^filter\..*\.(clean|smudge|process|required)$"
        listing = ("config", "--null", "--name-only", "--get-regexp", pattern)
        out = self._git.status(self._worktree, *listing, env=self._env)[1]
        drivers = dict.fromkeys(os.fsdecode(key).rpartition(".")[0] for key in out.split(b"\0") if key)
        off = ("clean=OMAGY_NO_COMMAND", "process=OMAGY_NO_COMMAND", "required=OMAGY_NO")
        return tuple(f"--config-env={driver}.{key}" for driver in drivers for key in off)

    def _is_large(self, path: str) -> bool:
        with contextlib.suppress(OSError):
            found = (self._worktree / path).lstat()
            return stat.S_ISREG(found.st_mode) and found.st_size > LARGE
        return False

    def _keep(self, paths: Iterable[str], keep_aside: Path) -> None:
        for path in paths:
            try:
                if not _keep(self._worktree / path, keep_aside / path):
                    self._copied.add(path)
            except (OSError, shutil.Error) as error:
                raise _cannot_save(path, keep_aside, str(error)) from None


def keep_repository(source: Path, target: Path) -> None:
    """A repository inside the worktree cannot be saved as a commit of ours, so the whole of it is kept aside."""
    if not source.is_dir():
        return
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)


def free_name(path: Path) -> Path:
    """``path`` itself, or the first of ``path-2``, ``path-3``… that nothing has."""
    names = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain((path,), names) if not os.path.lexists(name))


def _keep(source: Path, target: Path) -> bool:
    """Move ``source``, replacing nothing; False when it could be copied only."""
    if not os.path.lexists(source):
        return True
    target.parent.mkdir(parents=True, exist_ok=True)
    target = free_name(target)
    with contextlib.suppress(OSError):
        source.rename(target)
        return True
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
    with contextlib.suppress(OSError):
        remove(source)
    return not os.path.lexists(source)


def _cannot_save(path: str, keep_aside: Path, why: str) -> RepositoryError:
    return RepositoryError(
        f"uncommitted work cannot be saved, so nothing is cleaned: {path}: {why}",
        f"move it away, or make {keep_aside} writable, then resume",
        recoverable=True,
    )
