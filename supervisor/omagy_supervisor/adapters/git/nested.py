"""Filters that repositories inside the lane configure: a git status of the lane starts one of its own in each."""

import os
from collections.abc import Sequence
from pathlib import Path

from omagy_supervisor.adapters.git.commands import Git
from omagy_supervisor.files import read_regular

_LIMIT = 1 << 20
_AS_GIT_ENTERS = {"GIT_DIR": ".git"}
# With one of these, what git obeys or looks at can lie elsewhere, or can be a filter.
_TELLING = (b"filter", b"include", b"worktree", b"extensions")


def filters_inside(git: Git, repositories: Sequence[Path]) -> frozenset[str]:
    """The settings of all filters that a git status could run in ``repositories``, which lie in the lane.

    A repository that keeps all of itself in its folder, and has no filter, costs the reading of its configuration. Of
    others git is asked, and of the repositories that they link to: their files can be anywhere.
    """
    waiting = [folder for folder in repositories if not _is_plain(folder)]
    seen: set[str] = set()
    found: set[str] = set()
    while waiting:
        folder = waiting.pop()
        real = os.path.realpath(folder)
        if real not in seen and os.path.lexists(folder / ".git"):
            seen.add(real)
            found.update(filter_settings(git, folder, _AS_GIT_ENTERS))
            waiting += _linked(git, folder)
    return frozenset(found)


def filter_settings(git: Git, folder: Path, env: dict[str, str]) -> list[str]:
    """The names of all settings of filters that the repository of ``folder`` has."""
    names = git.status(folder, "config", "-z", "--name-only", "--get-regexp", "^filter[.]", env=env)[1]
    return [os.fsdecode(name) for name in names.split(b"\0") if name]


def _is_plain(folder: Path) -> bool:
    own = folder / ".git"
    if folder.is_symlink() or own.is_symlink() or not own.is_dir():
        return False
    if any(os.path.lexists(own / name) for name in ("commondir", "config.worktree")):
        return False
    try:
        text = read_regular(own / "config", _LIMIT) or b""
    except ValueError:
        return False
    return len(text) <= _LIMIT and not any(word in text.lower() for word in _TELLING)


def _linked(git: Git, folder: Path) -> list[Path]:
    """The repositories that the index of the one at ``folder`` links to."""
    top = git.status(folder, "rev-parse", "--show-toplevel", env=_AS_GIT_ENTERS)[1]
    rows = git.status(folder, "ls-files", "--stage", "-z", "--full-name", env=_AS_GIT_ENTERS)[1].split(b"\0")
    root = os.fsdecode(top.removesuffix(b"\n"))
    return [Path(root) / os.fsdecode(row.partition(b"\t")[2]) for row in rows if root and row.startswith(b"160000")]
