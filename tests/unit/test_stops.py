"""Taking over the signals of a process, and giving them back."""

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from fakes.workspace import PATIENCE_S
from omagy_autoresearch.events import StopMode
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.stops import SIGNALS, SignalStops
from omagy_supervisor.commands.follow import leaving
from omagy_supervisor.commands.probing import stoppable
from omagy_supervisor.paths import RunFolder
from omagy_supervisor.ports import Wake

Taking = Callable[[Path], AbstractContextManager[SignalStops]]


@pytest.mark.parametrize("taking", [lambda _: leaving(), lambda place: stoppable(RunFolder(place))])
def test_signals_that_were_taken_over_are_given_back_with_all_that_it_took(taking: Taking, tmp_path: Path) -> None:
    """An interview tries and looks again and again: handlers, wake-up and open files are as before each time."""
    before = [signal.getsignal(number) for number in SIGNALS]
    opened = psutil.Process().num_fds()
    with taking(tmp_path) as stops:
        assert [signal.getsignal(number) for number in SIGNALS] != before
        assert stops.wait(0) is Wake.LIMIT
    assert [signal.getsignal(number) for number in SIGNALS] == before
    assert psutil.Process().num_fds() == opened
    assert signal.set_wakeup_fd(-1) == -1


def test_a_signal_that_was_taken_over_ends_the_waiting_at_once(tmp_path: Path) -> None:
    """However long the wait was to be."""
    with leaving() as stops:
        os.kill(os.getpid(), signal.SIGINT)
        assert stops.wait(PATIENCE_S) is Wake.STOP
        request = stops.pending()
    assert request is not None
    assert (request.mode, request.by) == (StopMode.NOW, "Ctrl-C")


def test_who_takes_over_no_signals_waits_all_the_same_and_opens_nothing(tmp_path: Path) -> None:
    """A process that somebody else ends is waited for without a say in signals."""
    opened = psutil.Process().num_fds()
    stops = SignalStops(tmp_path / "none", SystemClock())
    assert stops.wait(0) is Wake.LIMIT
    assert psutil.Process().num_fds() == opened
