"""The first commit of a lane: the mission folder as it lies in the user's checkout (contract section 2)."""

from pathlib import Path

from omagy_autoresearch.plan import RunPlan
from omagy_supervisor.adapters.git.commands import Git


def snapshot_mission(git: Git, plan: RunPlan) -> str:
    """The baseline commit: the start commit, or one on top of it that records the mission folder's uncommitted state.

    Uses an index of its own; the user's index and files are only read. The same files at the same launch give the
    same commit, so a launch that was killed can be repeated. Raises RepositoryError.
    """
    root = Path(plan.repo_root)
    index = Path(plan.common_dir) / f"omagy-snapshot-{plan.run_id}.index"
    env = {"GIT_INDEX_FILE": str(index)}
    _remove(index)  # a launch that was killed may have left it locked
    try:
        git.run(root, "read-tree", plan.start_commit, env=env)
        git.run(root, "add", _what(git, root, plan), "--", f":(top,literal){plan.mission_dir}", env=env)
        tree = git.line(root, "write-tree", env=env)
    finally:
        _remove(index)
    if tree == git.line(root, "rev-parse", f"{plan.start_commit}^{{tree}}"):
        return plan.start_commit
    when = {"GIT_AUTHOR_DATE": plan.created_at, "GIT_COMMITTER_DATE": plan.created_at}
    message = f"omagy: snapshot of {plan.mission_dir} for run {plan.run_id}"
    return git.line(root, "commit-tree", "-p", plan.start_commit, "-m", message, tree, env=when)


def _what(git: Git, root: Path, plan: RunPlan) -> str:
    """A tracked mission may lie in an ignored folder: git refuses to look for new files there."""
    ignored = git.status(root, "check-ignore", "--quiet", "--no-index", "--", plan.mission_dir)[0] == 0
    return "--update" if ignored else "--all"


def _remove(index: Path) -> None:
    for path in (index, index.with_name(index.name + ".lock")):
        path.unlink(missing_ok=True)
