"""git in one lane: every call names its admin folder, the shared git folder and its worktree."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from omagy_supervisor.adapters.git.commands import Git
from omagy_supervisor.adapters.git.nested import filter_settings, filters_inside
from omagy_supervisor.files import read_regular

_CONFIG_LIMIT = 1 << 20


class LaneGit:
    """Runs git in the lane at ``worktree``; ``environment`` is what every call gets."""

    def __init__(
        self, git: Git, worktree: Path, git_dir: Path, common_dir: Path, *, sparse: bool | None = None
    ) -> None:
        self._git = git
        self._sparse = sparse
        self._worktree = worktree
        self._configuration = (common_dir / "config", git_dir / "config.worktree")
        self._known: tuple[tuple[bytes, ...], frozenset[str]] | None = None
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
        """True when the repository checked out a part of itself at launch, before a session could say so."""
        if self._sparse is not None:
            return self._sparse
        return self.status("config", "--type=bool", "--get", "core.sparseCheckout")[1].strip() == b"true"

    def switch_off_planted_settings(self, repositories: Sequence[Path] = ()) -> None:
        """What somebody set in the repository's configuration since the last call has no effect on the next ones.

        Nor have filters of the ``repositories`` inside the worktree. One that was there at launch, in the user's own
        configuration, is handed over on git's command line, which wins over this.
        """
        texts, inside = self._read_configuration(), filters_inside(self._git, repositories)
        found = None if texts is None else (texts, inside)
        if found is None or found != self._known:
            self.environment |= self._without_planted_settings(inside)
        self._known = found

    def _read_configuration(self) -> tuple[bytes, ...] | None:
        """The very text of it; None where that is not all of it, or nothing that can be read."""
        try:
            texts = tuple(read_regular(path, _CONFIG_LIMIT) or b"" for path in self._configuration)
        except ValueError:
            return None
        complete = all(len(text) <= _CONFIG_LIMIT and b"include" not in text.lower() for text in texts)
        return texts if complete else None

    def _without_planted_settings(self, inside: frozenset[str]) -> dict[str, str]:
        sparse = self.sparse  # asked before it is set
        names = {*filter_settings(self._git, self._worktree, self.environment), *inside}
        off = {name: "" for name in sorted(names) if not name.endswith(".required")}
        off |= {f"{name.rpartition('.')[0]}.required": "false" for name in off}
        off["core.sparseCheckout"] = "true" if sparse else "false"
        numbered = list(enumerate(off.items()))
        variables = {f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in numbered}
        variables |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered}
        return {"GIT_CONFIG_COUNT": str(len(off)), **variables}
