"""The rehearsal as an agent: sessions that play a mission's prepared proposals, offline (see `rehearsal.py`)."""

import sys
from pathlib import Path

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.sessions import Diagnosis
from omagy_supervisor import rehearsal
from omagy_supervisor.agents import SessionCommand, SessionExit, SessionSpec
from omagy_supervisor.plain_sessions import diagnose_program


class RehearsalAgent:
    """Plays the proposals in a folder, given absolute or relative to the lane's worktree."""

    name = "rehearsal"

    def __init__(self, proposals: Path, python: str = sys.executable) -> None:
        self._proposals = proposals
        self._python = python

    def preflight(self, spec: SessionSpec) -> None:
        """Raises BlockedError when there is nothing to play."""
        folder = spec.worktree / self._proposals
        hint = "name a folder with .patch files as agent.rehearsal in sandbox.md, or choose another --agent"
        try:
            proposals = rehearsal.list_proposals(folder)
        except OSError as error:
            raise BlockedError(f"the rehearsal's proposals cannot be read: {error}", hint) from error
        if not proposals:
            raise BlockedError(f"the rehearsal has no proposals in {folder}", hint)

    def probe_commit(self, spec: SessionSpec) -> str:  # noqa: ARG002
        """Nothing stands between this agent and git."""
        return "sessions run without a sandbox"

    def command(self, spec: SessionSpec) -> SessionCommand:
        """By path and isolated (-I): a module in the worktree or on PYTHONPATH cannot stand in for ours."""
        program = str(Path(rehearsal.__file__).resolve())
        folder = str(spec.worktree / self._proposals)
        return SessionCommand(
            argv=(self._python, "-I", program, "--proposals", folder),
            environment=spec.environment,
            stdin_file=None,
            render="plain",
        )

    def diagnose(self, spec: SessionSpec, ended: SessionExit) -> Diagnosis:
        return diagnose_program("the rehearsal", ended, spec.stderr_file)
