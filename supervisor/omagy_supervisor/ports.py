"""What the loop needs from the world, as protocols. Adapters implement them; tests fake them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Protocol

from omagy_autoresearch.evaluation import EvaluatorRun
from omagy_autoresearch.events import Record, StopRequested
from omagy_autoresearch.handoff import Handoff
from omagy_autoresearch.ledger import DiffStat, Entry
from omagy_autoresearch.prompt import Asked
from omagy_autoresearch.questions import Question
from omagy_autoresearch.run import RunState
from omagy_autoresearch.surface import Change
from omagy_supervisor.paths import RunFolder


class Wake(Enum):
    """Why a wait ended."""

    READY = "ready"
    LIMIT = "limit"
    STOP = "stop"


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, in UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back and counts the time a machine was suspended, where it can."""
        ...


class Stops(Protocol):
    """Requests to stop the run: signals, and the stop command."""

    def pending(self) -> StopRequested | None:
        """A request that was not taken up yet."""
        ...

    def take(self, request: StopRequested) -> None:
        """``request`` stands in the journal now."""
        ...

    @property
    def now(self) -> bool:
        """True once an immediate stop was asked for; it stays true."""
        ...

    def wait(self, limit_s: float, ready_fd: int | None = None) -> Wake:
        """Wait until ``ready_fd`` can be read, an immediate stop is asked for, or ``limit_s`` has passed."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessRef:
    """A process that cannot be mistaken for another one with the same pid."""

    pid: int
    started_at: float  # as the system counts it


class Processes(Protocol):
    def find(self, pid: int, argument: str) -> ProcessRef | None:
        """The living process ``pid``, if ``argument`` stands on its command line."""
        ...

    def alive(self, process: ProcessRef) -> bool: ...

    def wait(self, process: ProcessRef, limit_s: float) -> Wake:
        """READY once ``process`` has ended."""
        ...

    def end(self, process: ProcessRef, grace_s: float) -> None:
        """Ask ``process`` to end; after ``grace_s`` kill it with its descendants."""
        ...

    def sweep(self, cookie: str) -> int:
        """Kill every process of ours that carries ``cookie`` in its environment, until none is left.

        The cookie is the value of OMAGY_COOKIE, or the beginning of it. Returns how many were killed.
        """
        ...


class Terminal(Protocol):
    """Where sessions run: windows of a tmux session, or plain child processes."""

    def open_window(self, name: str, argv: Sequence[str], cwd: Path) -> None:
        """Start ``argv`` in a window called ``name``. Raises OmagyError."""
        ...

    def has_window(self, name: str) -> bool: ...

    def close_window(self, name: str) -> None: ...


class Evaluator(Protocol):
    def run(
        self, command: str, cwd: Path, environment: Mapping[str, str], limit_s: float, log: Path
    ) -> EvaluatorRun | None:
        """Run the evaluator to its end; None when a stop cut it short. Nothing it started survives."""
        ...


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """``head`` is empty on a branch without a commit, ``branch`` is None on a detached HEAD.

    ``dirty`` are paths; folders of foreign repositories end in a slash.
    """

    head: str
    branch: str | None
    dirty: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Every path that differs between two commits, as git recorded them, and how much that is."""

    changes: tuple[Change, ...]
    stat: DiffStat


@dataclass(frozen=True, slots=True)
class Pinned:
    """A commit that is kept: whether it descends from the base, and in what it differs from it."""

    descends: bool
    difference: Difference


# Where else git looks for objects; one of the files in git's folder that ``Lane.obeyed`` names.
ALTERNATES = "objects/info/alternates"


