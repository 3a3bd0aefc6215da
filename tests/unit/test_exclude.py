"""Our lines in git's ``info/exclude``, between the user's own."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_supervisor.adapters.git.exclude import add_exclude_block, remove_exclude_block

OURS = [b"/results.tsv", b"/run.log", b"/candidate.json"]
USERS = [b"", b"*.o\n", b"# mine\r\n*.o\r\n", b"\xff\xfe\n\n\n", b"/results.tsv\n", b"no newline at the end"]


def _file(folder: Path) -> Path:
    return folder / "info" / "exclude"


@pytest.fixture
def common(tmp_path: Path) -> Path:
    (tmp_path / "info").mkdir()
    return tmp_path


@pytest.mark.parametrize("own", USERS)
def test_the_block_comes_and_goes_and_everything_else_stays(common: Path, own: bytes) -> None:
    """The user's bytes stand first and unchanged; afterwards nothing of ours is left."""
    _file(common).write_bytes(own)
    add_exclude_block(common)
    with_block = _file(common).read_bytes()
    assert with_block.startswith(own)
    assert with_block.count(b"# >>> omagy") == 1
    assert [line for line in with_block[len(own) :].splitlines() if line and not line.startswith(b"#")] == OURS
    remove_exclude_block(common)
    assert _file(common).read_bytes().removesuffix(b"\n") == own.removesuffix(b"\n")


def test_adding_twice_and_removing_twice_changes_nothing_more(common: Path) -> None:
    """Both can be repeated after a crash."""
    _file(common).write_bytes(b"*.o\n")
    add_exclude_block(common)
    once = _file(common).read_bytes()
    add_exclude_block(common)
    assert _file(common).read_bytes() == once
    remove_exclude_block(common)
    remove_exclude_block(common)
    assert _file(common).read_bytes() == b"*.o\n"


def test_a_missing_file_or_folder_is_made(tmp_path: Path) -> None:
    """A repository without info/exclude gets one; removing from nothing makes nothing."""
    remove_exclude_block(tmp_path)
    assert not _file(tmp_path).exists()
    add_exclude_block(tmp_path)
    assert _file(tmp_path).read_bytes().startswith(b"# >>> omagy")


def test_lines_that_the_user_wrote_behind_the_block_stay(common: Path) -> None:
    """The block may stand anywhere."""
    add_exclude_block(common)
    with _file(common).open("ab") as file:
        file.write(b"*.later\n")
    add_exclude_block(common)
    assert _file(common).read_bytes().endswith(b"*.later\n")
    remove_exclude_block(common)
    assert _file(common).read_bytes() == b"*.later\n"


def test_a_block_of_an_older_version_is_renewed(common: Path) -> None:
    """Lines between our marks are ours, whatever they were."""
    add_exclude_block(common)
    text = _file(common).read_bytes()
    _file(common).write_bytes(b"*.o\n" + text.replace(b"/run.log\n", b"/old.log\n") + b"*.p\n")
    add_exclude_block(common)
    assert _file(common).read_bytes() == b"*.o\n*.p\n" + text


def test_a_block_whose_end_somebody_took_costs_no_line_of_the_users(common: Path) -> None:
    """What stands between half a block and a whole one is not ours."""
    add_exclude_block(common)
    half = _file(common).read_bytes().replace(b"# <<< omagy\n", b"")
    _file(common).write_bytes(half + b"*.mine\n")
    add_exclude_block(common)
    remove_exclude_block(common)
    assert b"*.mine\n" in _file(common).read_bytes()


def test_a_link_to_a_file_elsewhere_stays_a_link(common: Path, tmp_path: Path) -> None:
    """A user may keep this file under version control somewhere else."""
    real = tmp_path / "dotfiles"
    real.write_bytes(b"*.o\n")
    _file(common).symlink_to(real)
    add_exclude_block(common)
    assert _file(common).is_symlink()
    assert b"/results.tsv" in real.read_bytes()
    remove_exclude_block(common)
    assert real.read_bytes() == b"*.o\n"


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_any_bytes_around_the_block_survive(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, after: bytes
) -> None:
    """Whatever else stands in the file, in whatever encoding, comes through."""
    folder = tmp_path_factory.getbasetemp() / "any"
    (folder / "info").mkdir(parents=True, exist_ok=True)
    _file(folder).write_bytes(before)
    add_exclude_block(folder)
    with _file(folder).open("ab") as file:
        file.write(after)
    remove_exclude_block(folder)
    joint = b"" if before.endswith(b"\n") or not before else b"\n"
    assert _file(folder).read_bytes() == before + joint + after
