"""The name of a draft belongs to one interview at a time, whatever terminal it is in (contract section 9)."""

import os
import sys

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.intake.document import launched
from omagy_autoresearch.lines import one_line
from omagy_supervisor.adapters.drafts import DraftFiles
from omagy_supervisor.adapters.lock import RunLock, lock_is_held
from omagy_supervisor.files import cannot_write, read_regular
from omagy_supervisor.paths import StateRoot

_LIMIT = 1 << 10


class Claim:
    """The name this interview has, once it has one. It is given up at the end, whatever that is."""

    def __init__(self, root: StateRoot, drafts: DraftFiles) -> None:
        self._root = root
        self._drafts = drafts
        self._lock: RunLock | None = None
        self.name = ""

    def take(self, name: str, *, resumed: bool = False) -> str:
        """Have ``name`` instead of the one before; why it cannot be had, empty when it is ours. Raises StorageError.

        Only a draft that is ``resumed`` may be there already.
        """
        if name == self.name:
            return ""
        self._root.prepare()
        path = self._root.interview_lock(name)
        lock = RunLock(path)
        try:
            if not lock.acquire():
                return self.taken(name)
            path.write_text(_this_process(), encoding="utf-8")
        except OSError as error:
            raise cannot_write(path, error) from error
        if not resumed and self._is_drafted(name):
            lock.remove()
            return self.taken(name)
        self.give_up()
        self._lock, self.name = lock, name
        return ""

    def give_up(self) -> None:
        """Others may have the name from now on."""
        if self._lock is not None:
            self._lock.remove()
            self._lock = None

    def _is_drafted(self, name: str) -> bool:
        """Whether there is a draft of that name that was not launched, or cannot be read."""
        try:
            record = self._drafts.read(name)
        except ContractError:
            return True
        return record is not None and not launched(record)

    def taken(self, name: str) -> str:
        """What to say of a name that another draft has."""
        if self.is_open(name):
            return f"the interview {name} is open already, {self._holder(name)}"
        return f"there is a draft {name} already (omagy autoresearch --slug {name})"

    def is_open(self, name: str) -> bool:
        """Whether an interview of that name is going on."""
        return lock_is_held(self._root.interview_lock(name))

    def _holder(self, name: str) -> str:
        try:
            raw = read_regular(self._root.interview_lock(name), _LIMIT) or b""
        except ValueError:
            raw = b""
        return one_line(raw.decode("utf-8", "replace"), 100) or "in another terminal"


def _this_process() -> str:
    try:
        terminal = f" (terminal {os.ttyname(sys.stdin.fileno())})"
    except (OSError, ValueError, AttributeError):
        terminal = ""
    return f"in process {os.getpid()}{terminal}"
