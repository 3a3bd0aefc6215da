"""What git says of the difference between two commits is read whole, whatever the paths look like."""

import pytest

from omagy_autoresearch.ledger import DiffStat
from omagy_autoresearch.surface import Change
from omagy_supervisor.adapters.git.trees import is_plain, new_objects, read_difference

_RAW = b":100644 %s 1111111 2222222 M\0%s\0"
_ROW = b":%s %s %s %s M\0%s\0"


def test_paths_that_look_like_rows_are_paths() -> None:
    paths = [b":100644 100644 1 2 M", b"3\t4\tb", b"plain\n:name", b"\xff"]
    raw = b"".join(_RAW % (b"100755", path) for path in paths)
    numbers = b"".join(b"%d\t2\t%s\0" % (added, path) for added, path in enumerate(paths))
    difference = read_difference(raw + numbers)
    assert difference.changes == tuple(
        Change(path.decode("utf-8", "surrogateescape"), "100644", "100755") for path in paths
    )
    assert difference.stat == DiffStat(4, 6, 8)


def test_a_binary_file_counts_without_lines() -> None:
    assert read_difference(_RAW % (b"100644", b"a") + b"-\t-\ta\0").stat == DiffStat(1, 0, 0)


def test_trees_are_objects_and_no_changes_and_links_to_commits_are_changes_and_no_objects() -> None:
    """Nothing that is gone is an object of the new side."""
    folder, file, link, nothing = b"040000", b"100644", b"160000", b"000000"
    out = (
        _ROW % (folder, folder, b"1", b"2", b"dir")
        + _ROW % (nothing, file, b"0", b"3", b"dir/new")
        + _ROW % (file, nothing, b"4", b"0", b"gone")
        + _ROW % (nothing, folder, b"0", b"5", b"gone")
        + _ROW % (link, link, b"6", b"7", b"module")
        + b"1\t0\tdir/new\0"
        + b"0\t1\tgone\0"
        + b"1\t1\tmodule\0"
    )
    assert new_objects(out) == [b"2", b"3", b"5"]
    assert [change.path for change in read_difference(out).changes] == ["dir/new", "gone", "module"]


def test_commits_that_are_equal_differ_in_nothing() -> None:
    difference = read_difference(b"")
    assert (difference.changes, difference.stat) == ((), DiffStat(0, 0, 0))


@pytest.mark.parametrize("path", ["a", "src/model v2.py", "a-b_c/d.e/f+g@h", "git", "a.git", "a..b"])
def test_an_ordinary_path_is_plain(path: str) -> None:
    assert is_plain(path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".git",
            "a/.git/hooks/x",
            ".GIT/config",
            "a/../b",
            "./a",
            "git~1/config",
            "GIT~1",
            ".git./config",
            "a/.git ",
        ),
        *(
            ".git::$INDEX_ALLOCATION",
            "a:b",
            "a\\.git\\config",
            ".g\u200cit/config",
            "\u200c.git",
            ".gitmodules",
            "gi7eba~1",
        ),
        *("", "/a", "a//b", "a/", "a\n", "a\n.git", "\udcff"),
    ],
)
def test_a_path_that_git_could_refuse_is_not_plain(path: str) -> None:
    assert not is_plain(path)
