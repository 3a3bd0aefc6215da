"""What a commit brought is the same, whether git is asked about that commit or about every object of a history."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.workspace import Workspace, workspace
from omagy_supervisor.adapters.git.commands import Git
from omagy_supervisor.adapters.git.descent import brought
from omagy_supervisor.adapters.git.lane_git import LaneGit


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with workspace(tmp_path) as made:
        for name in ("dir/deep/kept", "dir/changed", "dir/gone", "file", "folder/inside"):
            made.write(name, name)
        made.commit()
        yield made


def lane_git(ws: Workspace) -> LaneGit:
    return LaneGit(Git(), ws.root, ws.root / ".git", ws.root / ".git")


def a_change_of_every_kind(ws: Workspace) -> None:
    """New, changed, gone and moved files; file to folder and folder to file; links to file and commit."""
    ws.write("dir/changed", "other")
    ws.write("dir/new/deeper/file", "new")
    ws.write("dir/empty", "")
    (ws.root / "dir/gone").rename(ws.root / "dir/moved")
    (ws.root / "dir/link").symlink_to("changed")
    (ws.root / "file").unlink()
    ws.write("file/inside", "was a file")
    (ws.root / "folder/inside").unlink()
    (ws.root / "folder").rmdir()
    ws.write("folder", "was a folder")
    ws.git("add", "-A")
    ws.git("update-index", "--add", "--cacheinfo", f"160000,{ws.git('rev-parse', 'HEAD')},module")


def test_one_commit_brings_what_the_same_tree_brings_in_two(ws: Workspace) -> None:
    """The second way asks for every object that the base has not; only the ids of the two commits differ."""
    base = ws.git("rev-parse", "HEAD")
    a_change_of_every_kind(ws)
    tree = ws.git("write-tree")
    one = ws.git("commit-tree", "-p", base, "-m", "one", tree)
    first = ws.git("commit-tree", "-p", base, "-m", "first", f"{base}^{{tree}}")
    two = ws.git("commit-tree", "-p", first, "-m", "two", tree)
    git = lane_git(ws)
    by_one, by_several = brought(git, one, base), brought(git, two, base)
    assert by_one.difference == by_several.difference
    assert by_one.descends
    assert by_several.descends
    commits = {name.encode() for name in (one, first, two)}
    # A file whose content the base has elsewhere is no new object; to name it as one costs a sync, nothing else.
    known = {ws.git("rev-parse", f"{base}:dir/gone").encode()}
    assert set(by_one.objects) - commits - known == set(by_several.objects) - commits - {b""}
    assert {one.encode(), tree.encode()} <= set(by_one.objects)


def test_a_commit_without_a_change_brings_itself(ws: Workspace) -> None:
    base = ws.git("rev-parse", "HEAD")
    same = ws.git("commit-tree", "-p", base, "-m", "same", f"{base}^{{tree}}")
    found = brought(lane_git(ws), same, base)
    assert (found.descends, found.difference.changes, found.objects[0]) == (True, (), same.encode())


def test_a_link_to_a_commit_is_seen_whatever_the_repository_says_of_it(ws: Workspace) -> None:
    """A candidate can commit a .gitmodules that has git ignore the link beside it."""
    base = ws.git("rev-parse", "HEAD")
    ws.write(".gitmodules", '[submodule "hidden"]\n\tpath = hidden\n\tignore = all\n')
    ws.git("add", "-A")
    ws.git("update-index", "--add", "--cacheinfo", f"160000,{base},hidden")
    one = ws.git("commit-tree", "-p", base, "-m", "one", ws.git("write-tree"))
    two = ws.git("commit-tree", "-p", one, "-m", "two", f"{one}^{{tree}}")
    for commit in (one, two):
        changed = [change.path for change in brought(lane_git(ws), commit, base).difference.changes]
        assert changed == [".gitmodules", "hidden"]
