"""Codex as omagy's agent: how its sessions are started, proven to work, and understood afterwards."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.sessions import Diagnosis
from omagy_supervisor.adapters.codex.diagnosis import diagnose
from omagy_supervisor.adapters.codex.permissions import (
    PROFILE,
    Network,
    chooses_permissions,
    environment_options,
    prepare_folders,
    profile_options,
    writable_folders,
)
from omagy_supervisor.adapters.codex.process import Answer, ask
from omagy_supervisor.adapters.codex.records import read_records
from omagy_supervisor.adapters.codex.settings import options
from omagy_supervisor.agents import SessionCommand, SessionExit, SessionSpec

Sandbox = Literal["workspace", "off", "user"]

_REASON_CHARS = 300
_PREFLIGHT_LIMIT_S = 60.0  # measured 0.1 to 0.4 s; what takes a minute will not carry a session

# Makes and removes a file in every folder it is given, then lets git look at the worktree. git ignores files
# named *.lock among its refs, so nothing that looks on at the same time is confused.
_PROBE = """\
for folder; do
  probe=$folder/.omagy-probe-$$.lock
  { : >"$probe" && rm "$probe"; } || exit 1
done
git rev-parse --quiet --verify HEAD >/dev/null"""


class CodexAgent:
    """Starts Codex sessions that can commit on their lane and little else.

    ``args`` are the user's own, untouched; where they settle what a session may do, they win. ``sandbox``:
    "workspace" is our permission profile, "off" no sandbox at all, "user" whatever the user's configuration
    says. ``network`` says whether commands of a session in our profile reach the network. ``now`` tells the
    time (aware).
    """

    name = "codex"

    def __init__(
        self,
        executable: Path,
        args: tuple[str, ...] = (),
        sandbox: Sandbox = "workspace",
        network: Network = "off",
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._executable = executable
        self._args = args
        self._sandbox: Sandbox = sandbox
        self._network: Network = network
        self._now = now

    def preflight(self, spec: SessionSpec) -> None:
        """Prove that Codex starts and that its sandbox lets a session write where it must.

        Needs the worktree, makes no request, costs less than a second. Raises BlockedError with Codex's own
        words and the way out, StorageError when a folder cannot be made.
        """
        prepare_folders(spec)
        if not self._uses_our_profile(spec):
            answer = self._ask(spec, "--version")
            if answer.status != 0:
                raise _does_not_start(self._executable, answer)
            return
        folders = [str(folder) for folder in (spec.worktree, *writable_folders(spec))]
        profile = profile_options(spec, self._network)
        answer = self._ask(spec, "sandbox", "-P", PROFILE, *profile, "--", "sh", "-c", _PROBE, "sh", *folders)
        if answer.status != 0:
            raise _sandbox_fails(spec, answer)

    def probe_commit(self, spec: SessionSpec) -> str:
        """Commit inside the sandbox, which is where commits in a linked worktree fail. Raises BlockedError."""
        if not self._uses_our_profile(spec):
            return "what sessions may do is your own choice; their sandbox is not probed"
        prepare_folders(spec)
        profile = profile_options(spec, self._network)
        commit = ("git", "commit", "--quiet", "--allow-empty", "-m", "omagy: sandbox probe")
        answer = self._ask(spec, "sandbox", "-P", PROFILE, *profile, "--", *commit)
        if answer.status != 0:
            raise _sandbox_fails(spec, answer)
        return "a session can commit inside Codex's sandbox"

    def command(self, spec: SessionSpec) -> SessionCommand:
        """The command of one session; makes the folders that its permissions name. Raises StorageError."""
        prepare_folders(spec)
        argv = (
            str(self._executable),
            "exec",
            "-C",
            str(spec.worktree),
            # Without a limit on reconnecting a session waits for the network for ever. Not --disable: a Codex
            # that does not know the feature would refuse to start.
            "-c",
            "features.unbounded_connection_retries=false",
            *environment_options(spec, self._args),
            *self._permission_options(spec),
            *self._args,
            *self._output_options(spec),
            "-",
        )
        return SessionCommand(argv, spec.environment, spec.instructions_file, render="codex")

    def diagnose(self, spec: SessionSpec, ended: SessionExit) -> Diagnosis:
        """Tell from the session's records how it ended; never raises, however damaged they are."""
        return diagnose(read_records(spec), ended, self._now())

    def _uses_our_profile(self, spec: SessionSpec) -> bool:
        return self._sandbox == "workspace" and not chooses_permissions(self._args, spec.environment)

    def _permission_options(self, spec: SessionSpec) -> tuple[str, ...]:
        if self._uses_our_profile(spec):
            return profile_options(spec, self._network)
        if self._sandbox == "off" and not chooses_permissions(self._args, spec.environment):
            return ("--dangerously-bypass-approvals-and-sandbox",)
        return ()

    def _output_options(self, spec: SessionSpec) -> tuple[str, ...]:
        """What omagy reads; Codex refuses an option that stands twice, so not what the user asks for himself.

        They stand last: an option of the user's that takes several values ends where they begin.
        """
        named = {name for name, _ in options(self._args)}
        last_message = ("--output-last-message", str(spec.folder / "last-message.txt"))
        return (
            *(() if "--output-last-message" in named else last_message),
            *(() if "--json" in named else ("--json",)),
        )

    def _ask(self, spec: SessionSpec, *words: str) -> Answer:
        return ask([str(self._executable), *words], spec.environment, spec.worktree, _PREFLIGHT_LIMIT_S)


def _does_not_start(executable: Path, answer: Answer) -> BlockedError:
    return BlockedError(
        f"codex does not start: {one_line(answer.output, _REASON_CHARS) or 'no reason given'}",
        f"try it yourself: {executable} --version; to install it again: npm install -g @openai/codex",
    )


def _sandbox_fails(spec: SessionSpec, answer: Answer) -> BlockedError:
    failure = f"codex's sandbox does not work here: {one_line(answer.output, _REASON_CHARS) or 'no reason given'}"
    if "\n" in str(spec.worktree):
        return BlockedError(
            failure,
            "The repository has a line break in its path, which the sandbox cannot mount: rename that folder, and"
            " start a new run.",
        )
    return BlockedError(
        failure,
        "`--codex-sandbox off` runs sessions without any sandbox: they can change whatever you can, so only in a "
        "container or virtual machine of its own. `--codex-sandbox user` leaves it to your own Codex configuration. "
        "To mend it: allow unprivileged user namespaces (AppArmor or a container often forbids them), or update "
        "codex if it does not know an option.",
    )
