"""What a person does about a fault that ended a run. Every word is omagy's own: none comes from a tool's output."""

import shlex

from omagy_autoresearch.errors import OmagyError, RepositoryError, StorageError
from omagy_autoresearch.plan import RunPlan


def remedy_of(error: OmagyError, plan: RunPlan) -> str:
    """One line: the error's own hint, or what its kind of fault calls for."""
    if error.hint:
        return "; ".join(error.hint.splitlines())
    match error:
        case RepositoryError():
            check = f"`git -C {shlex.quote(plan.repo_root)} fsck --full`"
            return f"see what git finds damaged with {check}, and bring it back from a clone or a backup"
        case StorageError():
            return "check the disk that holds the repository: its space, its permissions, its health"
        case _:
            return "read the end of supervisor.log in the records: it tells what could not be done"
