"""Runs one agent session in its window: ``python -m omagy_supervisor.runner <attempt folder> <pipe>``.

It keeps the raw output, shows it readably, ends everything the agent started when the agent ends, and writes
``exit.json`` as its last act. It outlives a supervisor that dies, so that the next one can adopt the session.
It starts once for each session, so it imports little.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, BinaryIO, cast

from omagy_autoresearch.lines import one_line
from omagy_supervisor.files import read_regular, write_atomic
from omagy_supervisor.handover import HandoverError, receive
from omagy_supervisor.paths import ENDING

_RAW_LIMIT = 64 << 20
_LOG_LIMIT = 16 << 20
_LONGEST_LINE = 1 << 20
_ENDING_LIMIT = 1 << 10
_DRAIN_S = 1.0
_GRACE_S = 10.0
_PR_SET_CHILD_SUBREAPER = 36

Render = Callable[[str], list[str]]


def main(argv: list[str]) -> int:
    folder, pipe = Path(argv[0]), Path(argv[1])
    become_subreaper()
    write_atomic(folder / "runner.json", json.dumps({"pid": os.getpid(), "boot_id": _boot_id()}).encode())
    _keep_output_flowing()
    try:
        spec = receive(pipe)
    except HandoverError as error:
        _write_exit(folder, {"status": None, "signal": None, "duration_s": 0.0, "problem": f"handover: {error}"})
        return 1
    _write_exit(folder, _Session(folder, spec).run())
    return 0


def _boot_id() -> str:
    """Which start of the machine this is, where the system tells."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def become_subreaper() -> None:
    """Orphans of our descendants become our children (Linux), so none of them can hide by double-forking."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _keep_output_flowing() -> None:
    """A Ctrl-S in the window must not stop the agent: take flow control off our terminal."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        attributes = termios.tcgetattr(1)
        attributes[0] &= ~termios.IXON
        termios.tcsetattr(1, termios.TCSANOW, attributes)


def _write_exit(folder: Path, record: dict[str, Any]) -> None:
    write_atomic(folder / "exit.json", json.dumps(record).encode())


