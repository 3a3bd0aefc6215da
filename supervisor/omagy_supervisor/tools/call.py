"""One call of a tool: who calls, for which repository, and what the caller is told when it cannot be done."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from omagy_autoresearch.errors import ContractError, OmagyError
from omagy_supervisor.active import place_of
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.lock import read_pointer
from omagy_supervisor.commands.chosen import refuse_unwritable_name
from omagy_supervisor.files import is_folder
from omagy_supervisor.paths import StateRoot, find_root
from omagy_supervisor.settings import Settings
from omagy_supervisor.tools.schemas import Input
from omagy_supervisor.ui.calls import as_called

log = logging.getLogger(__name__)
_TICK_S = 0.1
_OTHER_FOLDER = "name a folder inside the repository that is meant: working_directory"


class InSessionError(ContractError):
    """A session of a run asked for what only a person, or an agent outside of runs, may do."""

    code = "inside_session"


@dataclass(frozen=True, slots=True)
class Caller:
    """``folder`` is where the server was started."""

    settings: Settings
    folder: Path

    @property
    def run_id(self) -> str | None:
        """The run in whose session the server was started."""
        return self.settings.inside_session


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """``abandoned`` is set once nobody waits for the answer any more, ``finished`` when its thread is through."""

    caller: Caller
    abandoned: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)

    def root(self, given: Input) -> StateRoot:
        """The state of the repository that is meant; in a session it is the run's own. Raises ContractError."""
        folder = self._folder(given.working_directory)
        root = find_root(folder)
        if root is None:
            raise ContractError(f"{folder} is not inside a git repository", _OTHER_FOLDER)
        refuse_unwritable_name(root.repo_root)
        pointer = read_pointer(root.shared_pointer)
        if self.caller.run_id is None or pointer is None or pointer.run_id != self.caller.run_id:
            return root
        return place_of(pointer, root)

    def _folder(self, named: str | None) -> Path:
        folder = self.caller.folder if named is None else Path(named)
        if not folder.is_absolute():
            raise ContractError(f"working_directory is not an absolute path: {named}", _OTHER_FOLDER)
        if not is_folder(folder):
            raise ContractError(f"{folder} is not a folder", _OTHER_FOLDER)
        return folder.resolve()

    def refuse_in_session(self, what: str, hint: str) -> None:
        """Raises InSessionError when a session of a run is calling."""
        if self.caller.run_id is not None:
            raise InSessionError(f"a session of run {self.caller.run_id} cannot {what}", hint)

    def wait_until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Whether ``condition`` came true within ``limit_s`` and before the caller went away."""
        clock = SystemClock()
        deadline = clock.monotonic_s() + limit_s
        while not condition():
            left = deadline - clock.monotonic_s()
            if left <= 0 or self.abandoned.wait(min(_TICK_S, left)):
                return False
        return True


class Problem(msgspec.Struct, frozen=True):
    """Why a call did nothing: ``message`` is what is wrong, ``hint`` the way out."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Answer:
    """``content`` is a JSON object: the tool's output, or ``{"error": …}``."""

    content: dict[str, Any]
    is_error: bool = False


def answer(work: Callable[[], object]) -> Answer:
    """What ``work`` answers; an error is an answer too, so that the agent can read it. Never raises."""
    try:
        return Answer(msgspec.to_builtins(work()))
    except OmagyError as error:
        return failure(error.code, error.message, error.hint)
    except Exception as error:
        log.debug("a fault of omagy's own", exc_info=True)
        message = f"a fault of omagy's own: {type(error).__name__}: {error}"
        return failure("internal", message, "nothing is lost by it; report it please: omagy mcp --debug shows where")


def failure(code: str, message: str, hint: str) -> Answer:
    """An error as an answer, with commands as this person calls omagy."""
    problem = Problem(code, as_called(message), as_called(hint))
    return Answer({"error": msgspec.to_builtins(problem)}, is_error=True)
