"""Short calls of the Codex executable: bounded in time, and nothing of them is left running."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call ended. ``status`` is None when it could not start or had to be killed; ``output`` says why."""

    status: int | None
    output: str


def ask(argv: Sequence[str], environment: Mapping[str, str], cwd: Path, limit_s: float) -> Answer:
    """Run ``argv`` with exactly ``environment`` and no input; both of its outputs come back together.

    It runs in a process group of its own, because Codex from npm is a node script that starts the real program:
    killing only the script would leave the program behind.
    """
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Answer(None, f"{error.filename}: {error.strerror}")
    with process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return Answer(None, f"no answer within {limit_s:g} s")
    return Answer(process.returncode, output.decode("utf-8", "replace"))