class Lane(Protocol):
    """The branch and worktree of one run. Every method can be repeated after a crash."""

    worktree: Path
    git_dir: Path
    common_dir: Path

    def prepare(self) -> str:
        """Make branch and worktree; returns the baseline commit. Raises RepositoryError."""
        ...

    def sweep_locks(self) -> None:
        """Somebody else was let into the lane: remove the locks that killed git commands left in what is only ours.

        Nothing that was seen of the lane before counts any more.
        """
        ...

    def status(self) -> LaneStatus: ...

    def take_over(self) -> LaneStatus:
        """As ``status``, from somebody whose index is not believed: it is thrown away, where HEAD can be read.

        What was hidden by it shows; what was only staged in it is as it is in the files.
        """
        ...

    def resolve(self, commit: str) -> str | None:
        """The full id of the commit that the (short) id ``commit`` names."""
        ...

    def branch_tip(self) -> str | None:
        """The commit of the lane's branch, wherever HEAD is; None when the branch is gone."""
        ...

    def pin(self, ref: str, commit: str, base: str) -> Pinned:
        """Keep ``commit`` reachable under ``ref`` and durable.

        Raises IncompleteCommitError when it cannot be kept because objects of it are missing or damaged.
        """
        ...

    def leave_out(self, commit: str) -> None:
        """Have no ref or log name ``commit``, whose objects may be gone one day: git could clean up no more."""
        ...

    def unfit(self, commit: str, changes: Sequence[Change]) -> str:
        """The path for which no checkout can hold ``commit`` (one below ``.git``, say); empty when one can.

        ``changes`` are all that it differs in from a commit that was checked out before.
        """
        ...

    def tracked_files(self, commit: str) -> frozenset[str]: ...

    def dependency_key(self, commit: str) -> str:
        """Changes when a file that pins dependencies (a lock file, a requirements file) differs."""
        ...

    def obeyed(self) -> Mapping[str, str]:
        """Digests of files that git obeys in any case and no commit shows, by their names in git's folder."""
        ...

    def save_leftovers(self, ref: str, keep_aside: Path) -> str | None:
        """Save uncommitted work as a commit under ``ref``; repositories inside it move to ``keep_aside``."""
        ...

    def advance_kept(self, commit: str) -> None:
        """Make the kept ref equal ``commit``."""
        ...

    def converge(self, commit: str) -> None:
        """Make branch, index and worktree equal ``commit``; ignored files stay.

        Nothing is done where a look at the lane just showed it so. What is overwritten must have been saved before.
        Raises RepositoryError.
        """
        ...


class Checkout(Protocol):
    """Where commits are measured: the lane's worktree, or a checkout apart from it."""

    name: str

    def place(self, commit: str, baseline: str, protected: tuple[str, ...]) -> Path:
        """Make the checkout hold ``commit`` and nothing untracked; returns its folder.

        Apart from the lane, ``protected`` paths are then taken from ``baseline``. Raises RepositoryError.
        """
        ...

    def dirt(self) -> tuple[str, ...]:
        """What differs from the placed commit by now. The next ``place`` puts it right."""
        ...

    def close(self) -> None:
        """The run is over for good: take away what was made for measuring alone."""
        ...

    def settle(self) -> None:
        """What git ignores in the checkout now was made by the set-up, and stays for the next commits."""
        ...


class Journal(Protocol):
    def append(self, record: Record) -> None:
        """Add ``record`` durably. Raises StorageError."""
        ...


class Records(Protocol):
    """The files of a run that the world reads."""

    def iteration_recorded(self, entry: Entry, state: RunState) -> None:
        """Bring ledger, results, latest evaluation and manifest up to an applied ``entry``."""
        ...

    def write_manifest(self, state: RunState, *, lasting: bool = True) -> None:
        """Bring the manifest up to ``state``. One that is not lasting can be the one before it after a power cut."""
        ...

    def reopen(self, state: RunState) -> None:
        """Take away the handoff of an end that a run went on after, and bring the manifest up to ``state``."""
        ...

    def write_end(self, state: RunState, handoff: Handoff) -> None:
        """Write the handoff, the ledger's outcome and, last, the manifest."""
        ...

    def kept(self) -> tuple[Entry, ...]:
        """The kept entries so far, newest last (the last few are enough)."""
        ...


class LedgerWriter(Protocol):
    """The ledger file."""

    def append(self, entry: Entry) -> None: ...

    def close_with(self, outcome: str, reason: str) -> None: ...


class Questions(Protocol):
    def open_question(self, run_id: str) -> str | None:
        """The id of a question of this run that waits for an answer."""
        ...

    def text(self, question_id: str) -> str:
        """The words of a question."""
        ...

    def answers(self, run_id: str) -> tuple[Asked, ...]:
        """What the run's sessions asked, and what became of it; nothing of what is still open."""
        ...

    def add(self, question: Question) -> Question:
        """Record ``question`` durably unless its id is taken; returns what stands there. Raises OmagyError."""
        ...


class Lessons(Protocol):
    """What earlier runs of the same mission learnt."""

    def text(self) -> str: ...

    def run_ended(self, state: RunState, entries: tuple[Entry, ...]) -> None:
        """Write down what the run of ``state`` learnt; ``entries`` are its newest, oldest first."""
        ...


class Reporter(Protocol):
    """Tells a person what happens, as it happens."""

    def event(self, state: RunState, record: Record) -> None: ...

    def note(self, text: str) -> None: ...


class Places(Protocol):
    """What preparing a session and measuring a commit need of a world."""

    @property
    def folder(self) -> RunFolder: ...
    @property
    def lane(self) -> Lane: ...
    @property
    def checkout(self) -> Checkout: ...
    @property
    def evaluator(self) -> Evaluator: ...
    @property
    def reporter(self) -> Reporter: ...
    @property
    def session_environment(self) -> Mapping[str, str]: ...
    @property
    def evaluator_environment(self) -> Mapping[str, str]: ...
