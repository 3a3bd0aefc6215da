"""Copies from the user's checkout into one that is measured: ``worktree.copy``, and the held-out check's files.

What stands there is whole: it is copied aside and moved to its place, so a copy that was cut short is made again.
"""

import contextlib
import filecmp
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.plan import RunPlan
from omagy_supervisor.files import remove


def copy_in(plan: RunPlan, folder: Path) -> None:
    """Bring the mission's ``worktree.copy`` paths into ``folder``, as copies. Raises BlockedError."""
    for name in plan.contract.worktree.copy:
        source, target = Path(plan.repo_root) / name, folder / name
        _clear_way(folder, target)
        if source.is_dir() and target.is_dir() and not target.is_symlink():
            continue
        if source.is_file() and target.is_file() and not target.is_symlink() and filecmp.cmp(source, target, False):
            continue
        _copy(source, folder, name, "worktree.copy")


@contextlib.contextmanager
def held_out_files(plan: RunPlan, folder: Path) -> Iterator[None]:
    """The held-out check's own files, in ``folder`` for as long as the check runs. Raises BlockedError.

    Nothing that a candidate put in their place is part of the check.
    """
    settings = plan.contract.evaluator.holdout
    try:
        for name in settings.files if settings is not None else ():
            _copy(Path(plan.repo_root) / name, folder, name, "evaluator.holdout.files")
        yield
    finally:
        remove_held_out(plan, folder)


def remove_held_out(plan: RunPlan, folder: Path) -> None:
    """Take them out of ``folder``. Where a supervisor died during the check they are still there."""
    settings = plan.contract.evaluator.holdout
    remove(_aside(folder))
    for name in settings.files if settings is not None else ():
        _clear_way(folder, folder / name)
        remove(folder / name)


def _clear_way(folder: Path, path: Path) -> None:
    """Between ``folder`` and ``path`` there are only folders: a candidate may have put a link there, to anywhere."""
    for above in reversed(path.relative_to(folder).parents[:-1]):
        if (folder / above).is_symlink() or (folder / above).is_file():
            (folder / above).unlink()


def _copy(source: Path, folder: Path, name: str, key: str) -> None:
    """A copy that shares nothing with the user's tree: links out of what is copied become copies too.

    It replaces whatever stands in its place.
    """
    target, aside = folder / name, _aside(folder)
    half = aside / name  # of the same name: a link in it may lead through its own folder
    try:
        remove(aside)
        half.parent.mkdir(parents=True)
        _copy_to(source, half)
        _clear_way(folder, target)
        remove(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        _move(half, target)
    except OSError as error:
        problem = f"{key}: {name} cannot be copied into the lane: {error}"
        raise BlockedError(problem, "mend the path in sandbox.md") from None
    finally:
        with contextlib.suppress(OSError):
            remove(aside)


def _move(half: Path, target: Path) -> None:
    """A folder that nobody may write cannot be moved, so it may be written for that moment."""
    mode = half.stat().st_mode
    half.chmod(mode | stat.S_IWUSR)
    half.rename(target)
    target.chmod(mode)


def _aside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.copying")


def _copy_to(source: Path, target: Path) -> None:
    if not source.is_dir():
        shutil.copy2(source, target)
        return
    shutil.copytree(source, target, symlinks=True)
    for link in [path for path in target.rglob("*") if path.is_symlink()]:
        if not link.resolve().is_relative_to(target.resolve()):
            _copy_through(source / link.relative_to(target), link)


def _copy_through(original: Path, link: Path) -> None:
    link.unlink()
    real = original.resolve()
    if real.is_dir():
        shutil.copytree(real, link, ignore_dangling_symlinks=True)
    elif real.exists():
        shutil.copy2(real, link)
