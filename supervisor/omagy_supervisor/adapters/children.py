"""Sessions as plain child processes, for machines and containers without tmux."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from omagy_autoresearch.errors import OmagyError


class ChildTerminal:
    """Implements ports.Terminal. What a session shows goes to its session.log, as with tmux."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def open_window(self, name: str, argv: Sequence[str], cwd: Path) -> None:
        try:
            # A session of its own, so that a Ctrl-C meant for the supervisor does not reach the agent first.
            self._children[name] = subprocess.Popen(
                list(argv),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise OmagyError(f"the session could not be started: {error}") from None

    def has_window(self, name: str) -> bool:
        child = self._children.get(name)
        return child is not None and child.poll() is None

    def close_window(self, name: str) -> None:
        child = self._children.pop(name, None)
        if child is not None:
            if child.poll() is None:
                child.terminate()
            child.wait()
