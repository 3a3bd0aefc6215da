"""A person at a terminal that can do nothing but lines: a pseudo-terminal with the real ``omagy`` behind it."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

from fakes.workspace import PATIENCE_S, Workspace

CTRL_C = b"\x03"
_AT_TERMINAL = ("/bin/sh", "-c", 'exec "$@" <"$0"')
"""Ctrl-C reaches a program only from the terminal that controls it: the first that the leader of a session opens."""


class Dialogue:
    """``omagy`` with ``args`` in the workspace; what it shows is read up to what a test expects."""

    def __init__(
        self, ws: Workspace, *args: str, cwd: Path | None = None, columns: int = 0, **environment: str
    ) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, columns))  # of no columns is a terminal that does not know
        self._process = subprocess.Popen(
            [*_AT_TERMINAL, os.ttyname(slave), sys.executable, "-m", "omagy_supervisor", *args],
            cwd=cwd or ws.root,
            env={**ws.environment, "TERM": "dumb", **environment},
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._raw = b""
        self._read = 0
        self._ended = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def shown(self) -> str:
        """All that was shown so far. A letter, or the end of a line, can come in two parts."""
        return self._raw.decode("utf-8", "replace").replace("\r\n", "\n")

    def expect(self, words: str) -> str:
        """Wait for ``words`` after what was expected before; returns all that came up to them."""
        while (found := self.shown.find(words, self._read)) < 0:
            assert self._more(), f"{words!r} was not shown:\n{self.shown[self._read :]}"
        passed = self.shown[self._read : found + len(words)]
        self._read = found + len(words)
        return passed

    def say(self, *lines: str) -> None:
        """Answer the next questions, each once its prompt is there."""
        for line in lines:
            self.expect("? explain)\n> ")
            os.write(self._master, line.encode() + b"\n")

    def choose(self, label: str) -> None:
        """Answer a numbered question with the number before ``label``."""
        passed = self.expect(label)
        self.say(passed.rpartition(")")[0].split()[-1])

    def enter(self, *questions: str) -> None:
        """Take what is offered to each of ``questions``."""
        for question in questions:
            self.expect(question)
            self.say("")

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> int:
        """The exit status, once the program has ended and all it showed was read."""
        while self._more():
            pass
        status = self._process.wait(PATIENCE_S)
        self.close()
        return status

    def close(self) -> None:
        if self._process.poll() is None:
            self.kill()
            self._process.wait()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def _more(self) -> bool:
        """Read what comes next; False at the end."""
        if self._ended:
            return False
        ready, _, _ = select.select([self._master], [], [], PATIENCE_S)
        assert ready, f"nothing more came within {PATIENCE_S:g} s:\n{self.shown[self._read :]}"
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the last program that had the terminal is gone
            data = b""
        self._ended = not data
        self._raw += data
        return not self._ended


Talk = Callable[..., Dialogue]
