"""Which repository's state a command means, and which run."""

from pathlib import Path

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.manifest import Manifest
from omagy_supervisor.active import active_pointer, active_run, place_of
from omagy_supervisor.files import shown_path
from omagy_supervisor.paths import StateRoot, find_root
from omagy_supervisor.recover import read_manifest, require_manifest
from omagy_supervisor.settings import Settings


def state_root(settings: Settings) -> StateRoot:
    """The state of the repository around the current folder. Raises ContractError outside of one."""
    from omagy_supervisor.adapters.git.facts import find_repository
    from omagy_supervisor.bootstrap import users_git

    here = Path.cwd()
    root = find_repository(users_git(settings, here), here).root
    refuse_unwritable_name(root)
    return StateRoot(root)


def nearest_root() -> StateRoot:
    """As ``state_root``, for what needs neither git nor a commit. Raises ContractError."""
    here = Path.cwd()
    root = find_root(here)
    if root is None:
        raise ContractError(f"{here} is not inside a git repository", "what omagy keeps belongs to one: git init")
    refuse_unwritable_name(root.repo_root)
    return root


def refuse_unwritable_name(path: Path) -> None:
    """Raises ContractError for a path that no record can name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise ContractError(
            f"{shown_path(str(path))}: its name is no UTF-8, and omagy's records are", "rename or move the folder"
        ) from None


def chosen_run(root: StateRoot, named: str | None) -> Manifest:
    """The run that is named, else the active one, else the newest. Raises ContractError when there is none."""
    run_id = named or active_run(root) or next(iter(reversed(root.known_runs())), None)
    if run_id is None:
        raise ContractError(f"there are no runs in {root.repo_root}", _instead(root))
    return require_manifest(root, run_id)


def _instead(root: StateRoot) -> str:
    """What to do where no run is: there may be one elsewhere, or the records were deleted."""
    pointer = active_pointer(root)
    if pointer is None:
        return left_branches(root) or "start one: omagy autoresearch <mission-dir>"
    way = place_of(pointer, root).way_from(root)
    return f"it is active elsewhere: {way}omagy autoresearch status {pointer.run_id}"


def left_branches(root: StateRoot) -> str:
    """How to see the branches of runs whose records are not here; empty when there are none."""
    from omagy_supervisor.adapters.git.commands import Git

    pattern = "refs/heads/autoresearch/"
    found = Git().run(root.repo_root, "for-each-ref", "--count=1", "--format=%(refname)", pattern)
    return "their records are not here, but branches of runs are: git branch --list 'autoresearch/*'" if found else ""


def all_manifests(root: StateRoot) -> list[Manifest]:
    """The manifests of all runs that can be read, oldest first."""
    found = []
    for run_id in root.known_runs():
        try:
            manifest = read_manifest(root.run(run_id))
        except ContractError:
            continue
        if manifest is not None:
            found.append(manifest)
    return found
