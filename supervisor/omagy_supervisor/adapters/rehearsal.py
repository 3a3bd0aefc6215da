"""The rehearsal as an agent: sessions that play a mission's prepared proposals, offline (see `rehearsal.py`)."""

import os
import signal
import sys
from pathlib import Path

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind
from omagy_supervisor import rehearsal
from omagy_supervisor.ports import SessionCommand, SessionExit, SessionSpec

STDERR_TAIL_BYTES = 4096
DETAIL_CHARACTERS = 300


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
        """Exit status 0 is all that completes a session; the candidate is judged elsewhere."""
        if ended.status == 0:
            return Diagnosis(Ending(EndingKind.COMPLETED))
        return Diagnosis(Ending(EndingKind.CRASHED, f"{_how(ended)}{_last_words(spec.stderr_file)}"))


def _how(ended: SessionExit) -> str:
    if ended.signal is None:
        return f"the rehearsal ended with status {ended.status}"
    try:
        return f"the rehearsal was killed by {signal.Signals(ended.signal).name}"
    except ValueError:
        return f"the rehearsal was killed by signal {ended.signal}"


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
