"""How omagy calls git.

Every call names its folder absolutely and may not look above it, runs no hook, monitor, editor, pager or prompt,
and ignores the user's own configuration except what is handed over on purpose (``carried``): filters such as
git-lfs, line endings, ignored files, and the folders the user declared safe. GitPython's object model is not used:
it can act in the process's own folder when a worktree vanishes.

A git that does not end is ended, with all that it started; one that found no free process or thread is called again.
"""

import contextlib
import errno
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from omagy_autoresearch.errors import BlockedError, DamagedObjectError, RepositoryError
from omagy_supervisor.adapters.git.output import read_to_end

if TYPE_CHECKING:
    import git

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
    "core.commitGraph=false",  # a cache of parents that lies where a session may write
    # A file whose time was set back counts as changed all the same: its change time cannot be set.
    "core.trustctime=true",
    "core.checkStat=default",
    # An index that omagy wrote marks nothing unchanged, and keeps no part of itself in another file.
    "core.ignoreStat=false",
    "core.splitIndex=false",
    "sparse.expectFilesOutsideOfPatterns=false",  # a file that should not be there is seen
    "core.quotePath=false",
    # Somebody else's git may hold a lock for a moment: wait instead of failing a night's run.
    "core.filesRefLockTimeout=5000",
    "core.packedRefsTimeout=10000",
)
_CARRIED = re.compile(
    r"^(filter\..*|safe\.directory"
    r"|core\.(autocrlf|eol|symlinks|filemode|ignorecase|precomposeunicode|excludesfile))$"
)
# What a session sets in the repository's configuration must not hide files or changes, or change what files hold.
_SETTLED = {
    "core.autocrlf": "false",
    "core.eol": "native",
    "core.symlinks": "true",
    "core.filemode": "true",
    "core.ignorecase": "false",
    "core.sparseCheckoutCone": "false",
}
_IDENTITY = ("omagy", "omagy@localhost")
_PATIENCE_S = 600.0
_TREE_PATIENCE_S = 3600.0
_TREE_COMMANDS = frozenset(("reset", "checkout", "checkout-index", "fetch", "add", "worktree", "clean"))
_RETRY_AFTER_S = (0.2, 1.0, 3.0)
_SHORT_OF_PROCESSES = re.compile(
    r"cannot fork\(\)|unable to create (?:async )?thread|unable to start (?:async )?thread"
    r"|Resource temporarily unavailable|Cannot allocate memory"
)
_DAMAGED = re.compile(
    r"\b(?:bad|missing) (?:object|tree|blob|commit|tag)\b|corrupt|could not read [0-9a-f]{4}"
    r"|unable to read (?:tree|object|blob|commit|sha1 file|[0-9a-f]{4})|failed to unpack tree object"
    r"|object file \S+ is empty|could not parse commit"
    r"|unable to (?:find|unpack) [0-9a-f]{4}|invalid object|hash mismatch",
    re.IGNORECASE,
)


_OBJECT = re.compile(r"[0-9a-f]{2}/?[0-9a-f]{38}(?:[0-9a-f]{24})?")


