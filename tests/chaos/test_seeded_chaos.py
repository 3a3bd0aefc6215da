"""Whatever is killed, at whatever moment of whatever iteration: the run is gone on with, and ends as it should.

Nothing here waits for a time: a session or an evaluation stops at a gate, the victim is killed there, the gate opens.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from chaos.checker import check, decided
from fakes.workspace import PATIENCE_S, Acts, Workspace, candidate, lives, told, wait_until, workspace
from omagy_autoresearch.names import session_cookie, sessions_cookie
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.processes import SystemProcesses
from omagy_supervisor.adapters.stops import SignalStops

ITERATIONS = 3
VICTIMS = ("supervisor", "everything", "agent", "runner", "tmux server", "evaluator")
SEEDS = range(2 * len(VICTIMS))
GATES = ("before it works", "with a commit", "with an artifact")
EVALUATOR = """\
import json, os, pathlib, threading
value = float(pathlib.Path("value.txt").read_text())
if os.environ["OMAGY_ITERATION"] == {iteration!r} and not pathlib.Path({opened!r}).exists():
    pathlib.Path({pid!r}).write_text(f"{{os.getpid()}}\\n")
    while not pathlib.Path({opened!r}).exists():
        threading.Event().wait(0.02)
print(json.dumps({{"pass": True, "score": value}}))
"""


class Scene:
    """A run that stops at a gate in one iteration, for something to be killed there."""

    def __init__(self, ws: Workspace, victim: str, iteration: int, gate: str) -> None:
        self.ws = ws
        self.victim = victim
        self.iteration = iteration
        self.gate = gate
        self.opened = ws.plan_file.with_name("opened")
        self._evaluator_pid = ws.plan_file.with_name("evaluator.pid")
        held = str(iteration) if victim == "evaluator" else ""
        names = {"iteration": held, "opened": str(self.opened), "pid": str(self._evaluator_pid)}
        ws.mission(f"budget:\n  max_iterations: {ITERATIONS}\n", EVALUATOR.format(**names))
        ws.commit()
        plan = {f"i{number}": candidate(number + 1) for number in range(1, ITERATIONS + 1)}
        if victim != "evaluator":
            plan[f"i{iteration}"] = self._gated(candidate(iteration + 1))
        ws.plan(**plan)

    def _gated(self, acts: Acts) -> Acts:
        place = 1 + GATES.index(self.gate) if self.gate != GATES[0] else 0
        return [*acts[:place], {"print": "at the gate"}, {"wait_for": str(self.opened)}, *acts[place:]]

    def wait_at_the_gate(self) -> None:
        self.ws.wait_for_run()
        if self.victim == "evaluator":
            told(self._evaluator_pid)
        else:
            self.ws.wait_for_session(self.iteration, "at the gate")

    def open_the_gate(self) -> None:
        self.opened.touch()

    # -- who can be killed

    def runner(self) -> int:
        record = self.ws.folder() / f"iterations/{self.iteration:04d}/runner.json"
        return int(json.loads(record.read_text())["pid"])

    def victims(self, supervisor: int) -> list[int]:
        match self.victim:
            case "supervisor":
                return [supervisor]
            case "agent":
                return [psutil.Process(self.runner()).children()[0].pid]
            case "runner":
                return [self.runner()]
            case "tmux server":
                return [tmux_server(self.ws)]
            case "evaluator":
                return [int(told(self._evaluator_pid))]
            case _:
                # The terminal last: whoever loses it is told so, and must not have the time to put things in order.
                agent = [child.pid for child in psutil.Process(self.runner()).children(recursive=True)]
                return [supervisor, self.runner(), *agent, tmux_server(self.ws)]

    def expected(self) -> list[str]:
        """Only who loses the session's artifact, or its measurement, loses the iteration."""
        decisions = ["baseline", *["keep"] * ITERATIONS]
        if self.victim == "evaluator":
            decisions[self.iteration] = "discard"
        elif self.victim in ("agent", "tmux server") and self.gate != GATES[2]:
            decisions[self.iteration] = "error"
        return decisions


