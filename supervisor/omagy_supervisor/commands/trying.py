"""Tries the evaluator or guard of a draft on the spot, where nothing of the user's can be touched (section 9).

HEAD is copied into a repository of omagy's own beside the user's, where a lane would lie. There the draft is written
as the mission it will be, and measured like a run measures its baseline. All of it is gone again afterwards.
"""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil

from omagy_autoresearch.errors import OmagyError
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.intake.trials import (
    Trial,
    TrialKind,
    could_not_try,
    evaluator_trial,
    guard_trial,
    with_uncommitted,
)
from omagy_autoresearch.lines import visible
from omagy_autoresearch.mission_draft import MissionDraft
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.probes import Probe, ProbeKind
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.git.facts import RepositoryFacts, uncommitted
from omagy_supervisor.adapters.git.private_copy import make_private_copy
from omagy_supervisor.adapters.processes import SystemProcesses
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.arguments import Arguments
from omagy_supervisor.bootstrap import users_git
from omagy_supervisor.commands.launch import plan_run
from omagy_supervisor.commands.probing import Patience, ProbePlaces, Tell, measure_often, probe_places
from omagy_supervisor.files import cannot_write, read_regular
from omagy_supervisor.measuring import measure, prepare_checkout, protected_surface
from omagy_supervisor.scaffold import scaffold
from omagy_supervisor.settings import Settings

_PATIENCE = Patience(most=5, least=1, enough_s=60.0)
_OUTPUT_LIMIT = 4000
_LOG_LIMIT = 16 << 20
_NO_AGENT = Arguments(values={"--agent": "command:true"})


def try_out(draft: MissionDraft, kind: TrialKind, facts: RepositoryFacts, settings: Settings, tell: Tell) -> Trial:
    """What the evaluator or guard of ``draft`` says about HEAD; never raises because of what was tried.

    Raises KeyboardInterrupt when it is stopped, with the reason where it was not Ctrl-C, and StorageError.
    """
    with private_place(facts) as place:
        try:
            limit = f"at most {draft.timeout} each"
            tell(f"  on a copy of {facts.head[:12]}, {limit} (Ctrl-C ends the trial only)")
            repository = place / facts.root.name
            make_private_copy(users_git(settings, facts.root), facts, repository)
            folder = scaffold(repository, draft)
            plan, _ = plan_run(_NO_AGENT, str(folder), settings)
            with probe_places(plan, settings, tell) as places:
                trial = _measured(draft, kind, facts, places, plan, tell)
                return with_uncommitted(trial, draft, uncommitted(users_git(settings, facts.root), facts))
        except OmagyError as error:
            hint = f" ({' '.join(error.hint.split())})" if error.hint else ""
            return could_not_try(draft, kind, facts.head, f"{error.message}{hint}")


@contextlib.contextmanager
def private_place(facts: RepositoryFacts) -> Iterator[Path]:
    """A new folder where lanes lie; it is removed at the end. What a killed omagy left there is removed first."""
    beside = facts.root.with_name(f"{facts.root.name}.omagy-worktrees")
    _sweep(beside)
    place = beside / f"trial-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        place.mkdir(parents=True)
    except OSError as error:
        raise cannot_write(place, error) from error
    try:
        yield place
    finally:
        _remove(place)


def _sweep(beside: Path) -> None:
    for place in beside.glob("trial-*-*"):
        pid = place.name.split("-")[1]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            clock = SystemClock()
            SystemProcesses(SignalStops(Path(os.devnull), clock), clock).sweep(str(place))
            _remove(place)


def _remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(OSError):
        place.parent.rmdir()


def _measured(
    draft: MissionDraft, kind: TrialKind, facts: RepositoryFacts, places: ProbePlaces, plan: RunPlan, tell: Tell
) -> Trial:
    baseline = places.lane.prepare()
    surface = protected_surface(plan, places.lane.tracked_files(baseline))
    prepare_checkout(places, plan, surface, baseline)
    if kind is TrialKind.EVALUATOR:
        found = measure_often(places, plan, surface, baseline, _PATIENCE, tell)
        return evaluator_trial(draft, facts.head, found, _output(places, found))
    result = measure(
        places,
        plan,
        surface,
        iteration=0,
        commit=baseline,
        base=baseline,
        probe=Probe(ProbeKind.GUARD),
        number=0,
    )
    return guard_trial(draft, facts.head, result, _log(places, "guard.log"))


def _output(places: ProbePlaces, found: list[Evaluation]) -> str:
    """What the last measurement printed."""
    name = "evaluator.log" if len(found) == 1 else f"evaluator-{len(found):02d}.log"
    return _log(places, name)


def _log(places: ProbePlaces, name: str) -> str:
    with contextlib.suppress(ValueError):
        raw = read_regular(places.folder.iteration(0) / name, _LOG_LIMIT) or b""
        return visible(raw.decode("utf-8", "replace"))[-_OUTPUT_LIMIT:]
    return ""
