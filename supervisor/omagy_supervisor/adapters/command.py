"""Any command of the user's as an agent (`--agent command:<cmd>`).

The command runs in /bin/sh in the lane's worktree, reads the instructions from stdin, finds the rest in the
`OMAGY_…` variables (contract section 4), and writes the candidate artifact like every agent.
"""

import subprocess

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.sessions import Diagnosis
from omagy_supervisor.agents import SessionCommand, SessionExit, SessionSpec
from omagy_supervisor.plain_sessions import diagnose_program

SHELL = "/bin/sh"


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
        return diagnose_program("the command", ended, spec.stderr_file)
