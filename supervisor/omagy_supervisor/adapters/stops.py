"""Requests to stop, as signals and as the request file that the stop command writes."""

import contextlib
import json
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from omagy_autoresearch.events import StopMode, StopRequested
from omagy_supervisor.files import read_regular
from omagy_supervisor.ports import Clock, Wake

_LONGEST_POLL_S = 20.0
_REQUEST_LIMIT = 1000
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def requested_stop(request_file: Path) -> StopMode | None:
    """What the stop command asked of the active run; None when it asked for nothing that can be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return StopMode(json.loads(read_regular(request_file, _REQUEST_LIMIT) or b"")["mode"])
    return None


class SignalStops:
    """Implements ports.Stops. A second Ctrl-C changes nothing: stopping is under way and bounded in time."""

    def __init__(self, request_file: Path, clock: Clock) -> None:
        self._request_file = request_file
        self._clock = clock
        self._pending: StopRequested | None = None
        self._now = False
        self._wake_read: int | None = None

    def install(self) -> None:
        """Take over the signals of this process; a request left for an earlier supervisor is dropped."""
        self._take_over()

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """As ``install``; at the end the signals are as before."""
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        wakeup, pipe = self._take_over()
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self._wake_read = None
            for end in pipe:
                os.close(end)

    def _take_over(self) -> tuple[int, tuple[int, int]]:
        """The wake-up before, and the pipe that is ours."""
        with contextlib.suppress(OSError):
            self._request_file.unlink()
        pipe = os.pipe()
        for end in pipe:
            os.set_blocking(end, False)
        self._wake_read = pipe[0]
        wakeup = signal.set_wakeup_fd(pipe[1], warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._on_signal)
        return wakeup, pipe

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._ask(self._request(number))

    def _request(self, number: int) -> StopRequested:
        if number == signal.SIGINT:
            return StopRequested(StopMode.NOW, "Ctrl-C")
        if number == signal.SIGHUP:
            return StopRequested(StopMode.NOW, "SIGHUP (its tmux window or terminal was closed)")
        asked = requested_stop(self._request_file)
        if asked is not None:
            return StopRequested(asked, "omagy autoresearch stop")
        return StopRequested(StopMode.NOW, "SIGTERM")

    def _ask(self, request: StopRequested) -> None:
        if self._now:
            return
        self._pending = request
        self._now = request.mode is StopMode.NOW

    @property
    def now(self) -> bool:
        return self._now

    def pending(self) -> StopRequested | None:
        return self._pending

    def take(self, request: StopRequested) -> None:
        if self._pending == request:
            self._pending = None

    def wait(self, limit_s: float, ready_fd: int | None = None) -> Wake:
        deadline = self._clock.monotonic_s() + limit_s
        poll = select.poll()
        if self._wake_read is not None:
            poll.register(self._wake_read, select.POLLIN)
        if ready_fd is not None:
            poll.register(ready_fd, select.POLLIN | select.POLLHUP)
        while True:
            if self._now:
                return Wake.STOP
            left = deadline - self._clock.monotonic_s()
            if left <= 0:
                return Wake.LIMIT
            # poll's own clock stands still while the machine sleeps, so look at ours now and then.
            ready = {fd for fd, _ in poll.poll(min(left, _LONGEST_POLL_S) * 1000)}
            if self._wake_read in ready:
                _drain(self._wake_read)
            if ready_fd is not None and ready_fd in ready:
                return Wake.READY


def _drain(pipe: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(pipe, 4096):
            pass
