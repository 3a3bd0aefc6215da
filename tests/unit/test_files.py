"""Files that are whole whenever they can be read."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.workspace import PATIENCE_S
from omagy_autoresearch.errors import StorageError
from omagy_supervisor.files import (
    Durability,
    cannot_write,
    make_folder,
    read_regular,
    replace_file,
    sweep_temporary,
    write_all,
    write_atomic,
)


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    """The path holds exactly the new bytes, and nothing else remains in the folder."""
    path = tmp_path / "f"
    for data in (b"one", b"", b"\0\xff" * 100_000):
        write_atomic(path, data)
        assert path.read_bytes() == data
    assert [found.name for found in tmp_path.iterdir()] == ["f"]


def test_a_reader_of_the_old_file_keeps_it(tmp_path: Path) -> None:
    """A file is replaced, not changed."""
    path = tmp_path / "f"
    write_atomic(path, b"old")
    with path.open("rb") as reader:
        write_atomic(path, b"new")
        assert reader.read() == b"old"


def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    """Neither a link in the file's place nor one in the temporary's place is written through."""
    target = tmp_path / "target"
    target.write_text("precious")
    path = tmp_path / "f"
    path.symlink_to(target)
    (tmp_path / ".f.omagy-tmp").symlink_to(target)
    write_atomic(path, b"new")
    assert not path.is_symlink()
    assert (path.read_text(), target.read_text()) == ("new", "precious")


def test_a_hard_link_is_replaced_and_its_twin_stays(tmp_path: Path) -> None:
    """The other name of a file keeps the old content."""
    twin = tmp_path / "twin"
    twin.write_text("precious")
    (tmp_path / "f").hardlink_to(twin)
    write_atomic(tmp_path / "f", b"new")
    assert twin.read_text() == "precious"


@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_a_file_has_the_mode_that_was_asked_for(tmp_path: Path, mode: int) -> None:
    """A private file is never readable by others, not even for a moment."""
    path = tmp_path / "f"
    path.write_text("")
    path.chmod(0o777)
    write_atomic(path, b"x", mode=mode)
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == mode & 0o077 & ~_umask()


def _umask() -> int:
    old = os.umask(0o022)
    os.umask(old)
    return old


@pytest.mark.parametrize("call", ["write", "fsync", "open"])
def test_a_failed_write_leaves_the_old_file_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Whatever fails, the old content stays whole and the temporary file goes."""
    path = tmp_path / "f"
    write_atomic(path, b"old")

    def full(*_args: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(StorageError) as caught:
            write_atomic(path, b"new")
    assert caught.value.message == f"{path} cannot be written: No space left on device"
    assert (caught.value.hint, caught.value.recoverable) == ("free some space, then resume", True)
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize(
    ("durability", "synced"),
    [(Durability.NONE, []), (Durability.WHOLE, ["file"]), (Durability.FULL, ["file", "folder"])],
)
def test_what_outlasts_a_power_cut_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability, synced: list[str]
) -> None:
    """A synced content under a name that is not is the old file or the new, and never an empty one."""
    seen: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda fd: seen.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
    )
    replace_file(tmp_path / "f", b"x", durability)
    assert seen == synced
    assert (tmp_path / "f").read_bytes() == b"x"


def test_short_writes_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that takes a few bytes at a time still gets all of them."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))
    with (tmp_path / "f").open("wb") as file:
        write_all(file.fileno(), b"0123456789")
    assert (tmp_path / "f").read_bytes() == b"0123456789"


@pytest.mark.parametrize("place", ["missing/f", "file/f", "folder"])
def test_a_place_that_cannot_hold_a_file_is_an_error(tmp_path: Path, place: str) -> None:
    """A missing folder, a file as a folder and a folder as a file are told by name."""
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "in").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        write_atomic(tmp_path / place, b"x")
    assert (tmp_path / "folder" / "in").exists()


@pytest.mark.parametrize(
    ("number", "recoverable"),
    [(errno.ENOSPC, True), (errno.EACCES, True), (errno.EROFS, True), (errno.EDQUOT, True), (errno.EIO, False)],
)
def test_a_fault_that_a_person_can_mend_lets_the_run_go_on(number: int, recoverable: bool) -> None:
    """A full disk is waited for; a dying one is not."""
    error = cannot_write(Path("/f"), OSError(number, os.strerror(number)))
    assert error.recoverable is recoverable
    assert os.strerror(number) in error.message


def test_folders_are_made_with_their_parents(tmp_path: Path) -> None:
    """Making a folder that is there is no error; a file in its place is."""
    make_folder(tmp_path / "a/b/c")
    make_folder(tmp_path / "a/b/c")
    (tmp_path / "f").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        make_folder(tmp_path / "f")


def test_what_killed_writes_left_is_swept(tmp_path: Path) -> None:
    """Temporary files of ours go, everything else stays."""
    for name in (".f.omagy-tmp", ".g.json.omagy-tmp", "f", ".f.tmp", "x.omagy-tmp"):
        (tmp_path / name).write_text("")
    sweep_temporary(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".f.tmp", "f", "x.omagy-tmp"]


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 500])
def test_a_regular_file_is_read_up_to_its_limit(tmp_path: Path, size: int) -> None:
    """One byte more than the limit is read, so that a caller can tell that there is more."""
    path = tmp_path / "f"
    path.write_bytes(b"x" * size)
    assert read_regular(path, 100) == b"x" * min(size, 101)


def test_a_large_file_is_read_in_parts(tmp_path: Path) -> None:
    """Files beyond one read of the system arrive whole."""
    path = tmp_path / "f"
    path.write_bytes(bytes(range(256)) * 1024)
    assert read_regular(path, 1 << 20) == bytes(range(256)) * 1024


def test_nothing_is_told_from_something(tmp_path: Path) -> None:
    """A missing file is None, which is not an empty one."""
    assert read_regular(tmp_path / "f", 10) is None


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


def _link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _socket(path: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o666)


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("make", [_fifo, _device, _link, _loop, _socket, Path.mkdir])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A pipe does not block, a device is not read, a link is not followed."""
    path = tmp_path / "f"
    try:
        make(path)
    except PermissionError:
        pytest.skip("this user may not make such a file")
    with pytest.raises(ValueError, match=r"it is not a regular file|it cannot be read|it is a link"):
        read_regular(path, 10)
