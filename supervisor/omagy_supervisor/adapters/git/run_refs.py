"""The refs that are one run's alone: its branch, what it kept, and what it keeps reachable (contract section 3)."""

import contextlib
from datetime import datetime
from pathlib import Path

from omagy_autoresearch.names import kept_ref, quarantine_ref, ref_root
from omagy_autoresearch.plan import RunPlan
from omagy_supervisor.adapters.git.lane_git import LaneGit
from omagy_supervisor.adapters.git.objects import remove_empty
from omagy_supervisor.files import fsync_dir


class RunRefs:
    """What ``plan``'s run may write in the repository that ``git`` works in."""

    def __init__(self, git: LaneGit, plan: RunPlan, common_dir: Path) -> None:
        self._git = git
        self._plan = plan
        self._common_dir = common_dir
        self._swept = False
        self._asked = False
        self.branch = f"refs/heads/{plan.branch_name}"
        self._saved: set[str] = {plan.start_commit}

    def branch_tip(self) -> str | None:
        """The commit that the run's branch is at, None where it is gone."""
        status, out, _ = self._git.status("rev-parse", "--verify", "--quiet", self.branch)
        return out.decode().strip() if status == 0 else None

    def update(self, ref: str, commit: str) -> None:
        """Have ``ref`` name ``commit``, durably. A lock of it was left by a git that was killed.

        Raises RepositoryError.
        """
        self._lock(ref).unlink(missing_ok=True)
        self._git.run("update-ref", "--no-deref", ref, commit)
        with contextlib.suppress(FileNotFoundError):  # another ref format keeps no folder of its own
            fsync_dir((self._common_dir / ref).parent)

    def count_as_saved(self, commit: str) -> None:
        """``commit`` has a ref, or is to have none."""
        self._saved.add(commit)

    def quarantine(self, head: str, wanted: str) -> None:
        """A commit that nobody handed in (it came after its session was over) is kept, and never measured."""
        self._saved.add(wanted)
        if not head or head in self._saved or head in self._saved_earlier():
            return
        self.update(quarantine_ref(self._plan.run_id, head), head)
        self._saved.add(head)

    def sweep_locks(self) -> None:
        """Remove the locks that killed commands and power cuts left.

        All refs of the run are looked through once: as many come, later only where a lock can have come since.
        """
        locks = [self._lock(self.branch), self._lock(kept_ref(self._plan.run_id))]
        if not self._swept:
            locks += (self._common_dir / ref_root(self._plan.run_id)).rglob("*.lock")
            remove_empty(self._common_dir, datetime.fromisoformat(self._plan.created_at).timestamp())
            self._swept = True
        for lock in locks:
            with contextlib.suppress(OSError):
                lock.unlink()

    def _lock(self, ref: str) -> Path:
        return self._common_dir / f"{ref}.lock"

    def _saved_earlier(self) -> set[str]:
        """What earlier lives of the run keep reachable; asked for once, by the first commit that nobody knows."""
        if not self._asked:
            self._asked = True
            listed = self._git.line("for-each-ref", "--format=%(objectname)", ref_root(self._plan.run_id))
            self._saved.update(listed.split())
        return self._saved
