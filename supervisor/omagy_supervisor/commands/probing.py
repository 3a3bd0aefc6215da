"""A lane for measuring alone, taken away again: what ``check`` and the guided interview look at a mission with."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from omagy_autoresearch.decision import show as show_score
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.errors import OmagyError
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.events import Record
from omagy_autoresearch.names import evaluator_cookie
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.probes import Probe
from omagy_autoresearch.run import RunState
from omagy_autoresearch.surface import Surface
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.evaluator import ShellEvaluator
from omagy_supervisor.adapters.git.lane import GitLane
from omagy_supervisor.adapters.processes import SystemProcesses
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.bootstrap import make_checkout, make_lane, session_environment
from omagy_supervisor.files import make_folder
from omagy_supervisor.measuring import StoppedError, measure
from omagy_supervisor.paths import RunFolder, StateRoot
from omagy_supervisor.ports import Checkout, Evaluator, Reporter
from omagy_supervisor.settings import Settings, environment_for_programs
from omagy_supervisor.ui.messages import say

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often the same commit is measured: ``most`` at most, beyond ``least`` only until ``enough_s`` were used."""

    most: int
    least: int
    enough_s: float


class _Notes:
    """Implements ports.Reporter: progress goes to ``tell``."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def event(self, state: RunState, record: Record) -> None:
        """There is no run here."""

    def note(self, text: str) -> None:
        self._tell(f"  {text}")


@dataclass(frozen=True, slots=True)
class ProbePlaces:
    """Implements ports.Places."""

    folder: RunFolder
    lane: GitLane
    checkout: Checkout
    evaluator: Evaluator
    reporter: Reporter
    session_environment: Mapping[str, str]
    evaluator_environment: Mapping[str, str]


@contextmanager
def stoppable(folder: RunFolder) -> Iterator[SignalStops]:
    """Takes over the signals of this process, and gives them back at the end.

    What they stopped ends as KeyboardInterrupt, with the reason; so does what was done when they came.
    """
    stops = SignalStops(folder.stop_request, SystemClock())
    with stops.installed():
        try:
            yield stops
        except (StoppedError, OmagyError):
            if not stops.now:  # the signal that stopped us may have ended a git command first
                raise
    if stops.now:
        request = stops.pending()
        raise KeyboardInterrupt(request.by if request is not None else "")


@contextmanager
def probe_places(plan: RunPlan, settings: Settings, tell: Tell = say) -> Iterator[ProbePlaces]:
    """A lane for ``plan`` alone; it is taken away again, whatever happens. It is ``stoppable`` meanwhile."""
    root = StateRoot(Path(plan.repo_root))
    root.prepare()
    folder = RunFolder(root.state / f"check-{plan.run_id}")
    make_folder(folder.root)
    clock = SystemClock()
    lane = make_lane(settings, plan)
    checkout = make_checkout(settings, plan, lane)
    cookie = evaluator_cookie(plan.worktree_path)
    with stoppable(folder) as stops:
        try:
            yield ProbePlaces(
                folder=folder,
                lane=lane,
                checkout=checkout,
                evaluator=ShellEvaluator(clock, stops, SystemProcesses(stops, clock), cookie),
                reporter=_Notes(tell),
                session_environment=session_environment(settings, plan),
                evaluator_environment=environment_for_programs(settings.environment),
            )
        finally:
            checkout.close()
            lane.remove()
            shutil.rmtree(folder.root, ignore_errors=True)


def measure_often(
    places: ProbePlaces, plan: RunPlan, surface: Surface, baseline: str, patience: Patience, tell: Tell = say
) -> list[Evaluation]:
    """The same commit measured until it is enough to see the noise, or it has taken long enough."""
    found: list[Evaluation] = []
    while len(found) < patience.most:
        one = measure(
            places,
            plan,
            surface,
            iteration=0,
            commit=baseline,
            base=baseline,
            probe=Probe(),
            number=len(found),
        )
        tell(f"  measurement {len(found) + 1}: {shown(one)}")
        found.append(one)
        used = sum(each.duration_s for each in found)
        if one.fault is not None or (len(found) >= patience.least and used > patience.enough_s):
            break
    return found


def shown(one: Evaluation) -> str:
    """One measurement as one line."""
    if one.fault is not None:
        return one.error
    return f"pass={str(one.passed).lower()}, score {show_score(one.score)}, {format_duration(one.duration_s)}"
