"""The command lines by which omagy starts parts of itself."""

import hashlib
import os
import sys
from pathlib import Path

_PYTHON = (sys.executable, "-P")  # -P: no module of the folder it runs in can stand in for one of ours


def runner_argv(folder: Path, pipe: Path) -> list[str]:
    """A session's runner."""
    return [*_PYTHON, "-m", "omagy_supervisor.runner", str(folder), str(pipe)]


def supervisor_argv(pipe: Path) -> list[str]:
    """A supervisor that takes its orders from ``pipe``."""
    return [*_PYTHON, "-m", "omagy_supervisor", "supervise", str(pipe)]


def tmux_session(run_id: str, repo_root: Path) -> str:
    """The tmux session of a run. Runs of two repositories can share an id, and all share a tmux server."""
    place = hashlib.sha256(os.fsencode(repo_root)).hexdigest()[:6]
    return f"{run_id}-{place}"
