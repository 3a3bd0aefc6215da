"""What a launch must know of the user's repository, and the reasons to refuse it (contract sections 1 and 2)."""

import contextlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.names import BRANCH_ROOT
from omagy_supervisor.adapters.git.commands import OLDEST, Git, git_version


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """``root`` is the work tree the mission lies in; ``common_dir`` is shared by all its worktrees."""

    root: Path
    common_dir: Path
    head: str
    branch: str | None


def find_repository(git: Git, folder: Path) -> RepositoryFacts:
    """The repository around ``folder``. Raises ContractError: not one, bare, or without a commit."""
    version = git_version()
    if version < OLDEST:
        shown, oldest = ".".join(map(str, version)), ".".join(map(str, OLDEST))
        raise ContractError(f"git {shown} is too old: omagy needs git {oldest} or newer", "upgrade git")
    # This call alone may look upwards: the ceiling is the file system's root.
    ceiling = {"GIT_CEILING_DIRECTORIES": ""}
    status, out, err = git.status(folder, "rev-parse", "--is-bare-repository", "--is-inside-work-tree", env=ceiling)
    if status != 0:
        raise _not_a_repository(folder, err)
    bare, inside = out.decode().split()
    if bare == "true":
        raise ContractError(f"{folder} is in a bare repository", "start omagy in a clone or worktree of it")
    if inside != "true":
        raise ContractError(f"{folder} is inside a .git folder, not in a work tree", "start omagy in the work tree")
    root = Path(git.line(folder, "rev-parse", "--show-toplevel", env=ceiling))
    common = Path(git.line(root, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    status, out, _ = git.status(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if status != 0:
        raise ContractError(
            f"{root} has no commit yet: a run needs one to start from",
            "make one: git add -A && git commit -m 'Start'",
        )
    status, name, _ = git.status(root, "symbolic-ref", "--quiet", "--short", "HEAD")
    return RepositoryFacts(root, common, out.decode().strip(), name.decode().strip() if status == 0 else None)


def _not_a_repository(folder: Path, err: str) -> ContractError:
    if "dubious ownership" in err:
        named = re.search(r"repository at '(.+)'", err)
        root = named[1] if named else str(folder)
        return ContractError(
            f"{root} belongs to another user, so git refuses to read it",
            f"if you trust it: git config --global --add safe.directory {shlex.quote(root)}",
        )
    return ContractError(
        f"{folder} is not inside a git repository",
        "make it one: git init && git add -A && git commit -m 'Start'",
    )


def check_branch_room(git: Git, facts: RepositoryFacts, branch: str) -> None:
    """Refuse when a branch stands where a folder of branches is needed. Raises ContractError."""
    parts = branch.split("/")
    for length in range(1, len(parts)):
        blocker = "/".join(parts[:length])
        if git.status(facts.root, "show-ref", "--verify", "--quiet", f"refs/heads/{blocker}")[0] == 0:
            raise ContractError(
                f"a branch named {blocker} exists, so git cannot make {branch} beside it",
                f"rename it: git branch -m {blocker} {blocker}-old",
            )


def branch_exists(git: Git, facts: RepositoryFacts, branch: str) -> bool:
    return git.status(facts.root, "show-ref", "--verify", "--quiet", f"refs/heads/{branch}")[0] == 0


def is_lane(facts: RepositoryFacts) -> bool:
    """True inside the worktree of a run: launching from there would nest lanes."""
    return (facts.branch or "").startswith(f"{BRANCH_ROOT}/") and ".omagy-worktrees" in facts.root.parent.name


def is_ignored(git: Git, facts: RepositoryFacts, path: str) -> str:
    """The rule that ignores ``path``, as ``file:line:pattern``; empty when none does."""
    status, out, _ = git.status(facts.root, "check-ignore", "--verbose", "--no-index", "--", path)
    return out.decode("utf-8", "replace").split("\t")[0].strip() if status == 0 else ""


def is_tracked(git: Git, facts: RepositoryFacts, path: str) -> bool:
    """True when HEAD holds ``path``, or something below it."""
    return bool(git.run(facts.root, "ls-tree", "-r", "--name-only", "HEAD", "--", path).strip())


def sparse_patterns(git: Git, facts: RepositoryFacts) -> bytes | None:
    """Which part of itself the repository checks out, as git's patterns say it; None when it is all of it."""
    if git.status(facts.root, "config", "--type=bool", "--get", "core.sparseCheckout")[1].strip() != b"true":
        return None
    path = git.line(facts.root, "rev-parse", "--path-format=absolute", "--git-path", "info/sparse-checkout")
    with contextlib.suppress(FileNotFoundError):  # without patterns git checks out everything
        return Path(path).read_bytes()
    return None


def uncommitted(git: Git, facts: RepositoryFacts) -> list[str]:
    """Paths in the user's checkout that are not as in HEAD; read without taking a lock."""
    out = git.run(facts.root, "status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames")
    rows = out.decode("utf-8", "surrogateescape").split("\0")
    return [row[3:] for row in rows if len(row) > 3]


def submodules(git: Git, facts: RepositoryFacts) -> list[str]:
    """The paths of HEAD's submodules; a lane does not check them out."""
    pattern = (r"--get-regexp", r"^submodule\..*\.path$")
    status, out, _ = git.status(facts.root, "config", "--blob", "HEAD:.gitmodules", "--null", *pattern)
    if status != 0:
        return []
    return [row.partition("\n")[2] for row in out.decode("utf-8", "replace").split("\0") if row]


def tracked_paths(git: Git, root: Path, limit: int) -> tuple[str, ...]:
    """The tracked files of ``root``, those nearest to it first, at most ``limit``.

    Names that are no UTF-8, or that hold control characters, are left out: no command line can be trusted with them.
    """
    listed = git.run(root, "ls-files", "-z").split(b"\0")
    near = sorted((name for name in listed if name), key=lambda name: (name.count(b"/"), name))
    return tuple(name for name in map(_printable, near[:limit]) if name)


def _printable(name: bytes) -> str:
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""
