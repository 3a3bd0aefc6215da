"""The command lines by which omagy starts parts of itself."""

import hashlib
import os
import shlex
import sys
from pathlib import Path

_PYTHON = (sys.executable, "-P")  # -P: no module of the folder it runs in can stand in for one of ours


def runner_argv(folder: Path, pipe: Path) -> list[str]:
    """A session's runner."""
    return [*_PYTHON, "-m", "omagy_supervisor.runner", str(folder), str(pipe)]


def supervisor_argv(pipe: Path) -> list[str]:
    """A supervisor that takes its orders from ``pipe``."""
    return [*_PYTHON, "-m", "omagy_supervisor", "supervise", str(pipe)]


def question_pane_argv(state_folder: Path, question_id: str, asker: str, *, zoomed: bool) -> list[str]:
    """What shows one question in a tmux pane beside ``asker``, which is zoomed again afterwards."""
    words = ["question", "show-ui", str(state_folder), question_id, asker, *(["--zoomed"] if zoomed else [])]
    return [*_PYTHON, "-m", "omagy_supervisor", *words]


def omagy_in_a_session() -> str:
    """omagy, as the shell of a session calls it.

    Not as the person does: ``bin/omagy`` may want to set itself up first, which a sandbox forbids.
    """
    return shlex.join([*_PYTHON, "-m", "omagy_supervisor"])


def tmux_session(run_id: str, repo_root: Path) -> str:
    """The tmux session of a run. Runs of two repositories can share an id, and all share a tmux server."""
    place = hashlib.sha256(os.fsencode(repo_root)).hexdigest()[:6]
    return f"{run_id}-{place}"
