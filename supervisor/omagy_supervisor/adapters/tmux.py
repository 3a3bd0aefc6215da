"""tmux on a socket of our own: the user's tmux server and configuration are never touched.

Sessions and windows are addressed by exact names (``=name``) and ids; a listing is believed to be empty only
after the server was seen alive.
"""

import contextlib
import re
import shlex
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omagy_autoresearch.errors import BlockedError, ContractError, OmagyError

DEFAULT_SOCKET = "omagy"
OLDEST = (3, 0)
_TRIES = 5
_PREFIX = "C-b"  # of our server, which reads no configuration
# On a screen below 120 columns the run's name gives way to the list of windows. A pattern tells it: tmux before 3.2
# cannot compare, and takes such a condition for true. In ASCII: in a locale without other letters no argument of a
# program can hold one.
_NARROW = "#{||:#{m:??,#{client_width}},#{m:1[01]?,#{client_width}}}"
_STATUS_LEFT = f"[#{{?{_NARROW},#{{=/20/...:session_name}},#{{session_name}}}}] "


@dataclass(frozen=True, slots=True)
class Window:
    session: str
    name: str
    id: str
    pane_pid: int
    dead: bool


class Tmux:
    """One tmux server. Raises OmagyError when tmux refuses."""

    def __init__(self, socket: str, executable: str) -> None:
        import libtmux  # heavy, and most commands look at no tmux

        self.socket = socket
        self._executable = executable
        self._server = libtmux.Server(socket_name=socket, config_file="/dev/null", tmux_bin=executable)

    def _cmd(self, *args: str) -> Any:
        return self._server.cmd(*args)

    def _do(self, what: str, *args: str) -> list[str]:
        answer = self._cmd(*args)
        if answer.returncode != 0:
            words = " ".join(answer.stderr) or f"status {answer.returncode}"
            hint = f"see the server with `tmux -L {self.socket} ls`"
            if "Permission denied" in words:
                hint = "make the folder of its socket yours (TMUX_TMPDIR names another), or run with --foreground"
            raise OmagyError(f"tmux could not {what}: {words}", hint)
        return list(answer.stdout)

    def has_session(self, name: str) -> bool:
        return bool(self._cmd("has-session", "-t", f"={name}").returncode == 0)

    def new_session(self, name: str, window: str, argv: Sequence[str], cwd: Path) -> None:
        """Start ``argv`` in a new detached session called ``name``."""
        self._do(
            "start a session",
            *("new-session", "-d", "-s", name, "-n", window, "-c", str(cwd), "-x", "200", "-y", "50"),
            *("--", *_exec_argv(argv)),
        )
        self._cmd("set-option", "-t", f"={name}:", "automatic-rename", "off")
        self._cmd("set-option", "-t", f"={name}:", "history-limit", "20000")
        self._cmd("set-option", "-t", f"={name}:", "status-left-length", "60")  # or a run's id is cut off
        self._cmd("set-option", "-t", f"={name}:", "status-left", _STATUS_LEFT)

    def new_window(self, session: str, name: str, argv: Sequence[str], cwd: Path) -> None:
        """Start ``argv`` in a new window of ``session``; makes the session when it is gone.

        A session can end, or be made by somebody else, between the look and the act: then we look again.
        """
        for _ in range(_TRIES - 1):
            with contextlib.suppress(OmagyError):
                self._new_window(session, name, argv, cwd)
                return
            _tick()
        self._new_window(session, name, argv, cwd)

    def _new_window(self, session: str, name: str, argv: Sequence[str], cwd: Path) -> None:
        if not self.has_session(session):
            self.new_session(session, name, argv, cwd)
            return
        self._do(
            "open a window",
            *("new-window", "-d", "-t", f"={session}:", "-n", name, "-c", str(cwd), "--", *_exec_argv(argv)),
        )

    def windows(self) -> list[Window]:
        """All windows of the server. Raises OmagyError when it is alive and does not answer."""
        form = "#{session_name}\t#{window_name}\t#{window_id}\t#{pane_pid}\t#{pane_dead}"
        answer = self._cmd("list-panes", "-a", "-F", form)
        for _ in range(_TRIES):
            if answer.returncode == 0 or not self._server.is_alive():
                break
            _tick()  # it is just starting, or just ending
            answer = self._cmd("list-panes", "-a", "-F", form)
        if answer.returncode != 0:
            if not self._server.is_alive():
                return []
            raise OmagyError(f"tmux could not list its windows: {' '.join(answer.stderr)}")
        rows = (line.split("\t") for line in answer.stdout)
        return [Window(row[0], row[1], row[2], int(row[3]), row[4] == "1") for row in rows if len(row) == 5]

    def find(self, session: str, name: str) -> Window | None:
        return next((w for w in self.windows() if (w.session, w.name, w.dead) == (session, name, False)), None)

    def kill_window(self, window: Window) -> None:
        self._cmd("kill-window", "-t", window.id)

    def attach_command(self, session: str, around: str) -> list[str]:
        """The command that shows ``session`` in this terminal; its status line says which keys leave it.

        ``around`` is the socket of the tmux server that this terminal is a pane of, empty for a plain terminal.
        """
        base = [self._executable, "-L", self.socket]
        if around and [around] == list(self._cmd("display-message", "-p", "#{socket_path}").stdout):
            return [*base, "switch-client", "-t", f"={session}"]
        keys = f"{_PREFIX} {_PREFIX}" if around and self._prefix_of(around) == _PREFIX else _PREFIX
        self._cmd("set-option", "-t", f"={session}:", "status-right", f"{keys} n next, {keys} d leave")
        if around:
            # A client of another server cannot switch to ours: nest it, which tmux refuses while TMUX is set.
            base = ["env", "-u", "TMUX", "-u", "TMUX_PANE", *base]
        return [*base, "attach-session", "-t", f"={session}"]

    def _prefix_of(self, server: str) -> str:
        """The prefix key of the person's own tmux server; ours as long as it does not tell."""
        told = _output([self._executable, "-S", server, "show-options", "-gv", "prefix"])
        return told.strip() or _PREFIX


