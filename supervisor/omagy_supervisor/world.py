"""Everything a run acts through: its ports, its folder, and the time it has been supervised."""

from collections.abc import Mapping
from dataclasses import dataclass

from omagy_autoresearch.events import Event, Record
from omagy_supervisor.agents import Agent
from omagy_supervisor.paths import RunFolder
from omagy_supervisor.ports import (
    Checkout,
    Clock,
    Evaluator,
    Journal,
    Lane,
    Lessons,
    Processes,
    Questions,
    Records,
    Reporter,
    Stops,
    Terminal,
)


@dataclass(frozen=True, slots=True)
class World:
    """``session_environment`` is complete for agents, ``evaluator_environment`` for evaluators.

    ``elapsed_before_s`` is the supervised time of earlier lives, ``since_s`` when this one began.
    """

    folder: RunFolder
    clock: Clock
    stops: Stops
    journal: Journal
    records: Records
    lane: Lane
    checkout: Checkout
    terminal: Terminal
    processes: Processes
    evaluator: Evaluator
    agent: Agent
    questions: Questions
    lessons: Lessons
    reporter: Reporter
    session_environment: Mapping[str, str]
    evaluator_environment: Mapping[str, str]
    elapsed_before_s: float
    since_s: float

    def stamp(self, event: Event) -> Record:
        elapsed = self.elapsed_before_s + self.clock.monotonic_s() - self.since_s
        return Record(self.clock.now(), round(elapsed, 3), event)