def tmux_server(ws: Workspace) -> int:
    return int(ws.tmux("display-message", "-p", "#{pid}").stdout)


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_is_killed_the_run_ends_as_it_should(ws: Workspace, seed: int) -> None:
    """A killed supervisor's run is resumed; every other death is the supervisor's to deal with."""
    dice = random.Random(seed)
    scene = Scene(ws, VICTIMS[seed % len(VICTIMS)], dice.randint(1, ITERATIONS), dice.choice(GATES))
    supervisor = ws.start_launch()
    scene.wait_at_the_gate()
    for pid in scene.victims(supervisor.pid):
        with contextlib.suppress(ProcessLookupError):  # one that ended with the victim before it
            os.kill(pid, signal.SIGKILL)
    if scene.victim in ("supervisor", "everything"):
        assert supervisor.wait(PATIENCE_S) == -signal.SIGKILL
        scene.open_the_gate()
        done = ws.resume(ws.run_id())
        assert done.returncode == 0, done.stderr
    else:
        if scene.victim == "evaluator":
            scene.open_the_gate()
        wait_until(lambda: len(ws.decisions()) > scene.iteration or scene.victim == "runner", "the decision")
        scene.open_the_gate()
        assert supervisor.wait(PATIENCE_S) == 0
    check(ws)
    assert ws.decisions() == scene.expected()
    assert ws.manifest()["lifecycle_outcome"] == "finished"


def test_a_detached_run_survives_the_death_of_its_tmux_server(ws: Workspace) -> None:
    """Supervisor and session lose their terminal; the run ends as stopped and goes on when it is resumed."""
    scene = Scene(ws, "tmux server", 2, GATES[1])
    launched = ws.omagy("autoresearch", "--agent", ws.agent, "--detach", "missions/m")
    assert launched.returncode == 0, launched.stderr
    scene.wait_at_the_gate()
    os.kill(tmux_server(ws), signal.SIGKILL)
    wait_until(lambda: ws.manifest()["lifecycle_outcome"] is not None, "the end of the run")
    wait_until(lambda: not ws.own_processes(), "the end of the supervisor")
    assert ws.manifest()["lifecycle_outcome"] == "userinterlude"
    check(ws)
    scene.open_the_gate()
    done = ws.resume(ws.run_id())
    assert done.returncode == 0, done.stderr
    check(ws)
    assert ws.decisions() == ["baseline", "keep", "keep", "keep"]


def test_a_sweep_spares_the_run_of_the_same_name_in_another_repository(tmp_path: Path) -> None:
    """Two missions of one name that start in the same second have the same run id; their lanes differ."""
    forever = [sys.executable, "-c", "import threading; print('there', flush=True); threading.Event().wait()"]
    lanes = [str(tmp_path / name / "autoresearch-m-20260131T120000Z") for name in ("one", "two")]
    environments = [{**os.environ, "OMAGY_COOKIE": session_cookie(lane, 1, 1)} for lane in lanes]
    mine, theirs = (subprocess.Popen(forever, env=each, stdout=subprocess.PIPE) for each in environments)
    try:
        for process in (mine, theirs):  # a process that has just been started has no environment yet
            assert process.stdout is not None
            assert process.stdout.readline() == b"there\n"
        clock = SystemClock()
        processes = SystemProcesses(SignalStops(tmp_path, clock), clock)
        assert processes.sweep(sessions_cookie(lanes[0])) == 1
        assert not lives(mine.pid)
        assert theirs.poll() is None
    finally:
        for process in (mine, theirs):
            process.kill()
            process.communicate()


# -- a disk that is full


