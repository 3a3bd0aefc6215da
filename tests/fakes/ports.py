"""A machine in memory: every port of the loop, and sessions that play what a test wrote for them.

What a machine holds (``Machine``) outlives the supervisors that work on it, as a disk does. The clock moves only when
somebody waits. Only the attempt folders are real: sessions and loop talk through files in them.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from omagy_autoresearch.asking import parse_request
from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.evaluation import EvaluatorRun
from omagy_autoresearch.events import Record, RunCreated, StopMode, StopRequested
from omagy_autoresearch.handoff import Handoff
from omagy_autoresearch.ledger import DiffStat, Entry
from omagy_autoresearch.manifest import Manifest, manifest
from omagy_autoresearch.mission import Budget, Contract, EvaluatorSettings, SessionSettings
from omagy_autoresearch.names import kept_ref
from omagy_autoresearch.plan import AgentChoice, AgentKind, RunPlan
from omagy_autoresearch.prompt import Asked
from omagy_autoresearch.questions import Question, Status
from omagy_autoresearch.run import RunState
from omagy_autoresearch.sessions import Diagnosis, Ending, EndingKind
from omagy_autoresearch.surface import Change
from omagy_supervisor.adapters.journal import decode_line, encode_line
from omagy_supervisor.agents import SessionCommand, SessionExit, SessionSpec
from omagy_supervisor.files import write_atomic
from omagy_supervisor.outbox import leave_question
from omagy_supervisor.paths import AttemptFolder, StateRoot
from omagy_supervisor.ports import Difference, LaneStatus, Pinned, ProcessRef, Wake
from omagy_supervisor.recover import LoadedRun, replay
from omagy_supervisor.world import World

RUN_ID = "m-20260131t120000z"
START = datetime(2026, 1, 31, 12, tzinfo=UTC)
COMPLETED = Ending(EndingKind.COMPLETED)
PORTS = (
    *("clock", "stops", "journal", "records", "lane", "checkout", "terminal", "processes"),
    *("evaluator", "agent", "questions", "lessons", "reporter"),
)


@dataclass(frozen=True)
class Play:
    """What one session does: commit a value (which is its score), write an artifact, leave files, end.

    ``status`` None writes no artifact; ``takes_s`` is how long it works.
    """

    value: float | None = None
    status: str | None = "candidate"
    leaves: tuple[str, ...] = ()
    ending: Ending = COMPLETED
    takes_s: float = 60.0
    asks: str | None = None


NOOP = Play(status="noop")


@dataclass
class Session:
    """A runner in its window. It works when somebody waits for it."""

    folder: AttemptFolder
    pid: int
    started_at: float
    pipe: int
    window: str
    payload: dict[str, Any] | None = None
    worked_s: float = 0.0


class PowerCutError(BaseException):
    """The machine, or the supervisor alone, has just died. Nothing in omagy may catch it."""


@dataclass
class Machine:
    """Disk, git and processes. ``plays[i]`` are the sessions of iteration i in turn, the last one for ever."""

    root: Path
    plan: RunPlan
    plays: dict[int, list[Play]]
    now: datetime = START
    journal: list[bytes] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    head: str = ""
    branch: str = ""
    dirty: tuple[str, ...] = ()
    ledger: list[Entry] = field(default_factory=list)
    manifests: list[Manifest] = field(default_factory=list)
    handoff: Handoff | None = None
    sessions: list[Session] = field(default_factory=list)
    starts: list[tuple[int, int, datetime]] = field(default_factory=list)  # of agents: iteration, attempt, when
    done: dict[int, int] = field(default_factory=dict)  # sessions of an iteration that came to their end
    endings: dict[str, Ending] = field(default_factory=dict)  # by attempt folder
    question: str | None = None
    asked: dict[str, Question] = field(default_factory=dict)
    logged_in: bool = True
    notes: list[str] = field(default_factory=list)

    def commit(self, value: float, parent: str, name: str) -> str:
        """The commit of ``value``; the same content gives the same id, whenever it is made."""
        commit = hashlib.sha1(f"{parent} {name} {value}".encode(), usedforsecurity=False).hexdigest()
        self.parents[commit], self.values[commit] = parent, value
        return commit

    def descends(self, commit: str, base: str) -> bool:
        while commit and commit != base:
            commit = self.parents.get(commit, "")
        return commit == base

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=max(seconds, 0.0))

    # -- its end, and its new beginning

    def lose_power(self) -> None:
        """Every session dies, in the middle of its work."""
        for session in self.sessions:
            os.close(session.pipe)
            self.dirty = (*self.dirty, "half-done.txt")
        self.sessions.clear()

    def load(self) -> LoadedRun:
        """The run as its journal tells it; without one, it begins."""
        if not self.journal:
            self.journal.append(encode_line(Record(self.now, 0.0, RunCreated(self.plan))))
        records = [decode_line(line.rstrip(b"\n")) for line in self.journal]
        return replay(records, sum(map(len, self.journal)))


def a_plan(root: Path, budget: Budget | None = None, session_s: float = 3600.0) -> RunPlan:
    contract = Contract(
        evaluator=EvaluatorSettings(command="measure"),
        budget=budget or Budget(max_iterations=5),
        session=SessionSettings(timeout_s=session_s),
    )
    repo = root / "repo"
    return RunPlan(
        run_id=RUN_ID,
        run_tag="20260131T120000Z",
        mission_slug="m",
        mission_dir="missions/m",
        repo_root=str(repo),
        common_dir=str(repo / ".git"),
        worktree_path=str(root / "lane"),
        branch_name="autoresearch/m/20260131T120000Z",
        start_commit="5" * 40,
        created_at=START.isoformat(),
        mission_text="Make the number better.",
        sandbox_text="",
        contract=contract,
        agent=AgentChoice(AgentKind.COMMAND, command="play"),
    )


def a_machine(root: Path, plays: dict[int, list[Play]], **changes: Any) -> Machine:
    """A machine with a run that was not started yet; ``changes`` are of its plan (``budget``, ``session_s`` too)."""
    shape = {name: changes.pop(name) for name in ("budget", "session_s") if name in changes}
    return Machine(root, replace(a_plan(root, **shape), **changes), plays)


# -- the ports


class FakeClock:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def now(self) -> datetime:
        return self._machine.now

    def monotonic_s(self) -> float:
        return (self._machine.now - START).total_seconds()


class FakeStops:
    """``ask`` is what a signal does."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._pending: StopRequested | None = None
        self._now = False

    def ask(self, mode: StopMode) -> None:
        self._pending = StopRequested(mode, "the test")
        self._now = self._now or mode is StopMode.NOW

    def pending(self) -> StopRequested | None:
        return self._pending

    def take(self, request: StopRequested) -> None:
        if self._pending == request:
            self._pending = None

    @property
    def now(self) -> bool:
        return self._now

    def wait(self, limit_s: float, ready_fd: int | None = None) -> Wake:
        if self._now:
            return Wake.STOP
        self._machine.passes(limit_s)
        return Wake.LIMIT


