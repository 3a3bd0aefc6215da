"""Errors that end what omagy was asked to do. Each says what is wrong and how to mend it."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of the command line (contract section 1)."""

    OK = 0
    FAILED = 1
    USAGE = 2
    BLOCKED = 3
    QUESTION = 4
    INTERLUDE = 130


class OmagyError(Exception):
    """Something omagy cannot go on from.

    ``message`` says what is wrong and where, ``hint`` is the command or edit that mends it. A run that meets one
    ends ``blocked`` and can go on, unless ``recoverable`` is False: nobody can mend that (deleted records, a dying
    disk). ``code`` is its kind in one word, for programs.
    """

    exit_status = ExitStatus.FAILED
    code = "failed"

    def __init__(self, message: str, hint: str = "", *, recoverable: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.recoverable = recoverable


class ContractError(OmagyError):
    """Wrong input: a command line, a mission or a state that does not allow what was asked. Nothing was started."""

    exit_status = ExitStatus.USAGE
    code = "usage"


class BlockedError(OmagyError):
    """A prerequisite that is not the user is missing (no login, no sandbox). Nothing was started."""

    exit_status = ExitStatus.BLOCKED
    code = "blocked"


class StorageError(OmagyError):
    """A record could not be written or read: full disk, lost permission, damaged file."""

    code = "storage"


class RepositoryError(OmagyError):
    """git refused or failed in a way that a run cannot go on from.

    ``passing`` tells that it is of the machine at that moment (space, locks, processes), whatever git was to do.
    """

    code = "repository"
    passing = False


class DamagedObjectError(RepositoryError):
    """An object in the user's repository is missing or cannot be read. Another clone may have it."""


class IncompleteCommitError(RepositoryError):
    """A commit whose objects are not all in the repository."""