class _Sink:
    """A file that stops growing at ``limit`` bytes and says so once; a full disk stops it too, not the session."""

    def __init__(self, path: Path, limit: int) -> None:
        self._file: BinaryIO | None = path.open("ab", buffering=0)
        self._left = limit - path.stat().st_size

    def write(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(data[: self._left])
            self._left -= len(data)
            if self._left <= 0:
                self._file.write(b"\n[omagy: the rest was not kept]\n")
                self.close()
        except OSError:
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class _Session:
    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        self._folder = folder
        self._spec = spec
        self._raw = {
            "stdout": _Sink(folder / "events.jsonl", _RAW_LIMIT),
            "stderr": _Sink(folder / "stderr.log", _LOG_LIMIT),
        }
        self._log = _Sink(folder / "session.log", _LOG_LIMIT)
        self._render = _renderer(spec["render"])
        self._rest = {"stdout": b"", "stderr": b""}
        self._asked: str | None = None
        self._deadline: float | None = None

    def run(self) -> dict[str, Any]:
        started = monotonic()
        # The signals are taken before the agent starts: one that arrives in between must not leave it orphaned.
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, self._on_signal)
        try:
            agent = self._start()
        except OSError as error:
            self._show(f"omagy: the agent could not be started: {error}")
            return {"status": 127, "signal": None, "duration_s": 0.0, "problem": f"not started: {error}"}
        self._follow(agent)
        code = agent.wait()
        _end_descendants()
        self._flush_rest()
        return {
            "status": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "duration_s": round(monotonic() - started, 3),
            "asked": self._asked,
        }

    def _start(self) -> subprocess.Popen[bytes]:
        stdin = self._spec["stdin_file"]
        with Path(stdin or os.devnull).open("rb") as source:
            return subprocess.Popen(
                self._spec["argv"],
                env=self._spec["environment"],
                cwd=self._spec["cwd"],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._asked = self._asked or signal.Signals(number).name

    def _follow(self, agent: subprocess.Popen[bytes]) -> None:
        """Copy output until the agent ends, then what is left in the pipes; obey a request to end."""
        done: float | None = None
        with selectors.DefaultSelector() as selector:
            for name, pipe in (("stdout", agent.stdout), ("stderr", agent.stderr)):
                assert pipe is not None
                selector.register(pipe, selectors.EVENT_READ, name)
            while True:
                self._copy_once(selector, agent)
                self._press(agent)
                if agent.poll() is None:  # an agent can close both pipes and go on
                    continue
                if done is None:
                    # Whoever still holds the pipes would keep us here: the agent's end is the session's.
                    _end_descendants()
                    done = monotonic()
                if not selector.get_map() or monotonic() - done > _DRAIN_S:
                    return

    def _copy_once(self, selector: selectors.BaseSelector, agent: subprocess.Popen[bytes]) -> None:
        if not selector.get_map():
            with contextlib.suppress(subprocess.TimeoutExpired):
                agent.wait(timeout=0.2)
            return
        for key, _ in selector.select(timeout=0.2):
            data = os.read(key.fd, 1 << 16)
            if data:
                self._take(cast("str", key.data), data)
            else:
                selector.unregister(key.fileobj)

    def _take(self, stream: str, data: bytes) -> None:
        self._raw[stream].write(data)
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines, rest = [*lines, rest[:_LONGEST_LINE]], b""
        self._rest[stream] = rest
        for line in lines:
            self._show_raw(stream, line)

    def _flush_rest(self) -> None:
        for stream, rest in self._rest.items():
            if rest:
                self._show_raw(stream, rest)

    def _show_raw(self, stream: str, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        for shown in self._render(text) if stream == "stdout" else [text]:
            self._show(shown)

    def _show(self, line: str) -> None:
        data = line.encode("utf-8", "replace") + b"\n"
        self._log.write(data)
        with contextlib.suppress(OSError):
            os.write(1, data)

    def _press(self, agent: subprocess.Popen[bytes]) -> None:
        """Once asked to end: interrupt and terminate the agent, and kill it when it does not listen."""
        if self._asked is None or agent.poll() is not None:
            return
        if self._deadline is None:
            self._deadline = monotonic() + _GRACE_S
            self._show(self._why())
            _signal_group(agent.pid, signal.SIGINT)
            _signal_group(agent.pid, signal.SIGTERM)
        elif monotonic() > self._deadline:
            _signal_group(agent.pid, signal.SIGKILL)

    def _why(self) -> str:
        """Why the session is ended, in the words that its supervisor left before it asked; else how it was asked."""
        words = b""
        if self._asked == signal.SIGTERM.name:
            with contextlib.suppress(ValueError):
                words = read_regular(self._folder / ENDING, _ENDING_LIMIT) or b""
        return one_line(words.decode("utf-8", "replace")) or f"omagy: asked to end this session ({self._asked})"


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _end_descendants() -> None:
    """Kill what the agent left running; new ones may appear while we look, so look until there are none."""
    if _childless():
        return
    import psutil  # a third of what a runner costs, and most agents leave nothing

    me = psutil.Process()
    for _ in range(50):
        left = [child for child in me.children(recursive=True) if _lives(child)]
        if not left:
            return
        for child in left:
            with contextlib.suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(left, timeout=0.5)


def _childless() -> bool:
    """Whether nothing of the agent is left: on Linux whatever is would be a child of ours by now, dead or alive."""
    if sys.platform == "linux":
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
    return False


def _lives(process: Any) -> bool:
    import psutil

    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _renderer(name: str) -> Render:
    if name == "codex":
        from omagy_supervisor.adapters.codex.render import session_view

        return session_view()
    return lambda line: [line]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
