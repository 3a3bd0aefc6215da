"""One session of Codex that looks at a repository and proposes how to measure it (contract section 9, ``--infer``).

It is started like every session, but read-only: it can look at a copy of the repository and answer, nothing else.
"""

import json
import shlex
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.evaluation import EvaluatorRun
from omagy_autoresearch.sessions import EndingKind
from omagy_supervisor.adapters.codex.agent import CodexAgent
from omagy_supervisor.agents import SessionExit, SessionSpec
from omagy_supervisor.files import make_folder, read_regular, write_atomic

_ANSWER_LIMIT = 1 << 16
_READ_ONLY = ("--sandbox", "read-only")
_HINTS = {
    EndingKind.NOT_LOGGED_IN: "log in with: codex login",
    EndingKind.USAGE_LIMIT: "try --infer again after the limit has reset",
    EndingKind.UNREACHABLE: "try --infer again when the network is back",
}

SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "direction": {"type": "string", "enum": ["maximize", "minimize"]},
        "why": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["command", "direction", "why", "confidence"],
    "additionalProperties": False,
}


class CodexInference:
    """``args`` are the user's own for Codex; ``now`` tells the time (aware)."""

    def __init__(self, executable: Path, args: tuple[str, ...] = (), *, now: Callable[[], datetime]) -> None:
        self._agent = CodexAgent(executable, (*args, *_READ_ONLY), "user", now=now)

    def command(self, spec: SessionSpec, instructions: str) -> str:
        """The shell command of the session; writes what it reads. Raises StorageError."""
        make_folder(spec.folder)
        schema = spec.folder / "answer-schema.json"
        write_atomic(schema, json.dumps(SCHEMA).encode(), durable=False)
        write_atomic(spec.instructions_file, instructions.encode("utf-8", "replace"), durable=False)
        argv = self._agent.command(spec).argv
        words = shlex.join((*argv[:-1], "--output-schema", str(schema), argv[-1]))
        files = {"<": spec.instructions_file, ">": spec.events_file, "2>": spec.stderr_file}
        return " ".join(["exec", words, *(f"{sign}{shlex.quote(str(path))}" for sign, path in files.items())])

    def answer(self, spec: SessionSpec, run: EvaluatorRun) -> str:
        """The last thing that the session said. Raises BlockedError with how it ended instead, and the way out."""
        if run.timed_out_after_s is not None:
            raise BlockedError(f"Codex gave no answer within {run.timed_out_after_s:g} s")
        ending = self._agent.diagnose(spec, SessionExit(run.exit_status, run.signal, run.duration_s)).ending
        if ending.kind is not EndingKind.COMPLETED:
            raise BlockedError(f"Codex could not answer: {ending.detail}", _HINTS.get(ending.kind, ""))
        try:
            raw = read_regular(spec.folder / "last-message.txt", _ANSWER_LIMIT)
        except ValueError as problem:
            raise BlockedError(f"Codex's answer cannot be read: {problem}") from None
        if not raw:
            raise BlockedError("Codex ended without an answer")
        return raw.decode("utf-8", "replace")