class Git:
    """Runs git commands. ``carried`` are settings of the user's that are kept.

    ``patience_s`` is how long a command may take; those that write whole trees get an hour by default.
    """

    def __init__(
        self,
        carried: Sequence[str] = (),
        identity: tuple[str, str] = _IDENTITY,
        *,
        patience_s: float | None = None,
    ) -> None:
        self._git = _wrapper()
        self._patience_s = patience_s
        self._config = [word for setting in (*_HARDENED, *carried) for word in ("-c", setting)]
        name, email = identity
        self._environment = {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_GRAFT_FILE": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            # Wins over protocol.<name>.allow: git would fetch a missing object with what a planted remote names.
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_NO_LAZY_FETCH": "1",  # newer ones do not even try, and say what is missing
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
        """Exit status, stdout and stderr of ``git <args>`` in ``folder``.

        Raises RepositoryError only for a command that did not end.
        """
        environment = {**self._environment, "GIT_CEILING_DIRECTORIES": str(folder.parent), **(env or {})}
        argv = ["git", "-C", str(folder), *self._config, *args]
        patience_s = self._patience_s or (_TREE_PATIENCE_S if _verb(args) in _TREE_COMMANDS else _PATIENCE_S)
        try:
            for wait_s in _RETRY_AFTER_S:
                found = _execute(self._git, argv, environment, patience_s)
                if found[0] == 0 or not _SHORT_OF_PROCESSES.search(found[2]):
                    return found
                threading.Event().wait(wait_s)
            return _execute(self._git, argv, environment, patience_s)
        except subprocess.TimeoutExpired:
            raise RepositoryError(
                f"git {_verb(args)} in {folder} did not end within {patience_s:g} s, and was ended",
                "look for what it waits for: a pipe in place of a file, a filter, a disk or network that hangs",
                recoverable=True,
            ) from None

    def run(self, folder: Path, *args: str, env: Mapping[str, str] | None = None) -> bytes:
        """stdout of ``git <args>``. Raises RepositoryError with git's own words."""
        status, out, err = self.status(folder, *args, env=env)
        if status != 0:
            raise failure(folder, args, status, err)
        return out

    def line(self, folder: Path, *args: str, env: Mapping[str, str] | None = None) -> str:
        """stdout as one line of text: a path may end in a blank. Raises RepositoryError."""
        return os.fsdecode(self.run(folder, *args, env=env).removesuffix(b"\n"))


def failure(folder: Path, args: Sequence[str], status: int, err: str) -> RepositoryError:
    """A command that failed, as the error that tells of it."""
    hint = _hint(err)
    message = f"git {_verb(args)} failed in {folder}: {git_words(err, status)}"
    if not hint and _DAMAGED.search(err):
        return DamagedObjectError(message, _restoring(folder, err))
    error = RepositoryError(message, hint)
    error.passing = bool(hint)
    return error


def _restoring(folder: Path, err: str) -> str:
    """How a person puts the object back that git could not read: the first that it names."""
    found, where = _OBJECT.search(err), shlex.quote(str(folder))
    if found is None:
        return f"see what is missing: git -C {where} fsck; put it back from another clone, then resume"
    oid = found[0].replace("/", "")
    file = f'"$(git -C {where} rev-parse --git-path objects/{oid[:2]}/{oid[2:]})"'
    listed = f"git -C <another clone> rev-list --objects --no-object-names -1 {oid}"
    copy = f"{listed} | git -C <another clone> pack-objects -q --stdout | git -C {where} unpack-objects -q"
    return f"put object {oid} back from another clone, then resume: (cd {where} && rm -f {file}); {copy}"


def _verb(args: Sequence[str]) -> str:
    settings = {place + 1 for place, word in enumerate(args) if word == "-c"}
    return next((word for place, word in enumerate(args) if word[:1] != "-" and place not in settings), "")


def git_words(err: str, status: int) -> str:
    """What git said of a failure, without its advice, or its exit ``status`` where it said nothing."""
    lines = [line for line in err.strip().splitlines() if not line.startswith(("hint:", "warning:"))]
    return " ".join(lines)[:600] or f"exit status {status}"


def _hint(err: str) -> str:
    if "index.lock" in err or ".lock': File exists" in err:
        return "another git command holds a lock; wait for it, or remove the lock file when none runs"
    if "No space left" in err or "quota exceeded" in err:
        return "free some space, then resume"
    if _SHORT_OF_PROCESSES.search(err):
        return "no process or thread was free; end some, or raise the limit (ulimit -u), then resume"
    return ""


def settled_settings(environment: Mapping[str, str], folder: Path) -> tuple[bytes, ...]:
    """What the user's and the repository's configuration say now of what files hold. A path need be no text."""
    return tuple(map(os.fsencode, carried_settings(environment, folder)[0][-len(_SETTLED) - 1 :]))


def carried_settings(
    environment: Mapping[str, str], folder: Path, settled: Sequence[bytes] = ()
) -> tuple[list[str], tuple[str, str]]:
    """What our own git calls keep of the user's configuration, and the identity for our commits.

    Read with the user's configuration in force, as the user's own git would. ``settled`` is what an earlier
    ``settled_settings`` told, to be kept in place of what they say now.
    """
    text = _as_user(environment, folder, "config", "--includes", "--null", "--list", "--show-scope")
    settings = [f"safe.directory={folder}"]
    values: dict[str, str] = {}
    fields = text.split("\0")
    for scope, pair in zip(fields[::2], fields[1::2], strict=False):
        key, given, value = pair.partition("\n")
        value = value if given else "true"  # as git reads a name alone
        values[key.lower()] = value
        if scope in ("system", "global") and _CARRIED.match(key.lower()):
            settings.append(f"{key}={value}")
    defaults = {**_SETTLED, "core.excludesFile": _ignored_by_default(environment)}
    settings += (
        map(os.fsdecode, settled)
        if settled
        else [f"{key}={values.get(key.lower(), default)}" for key, default in defaults.items()]
    )
    name, email = values.get("user.name"), values.get("user.email")
    return settings, (name, email) if name and email else _IDENTITY


def _ignored_by_default(environment: Mapping[str, str]) -> str:
    """The user's list of ignored files where git looks for it unasked."""
    folder = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '')}/.config"
    return f"{folder}/git/ignore"


def _as_user(environment: Mapping[str, str], folder: Path, *args: str) -> str:
    clean = {key: value for key, value in environment.items() if not key.startswith(SCRUBBED_PREFIX)}
    keep = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    clean.update({key: environment[key] for key in keep if key in environment})
    clean["GIT_OPTIONAL_LOCKS"] = "0"
    return os.fsdecode(_execute(_wrapper(), ["git", "-C", str(folder), *args], clean, _PATIENCE_S)[1])


def _wrapper() -> "git.Git":
    """Loaded by whoever calls git: half of a short command's time goes into loading GitPython."""
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # or a missing git would be told by an ImportError
    import git

    return git.Git()


def _execute(
    wrapper: "git.Git", argv: list[str], environment: Mapping[str, str], patience_s: float
) -> tuple[int, bytes, str]:
    """Raises TimeoutExpired, once all that the command started is ended."""
    from git.exc import GitCommandNotFound

    try:
        started = wrapper.execute(argv, env=environment, as_process=True)  # it ends the process when it goes
    except GitCommandNotFound:
        raise BlockedError(
            "git is not installed", "install it (Debian: apt install git, macOS: brew install git)"
        ) from None
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.ENOMEM):
            raise
        return 128, b"", f"cannot fork() for git: {error.strerror}"
    process = started.proc
    assert process is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        try:
            out, err = read_to_end(process, patience_s)
        except subprocess.TimeoutExpired:
            _end(process.pid)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5.0)
            raise
    return process.returncode, out, err.decode("utf-8", "replace")


def _end(pid: int) -> None:
    """Kill a command and what it started: a filter that goes on would hold its output open."""
    with contextlib.suppress(psutil.Error):
        command = psutil.Process(pid)
        for one in (command, *command.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                one.kill()


def user_identity(environment: Mapping[str, str], folder: Path) -> tuple[str, str] | None:
    """Name and email that the user's own git would commit with; None when none is set."""
    return found if (found := carried_settings(environment, folder)[1]) != _IDENTITY else None


def git_version() -> tuple[int, ...]:
    return tuple(_wrapper().version_info)