class FakeJournal:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def append(self, record: Record) -> None:
        self._machine.journal.append(encode_line(record))


class FakeRecords:
    """Starts, as the real ones do, from what the journal holds."""

    def __init__(self, machine: Machine, entries: Sequence[Entry]) -> None:
        self._machine = machine
        machine.ledger = list(entries)

    def iteration_recorded(self, entry: Entry, state: RunState) -> None:
        self._machine.ledger.append(entry)
        self.write_manifest(state)

    def write_manifest(self, state: RunState, *, lasting: bool = True) -> None:
        self._machine.manifests.append(manifest(state))

    def reopen(self, state: RunState) -> None:
        self._machine.handoff = None
        self.write_manifest(state)

    def write_end(self, state: RunState, handoff: Handoff) -> None:
        self._machine.handoff = handoff
        self.write_manifest(state)

    def kept(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self._machine.ledger if entry.decision == "keep")


class FakeLane:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._plan = machine.plan
        self.worktree = Path(machine.plan.worktree_path)
        self.common_dir = Path(machine.plan.common_dir)
        self.git_dir = self.common_dir / "worktrees" / self.worktree.name

    def prepare(self) -> str:
        baseline = self._machine.commit(1.0, "", "baseline")
        self._machine.head = self._machine.branch = baseline
        self._machine.dirty = ()
        return baseline

    def sweep_locks(self) -> None:
        pass

    def status(self) -> LaneStatus:
        return LaneStatus(self._machine.head, self._plan.branch_name, self._machine.dirty)

    def take_over(self) -> LaneStatus:
        return self.status()

    def resolve(self, commit: str) -> str | None:
        found = [known for known in self._machine.parents if commit and known.startswith(commit)]
        return found[0] if len(found) == 1 else None

    def branch_tip(self) -> str | None:
        return self._machine.branch

    def pin(self, ref: str, commit: str, base: str) -> Pinned:
        self._machine.refs[ref] = commit
        difference = Difference((Change("value.txt", "100644", "100644"),), DiffStat(1, 1, 1))
        return Pinned(self._machine.descends(commit, base), difference)

    def unfit(self, commit: str, changes: Sequence[Change]) -> str:
        return ""

    def tracked_files(self, commit: str) -> frozenset[str]:
        return frozenset({"value.txt"})

    def dependency_key(self, commit: str) -> str:
        return ""

    def obeyed(self) -> Mapping[str, str]:
        return {}

    def save_leftovers(self, ref: str, keep_aside: Path) -> str | None:
        if not self._machine.dirty:
            return None
        self._machine.refs[ref] = " ".join(self._machine.dirty)
        return ref

    def advance_kept(self, commit: str) -> None:
        self._machine.refs[kept_ref(self._plan.run_id)] = commit

    def converge(self, commit: str) -> None:
        self._machine.head = self._machine.branch = commit
        self._machine.dirty = ()


