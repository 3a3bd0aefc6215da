"""git in one lane: every call names its admin folder, the shared git folder and its worktree."""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from omagy_supervisor.adapters.git.commands import Git
from omagy_supervisor.files import read_regular

_CONFIG_LIMIT = 1 << 20


class LaneGit:
    """Runs git in the lane at ``worktree``; ``environment`` is what every call gets."""

    def __init__(self, git: Git, worktree: Path, git_dir: Path, common_dir: Path) -> None:
        self._git = git
        self._worktree = worktree
        self._configuration = (common_dir / "config", git_dir / "config.worktree")
        self._known: tuple[bytes, ...] | None = None
        self.environment = {
            "GIT_DIR": str(git_dir),
            "GIT_COMMON_DIR": str(common_dir),
            "GIT_WORK_TREE": str(worktree),
        }

    def status(self, *args: str, env: Mapping[str, str] | None = None) -> tuple[int, bytes, str]:
        """Exit status, stdout and stderr. Raises RepositoryError only for a command that did not end."""
        return self._git.status(self._worktree, *args, env={**self.environment, **(env or {})})

    def run(self, *args: str, env: Mapping[str, str] | None = None) -> bytes:
        """stdout. Raises RepositoryError with git's own words."""
        return self._git.run(self._worktree, *args, env={**self.environment, **(env or {})})

    def line(self, *args: str, env: Mapping[str, str] | None = None) -> str:
        """stdout as one line of text. Raises RepositoryError."""
        return self._git.line(self._worktree, *args, env={**self.environment, **(env or {})})

    @cached_property
    def sparse(self) -> bool:
        """True when this is how the repository checks out a part of itself; asked before a session can say so."""
        return self.status("config", "--type=bool", "--get", "core.sparseCheckout")[1].strip() == b"true"

    def switch_off_planted_settings(self) -> None:
        """What somebody set in the repository's configuration since the last call has no effect on the next ones.

        A filter that was there at launch is handed over on git's command line, which wins over this.
        """
        found = self._read_configuration()
        if found is None or found != self._known:
            self.environment |= self._without_planted_settings()
        self._known = found

    def _read_configuration(self) -> tuple[bytes, ...] | None:
        """The very text of it; None where that is not all of it, or nothing that can be read."""
        try:
            texts = tuple(read_regular(path, _CONFIG_LIMIT) or b"" for path in self._configuration)
        except ValueError:
            return None
        complete = all(len(text) <= _CONFIG_LIMIT and b"include" not in text.lower() for text in texts)
        return texts if complete else None

    def _without_planted_settings(self) -> dict[str, str]:
        sparse = self.sparse  # asked before it is set
        names = self.status("config", "-z", "--name-only", "--get-regexp", "^filter[.]")[1]
        off = {os.fsdecode(name): "" for name in names.split(b"\0") if name and not name.endswith(b".required")}
        off |= {f"{name.rpartition('.')[0]}.required": "false" for name in off}
        off["core.sparseCheckout"] = "true" if sparse else "false"
        numbered = list(enumerate(off.items()))
        variables = {f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in numbered}
        variables |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered}
        return {"GIT_CONFIG_COUNT": str(len(off)), **variables}
