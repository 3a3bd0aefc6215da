"""Any command of the user's as an agent (`--agent command:<cmd>`).

The command runs in /bin/sh in the lane's worktree, reads the instructions from stdin, finds the rest in the
`OMAGY_…` variables (contract section 4), and writes the candidate artifact like every agent.
"""

import os
import signal
import subprocess
from pathlib import Path

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind
from omagy_supervisor.ports import SessionCommand, SessionExit, SessionSpec

SHELL = "/bin/sh"
STDERR_TAIL_BYTES = 4096
DETAIL_CHARACTERS = 300


class CommandAgent:
    """Runs one shell command per session."""

    name = "command"

    def __init__(self, command: str) -> None:
        self._command = command

    def preflight(self, spec: SessionSpec) -> None:
        """Raises BlockedError for a command that the shell cannot even read; nothing of it is run."""
        if not self._command.strip():
            raise BlockedError("the agent's command is empty", "write it after the colon: --agent 'command:<cmd>'")
        try:
            read = subprocess.run(
                [SHELL, "-n", "-c", self._command],
                env=dict(spec.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except (OSError, ValueError) as error:  # no shell; a NUL in the command
            raise BlockedError(f"the agent's command cannot be run: {error}", "check --agent") from error
        if read.returncode != 0:
            said = " ".join(read.stderr.decode(errors="replace").split())
            raise BlockedError(f"the agent's command is not a valid shell command: {said}", "check its quotes")

    def probe_commit(self, spec: SessionSpec) -> str:  # noqa: ARG002
        """Nothing stands between this agent and git."""
        return "sessions run without a sandbox"

    def command(self, spec: SessionSpec) -> SessionCommand:
        return SessionCommand(
            argv=(SHELL, "-c", self._command),
            environment=spec.environment,
            stdin_file=spec.instructions_file,
            render="plain",
        )

    def diagnose(self, spec: SessionSpec, ended: SessionExit) -> Diagnosis:
        """Exit status 0 is all that completes a session; the candidate is judged elsewhere."""
        if ended.status == 0:
            return Diagnosis(Ending(EndingKind.COMPLETED))
        return Diagnosis(Ending(EndingKind.CRASHED, f"{_how(ended)}{_last_words(spec.stderr_file)}"))


def _how(ended: SessionExit) -> str:
    if ended.signal is None:
        return f"the command ended with status {ended.status}"
    try:
        return f"the command was killed by {signal.Signals(ended.signal).name}"
    except ValueError:
        return f"the command was killed by signal {ended.signal}"


def _last_words(stderr_file: Path) -> str:
    """The last line of stderr that says anything, for a person, or nothing."""
    try:
        with stderr_file.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - STDERR_TAIL_BYTES))
            tail = stream.read().decode(errors="replace")
    except OSError:
        return ""
    lines = ["".join(filter(str.isprintable, line)).strip() for line in tail.splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    return f": {last[:DETAIL_CHARACTERS]}" if last else ""
