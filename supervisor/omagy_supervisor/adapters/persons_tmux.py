"""The person's own tmux, where a question is shown in a pane of its own beside the asker's.

Nothing of it is changed but that one split, and no key is ever sent. The pane takes the focus only where the asker's
pane has it: a person who types somewhere else must not answer by accident. A window that was zoomed is again.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from omagy_autoresearch.errors import OmagyError

_LIMIT_S = 10.0
_LEAST_LINES = 4


@dataclass(frozen=True, slots=True)
class Pane:
    """A pane of ours: its id, and the process in it, by which it cannot be taken for another one."""

    id: str
    pid: str


@dataclass(frozen=True, slots=True)
class PersonsTmux:
    """The server at ``socket``; ``pane`` is the asker's."""

    executable: str
    socket: str
    pane: str

    def size(self) -> tuple[int, int]:
        """Columns and lines of the asker's pane. Raises OmagyError."""
        columns, lines = self._told("#{pane_width} #{pane_height}")
        return int(columns), int(lines)

    def open(self, argv: Sequence[str], lines: int, environment: Mapping[str, str]) -> Pane:
        """Start ``argv`` in a new pane below the asker's, ``lines`` high where there is room. Raises OmagyError."""
        active, height = self._told("#{pane_active} #{pane_height}")
        size = max(min(lines, int(height) * 2 // 3), _LEAST_LINES)
        variables = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
        focus = () if active == "1" else ("-d",)
        told = self._do(
            *("split-window", "-v", *focus, "-l", str(size), "-t", self.pane, "-c", str(Path.cwd())),
            *("-P", "-F", "#{pane_id} #{pane_pid}", *variables, "--", *argv),
        )
        pane_id, _, pid = told.strip().partition(" ")
        return Pane(pane_id, pid)

    def shows(self, pane: Pane) -> bool:
        """True while ``pane`` is there."""
        try:
            return f"{pane.id} {pane.pid} 0" in self._do(
                "list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_dead}"
            ).split("\n")
        except OmagyError:
            return False

    def close(self, pane: Pane, *, zoomed: bool = False) -> None:
        """Take ``pane`` away; the asker's pane is zoomed again where ``zoomed`` says that it was."""
        if self.shows(pane):
            self.close_own(pane.id, zoomed=zoomed)

    def close_own(self, pane_id: str, *, zoomed: bool) -> None:
        """Take the pane away that this process may run in: one order, which the server carries out to its end."""
        zoom = f"resize-pane -Z -t {self.pane}"
        again = (";", "if-shell", "-F", "-t", self.pane, "#{window_zoomed_flag}", "", zoom)
        try:
            self._do("kill-pane", "-t", pane_id, *(again if zoomed else ()))
        except OmagyError:
            return  # it is gone, and so is the need

    @property
    def zoomed(self) -> bool:
        """Whether the asker's window shows one pane alone. Raises OmagyError."""
        return self._told("#{window_zoomed_flag}") == ["1"]

    def _told(self, form: str) -> list[str]:
        return self._do("display-message", "-p", "-t", self.pane, form).split()

    def _do(self, *args: str) -> str:
        try:
            done = subprocess.run(
                [self.executable, "-S", self.socket, *args],
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OmagyError(f"your tmux does not answer: {error}") from None
        if done.returncode != 0:
            raise OmagyError(f"your tmux says: {done.stderr.strip() or f'status {done.returncode}'}")
        return done.stdout


def persons_tmux(executable: str | None, environment: Mapping[str, str]) -> PersonsTmux | None:
    """The tmux around this process; None where there is none."""
    socket, pane = environment.get("TMUX", "").split(",")[0], environment.get("TMUX_PANE", "")
    return PersonsTmux(executable, socket, pane) if executable and socket and pane else None
