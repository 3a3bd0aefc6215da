"""The copy in which the interview tries an evaluator: made with omagy's own git, which else may fetch nothing."""

from pathlib import Path

from fakes.sample_repositories import PYTEST, make_repository
from omagy_supervisor.adapters.git.facts import find_repository
from omagy_supervisor.adapters.git.private_copy import check_out, make_private_copy
from omagy_supervisor.bootstrap import users_git
from omagy_supervisor.settings import read_settings


def test_a_private_copy_holds_the_users_commit(tmp_path: Path) -> None:
    """Its HEAD is the user's, with all files, whatever the user's own environment says of protocols."""
    root = make_repository(tmp_path / "a repository ü", PYTEST)
    git = users_git(
        read_settings({"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "GIT_ALLOW_PROTOCOL": "https"}), root
    )
    facts = find_repository(git, root)
    copy = tmp_path / "copy"
    make_private_copy(git, facts, copy)
    check_out(git, copy)
    assert git.line(copy, "rev-parse", "HEAD") == facts.head
    assert (copy / "tests/test_prices.py").read_text() == PYTEST["tests/test_prices.py"]
    assert git.run(root, "status", "--porcelain", "--ignored") == b""
