"""Where commits are measured (evaluator.isolation): in the lane, or in a checkout that no session can reach."""

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from omagy_autoresearch.errors import RepositoryError
from omagy_autoresearch.names import ref_root
from omagy_autoresearch.plan import RunPlan
from omagy_supervisor.adapters.git.commands import Git
from omagy_supervisor.adapters.git.status import parse_status
from omagy_supervisor.files import remove, write_atomic
from omagy_supervisor.ports import Lane

_OBEYED = ("config", "config.worktree", "commondir", "info", "hooks", "objects/info")


class LaneCheckout:
    """Implements ports.Checkout on the lane itself: fast, with its caches, and with what is ignored in it."""

    name = "lane"

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def place(self, commit: str, baseline: str, protected: tuple[str, ...]) -> Path:  # noqa: ARG002
        self._lane.converge(commit)
        return self._lane.worktree

    def dirt(self) -> tuple[str, ...]:
        return self._lane.status().dirty

    def settle(self) -> None:
        """In the lane everything that is ignored stays."""

    def close(self) -> None:
        """The lane is the person's to look at."""


class FreshCheckout:
    """Implements ports.Checkout on a bare repository of omagy's own; only a commit's objects are fetched into it.

    Nothing of the lane's folder, index, configuration or ignored files reaches it. It is reused for all of a run.
    """

    name = "fresh"

    def __init__(self, git: Git, plan: RunPlan) -> None:
        self._git = git
        self._run = plan.run_id
        self._source = Path(plan.common_dir)
        self.folder = Path(plan.worktree_path).with_name(Path(plan.worktree_path).name + ".evaluation")
        self._work_tree = self.folder / "checkout"
        self._git_dir = self.folder / "objects.git"
        self._env = {
            "GIT_DIR": str(self._git_dir),
            "GIT_WORK_TREE": str(self._work_tree),
            "GIT_INDEX_FILE": str(self._git_dir / "index"),
        }
        self._settled = self.folder / "made-by-set-up"

    def place(self, commit: str, baseline: str, protected: tuple[str, ...]) -> Path:
        self._ensure()
        for one in dict.fromkeys((baseline, commit)):
            self._fetch(one)
        self._make_equal(commit)
        if protected and commit != baseline:
            self._take_protected(baseline, protected)
        return self._work_tree

    def dirt(self) -> tuple[str, ...]:
        # No look into repositories: none is checked out, and one that was put there has settings of its own.
        form = ("--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
        return parse_status(self._do("status", *form)).dirty

    def settle(self) -> None:
        write_atomic(self._settled, b"".join(path + b"\0" for path in self._ignored()), durable=False)

    def _ignored(self) -> list[bytes]:
        """What git ignores in the checkout; a folder of which everything is ignored stands for all below it."""
        listing = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
        return [path for path in self._do(*listing).split(b"\0") if path]

    def _remove_ignored(self) -> None:
        """Ignored files that no set-up made were left by candidates while they were measured."""
        with contextlib.suppress(FileNotFoundError):
            settled = set(self._settled.read_bytes().split(b"\0"))
            for path in self._ignored():
                if path not in settled:
                    remove(self._work_tree / os.fsdecode(path))
            return
        self._do("clean", "-ffdqX")

    def _do(self, *args: str, env: Mapping[str, str] | None = None) -> bytes:
        return self._git.run(self._work_tree, *args, env={**self._env, **(env or {})})

    def _ensure(self) -> None:
        """Somebody may have written into it meanwhile: what git obeys there is made anew each time."""
        self._work_tree.mkdir(parents=True, exist_ok=True)
        if self._git_dir.is_symlink() or not (self._git_dir / "HEAD").is_file():
            remove(self._git_dir)
        for name in _OBEYED:
            remove(self._git_dir / name)
        self._git.run(self.folder, "init", "--quiet", "--bare", "--template=", str(self._git_dir))
        for lock in self._git_dir.glob("*.lock"):
            with contextlib.suppress(FileNotFoundError):
                lock.unlink()

    def _has(self, commit: str) -> bool:
        return self._git.status(self._work_tree, "cat-file", "-e", f"{commit}^{{tree}}", env=self._env)[0] == 0

    def _fetch(self, commit: str) -> None:
        """Only this commit's own objects: a shallow fetch by its id, which proves what came."""
        if self._has(commit):
            return
        source = f"file://{self._source}"
        refspec = f"{commit}:{ref_root(self._run)}/{commit[:16]}"
        allowed = ("-c", "uploadpack.allowAnySHA1InWant=true")
        only_files = {"GIT_ALLOW_PROTOCOL": "file"}
        fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1")
        self._do(*allowed, *fetch, source, refspec, env=only_files)

    def _make_equal(self, commit: str) -> None:
        """A new index each time; what a set-up made stays, so that it is not made for every candidate."""
        with contextlib.suppress(FileNotFoundError):
            (self._git_dir / "index").unlink()
        self._do("read-tree", "--reset", commit)
        self._do("checkout-index", "--all", "--force", "--quiet")
        self._do("clean", "-ffdq")
        self._remove_ignored()
        self._do("update-ref", "--no-deref", "HEAD", commit)
        left = self.dirt()
        if left:
            self._start_over()
            raise RepositoryError(
                f"the evaluation checkout cannot be brought to {commit[:12]}: {', '.join(left[:3])}",
                "it is made anew by the next start",
                recoverable=True,
            )

    def _start_over(self) -> None:
        shutil.rmtree(self._work_tree, ignore_errors=True)

    def _take_protected(self, baseline: str, protected: tuple[str, ...]) -> None:
        literal = [f":(top,literal){path}" for path in protected]
        self._do("checkout", "--quiet", baseline, "--", *literal)

    def close(self) -> None:
        """Nothing in it is anybody's work."""
        shutil.rmtree(self.folder, ignore_errors=True)
