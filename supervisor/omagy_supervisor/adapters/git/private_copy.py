"""A repository of omagy's own that holds one commit of the user's: what happens in it cannot reach theirs."""

from pathlib import Path

from omagy_supervisor.adapters.git.commands import Git
from omagy_supervisor.adapters.git.facts import RepositoryFacts

_BRANCH = "refs/heads/start"


def make_private_copy(git: Git, facts: RepositoryFacts, folder: Path) -> None:
    """Make ``folder`` a repository whose HEAD is that of ``facts``, with nothing checked out yet.

    The user's repository is only read, by a shallow fetch. Raises RepositoryError.
    """
    folder.mkdir(parents=True)
    form = git.line(facts.root, "rev-parse", "--show-object-format")
    git.run(folder, "init", "--quiet", "--template=", f"--object-format={form}", str(folder))
    allowed = ("-c", "uploadpack.allowAnySHA1InWant=true")
    source = f"file://{facts.common_dir}"
    fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1")
    only_files = {"GIT_ALLOW_PROTOCOL": "file", "GIT_NO_LAZY_FETCH": "1"}
    git.run(folder, *allowed, *fetch, source, f"{facts.head}:{_BRANCH}", env=only_files)
    git.run(folder, "symbolic-ref", "HEAD", _BRANCH)


def check_out(git: Git, folder: Path) -> None:
    """Write the files of the private copy in ``folder``. Raises RepositoryError."""
    git.run(folder, "reset", "--hard", "--quiet", "HEAD")
