"""The command lines by which omagy starts parts of itself."""

import sys
from pathlib import Path

_PYTHON = (sys.executable, "-P")  # -P: no module of the folder it runs in can stand in for one of ours


def runner_argv(folder: Path, pipe: Path) -> list[str]:
    """A session's runner."""
    return [*_PYTHON, "-m", "omagy_supervisor.runner", str(folder), str(pipe)]


def supervisor_argv(pipe: Path) -> list[str]:
    """A supervisor that takes its orders from ``pipe``."""
    return [*_PYTHON, "-m", "omagy_supervisor", "supervise", str(pipe)]
