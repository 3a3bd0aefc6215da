"""The lane of a run: its branch and worktree, made and kept equal to what the run decided (contract section 3).

Every command names the lane's admin folder, the shared git folder and the worktree explicitly, so that nothing an
agent does to ``.git`` or to ``core.worktree`` can point a destructive command at another folder.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from omagy_autoresearch.errors import DamagedObjectError, IncompleteCommitError, RepositoryError
from omagy_autoresearch.integrity import is_commit_id
from omagy_autoresearch.names import kept_ref, ref_root
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.surface import Change
from omagy_supervisor.adapters.git.commands import Git, failure
from omagy_supervisor.adapters.git.descent import brought
from omagy_supervisor.adapters.git.exclude import add_exclude_block, remove_exclude_block
from omagy_supervisor.adapters.git.index import LaneIndex
from omagy_supervisor.adapters.git.lane_git import LaneGit
from omagy_supervisor.adapters.git.leftovers import Leftovers, free_name
from omagy_supervisor.adapters.git.linked_repositories import LinkedRepositories
from omagy_supervisor.adapters.git.objects import make_durable
from omagy_supervisor.adapters.git.repair import LaneFolders
from omagy_supervisor.adapters.git.run_refs import RunRefs
from omagy_supervisor.adapters.git.snapshot import snapshot_mission
from omagy_supervisor.adapters.git.status import parse_status
from omagy_supervisor.adapters.git.trees import dependency_key, is_plain, is_too_long
from omagy_supervisor.files import remove
from omagy_supervisor.machine import monotonic_s
from omagy_supervisor.ports import ALTERNATES, LaneStatus, Pinned

# What git obeys and cannot be told to leave out: what files hold, and where else objects are looked for.
_OBEYED = ("info/attributes", ALTERNATES)
_IN_PROGRESS = {
    *("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG"),
    *("BISECT_LOG", "BISECT_START", "rebase-merge", "rebase-apply", "sequencer"),
}
# How long a look at the lane counts.
_JUST_S = 1.0


class GitLane:
    """Implements ports.Lane. Repositories that a discarded candidate linked to are moved to ``aside``."""

    def __init__(self, git: Git, plan: RunPlan, aside: Path | None = None) -> None:
        self._repository = git
        self._plan = plan
        self._root = Path(plan.repo_root)
        self.common_dir = Path(plan.common_dir)
        self.worktree = Path(plan.worktree_path)
        self.git_dir = self.common_dir / "worktrees" / self.worktree.name
        self._git = LaneGit(git, self.worktree, self.git_dir, self.common_dir, sparse=plan.sparse)
        self._index = LaneIndex(self._git, self.worktree, self.git_dir)
        self._refs = RunRefs(self._git, plan, self.common_dir)
        self._linked = LinkedRepositories(self._git, self.worktree, aside)
        self._folders = LaneFolders(
            self.worktree, self.git_dir, self.common_dir, self._refs.branch, plan.sparse_patterns
        )
        self._seen: LaneStatus | None = None  # forgotten when somebody else is let in
        self._seen_at_s = 0.0
        self._broken = False  # HEAD was at a commit that no ref or log may name: it would break the next gc

    # -- making it

    def prepare(self) -> str:
        self.sweep_locks()
        baseline = snapshot_mission(self._repository, self._plan)
        add_exclude_block(self.common_dir)
        if self._folders.stand():
            self.converge(baseline)
            self._seen = None  # what the run prepares in it comes next
            return baseline
        self._remove_half_made()
        self._repository.run(self._root, "update-ref", self._refs.branch, baseline)
        self.worktree.parent.mkdir(parents=True, exist_ok=True)
        self._repository.run(
            self._root, "worktree", "add", "--quiet", "--no-checkout", str(self.worktree), self._plan.branch_name
        )
        if not self._folders.stand():
            raise RepositoryError(f"git made the worktree {self.worktree} in an unexpected form")
        self._git.switch_off_planted_settings(self._folders.mend())  # what is measured first is made as all the rest
        self._index.renew(baseline)
        self._git.run("reset", "--hard", "--quiet", baseline)
        self._index.was_written()
        return baseline

    def _remove_half_made(self) -> None:
        """A launch that was killed left parts; their names carry this run's tag, so they can only be ours."""
        for folder in (self.git_dir, self.worktree):
            if folder.exists():
                shutil.rmtree(folder)

    def remove(self) -> None:
        """Take the lane away with its branch and refs. Only for one that never carried anybody's work."""
        self._repository.status(self._root, "worktree", "remove", "--force", str(self.worktree))
        self._remove_half_made()
        refs = self._repository.line(self._root, "for-each-ref", "--format=%(refname)", ref_root(self._plan.run_id))
        for ref in (*refs.split(), self._refs.branch):
            self._repository.status(self._root, "update-ref", "--no-deref", "-d", ref)
        if not any(self.worktree.parent.glob("autoresearch-*")):
            remove_exclude_block(self.common_dir)
            with contextlib.suppress(OSError):
                self.worktree.parent.rmdir()

    # -- running git in it

    def _prove(self) -> None:
        """Before git looks at it: folders and links are this run's, complete, and nothing planted is in force.

        Raises RepositoryError.
        """
        self._git.switch_off_planted_settings(self._folders.mend())
        self._index.mend()

    # -- looking at it

    def sweep_locks(self) -> None:
        self._seen = None
        for lock in self.git_dir.glob("*.lock"):
            with contextlib.suppress(OSError):
                lock.unlink()
        self._refs.sweep_locks()

    def status(self) -> LaneStatus:
        self._prove()
        seen = self._status()
        self._remember(seen)
        return seen

    def take_over(self) -> LaneStatus:
        self._prove()
        renewed = self._index.renew_from_head()
        seen = self._status(noting=renewed)
        if renewed:
            self._index.was_written()
        self._remember(seen)
        return seen

    def _status(self, *, noting: bool = False) -> LaneStatus:
        """``noting`` has git write into the index which files it found unchanged."""
        # What was only built inside a submodule is as welcome to stay as ignored files are.
        form = ("--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--no-renames")
        env = {"GIT_OPTIONAL_LOCKS": "1"} if noting else {}
        look = partial(self._git.run, "status", *form, "--ignore-submodules=untracked", env=env)
        try:
            return parse_status(look())
        except RepositoryError:
            if not self._clear_way():
                raise
            return parse_status(look())

    def _clear_way(self) -> bool:
        """Away with what git does not get past; True when there was such a thing.

        A link where a commit has a repository; an index that cannot be read; or a HEAD that cannot be read, as a
        session's git syncs nothing and a power cut can empty what it wrote. The lane then stands at what was kept:
        its files are to be saved.
        """
        unread, out, _ = self._git.status("ls-files", "--stage", "-z")
        if unread:
            self._index.make_anew()
        linked = (os.fsdecode(row.partition(b"\t")[2]) for row in out.split(b"\0") if row.startswith(b"160000"))
        links = [self.worktree / path for path in linked if (self.worktree / path).is_symlink()]
        for link in links:
            link.rename(free_name(link.with_name(f"{link.name}.moved-aside-by-omagy")))
        return self._leave_unreadable_head() or bool(links) or unread != 0

    def _leave_unreadable_head(self) -> bool:
        """The lane's branch goes back to the last kept commit; what its log names would break a gc."""
        status, out, _ = self._git.status("rev-parse", "--verify", "--quiet", kept_ref(self._plan.run_id))
        kept = out.decode().strip()
        if status != 0:
            return False
        reading = ("rev-list", "--objects", "--quiet", "HEAD", f"^{kept}")
        status, _, err = self._git.status(*reading)
        if status == 0 or not isinstance(failure(self.worktree, reading, status, err), DamagedObjectError):
            return False
        self._refs.update(self._refs.branch, kept)
        self._git.run("symbolic-ref", "HEAD", self._refs.branch)
        self._broken = True
        return True

    def _remember(self, seen: LaneStatus) -> None:
        self._seen, self._seen_at_s = seen, monotonic_s()

    def _just_seen(self) -> LaneStatus | None:
        """How the lane was when it was last looked at, where that is how it is still.

        Not when somebody was let in since, nor when time went by (a pause, a machine that slept), nor with an index
        that can have told anything.
        """
        fresh = self._index.ours and monotonic_s() - self._seen_at_s < _JUST_S
        return self._seen if fresh else None

    def resolve(self, commit: str) -> str | None:
        if not is_commit_id(commit):
            return None
        status, out, _ = self._git.status("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
        return out.decode().strip() if status == 0 else None

    def unfit(self, commit: str, changes: Sequence[Change]) -> str:
        too_long = next((change.path for change in changes if is_too_long(change.path)), "")
        if too_long or all(is_plain(change.path) for change in changes):
            return too_long
        return self._index.refused_path(commit)

    def tracked_files(self, commit: str) -> frozenset[str]:
        rows = self._git.run("ls-tree", "-r", "-z", "--name-only", commit).split(b"\0")
        return frozenset(os.fsdecode(row) for row in rows if row)

    def dependency_key(self, commit: str) -> str:
        return dependency_key(self._git.run("ls-tree", "-r", "-z", commit))

    def obeyed(self) -> Mapping[str, str]:
        return {name: _digest(self.common_dir / name) for name in _OBEYED}

    # -- saving what is in it

    def branch_tip(self) -> str | None:
        return self._refs.branch_tip()

    def pin(self, ref: str, commit: str, base: str) -> Pinned:
        try:
            found = brought(self._git, commit, base)
            make_durable(self.common_dir, found.objects)
        except IncompleteCommitError as error:
            raise self._incomplete(commit, error.message) from None
        self._refs.update(ref, commit)
        self._refs.count_as_saved(commit)
        return Pinned(found.descends, found.difference)

    def leave_out(self, commit: str) -> None:
        self._refs.count_as_saved(commit)
        self._broken = True

    def _incomplete(self, commit: str, why: str) -> IncompleteCommitError:
        self.leave_out(commit)
        return IncompleteCommitError(f"the objects of {commit[:12]} are not complete: {why}")

    def save_leftovers(self, ref: str, keep_aside: Path) -> str | None:
        status = self._just_seen() or self.status()
        if not status.dirty:
            return None
        index = self.git_dir / "omagy-leftovers-index"
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(self.git_dir / "index", index)
        try:
            environment = {**self._git.environment, "GIT_INDEX_FILE": str(index)}
            leftovers = Leftovers(self._repository, self.worktree, environment)
            commit = leftovers.commit(status.dirty, "" if self._broken else status.head, keep_aside)
        finally:
            for path in (index, index.with_name(index.name + ".lock")):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
        self._seen = None  # what could not be saved as a commit was moved
        self._refs.update(ref, commit)
        return ref

    # -- making it equal

    def advance_kept(self, commit: str) -> None:
        self._refs.update(kept_ref(self._plan.run_id), commit)

    def converge(self, commit: str) -> None:
        wanted = LaneStatus(commit, self._plan.branch_name, ())
        seen = self._just_seen()
        if seen != wanted or self._broken or self._in_progress():
            self._make_equal(wanted, seen or self._look(commit))
            self._index.was_written()
            self._remember(wanted)
        if self._linked.bring_back(commit):
            self._seen = None

    def _look(self, commit: str) -> LaneStatus:
        """A look that can be relied on."""
        self.sweep_locks()
        self._prove()
        return self._status(noting=self._index.renew(commit))

    def _make_equal(self, wanted: LaneStatus, status: LaneStatus) -> None:
        if status != wanted or self._in_progress():
            self._overwrite(wanted, status)
        if self._broken:
            self._git.run("reflog", "expire", "--expire=now", "HEAD", self._refs.branch)
            self._broken = False

    def _overwrite(self, wanted: LaneStatus, status: LaneStatus) -> None:
        """Make the lane ``wanted``, whose ``status`` is another."""
        self._clear_in_progress()
        self._refs.quarantine(status.head, wanted.head)
        if status.branch != wanted.branch:
            self._refs.update(self._refs.branch, wanted.head)  # it may stand for another: a reset would move that one
            self._git.run("symbolic-ref", "HEAD", self._refs.branch)
        self._reset(wanted.head)
        left = self._status()
        if left.dirty:
            self._linked.set_aside(left.dirty, status.head)
            self._git.run("clean", "-ffdq")
            self._reset(wanted.head)
            left = self._status()
        if left != wanted:
            shown = ", ".join(left.dirty[:3]) or f"HEAD is {left.head[:12]}"
            raise RepositoryError(
                f"the worktree {self.worktree} cannot be brought to {wanted.head[:12]}: {shown}",
                "see `git status` there; a filter or file mode that never settles makes a tree look changed",
            )

    def _reset(self, commit: str) -> None:
        self._git.run("reset", "--hard", "--quiet", commit)
        if self._git.sparse:
            self._index.remove_left_out()

    def _in_progress(self) -> list[Path]:
        with contextlib.suppress(FileNotFoundError), os.scandir(self.git_dir) as entries:
            return [self.git_dir / entry.name for entry in entries if entry.name in _IN_PROGRESS]
        return []

    def _clear_in_progress(self) -> None:
        for path in self._in_progress():
            remove(path)


def _digest(path: Path) -> str:
    with contextlib.suppress(OSError):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return ""