class FakeCheckout:
    """Commits are measured in the lane."""

    name = "lane"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._lane = FakeLane(machine)

    def place(self, commit: str, baseline: str, protected: tuple[str, ...]) -> Path:
        self._lane.converge(commit)
        return self._lane.worktree

    def dirt(self) -> tuple[str, ...]:
        return self._machine.dirty

    def settle(self) -> None:
        pass

    def close(self) -> None:
        pass


class FakeTerminal:
    """Windows in which runners wait for their environment, as the real runner does."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def open_window(self, name: str, argv: Sequence[str], cwd: Path) -> None:
        folder, pipe = AttemptFolder(Path(argv[-2])), Path(argv[-1])
        pid = 1000 + len(self._machine.manifests) + len(self._machine.sessions)
        write_atomic(folder.runner, json.dumps({"pid": pid}).encode(), durable=False)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self._machine.sessions.append(Session(folder, pid, self._machine.now.timestamp(), reader, name))

    def has_window(self, name: str) -> bool:
        return any(session.window == name for session in self._machine.sessions)

    def close_window(self, name: str) -> None:
        for session in [one for one in self._machine.sessions if one.window == name]:
            os.close(session.pipe)
            self._machine.sessions.remove(session)


class FakeProcesses:
    def __init__(self, machine: Machine, stops: FakeStops) -> None:
        self._machine = machine
        self._stops = stops

    def find(self, pid: int, argument: str) -> ProcessRef | None:
        session = self._session(pid)
        return ProcessRef(pid, session.started_at) if session and argument == str(session.folder.root) else None

    def _session(self, pid: int) -> Session | None:
        return next((session for session in self._machine.sessions if session.pid == pid), None)

    def alive(self, process: ProcessRef) -> bool:
        return self._session(process.pid) is not None

    def wait(self, process: ProcessRef, limit_s: float) -> Wake:
        session = self._session(process.pid)
        if session is None:
            return Wake.READY
        play = _begin(self._machine, session)
        if self._stops.now:
            return Wake.STOP
        if play is not None and play.takes_s - session.worked_s > limit_s:
            self._machine.passes(limit_s)
            session.worked_s += limit_s
            return Wake.LIMIT
        _finish(self._machine, session, play)
        return Wake.READY

    def end(self, process: ProcessRef, grace_s: float) -> None:
        session = self._session(process.pid)
        if session is not None:
            self._machine.dirty = (*self._machine.dirty, "half-done.txt")
            _exit(self._machine, session, {"status": None, "signal": 15, "duration_s": 1.0, "asked": "SIGTERM"})

    def sweep(self, cookie: str) -> int:
        for session in self._machine.sessions:
            _begin(self._machine, session)
        found = [session for session in self._machine.sessions if _carries(session, cookie)]
        for session in found:
            os.close(session.pipe)
            self._machine.sessions.remove(session)
        return len(found)


def _carries(session: Session, cookie: str) -> bool:
    value = _environment(session).get("OMAGY_COOKIE", "")
    return bool(value == cookie or value.startswith(f"{cookie}/"))


def _environment(session: Session) -> dict[str, str]:
    return dict(session.payload["environment"]) if session.payload else {}


def _begin(machine: Machine, session: Session) -> Play | None:
    """The play of ``session``, which begins to work when it did not yet; None when nobody handed it anything."""
    data = b"" if session.payload else os.read(session.pipe, 1 << 16)
    if data:
        session.payload = json.loads(data)
        machine.starts.append((*_place(session), machine.now))
    if session.payload is None:
        return None
    iteration = _place(session)[0]
    plays = machine.plays.get(iteration, [NOOP])
    return plays[min(machine.done.get(iteration, 0), len(plays) - 1)]


def _place(session: Session) -> tuple[int, int]:
    """Iteration and attempt of a session that has begun."""
    environment = _environment(session)
    return int(environment["OMAGY_ITERATION"]), int(environment["OMAGY_COOKIE"].rpartition(".")[2])


def _finish(machine: Machine, session: Session, play: Play | None) -> None:
    if play is None:
        _exit(machine, session, {"status": None, "signal": None, "duration_s": 0.0, "problem": "handover: nothing"})
        return
    machine.passes(play.takes_s - session.worked_s)
    environment = _environment(session)
    iteration, base = int(environment["OMAGY_ITERATION"]), environment["OMAGY_BASE_COMMIT"]
    if play.value is not None:
        machine.head = machine.branch = machine.commit(play.value, base, f"iteration {iteration}")
    if play.status is not None:
        write_atomic(session.folder.candidate, _artifact(machine, play, iteration, base), durable=False)
    if play.asks is not None:
        leave_question(session.folder.candidate, parse_request({"question": play.asks}))
    machine.dirty = (*machine.dirty, *play.leaves)
    machine.done[iteration] = machine.done.get(iteration, 0) + 1
    machine.endings[str(session.folder.root)] = play.ending
    _exit(machine, session, {"status": 0, "signal": None, "duration_s": play.takes_s})


def _artifact(machine: Machine, play: Play, iteration: int, base: str) -> bytes:
    artifact: dict[str, Any] = {
        "status": play.status,
        "candidate_commit": machine.head if play.status == "candidate" else None,
        "base_commit": base,
        "description": f"iteration {iteration}",
        "notes": [],
        "created_at": START.isoformat(),
    }
    return json.dumps(artifact).encode()


def _exit(machine: Machine, session: Session, record: dict[str, Any]) -> None:
    write_atomic(session.folder.exit, json.dumps(record).encode(), durable=False)
    os.close(session.pipe)
    machine.sessions.remove(session)


class FakeEvaluator:
    def __init__(self, machine: Machine, stops: FakeStops) -> None:
        self._machine = machine
        self._stops = stops

    def run(
        self, command: str, cwd: Path, environment: Mapping[str, str], limit_s: float, log: Path
    ) -> EvaluatorRun | None:
        if self._stops.now:
            return None
        self._machine.passes(1.0)
        assert (self._machine.head, self._machine.dirty) == (environment["OMAGY_CANDIDATE_COMMIT"], ())
        answer = {"pass": True, "score": self._machine.values[self._machine.head]}
        return EvaluatorRun(exit_status=0, duration_s=1.0, stdout=json.dumps(answer).encode())


class FakeAgent:
    name = "play"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def preflight(self, spec: SessionSpec) -> None:
        if not self._machine.logged_in:
            raise BlockedError("the agent is not logged in", "log in")

    def probe_commit(self, spec: SessionSpec) -> str:
        return "it plays"

    def command(self, spec: SessionSpec) -> SessionCommand:
        return SessionCommand(("play",), spec.environment, spec.instructions_file, "plain")

    def diagnose(self, spec: SessionSpec, ended: SessionExit) -> Diagnosis:
        return Diagnosis(self._machine.endings.get(str(spec.folder), Ending(EndingKind.CRASHED, "killed")))


class FakeQuestions:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def open_question(self, run_id: str) -> str | None:
        asked = (one.id for one in self._machine.asked.values() if one.status is Status.OPEN)
        return self._machine.question or next(asked, None)

    def text(self, question_id: str) -> str:
        return "Which way?"

    def answers(self, run_id: str) -> tuple[Asked, ...]:
        return ()

    def add(self, question: Question) -> Question:
        return self._machine.asked.setdefault(question.id, question)


class FakeLessons:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def text(self) -> str:
        return ""

    def run_ended(self, state: RunState, entries: tuple[Entry, ...]) -> None:
        pass


class FakeReporter:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def event(self, state: RunState, record: Record) -> None:
        pass

    def note(self, text: str) -> None:
        self._machine.notes.append(text)


# -- calls that something happens at


class Tapped:
    """A port whose every call is announced: ``tap("before" or "after")`` may raise, or ask for a stop."""

    def __init__(self, port: object, tap: Callable[[str], None]) -> None:
        self._port = port
        self._tap = tap

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._port, name)
        if not callable(value):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            self._tap("before")
            result = value(*args, **kwargs)
            self._tap("after")
            return result

        return call


def a_world(machine: Machine, run: LoadedRun, tap: Callable[[str], None], stops: FakeStops) -> World:
    """The world of one supervisor's life on ``machine``."""
    plan = machine.plan
    ports: dict[str, object] = {
        "clock": FakeClock(machine),
        "stops": stops,
        "journal": FakeJournal(machine),
        "records": FakeRecords(machine, run.entries),
        "lane": FakeLane(machine),
        "checkout": FakeCheckout(machine),
        "terminal": FakeTerminal(machine),
        "processes": FakeProcesses(machine, stops),
        "evaluator": FakeEvaluator(machine, stops),
        "agent": FakeAgent(machine),
        "questions": FakeQuestions(machine),
        "lessons": FakeLessons(machine),
        "reporter": FakeReporter(machine),
    }
    assert tuple(ports) == PORTS
    tapped = cast("dict[str, Any]", {name: Tapped(port, tap) for name, port in ports.items()})
    with contextlib.suppress(FileExistsError):
        Path(plan.repo_root).mkdir(parents=True)
    return World(
        folder=StateRoot(Path(plan.repo_root)).run(plan.run_id),
        **tapped,
        session_environment={},
        evaluator_environment={},
        elapsed_before_s=run.state.elapsed_s,
        since_s=(machine.now - START).total_seconds(),
    )
