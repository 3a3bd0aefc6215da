"""What omagy itself costs: its own time for an iteration, beside the least that any supervisor must do for one.

**Own time.** A real run on real git and real files; only what the agent and the evaluator would do is played inside
this process, by ports (terminal, processes, evaluator) whose every call is timed. Own time is the loop's time minus
those calls, so it holds everything of omagy's: deciding, git, journal, ledger, manifest, results, instructions, and
handing a session its environment.

**Floor.** After an iteration, in a second worktree of the same repository in which the same commit was just made, the
steps no correct supervisor can leave out are timed, with plain ``subprocess`` and plain file calls:

1. ``git rev-parse HEAD``: which commit did the session leave?
2. ``git status --porcelain``: did it leave anything that must be saved?
3. ``git update-ref``: the candidate stays reachable, whatever is decided.
4. ``git reset --hard``: the lane is at the kept commit.
5. two journal lines, each written and fsynced: the session was announced, the decision was taken.
6. the manifest: a new file, fsynced, renamed over the old one, its folder fsynced.

The floor leaves out what costs omagy time on purpose: saving leftovers, objects made durable, the ledger, checks that
the lane is its own. Targets: own time within 3 times the floor, and a growth over 1,000 iterations that is git's own.

**Start.** ``omagy --version`` and ``omagy hud`` beside ``python -c pass``, all with ``-I``. Targets: within 4 and 4.3
times (60 ms where a bare interpreter takes 14).
"""

# ruff: noqa: ARG002 - the instant ports have the signatures of the real ones

import argparse
import contextlib
import dataclasses
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from omagy_autoresearch.evaluation import EvaluatorRun
from omagy_autoresearch.events import Applied, Record, RunCreated
from omagy_autoresearch.run import RunState
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.evaluator import ShellEvaluator
from omagy_supervisor.adapters.git import commands
from omagy_supervisor.adapters.journal import FileJournal
from omagy_supervisor.adapters.lock import Pointer, write_pointer
from omagy_supervisor.adapters.processes import SystemProcesses
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.arguments import split_arguments
from omagy_supervisor.bootstrap import make_world
from omagy_supervisor.commands.launch import plan_run
from omagy_supervisor.files import write_atomic
from omagy_supervisor.loop import drive
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.ports import ProcessRef, Wake
from omagy_supervisor.recover import replay
from omagy_supervisor.settings import read_settings
from omagy_supervisor.world import World

FILES = 200
WINDOW = 50
OWN_TARGET = 3.0
FLAT_TARGET = 1.25
START_TARGET = 4.0
HUD_TARGET = 4.3
DATE = "2026-01-31T12:00:00Z"
FSYNC = os.fsync  # the floor's own, which is not counted as omagy's
SANDBOX = "---\nevaluator:\n  command: cat score.json\n  format: json\n  final_check: off\n---\n"


