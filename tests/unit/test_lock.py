"""The lock of a repository, held by real processes."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.workspace import PATIENCE_S
from omagy_supervisor.adapters.lock import Pointer, RunLock, lock_is_held, read_pointer, write_pointer
from omagy_supervisor.machine import this_machine

HOLDER = """
import os, subprocess, sys
from pathlib import Path
from omagy_supervisor.adapters.lock import RunLock
lock = RunLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
if sys.argv[2:]:
    child = subprocess.Popen(["cat"], stdin=sys.stdin, stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
sys.stdin.read()
"""


def _holder(path: Path, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _close(process: "subprocess.Popen[str]") -> None:
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        stream.close()
    process.wait(PATIENCE_S)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_a_lock_is_held_by_one(path: Path) -> None:
    """While one holds it nobody else gets it, not even the same process; afterwards anybody does."""
    one, other = RunLock(path), RunLock(path)
    assert one.acquire()
    assert not other.acquire()
    assert lock_is_held(path)
    one.release()
    assert not lock_is_held(path)
    assert other.acquire()
    other.release()


def test_releasing_twice_or_without_holding_is_harmless(path: Path) -> None:
    """A finaliser may run at any time, and never releases another's lock."""
    lock, other = RunLock(path), RunLock(path)
    lock.release()
    assert other.acquire()
    lock.release()
    assert lock_is_held(path)
    other.release()
    other.release()


def test_a_lock_that_nobody_made_is_free(path: Path) -> None:
    """Looking does not leave a file behind."""
    assert not lock_is_held(path)
    assert not path.exists()


def test_looking_is_not_holding(path: Path) -> None:
    """However many look at the same moment, none of them is taken for a run."""
    path.touch()
    with path.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert not lock_is_held(path)


def test_a_link_in_the_place_of_a_lock_is_not_followed(path: Path, tmp_path: Path) -> None:
    """A lock that leads elsewhere is nobody's."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    path.symlink_to(elsewhere)
    with pytest.raises(OSError, match=r".*"):
        RunLock(path).acquire()
    assert not lock_is_held(path)


def test_a_killed_holder_holds_nothing(path: Path) -> None:
    """kill -9 of the supervisor frees the lock at once: nobody has to guess from a pid."""
    process = _holder(path)
    try:
        assert _line(process) == "True"
        assert lock_is_held(path)
        assert not RunLock(path).acquire()
        process.kill()
        process.wait(PATIENCE_S)
        assert not lock_is_held(path)
        lock = RunLock(path)
        assert lock.acquire()
        lock.release()
    finally:
        process.kill()
        _close(process)


def test_a_child_of_the_holder_does_not_inherit_the_lock(path: Path) -> None:
    """A session or evaluator that outlives a killed supervisor cannot keep the next one out."""
    process = _holder(path, "with a child")
    try:
        assert _line(process) == "True"
        child = int(_line(process))
        process.kill()
        process.wait(PATIENCE_S)
        os.kill(child, 0)
        assert not lock_is_held(path)
    finally:
        process.kill()
        _close(process)


def test_the_pointer_is_read_back(tmp_path: Path) -> None:
    """Who was last active can be told to a person."""
    path = tmp_path / "state.json"
    host, boot = this_machine()
    pointer = Pointer("r", True, 12, 1.5, host, boot, "2026-01-31T12:00:00Z", "omagy")
    write_pointer(path, pointer)
    assert read_pointer(path) == pointer


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"run_id": 1, "active": true}', b'{"active": true}'])
def test_a_pointer_that_cannot_be_read_is_none(tmp_path: Path, data: bytes) -> None:
    """A damaged pointer blocks nobody."""
    path = tmp_path / "state.json"
    path.write_bytes(data)
    assert read_pointer(path) is None
    assert read_pointer(tmp_path / "missing") is None
    assert read_pointer(tmp_path) is None


def test_a_pointer_is_read_from_a_plain_file_alone(tmp_path: Path) -> None:
    """A pipe in its place blocks nobody, and a link is not followed."""
    path = tmp_path / "state.json"
    os.mkfifo(path)
    assert read_pointer(path) is None
    path.unlink()
    write_pointer(tmp_path / "real.json", Pointer("r", True))
    path.symlink_to(tmp_path / "real.json")
    assert read_pointer(path) is None


def test_a_lock_that_is_removed_is_released_and_leaves_no_file(path: Path) -> None:
    lock = RunLock(path)
    assert lock.acquire()
    lock.remove()
    assert not path.exists()
    lock.remove()
    other = RunLock(path)
    assert other.acquire()
    lock.remove()
    assert lock_is_held(path), "what another holds is not removed"
    other.release()


@pytest.mark.parametrize("third", [False, True])
def test_a_lock_that_was_removed_between_opening_and_taking_it_is_taken_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch, third: bool
) -> None:
    """Or two would hold it: one a file without a name, and whoever comes next the one that has it."""
    first, second, next_one = RunLock(path), RunLock(path), RunLock(path)
    assert first.acquire()
    take = fcntl.flock

    def between(then: Callable[[], object]) -> Callable[[int, int], None]:
        def flock(fd: int, how: int) -> None:
            monkeypatch.setattr(fcntl, "flock", take)
            then()
            take(fd, how)

        return flock

    def removed() -> None:
        first.remove()
        assert not third or next_one.acquire()

    monkeypatch.setattr(fcntl, "flock", between(removed))
    assert second.acquire() is not third
    assert lock_is_held(path)
    assert not RunLock(path).acquire()
