"""Runs an evaluator: bounded in time and output, and nothing of it survives (contract section 2)."""

import contextlib
import ctypes
import os
import selectors
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, cast

import psutil

from omagy_autoresearch.evaluation import EvaluatorRun
from omagy_supervisor.files import read_regular
from omagy_supervisor.ports import Clock, Processes, Stops

RESULT_FILE = "OMAGY_RESULT_FILE"
_PR_SET_CHILD_SUBREAPER = 36
_TAIL = 1 << 20
_LOG_LIMIT = 16 << 20
_RESULT_LIMIT = 1 << 20
_GRACE_S = 5.0
_DRAIN_S = 1.0
_TICK_S = 0.05
_SWEEP_ROUNDS = 50


class ShellEvaluator:
    """Implements ports.Evaluator. ``cookie`` marks the processes of this run's evaluator."""

    def __init__(self, clock: Clock, stops: Stops, processes: Processes, cookie: str) -> None:
        self._clock = clock
        self._stops = stops
        self._processes = processes
        self._cookie = cookie

    def run(
        self, command: str, cwd: Path, environment: Mapping[str, str], limit_s: float, log: Path
    ) -> EvaluatorRun | None:
        result_file = Path(environment[RESULT_FILE])
        _remove(result_file)
        started = self._clock.monotonic_s()
        with _orphans_are_ours() as strays:
            try:
                process = _start(command, cwd, environment)
            except OSError as error:
                return EvaluatorRun(None, not_started=str(error))
            with contextlib.closing(_Output(process, log)) as output:
                timed_out = self._follow(process, output, limit_s)
                self._end_group(process)
                strays.end()
                output.drain(_DRAIN_S, self._clock.monotonic_s)
        self._sweep_elsewhere()
        if self._stops.now:
            return None
        result, problem = _result(result_file)
        return EvaluatorRun(
            exit_status=process.returncode if process.returncode >= 0 else None,
            signal=-process.returncode if process.returncode < 0 else None,
            timed_out_after_s=limit_s if timed_out else None,
            duration_s=round(self._clock.monotonic_s() - started, 3),
            stdout=output.tail("stdout"),
            stderr=output.tail("stderr"),
            result=result,
            result_problem=problem,
        )

    def _follow(self, process: subprocess.Popen[bytes], output: "_Output", limit_s: float) -> bool:
        """Take output until the leader ends; True when the limit ended the wait."""
        deadline = self._clock.monotonic_s() + limit_s
        with _exit_of(process) as ended:
            while process.poll() is None:
                left = deadline - self._clock.monotonic_s()
                if self._stops.now or left <= 0:
                    return left <= 0
                output.take(min(left, 1.0 if ended else _TICK_S), ended)
        return False

    def _end_group(self, process: subprocess.Popen[bytes]) -> None:
        """TERM, then KILL, for the evaluator's process group; returns once its leader has ended."""
        if process.poll() is None:
            _signal_group(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
        _signal_group(process.pid, signal.SIGKILL)
        process.wait()

    def _sweep_elsewhere(self) -> None:
        """Where orphans cannot be made ours, look for the cookie instead."""
        if sys.platform != "linux":
            self._processes.sweep(self._cookie)


def _start(command: str, cwd: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", command.encode("utf-8", "surrogateescape")],  # in a locale that lacks its letters, too
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _remove(path: Path) -> None:
    """Take away what an earlier evaluation left at ``path``."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def _result(path: Path) -> tuple[bytes | None, str]:
    """The content of the result file, None when there is none; and why it cannot be read, when it cannot."""
    try:
        return read_regular(path, _RESULT_LIMIT), ""
    except ValueError as error:
        return None, str(error)


class _Output:
    """The ends of stdout and stderr, and a log of both that stops growing at its limit."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._tails = {"stdout": bytearray(), "stderr": bytearray()}
        self._log = _opened(log)
        self._left = _LOG_LIMIT
        self._selector = selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ, "stdout")
        self._selector.register(process.stderr, selectors.EVENT_READ, "stderr")
        self._pipes = (process.stdout, process.stderr)

    def tail(self, name: str) -> bytes:
        return bytes(self._tails[name])

    def take(self, limit_s: float, wake: int | None = None) -> bool:
        """Take what is there, waiting at most ``limit_s`` or until ``wake`` is readable; False at the end."""
        if wake is not None and wake not in self._selector.get_map():
            self._selector.register(wake, selectors.EVENT_READ, None)
        for key, _ in self._selector.select(limit_s):
            if key.data is None:
                self._selector.unregister(key.fileobj)
                continue
            data = os.read(key.fd, 1 << 16)
            if data:
                self._add(cast("str", key.data), data)
            else:
                self._selector.unregister(key.fileobj)
        return any(key.data for key in self._selector.get_map().values())

    def _add(self, name: str, data: bytes) -> None:
        tail = self._tails[name]
        tail += data
        if len(tail) > 2 * _TAIL:
            del tail[:-_TAIL]
        if self._log is not None:
            try:
                self._log.write(data[: self._left])
            except OSError:  # a full disk must not change what the evaluator says
                self._close_log()
            self._left -= len(data)
            if self._left <= 0:
                self._close_log()

    def drain(self, limit_s: float, monotonic_s: Callable[[], float]) -> None:
        """Take what the ended processes left in the pipes."""
        deadline = monotonic_s() + limit_s
        while self.take(_TICK_S) and monotonic_s() < deadline:
            pass

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def close(self) -> None:
        self._close_log()
        self._selector.close()
        for pipe in self._pipes:
            pipe.close()


def _opened(log: Path) -> IO[bytes] | None:
    """None where it cannot be written: that must not keep us from the evaluator, which runs already."""
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.fdopen(os.open(log, flags, 0o644), "wb", buffering=0)
    return None


@contextlib.contextmanager
def _exit_of(process: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """A descriptor that becomes readable when ``process`` ends (Linux); None elsewhere."""
    fd = None
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):  # an older kernel, or a container that does not allow it
            fd = os.pidfd_open(process.pid)
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)


class _Strays:
    """Processes that became children of ours because the evaluator orphaned them."""

    def __init__(self) -> None:
        self._me = psutil.Process()
        self._before = {child.pid for child in self._me.children()}

    def end(self) -> None:
        """Kill them with all below them, until there are none."""
        for _ in range(_SWEEP_ROUNDS):
            found = [child for child in self._me.children() if child.pid not in self._before]
            if not found:
                return
            for root in found:
                for process in (root, *_below(root)):
                    with contextlib.suppress(psutil.Error):
                        process.kill()
            psutil.wait_procs(found, timeout=0.5)


def _below(root: psutil.Process) -> list[psutil.Process]:
    try:
        return root.children(recursive=True)
    except psutil.Error:
        return []


@contextlib.contextmanager
def _orphans_are_ours() -> Iterator[_Strays]:
    """While inside, orphaned descendants become children of this process (Linux) and can be ended."""
    strays = _Strays()
    _set_subreaper(1)
    try:
        yield strays
    finally:
        _set_subreaper(0)


def _set_subreaper(on: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, on, 0, 0, 0)
