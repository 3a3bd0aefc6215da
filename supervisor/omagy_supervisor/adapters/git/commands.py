"""How omagy calls git.

Every call names its folder absolutely and may not look above it, runs no hook, monitor, editor, pager or prompt,
and ignores the user's own configuration except what is handed over on purpose (``carried``): filters such as
git-lfs, line endings, ignored files, and the folders the user declared safe. GitPython's object model is not used:
it can act in the process's own folder when a worktree vanishes.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # or a missing git would be told by an ImportError

import git

from omagy_autoresearch.errors import BlockedError, RepositoryError

OLDEST = (2, 31)
SCRUBBED_PREFIX = "GIT_"
_HARDENED = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsync=committed",
    "commit.gpgsign=false",
    "tag.gpgsign=false",
    "advice.detachedHead=false",
    "submodule.recurse=false",
    "worktree.useRelativePaths=false",
    "core.untrackedCache=false",
    # A file whose time was set back counts as changed all the same: its change time cannot be set.
    "core.trustctime=true",
    "core.checkStat=default",
    "core.quotePath=false",
    # Somebody else's git may hold a lock for a moment: wait instead of failing a night's run.
    "core.filesRefLockTimeout=5000",
    "core.packedRefsTimeout=10000",
)
_CARRIED = re.compile(
    r"^(filter\..*|safe\.directory"
    r"|core\.(autocrlf|eol|symlinks|filemode|ignorecase|precomposeunicode|excludesfile))$"
)
_IDENTITY = ("omagy", "omagy@localhost")


class Git:
    """Runs git commands. ``carried`` are settings of the user's that are kept."""

    def __init__(self, carried: Sequence[str] = (), identity: tuple[str, str] = _IDENTITY) -> None:
        self._git = git.Git()
        self._config = [word for setting in (*_HARDENED, *carried) for word in ("-c", setting)]
        name, email = identity
        self._environment = {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_GRAFT_FILE": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_EDITOR": ":",
            "GIT_PAGER": "cat",
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": email,
            "LC_ALL": "C",
        }

    def status(self, folder: Path, *args: str, env: Mapping[str, str] | None = None) -> tuple[int, bytes, str]:
        """Exit status, stdout and stderr of ``git <args>`` in ``folder``."""
        environment = {**self._environment, "GIT_CEILING_DIRECTORIES": str(folder.parent), **(env or {})}
        return _execute(self._git, ["git", "-C", str(folder), *self._config, *args], environment)

    def run(self, folder: Path, *args: str, env: Mapping[str, str] | None = None) -> bytes:
        """stdout of ``git <args>``. Raises RepositoryError with git's own words."""
        status, out, err = self.status(folder, *args, env=env)
        if status != 0:
            hint = _hint(err)
            message = f"git {_verb(args)} failed in {folder}: {_words(err, status)}"
            raise RepositoryError(message, hint, recoverable=bool(hint))
        return out

    def line(self, folder: Path, *args: str, env: Mapping[str, str] | None = None) -> str:
        """stdout as one line of text. Raises RepositoryError."""
        return os.fsdecode(self.run(folder, *args, env=env)).strip()


def _verb(args: Sequence[str]) -> str:
    return next((word for word in args if not word.startswith("-")), "")


def _words(err: str, status: int) -> str:
    lines = [line for line in err.strip().splitlines() if not line.startswith(("hint:", "warning:"))]
    return " ".join(lines)[:600] or f"exit status {status}"


def _hint(err: str) -> str:
    if "index.lock" in err or ".lock': File exists" in err:
        return "another git command holds a lock; wait for it, or remove the lock file when none runs"
    if "No space left" in err:
        return "free some space, then resume"
    return ""


def carried_settings(environment: Mapping[str, str], folder: Path) -> tuple[list[str], tuple[str, str]]:
    """What our own git calls keep of the user's configuration, and the identity for our commits.

    Read with the user's configuration in force, as the user's own git would.
    """
    text = _as_user(environment, folder, "config", "--includes", "--null", "--list", "--show-scope")
    settings = [f"safe.directory={folder}"]
    values: dict[str, str] = {}
    fields = text.split("\0")
    for scope, pair in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = pair.partition("\n")
        values[key.lower()] = value
        if scope in ("system", "global") and _CARRIED.match(key.lower()):
            settings.append(f"{key}={value}")
    name, email = values.get("user.name"), values.get("user.email")
    return settings, (name, email) if name and email else _IDENTITY


def _as_user(environment: Mapping[str, str], folder: Path, *args: str) -> str:
    clean = {key: value for key, value in environment.items() if not key.startswith(SCRUBBED_PREFIX)}
    keep = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    clean.update({key: environment[key] for key in keep if key in environment})
    clean["GIT_OPTIONAL_LOCKS"] = "0"
    return os.fsdecode(_execute(git.Git(), ["git", "-C", str(folder), *args], clean)[1])


def _execute(wrapper: git.Git, argv: list[str], environment: Mapping[str, str]) -> tuple[int, bytes, str]:
    try:
        status, out, err = wrapper.execute(
            argv,
            env=environment,
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
        )
    except git.GitCommandNotFound:
        raise BlockedError(
            "git is not installed", "install it (Debian: apt install git, macOS: brew install git)"
        ) from None
    return int(status), out, str(err)


def user_identity(environment: Mapping[str, str], folder: Path) -> tuple[str, str] | None:
    """Name and email that the user's own git would commit with; None when none is set."""
    return found if (found := carried_settings(environment, folder)[1]) != _IDENTITY else None


def git_version() -> tuple[int, ...]:
    return tuple(git.Git().version_info)
