"""What a commit brought on top of a base: which objects, whether it descends from the base, and what it changed."""

from dataclasses import dataclass

from omagy_autoresearch.errors import IncompleteCommitError
from omagy_supervisor.adapters.git.commands import git_words
from omagy_supervisor.adapters.git.lane_git import LaneGit
from omagy_supervisor.adapters.git.trees import new_objects, read_difference
from omagy_supervisor.ports import Difference

_DIFFERENCE = (
    *("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff"),
    "--ignore-submodules=none",  # whatever a .gitmodules in the lane says of its own links
)
_ONE_COMMIT = (*_DIFFERENCE, "-t", "-m", "--root", "--always", "--no-abbrev", "--pretty=format:%T %P")


@dataclass(frozen=True, slots=True)
class Brought:
    objects: tuple[bytes, ...]  # full ids
    descends: bool
    difference: Difference


def brought(git: LaneGit, commit: str, base: str) -> Brought:
    """Raises IncompleteCommitError when git cannot read all of it, which is then told in git's words."""
    return _by_one_commit(git, commit, base) or _by_several(git, commit, base)


def _by_one_commit(git: LaneGit, commit: str, base: str) -> Brought | None:
    """What nearly every session leaves, asked for in one call; None for anything else."""
    status, out, _ = _ask(git, *_ONE_COMMIT, commit)
    header, _, rows = out.partition(b"\n")
    tree, *parents = header.split(b" ")
    if status != 0 or parents != [base.encode()]:
        return None
    return Brought((commit.encode(), tree, *new_objects(rows)), descends=True, difference=read_difference(rows))


def _by_several(git: LaneGit, commit: str, base: str) -> Brought:
    listing = _read(git, "rev-list", "--objects", "--no-object-names", "--parents", commit, f"^{base}")
    rows = [row.split(b" ") for row in listing.split(b"\n")]  # an object, and the parents of one that is a commit
    # What came on top of the base begins with a child of it.
    descends = commit == base or any(base.encode() in parents for _, *parents in rows)
    difference = read_difference(_read(git, *_DIFFERENCE, base, commit))
    return Brought(tuple(oid for oid, *_ in rows), descends, difference)


def _read(git: LaneGit, *args: str) -> bytes:
    status, out, err = _ask(git, *args)
    if status != 0:
        raise IncompleteCommitError(git_words(err, status))
    return out


def _ask(git: LaneGit, *args: str) -> tuple[int, bytes, str]:
    """Without an index: from the worktree git would take the content of a file that an index calls unchanged."""
    return git.status(*args, env={"GIT_INDEX_FILE": f"{git.environment['GIT_DIR']}/omagy-none.index"})
