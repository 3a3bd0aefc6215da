"""git's status, with paths as odd as file systems allow."""

import os

import pytest

from omagy_supervisor.adapters.git.status import parse_status
from omagy_supervisor.ports import LaneStatus

HEAD = "a" * 40
HASHES = f"{'1' * 40} {'2' * 40}"


def _status(*rows: str, branch: str = "autoresearch/m/t") -> LaneStatus:
    head = [f"# branch.oid {HEAD}", f"# branch.head {branch}"]
    return parse_status(b"".join(os.fsencode(row) + b"\0" for row in [*head, *rows]))


def test_a_clean_lane_has_head_and_branch() -> None:
    """Without a changed path nothing is dirty."""
    assert _status() == LaneStatus(HEAD, "autoresearch/m/t", ())


def test_a_detached_head_has_no_branch() -> None:
    """git's word for it is not taken for a name."""
    assert _status(branch="(detached)").branch is None


def test_a_branch_without_a_commit_has_no_head() -> None:
    """A session may leave an unborn branch behind."""
    assert parse_status(b"# branch.oid (initial)\0# branch.head new\0") == LaneStatus("", "new", ())


def test_headers_that_nobody_asked_for_are_passed_over() -> None:
    """Upstream and stash lines of newer gits are no paths."""
    assert _status("# branch.upstream origin/x", "# branch.ab +1 -0", "# stash 3").dirty == ()


ODD = [
    "plain.py",
    "with blank.py",
    " leading",
    "trailing ",
    "tab\there",
    "line\nbreak",
    'quo"te\\',
    "é日本",
    "\udcff\udcfe raw bytes",
    "# looks like a header",
    "? untracked",
    "1 .M N... 100644",
    "-rf",
    "a/b/c d/e",
]


@pytest.mark.parametrize("path", ODD)
def test_every_path_arrives_as_it_is(path: str) -> None:
    """Changed, unmerged and untracked paths are told apart from their fields, whatever is in their names."""
    assert _status(f"1 .M N... 100644 100644 100644 {HASHES} {path}").dirty == (path,)
    assert _status(f"1 A. N... 000000 100644 100644 {HASHES} {path}").dirty == (path,)
    assert _status(f"u UU N... 100644 100644 100644 100644 {HASHES} {'3' * 40} {path}").dirty == (path,)
    assert _status(f"? {path}").dirty == (path,)


def test_paths_keep_their_order() -> None:
    """Several rows are several paths."""
    rows = [f"1 .M N... 100644 100644 100644 {HASHES} b", "? a", "? folder/"]
    assert _status(*rows).dirty == ("b", "a", "folder/")


@pytest.mark.parametrize("state", ["SC..", "S.M.", "S..U", "SCMU"])
def test_a_submodule_ends_in_a_slash(state: str) -> None:
    """A changed submodule is told from a changed file."""
    assert _status(f"1 .M {state} 160000 160000 160000 {HASHES} sub dir").dirty == ("sub dir/",)


def test_ignored_files_are_not_dirty() -> None:
    """Caches and dependencies are nobody's leftovers."""
    assert _status("! build/").dirty == ()


def test_an_empty_answer_is_no_status_of_anything() -> None:
    """Nothing is invented."""
    assert parse_status(b"") == LaneStatus("", None, ())
