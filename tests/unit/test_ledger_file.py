"""``iteration-ledger.json``: whole whenever it is read, for every reader, at a cost that does not grow."""

import errno
import fcntl
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.workspace import PATIENCE_S
from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.ledger import Entry
from omagy_supervisor.adapters.ledger_file import LedgerFile
from unit.histories import History


def _entry(number: int) -> Entry:
    return msgspec.structs.replace(History().measured().last, iteration=number, description=f"é {number}")


ENTRIES = [_entry(number) for number in range(12)]


def _read(path: Path) -> dict[str, Any]:
    data = json.loads(path.read_bytes())
    assert isinstance(data, dict)
    return data


def _numbers(path: Path) -> list[int]:
    return [entry["iteration"] for entry in _read(path)["entries"]]


def _rewritten(folder: Path, entries: list[Entry], outcome: str | None = None, reason: str | None = None) -> bytes:
    """The bytes of a ledger that is written in one go."""
    path = folder / "whole.json"
    LedgerFile(path, "r", entries, outcome, reason)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "iteration-ledger.json"


@pytest.fixture
def shadow(path: Path) -> Path:
    return path.with_name(".iteration-ledger.json.shadow")


def _can_swap(folder: Path) -> bool:
    """Whether this system has what the constant-cost way needs."""
    if sys.platform != "linux":
        return False
    fd = os.open(folder / "probe", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


@pytest.mark.parametrize("given", [0, 1, 2, 5])
def test_the_ledger_is_whole_after_every_append(path: Path, tmp_path: Path, given: int) -> None:
    """Whatever it began with, each append leaves the same bytes as writing all of it anew."""
    ledger = LedgerFile(path, "r", ENTRIES[:given], None, None)
    assert path.read_bytes() == _rewritten(tmp_path, ENTRIES[:given])
    for count in range(given, len(ENTRIES)):
        ledger.append(ENTRIES[count])
        assert path.read_bytes() == _rewritten(tmp_path, ENTRIES[: count + 1])


def test_three_hundred_appends_equal_a_full_rewrite(path: Path, tmp_path: Path) -> None:
    """Nothing drifts over a long run."""
    entries = [_entry(number) for number in range(300)]
    ledger = LedgerFile(path, "r", [], None, None)
    for entry in entries:
        ledger.append(entry)
    assert path.read_bytes() == _rewritten(tmp_path, entries)
    assert _numbers(path) == list(range(300))


def test_an_append_swaps_two_files_instead_of_writing_all(path: Path, shadow: Path, tmp_path: Path) -> None:
    """Where the system can, the same two files take turns: the cost is that of one entry."""
    if not _can_swap(tmp_path):
        pytest.skip("this file system has no leases")
    ledger = LedgerFile(path, "r", ENTRIES[:2], None, None)
    one, other = path.stat().st_ino, shadow.stat().st_ino
    for count, entry in enumerate(ENTRIES[2:8]):
        ledger.append(entry)
        expected = (other, one) if count % 2 == 0 else (one, other)
        assert (path.stat().st_ino, shadow.stat().st_ino) == expected


def test_a_reader_that_holds_the_ledger_open_sees_no_change(path: Path, tmp_path: Path) -> None:
    """Whoever opened the file reads one whole document to its end, however long that takes."""
    ledger = LedgerFile(path, "r", ENTRIES[:1], None, None)
    readers = []
    for count in range(1, 9):
        reader = path.open("rb")
        readers.append((reader, path.read_bytes()))
        ledger.append(ENTRIES[count])
        assert path.read_bytes() == _rewritten(tmp_path, ENTRIES[: count + 1])
    for reader, seen in readers:
        with reader:
            assert reader.read() == seen


def test_after_the_readers_are_gone_the_swap_is_used_again(path: Path, shadow: Path, tmp_path: Path) -> None:
    """One slow reader costs one rewrite, not the whole night."""
    if not _can_swap(tmp_path):
        pytest.skip("this file system has no leases")
    ledger = LedgerFile(path, "r", ENTRIES[:1], None, None)
    ledger.append(ENTRIES[1])
    with shadow.open("rb"):
        ledger.append(ENTRIES[2])
    before = shadow.stat().st_ino
    ledger.append(ENTRIES[3])
    assert path.stat().st_ino == before
    assert _numbers(path) == [0, 1, 2, 3]


def _truncated(shadow: Path) -> None:
    os.truncate(shadow, 10)


def _emptied(shadow: Path) -> None:
    os.truncate(shadow, 0)


def _deleted(shadow: Path) -> None:
    shadow.unlink()


def _longer(shadow: Path) -> None:
    with shadow.open("ab") as file:
        file.write(b"junk" * 10_000)


def _a_pipe(shadow: Path) -> None:
    shadow.unlink()
    os.mkfifo(shadow)


def _a_link(shadow: Path) -> None:
    target = shadow.with_name("precious")
    shadow.replace(target)
    shadow.symlink_to(target)


def _a_folder(shadow: Path) -> None:
    shadow.unlink()
    shadow.mkdir()


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("harm", [_truncated, _emptied, _deleted, _longer, _a_pipe, _a_link, _a_folder])
def test_harm_to_the_shadow_does_not_reach_the_ledger(
    path: Path, shadow: Path, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    """Whatever becomes of the second copy, the document is whole after the next appends."""
    ledger = LedgerFile(path, "r", ENTRIES[:1], None, None)
    for count in (1, 2):
        ledger.append(ENTRIES[count])
    harm(shadow)
    for count in (3, 4, 5):
        ledger.append(ENTRIES[count])
        assert path.read_bytes() == _rewritten(tmp_path, ENTRIES[: count + 1])


def test_a_link_in_the_shadows_place_is_not_written_through(path: Path, shadow: Path, tmp_path: Path) -> None:
    """A file that a link names stays as it was."""
    ledger = LedgerFile(path, "r", ENTRIES[:1], None, None)
    precious = tmp_path / "precious"
    precious.write_bytes(b"x" * 100_000)
    shadow.unlink()
    shadow.symlink_to(precious)
    for entry in ENTRIES[1:4]:
        ledger.append(entry)
    assert precious.read_bytes() == b"x" * 100_000


def test_a_ledger_that_somebody_deleted_is_back_with_the_next_entry(path: Path, tmp_path: Path) -> None:
    """The document does not depend on what lies on the disk."""
    ledger = LedgerFile(path, "r", ENTRIES[:2], None, None)
    path.unlink()
    ledger.append(ENTRIES[2])
    assert path.read_bytes() == _rewritten(tmp_path, ENTRIES[:3])


def test_an_end_is_recorded_and_taken_back_by_a_resume(path: Path, tmp_path: Path) -> None:
    """The outcome stands in the ledger of an ended run, and not in that of one that goes on."""
    ledger = LedgerFile(path, "r", ENTRIES[:2], None, None)
    ledger.close_with("userinterlude", "stopped by Ctrl-C")
    assert (_read(path)["lifecycle_outcome"], _read(path)["stop_reason"]) == ("userinterlude", "stopped by Ctrl-C")
    assert path.read_bytes() == _rewritten(tmp_path, ENTRIES[:2], "userinterlude", "stopped by Ctrl-C")
    ledger.append(ENTRIES[2])
    assert path.read_bytes() == _rewritten(tmp_path, ENTRIES[:3])
    resumed = LedgerFile(path, "r", ENTRIES[:3], "blocked", "a long reason " * 1000)
    resumed.append(ENTRIES[3])
    assert path.read_bytes() == _rewritten(tmp_path, ENTRIES[:4])


def test_the_ledger_is_durable_before_append_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the content and the names are synchronised."""
    ledger = LedgerFile(path, "r", ENTRIES[:1], None, None)
    kinds: list[str] = []
    real = os.fsync

    def watched(fd: int) -> None:
        kinds.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
        real(fd)

    monkeypatch.setattr(os, "fsync", watched)
    ledger.append(ENTRIES[1])
    assert kinds[0] == "file"
    assert "folder" in kinds


def test_a_full_disk_is_an_error_and_the_old_ledger_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that could not be written is told, and what readers see is the document before it."""
    ledger = LedgerFile(path, "r", ENTRIES[:2], None, None)

    def full(_fd: int, _data: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StorageError, match="No space left") as caught:
            ledger.append(ENTRIES[2])
    assert caught.value.recoverable
    assert _numbers(path) == [0, 1]
