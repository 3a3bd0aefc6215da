"""An environment handed over through a pipe."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.workspace import PATIENCE_S
from omagy_supervisor.handover import HandoverError, make_pipe, offer, receive


def _still(_seconds: float) -> bool:
    return True


class Giver:
    """Offers a payload from a thread of its own."""

    def __init__(self, path: Path, payload: dict[str, Any], expected: Callable[[float], bool] = _still) -> None:
        self.error: HandoverError | None = None
        self._thread = threading.Thread(target=self._offer, args=(path, payload, expected), daemon=True)
        self._thread.start()

    def _offer(self, path: Path, payload: dict[str, Any], expected: Callable[[float], bool]) -> None:
        try:
            offer(path, payload, expected)
        except HandoverError as error:
            self.error = error

    def finished(self) -> HandoverError | None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self.error


@pytest.fixture
def path(tmp_path: Path) -> Path:
    make_pipe(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("size", [0, 10, 1 << 16, (1 << 16) + 1, 1 << 20])
def test_a_payload_arrives_whole_whatever_its_size(path: Path, size: int) -> None:
    """An environment larger than a pipe's buffer arrives as it was."""
    payload = {"environment": {"SECRET": "é" * size}, "argv": ["a", "b\n"]}
    giver = Giver(path, payload)
    assert receive(path) == payload
    assert giver.finished() is None
    assert not path.exists(), "a pipe is used once"


def test_only_its_owner_can_open_a_pipe(tmp_path: Path) -> None:
    """Secrets pass through it, so its mode is 0600, whatever stood there before and whatever the umask."""
    path = tmp_path / "pipe"
    path.write_text("left by a killed supervisor")
    old = os.umask(0)
    try:
        make_pipe(path)
    finally:
        os.umask(old)
    found = path.stat()
    assert stat.S_ISFIFO(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o600


def test_a_reader_that_never_comes_is_waited_for_as_long_as_it_can_come(path: Path) -> None:
    """The wait asks whether it still makes sense, and ends when it does not; the pipe goes."""
    asked: list[float] = []

    def expected(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) < 5

    with pytest.raises(HandoverError, match="nobody came to take it"):
        offer(path, {}, expected)
    assert len(asked) == 5


def test_a_writer_that_never_comes_is_given_up(path: Path) -> None:
    """The runner does not wait for ever for a supervisor that died."""
    with pytest.raises(HandoverError, match="nobody wrote to it"):
        receive(path, patience_s=0.01)


def test_a_reader_that_goes_away_is_told(path: Path) -> None:
    """A runner that was killed while it read is noticed."""
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    giver = Giver(path, {"x": "y" * (1 << 20)})
    while not _read(reader):
        pass
    os.close(reader)
    error = giver.finished()
    assert error is not None
    assert "went away" in str(error)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 100)
    except BlockingIOError:
        return b""


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "closed it without a word"),
        (b'{"argv": ["a"', "cut short"),
        (b"[]", "not what was expected"),
        (b'{"a": "\\u00', "cut short"),
    ],
)
def test_a_writer_that_stops_in_the_middle_is_told(path: Path, data: bytes, problem: str) -> None:
    """Half an environment is never used."""
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY)
    found: list[object] = []

    def take() -> None:
        try:
            found.append(receive(path))
        except Exception as error:
            found.append(error)

    taker = threading.Thread(target=take, daemon=True)
    taker.start()
    os.close(reader)
    _when_opened(taker, path)
    os.write(writer, data)
    os.close(writer)
    taker.join(PATIENCE_S)
    assert isinstance(found[0], HandoverError), found
    assert problem in str(found[0])


def _when_opened(taker: threading.Thread, path: Path) -> None:
    """Wait until the taker has the pipe open: only then can a writer open it without blocking."""
    while taker.is_alive():
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            continue
        return


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir, lambda path: path.write_text("{}") and None])
def test_what_is_no_pipe_is_an_error(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A missing pipe is told by its path, and nothing else is taken for one that delivers."""
    path = tmp_path / "pipe"
    make(path)
    if path.is_file():
        assert receive(path) == {}
        return
    with pytest.raises((HandoverError, OSError)):
        receive(path, patience_s=0.01)
