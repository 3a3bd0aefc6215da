"""Copies that a run makes of the user's files: whole or not there, whatever stands in their place."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.mission import Contract, EvaluatorSettings, WorktreeSettings
from omagy_autoresearch.plan import AgentChoice, AgentKind, RunPlan
from omagy_supervisor.copying import copy_in

PLAN = RunPlan(
    *("m-1", "1", "m", "missions/m", "", "", "", "autoresearch/m/1", "", "", "", ""),
    Contract(EvaluatorSettings("true")),
    AgentChoice(AgentKind.COMMAND, "agent"),
)


@pytest.fixture
def lane(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    (tmp_path / "lane").mkdir()
    return tmp_path / "lane"


def copying(lane: Path, *names: str) -> RunPlan:
    contract = replace(PLAN.contract, worktree=WorktreeSettings(copy=names))
    return replace(PLAN, repo_root=str(lane.with_name("repo")), contract=contract)


def test_a_copy_that_was_cut_short_is_made_again(lane: Path) -> None:
    """Half a folder would be measured with for the rest of the run."""
    data = lane.with_name("repo") / "data"
    data.mkdir()
    for name in ("first", "last"):
        (data / name).write_text(name)
    (data / "middle").symlink_to(data / "middle")  # as one that cannot be read
    os.mkfifo(data / "pipe")
    with pytest.raises(BlockedError, match=r"worktree\.copy: data cannot be copied"):
        copy_in(copying(lane, "data"), lane)
    assert list(lane.iterdir()) == []
    for name in ("middle", "pipe"):
        (data / name).unlink()
        (data / name).write_text(name)
    copy_in(copying(lane, "data"), lane)
    assert {path.name for path in (lane / "data").iterdir()} == {"first", "last", "middle", "pipe"}
    assert [path.name for path in lane.parent.iterdir() if "copying" in path.name] == []


IN_PLACE: dict[str, Callable[[Path], None]] = {
    "a folder": lambda path: (path / "below").mkdir(parents=True),
    "a pipe": os.mkfifo,
    "a link": lambda path: path.symlink_to("/dev/null"),
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "a file": lambda path: path.touch(),
}


@pytest.mark.parametrize("stands", IN_PLACE.values(), ids=IN_PLACE)
def test_a_copy_replaces_what_a_session_put_in_its_place(lane: Path, stands: Callable[[Path], None]) -> None:
    """Or no later candidate could be measured."""
    for name in (".env", "data/a"):
        (lane.with_name("repo") / name).parent.mkdir(exist_ok=True)
        (lane.with_name("repo") / name).write_text("mine")
    stands(lane / ".env")
    if stands is not IN_PLACE["a folder"]:
        stands(lane / "data")
    copy_in(copying(lane, ".env", "data"), lane)
    assert (lane / ".env").read_text() == "mine"
    assert (lane / "data").is_dir()
    assert not (lane / "data").is_symlink()


def test_links_inside_a_copied_folder_stay_links_however_they_name_it(lane: Path) -> None:
    """One that names its own folder would be followed into itself without end."""
    data = lane.with_name("repo") / "sub/data"
    (data / "v1").mkdir(parents=True)
    (data / "current").symlink_to("../data/v1")
    (data / "itself").symlink_to("../data")
    copy_in(copying(lane, "sub/data"), lane)
    copied = lane / "sub/data"
    assert (copied / "current").readlink() == Path("../data/v1")
    assert (copied / "itself").readlink() == Path("../data")


def test_a_folder_that_nobody_may_write_is_copied_as_it_is(lane: Path) -> None:
    """As data sets often are."""
    data = lane.with_name("repo") / "data"
    data.mkdir()
    (data / "a").write_text("a")
    data.chmod(0o555)
    copy_in(copying(lane, "data"), lane)
    assert ((lane / "data/a").read_text(), stat.S_IMODE((lane / "data").stat().st_mode)) == ("a", 0o555)