class Watch:
    """Adds up the time spent in what is not omagy's."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextlib.contextmanager
    def excluded(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started


def git(folder: Path, *args: str) -> str:
    """The raw git of floor and agent."""
    return subprocess.run(
        ["git", "-C", str(folder), *args], check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path, value: int) -> str:
    """What a session does: change a file and commit. Odd iterations score better, even ones worse."""
    (folder / "value.txt").write_text(f"{value}\n")
    git(folder, "commit", "-q", "-a", "-m", f"value {value}")
    return git(folder, "rev-parse", "HEAD")


class InstantSessions:
    """Terminal and processes in one: a session that does its work the moment somebody waits for it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._pipe = -1
        self._folder = Path()
        self.lane = Path()

    def open_window(self, name: str, argv: Sequence[str], cwd: Path) -> None:
        with self._watch.excluded():
            self._folder = Path(argv[-2])
            write_atomic(self._folder / "runner.json", b'{"pid": 2}', durable=False)
            self._pipe = os.open(argv[-1], os.O_RDONLY | os.O_NONBLOCK)

    def has_window(self, name: str) -> bool:
        return False

    def close_window(self, name: str) -> None:
        pass

    def find(self, pid: int, argument: str) -> ProcessRef | None:
        return ProcessRef(pid, time.time())

    def alive(self, process: ProcessRef) -> bool:
        return False

    def wait(self, process: ProcessRef, limit_s: float) -> Wake:
        with self._watch.excluded():
            environment = json.loads(os.read(self._pipe, 1 << 16))["environment"]
            os.close(self._pipe)
            iteration = int(environment["OMAGY_ITERATION"])
            artifact = {
                "status": "candidate",
                "candidate_commit": commit(Path(environment["OMAGY_WORKTREE"]), iteration),
                "base_commit": environment["OMAGY_BASE_COMMIT"],
                "description": f"iteration {iteration}",
                "notes": [],
                "created_at": DATE,
            }
            Path(environment["OMAGY_CANDIDATE_FILE"]).write_text(json.dumps(artifact))
            ended = {"status": 0, "signal": None, "duration_s": 60.0}
            write_atomic(self._folder / "exit.json", json.dumps(ended).encode(), durable=False)
        return Wake.READY

    def end(self, process: ProcessRef, grace_s: float) -> None:
        pass

    def sweep(self, cookie: str) -> int:
        return 0


class InstantEvaluator:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def run(
        self, command: str, cwd: Path, environment: Mapping[str, str], limit_s: float, log: Path
    ) -> EvaluatorRun | None:
        with self._watch.excluded():
            value = int((cwd / "value.txt").read_text())
            answer = json.dumps({"pass": True, "score": value if value % 2 else -value})
            return EvaluatorRun(exit_status=0, stdout=answer.encode())


