"""What the loop needs from an agent, as a protocol, and what the two tell each other of a session."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from omagy_autoresearch.sessions import Diagnosis


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """All that an agent needs to know to run one session.

    ``folder`` keeps our records of the attempt (``events.jsonl`` raw agent output, ``stderr.log``,
    ``session.log`` as a person saw it); ``outbox`` is the only folder outside the worktree that the agent may
    write, ``candidate_file`` lies in it. ``environment`` is complete: the session gets nothing else.
    """

    run_id: str
    iteration: int
    attempt: int
    worktree: Path
    git_dir: Path  # the worktree's own admin folder, <common>/worktrees/<id>
    common_dir: Path
    branch: str
    base_commit: str
    folder: Path
    outbox: Path
    candidate_file: Path
    instructions_file: Path
    environment: Mapping[str, str]
    hidden: tuple[Path, ...] = ()  # folders that the agent must not be able to read, where it can be helped

    @property
    def events_file(self) -> Path:
        return self.folder / "events.jsonl"

    @property
    def stderr_file(self) -> Path:
        return self.folder / "stderr.log"


@dataclass(frozen=True, slots=True)
class SessionCommand:
    """How to start a session. ``render`` names the renderer that turns its output into lines for a person."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    stdin_file: Path | None
    render: Literal["codex", "plain"]


@dataclass(frozen=True, slots=True)
class SessionExit:
    """How a session's process ended: ``status`` when it exited, ``signal`` when it was killed."""

    status: int | None
    signal: int | None
    duration_s: float


class Agent(Protocol):
    """One kind of agent: Codex, the rehearsal, or a command of the user's."""

    @property
    def name(self) -> str: ...

    def preflight(self, spec: SessionSpec) -> None:
        """Prove that a session can work at all, before anything is paid for.

        Raises BlockedError with a way out.
        """
        ...

    def probe_commit(self, spec: SessionSpec) -> str:
        """Make a real commit in the lane as a session would, and say what that proves.

        Raises BlockedError with a way out.
        """
        ...

    def command(self, spec: SessionSpec) -> SessionCommand:
        """The command of one session; makes the folders that its permissions name."""
        ...

    def diagnose(self, spec: SessionSpec, ended: SessionExit) -> Diagnosis:
        """Tell from the session's records how it ended."""
        ...