def mended(ws: Workspace) -> None:
    """What the fault's message says works: the run is resumed and ends with everything it had."""
    before = read_decided(ws)
    done = ws.resume(ws.run_id())
    assert done.returncode == 0, done.stderr
    check(ws)
    assert ws.ledger()["entries"][: len(before)] == before
    assert ws.decisions() == ["baseline", "keep", "discard", "keep"]


def read_decided(ws: Workspace) -> list[dict[str, Any]]:
    """The entries that stand in the journal, whose last line may be torn."""
    lines = (ws.folder() / "journal.jsonl").read_text().splitlines(keepends=True)
    events = [json.loads(line.partition(" ")[2])["event"] for line in lines if line.endswith("\n")]
    return decided(events)


def full_disk_mission(ws: Workspace) -> None:
    ws.mission(f"budget:\n  max_iterations: {ITERATIONS}\n")
    ws.commit()
    left = {"write": {"left.txt": "left"}}
    ws.plan(i1=[*candidate(3), left], i2=[*candidate(2), left], i3=candidate(4))


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace; bin/dev setup installs it where it can")
@pytest.mark.parametrize(
    ("call", "number"),
    [("fsync", 16), ("fsync", 24), ("fsync", 33), ("rename", 12), ("rename", 17)],
)
def test_a_disk_that_fills_up_loses_nothing(ws: Workspace, call: str, number: int) -> None:
    """From one call on, nothing can be written any more; with space again, the run goes on."""
    full_disk_mission(ws)
    fault = ["-e", f"trace={call}", "-e", f"inject={call}:error=ENOSPC:when={number}+"]
    omagy = [sys.executable, "-m", "omagy_supervisor", "autoresearch", "--foreground", "--agent", ws.agent]
    done = subprocess.run(
        ["strace", "-qq", "-o", os.devnull, *fault, *omagy, "missions/m"],
        cwd=ws.root,
        env=ws.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if "ptrace" in done.stderr.lower():
        pytest.skip("this machine forbids tracing, a container without ptrace for instance")
    assert done.returncode in (1, 3), done.stderr
    assert "No space left on device" in done.stderr
    assert "free some space, then resume" in done.stderr
    assert "fault of omagy's own" not in done.stderr
    mended(ws)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MB below the test's folder."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(folder)], capture_output=True)
    if mount.returncode != 0:
        pytest.skip("this user may not mount: CI runs as root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("spare_bytes", [0, 4096, 12288, 24576])
def test_a_disk_that_is_full_for_everybody_loses_nothing(small_disk: Path, spare_bytes: int) -> None:
    """Agent, git and omagy all meet the full disk; with space again, the run goes on from what it has."""
    with workspace(small_disk) as ws:
        full_disk_mission(ws)
        gate, space = small_disk / "opened", small_disk / "space"
        ws.plan(
            i1=candidate(3),
            i2=[{"print": "at the gate"}, {"wait_for": str(gate)}, *candidate(2)],
            i3=[{"wait_for": str(space)}, *candidate(4)],
        )
        supervisor = ws.start_launch()
        ws.wait_for_run()
        ws.wait_for_session(2, "at the gate")
        gate.touch()
        fill(small_disk / "filler", spare_bytes)
        wait_until(lambda: supervisor.poll() is not None or len(ws.decisions()) > 2, "an end of iteration 2")
        (small_disk / "filler").unlink()
        space.touch()
        said = supervisor.communicate(timeout=PATIENCE_S)[1]
        if supervisor.returncode != 0:
            assert supervisor.returncode in (1, 3), said
            assert "No space left on device" in said
            assert "fault of omagy's own" not in said
            assert ws.resume(ws.run_id()).returncode == 0
        check(ws)
        decisions = ws.decisions()
        assert decisions in (["baseline", "keep", "discard", "keep"], ["baseline", "keep", "error", "keep"])


def fill(path: Path, spare_bytes: int) -> None:
    """Use up the file system of ``path`` but for ``spare_bytes``."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
        file.truncate(file.tell() - spare_bytes)