class Floor:
    """The least that one iteration takes, in a worktree of its own."""

    def __init__(self, repository: Path) -> None:
        self._lane = repository.with_name("floor")
        git(repository, "worktree", "add", "-q", "-b", "floor", str(self._lane))
        self._base = git(self._lane, "rev-parse", "HEAD")
        self._folder = repository.with_name("floor-records")
        self._folder.mkdir()
        self._journal = os.open(self._folder / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._line = b"x" * 700 + b"\n"

    def measure(self, iteration: int) -> float:
        candidate = commit(self._lane, -iteration)
        started = time.perf_counter()
        self._append()
        git(self._lane, "rev-parse", "HEAD")
        git(self._lane, "status", "--porcelain")
        git(self._lane, "update-ref", f"refs/floor/{iteration}", candidate)
        self._append()
        git(self._lane, "reset", "-q", "--hard", self._base)
        self._replace_manifest()
        return time.perf_counter() - started

    def _append(self) -> None:
        os.write(self._journal, self._line)
        FSYNC(self._journal)

    def _replace_manifest(self) -> None:
        new = self._folder / "manifest.new"
        with new.open("wb") as file:
            file.write(self._line * 2)
            file.flush()
            FSYNC(file.fileno())
        new.replace(self._folder / "manifest")
        folder = os.open(self._folder, os.O_RDONLY)
        FSYNC(folder)
        os.close(folder)

    def close(self) -> None:
        os.close(self._journal)


class Meter:
    """A reporter that takes the time between one applied decision and the next, and has the floor measured."""

    def __init__(self, watch: Watch, floor: Floor) -> None:
        self.own: list[float] = []
        self.floor: list[float] = []
        self._watch = watch
        self._floor = floor
        self._since = time.perf_counter()
        self._excluded = 0.0

    def event(self, state: RunState, entry: Record) -> None:
        if not isinstance(entry.event, Applied):
            return
        now = time.perf_counter()
        if state.iteration:
            self.own.append(now - self._since - (self._watch.seconds - self._excluded))
            self.floor.append(self._floor.measure(state.iteration))
        self._since, self._excluded = time.perf_counter(), self._watch.seconds

    def note(self, text: str) -> None:
        pass


@dataclasses.dataclass
class Costs:
    """How often omagy calls git and fsync, and how long that takes."""

    calls: Counter[str] = dataclasses.field(default_factory=Counter)
    seconds: defaultdict[str, float] = dataclasses.field(default_factory=lambda: defaultdict(float))

    def timed(self, name: Callable[..., str], call: Callable[..., Any]) -> Callable[..., Any]:
        def timing(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                key = name(*args)
                self.calls[key] += 1
                self.seconds[key] += time.perf_counter() - started

        return timing

    @contextlib.contextmanager
    def counted(self, wanted: bool) -> Iterator[None]:
        real_git, real_fsync = commands._execute, os.fsync
        if wanted:
            vars(commands)["_execute"] = self.timed(lambda *args: f"git {_verb(args[1])}", real_git)
            vars(os)["fsync"] = self.timed(lambda *_: "fsync", real_fsync)
        try:
            yield
        finally:
            vars(commands)["_execute"] = real_git
            vars(os)["fsync"] = real_fsync


def _verb(argv: Sequence[str]) -> str:
    words = iter(argv[1:])
    for word in words:
        if word in ("-C", "-c"):
            next(words)
        elif not word.startswith("-"):
            return word
    return ""


def a_repository(folder: Path) -> Path:
    root = folder / "repo"
    (root / "missions/m").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for number in range(FILES):
        (root / f"file-{number}.txt").write_text(f"{number}\n" * 20)
    (root / "value.txt").write_text("0\n")
    (root / "missions/m/mission.md").write_text("Make the number better.\n")
    (root / "missions/m/sandbox.md").write_text(SANDBOX)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    return root


def a_run(folder: Path, iterations: int, costs: Costs | None) -> Meter:
    """Drive a run of ``iterations`` and return what was measured."""
    root, watch = a_repository(folder), Watch()
    settings = read_settings(os.environ)
    arguments = split_arguments(["--max-iterations", str(iterations), "--agent", "command:true", "m"])
    plan, _ = plan_run(arguments, str(root / "missions/m"), settings)
    state_root = StateRoot(root)
    state_root.prepare()
    records = state_root.run(plan.run_id)
    records.root.mkdir()
    clock = SystemClock()
    journal = FileJournal(records.journal, 0)
    first = Record(clock.now(), 0.0, RunCreated(plan))
    journal.append(first)
    journal.close()
    run = replay([first], records.journal.stat().st_size)
    floor = Floor(root)
    meter = Meter(watch, floor)
    sessions = InstantSessions(watch)
    world = make_world(settings, state_root, run, plan.agent, SignalStops(records.stop_request, clock), meter)
    parts: dict[str, Any] = {"terminal": sessions, "processes": sessions, "evaluator": InstantEvaluator(watch)}
    world = dataclasses.replace(world, **parts)
    with (costs or Costs()).counted(wanted=costs is not None):
        _drive(world, run.state)
    floor.close()
    return meter


def _drive(world: World, state: RunState) -> None:
    gc.collect()
    ended = drive(world, state)
    assert str(ended.outcome) == "finished", ended.stop_reason


def evaluator_overhead(folder: Path, rounds: int) -> tuple[float, float]:
    """Milliseconds of an evaluation through omagy, and of its bare process."""
    clock = SystemClock()
    stops = SignalStops(folder / "none", clock)
    evaluator = ShellEvaluator(clock, stops, SystemProcesses(stops, clock), "bench")
    command = "echo '{\"pass\": true}'"
    environment = {"PATH": os.environ["PATH"], "OMAGY_RESULT_FILE": str(folder / "result")}
    own, bare = [], []
    for _ in range(rounds):
        own.append(_timed(lambda: evaluator.run(command, folder, environment, 60.0, folder / "log")))
        bare.append(_timed(partial(_quiet, ["/bin/sh", "-c", command])))
    return 1000 * statistics.median(own), 1000 * statistics.median(bare)


def start_up(repository: Path, rounds: int) -> tuple[float, float, float]:
    """Milliseconds of ``omagy --version``, ``omagy hud`` and a bare interpreter: the best of ``rounds``, in turn."""
    root = StateRoot(repository)
    write_pointer(root.pointer, Pointer(next(root.runs.iterdir()).name, active=True))  # the HUD has a run to show
    omagy = [sys.executable, "-I", "-m", "omagy_supervisor"]
    hud_call = [*omagy, "hud", "--path", str(repository)]
    calls = ([*omagy, "--version"], hud_call, [sys.executable, "-I", "-c", "pass"])
    times = [[_timed(partial(_quiet, call)) for call in calls] for _ in range(rounds)]
    version, hud, bare = (1000 * min(column) for column in zip(*times, strict=True))
    return version, hud, bare


def _quiet(argv: Sequence[str]) -> None:
    subprocess.run(argv, check=True, capture_output=True)


def _timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def ms(values: Sequence[float]) -> float:
    """The lower quartile: what it takes when nothing else disturbs the machine, without trusting the luckiest."""
    return 1000 * statistics.quantiles(values, n=4)[0]


@dataclasses.dataclass
class Row:
    name: str
    own: float
    floor: float
    target: float

    @property
    def ratio(self) -> float:
        return self.own / self.floor

    def shown(self) -> str:
        verdict = "ok" if self.ratio <= self.target else f"over {self.target:g}×"
        return f"{self.name:<34}{self.own:>9.2f}{self.floor:>9.2f}{self.ratio:>8.2f}×  {verdict}"


def measure(short: int, long: int, rounds: int, costs: Costs | None) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="omagy-bench-") as name:
        folder = Path(name)
        for part in ("short", "long", "evaluator"):
            (folder / part).mkdir()
        few = a_run(folder / "short", short, costs)
        many = a_run(folder / "long", long, None)
        first, last = (ms(window) for window in (many.own[:WINDOW], many.own[-WINDOW:]))
        early, late = (ms(window) for window in (many.floor[:WINDOW], many.floor[-WINDOW:]))
        evaluation, process = evaluator_overhead(folder / "evaluator", rounds)
        version, hud, bare = start_up(folder / "short" / "repo", rounds)
    return [
        Row(f"iteration, of {short}", ms(few.own), ms(few.floor), OWN_TARGET),
        Row(f"iteration, last {WINDOW} of {long:,}", last, late, OWN_TARGET),
        Row("growth of both in that run", last / first, late / early, FLAT_TARGET),
        Row("omagy --version, bare python", version, bare, START_TARGET),
        Row("omagy hud, bare python", hud, bare, HUD_TARGET),
        Row("evaluation, its bare process", evaluation, process, float("inf")),
    ]


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure what omagy itself costs.")
    parser.add_argument("--quick", action="store_true", help="20 and 100 iterations instead of 50 and 1,000")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--calls", action="store_true", help="show the git calls and fsyncs of an iteration, too")
    options = parser.parse_args(argv)
    for key in ("AUTHOR", "COMMITTER"):
        os.environ.update({f"GIT_{key}_NAME": "bench", f"GIT_{key}_EMAIL": "bench@example.invalid"})
    os.environ.update({"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"})
    short, long, rounds = (20, 100, 10) if options.quick else (50, 1000, 30)
    costs = Costs() if options.calls else None
    rows = measure(short, long, rounds, costs)
    calls = (
        [(key, costs.calls[key] / short, 1000 * costs.seconds[key] / short) for key in costs.calls] if costs else []
    )
    if options.json:
        shown = [{**dataclasses.asdict(row), "ratio": row.ratio} for row in rows]
        print(json.dumps({"rows": shown, "calls": calls}, indent=2, default=str))
    else:
        print(f"{'ms, lower quartile':<34}{'omagy':>9}{'floor':>9}{'ratio':>9}")
        for row in rows:
            print(row.shown())
        for key, number, spent in sorted(calls, key=lambda call: -call[2]):
            print(f"  {key:<32}{number:>7.1f} times an iteration, {spent:>6.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
