"""How a session of a plain program ended: one that tells nothing but its exit status and what it wrote to stderr."""

import os
import signal
from pathlib import Path

from omagy_autoresearch.lines import one_line, plain_text
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind
from omagy_supervisor.agents import SessionExit

_STDERR_TAIL_BYTES = 4096
_DETAIL_CHARACTERS = 300


def diagnose_program(name: str, ended: SessionExit, stderr_file: Path) -> Diagnosis:
    """Exit status 0 is all that completes a session; the candidate is judged elsewhere."""
    if ended.status == 0:
        return Diagnosis(Ending(EndingKind.COMPLETED))
    return Diagnosis(Ending(EndingKind.CRASHED, f"{name} {_how(ended)}{_last_words(stderr_file)}"))


def _how(ended: SessionExit) -> str:
    if ended.signal is None:
        return f"ended with status {ended.status}"
    try:
        return f"was killed by {signal.Signals(ended.signal).name}"
    except ValueError:
        return f"was killed by signal {ended.signal}"


def _last_words(stderr_file: Path) -> str:
    """The last line of stderr that says anything, for a person, or nothing."""
    try:
        with stderr_file.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _STDERR_TAIL_BYTES))
            tail = stream.read().decode(errors="replace")
    except OSError:
        return ""
    last = plain_text(tail).rpartition("\n")[2]
    return f": {one_line(last, _DETAIL_CHARACTERS)}" if last else ""
