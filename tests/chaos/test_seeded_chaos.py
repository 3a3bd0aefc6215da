"""Whatever is killed, at whatever moment of whatever iteration: the run is gone on with, and ends as it should.

Nothing here waits for a time: a session or an evaluation stops at a gate, the victim is killed there, the gate opens.
"""

import json
import os
import random
import signal

import psutil
import pytest

from chaos.checker import check
from fakes.workspace import Acts, Workspace, candidate, wait_until

ITERATIONS = 3
VICTIMS = ("supervisor", "everything", "agent", "runner", "tmux server", "evaluator")
SEEDS = range(2 * len(VICTIMS))
GATES = ("before it works", "with a commit", "with an artifact")
EVALUATOR = """\
import json, os, pathlib, threading
value = float(pathlib.Path("value.txt").read_text())
if os.environ["OMAGY_ITERATION"] == {iteration!r} and not pathlib.Path({opened!r}).exists():
    pathlib.Path({pid!r}).write_text(str(os.getpid()))
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
            wait_until(
                lambda: self._evaluator_pid.exists() and self._evaluator_pid.read_text() != "", "the evaluation"
            )
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
                return [int(self._evaluator_pid.read_text())]
            case _:
                agent = [child.pid for child in psutil.Process(self.runner()).children(recursive=True)]
                return [supervisor, tmux_server(self.ws), self.runner(), *agent]

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
        os.kill(pid, signal.SIGKILL)
    if scene.victim in ("supervisor", "everything"):
        assert supervisor.wait(30) == -signal.SIGKILL
        scene.open_the_gate()
        done = ws.resume(ws.run_id())
        assert done.returncode == 0, done.stderr
    else:
        if scene.victim == "evaluator":
            scene.open_the_gate()
        wait_until(lambda: len(ws.decisions()) > scene.iteration or scene.victim == "runner", "the decision")
        scene.open_the_gate()
        assert supervisor.wait(60) == 0
    check(ws)
    assert ws.decisions() == scene.expected()
    assert ws.manifest()["lifecycle_outcome"] == "finished"