def _tick() -> None:
    threading.Event().wait(0.05)


def _exec_argv(argv: Sequence[str]) -> list[str]:
    """``argv`` in a form that tmux runs without the user's shell: two words or more are executed as they are."""
    return list(argv) if len(argv) > 1 else ["/bin/sh", "-c", f"exec {shlex.quote(argv[0])}"]


class TmuxTerminal:
    """Implements ports.Terminal on the tmux session of one run."""

    def __init__(self, tmux: Tmux, session: str) -> None:
        self._tmux = tmux
        self._session = session

    def open_window(self, name: str, argv: Sequence[str], cwd: Path) -> None:
        self._tmux.new_window(self._session, name, argv, cwd)

    def has_window(self, name: str) -> bool:
        return self._tmux.find(self._session, name) is not None

    def close_window(self, name: str) -> None:
        window = self._tmux.find(self._session, name)
        if window is not None:
            self._tmux.kill_window(window)


def require_tmux(executable: str | None, version_text: str) -> str:
    """The tmux to use. Raises BlockedError or ContractError with the remedy when there is none that works."""
    if executable is None:
        raise BlockedError(
            "tmux is not installed",
            "install it (Debian: apt install tmux, macOS: brew install tmux), or run with --foreground",
        )
    found = re.search(r"(\d+)\.(\d+)", version_text)
    if found and (int(found[1]), int(found[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ContractError(
            f"{version_text.strip()} is too old: omagy needs tmux {oldest} or newer",
            "upgrade tmux, or run with --foreground",
        )
    return executable


def tmux_version(executable: str | None) -> str:
    """What ``tmux -V`` says; empty when it cannot be run."""
    return _output([executable, "-V"]) if executable else ""


def _output(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
