"""Measures a commit: places it, sets it up and builds it, then runs evaluator, guard or held-out check on it."""

import contextlib
import json
from pathlib import Path

from msgspec.structs import replace

from omagy_autoresearch.errors import BlockedError, RepositoryError
from omagy_autoresearch.evaluation import Evaluation, EvaluatorFault, EvaluatorRun, read_check, read_evaluation
from omagy_autoresearch.names import evaluator_cookie
from omagy_autoresearch.plan import RunPlan
from omagy_autoresearch.probes import Probe, ProbeKind, Target
from omagy_autoresearch.surface import Surface, named_files
from omagy_supervisor.copying import copy_in, held_out_files
from omagy_supervisor.files import make_folder, read_regular, shown_path, write_atomic
from omagy_supervisor.ports import Places

_DIRT_SHOWN = 20


class StoppedError(Exception):
    """A request to stop cut a measurement short; nothing of it counts."""


def measure(
    world: Places,
    plan: RunPlan,
    surface: Surface,
    *,
    iteration: int,
    commit: str,
    base: str,
    probe: Probe,
    number: int,
) -> Evaluation:
    """The result of ``probe`` on ``commit``; ``number`` counts the measurements of this iteration from 0.

    Raises StoppedError when the run is asked to stop meanwhile, OmagyError when it cannot be measured at all.
    """
    one = _Measurement(world, plan, iteration, commit, base)
    folder = _place(world, surface, commit, base)
    if isinstance(folder, Evaluation):
        return folder
    copy_in(plan, folder)
    broken = one.set_up(folder) or one.build(folder)
    if broken is not None:
        return broken
    match probe.kind:
        case ProbeKind.EVALUATOR:
            return one.evaluator(folder, _log_name(probe, number))
        case ProbeKind.GUARD:
            return one.guard(folder)
        case ProbeKind.HOLDOUT:
            return one.holdout(folder)


def _place(world: Places, surface: Surface, commit: str, base: str) -> Path | Evaluation:
    """The folder that holds ``commit``, or that it cannot be had, where what it would replace can.

    A commit that no checkout can hold would end every further life of the run. Raises RepositoryError.
    """
    try:
        return world.checkout.place(commit, base, surface.closed)
    except RepositoryError as error:
        if commit == base or error.passing:
            raise
    world.checkout.place(base, base, surface.closed)
    try:
        return world.checkout.place(commit, base, surface.closed)
    except RepositoryError as error:
        if error.passing:
            raise
        told = f"it cannot be checked out: {error.message}"
        return Evaluation(passed=None, error=told, fault=EvaluatorFault.CHECKOUT)


def protected_surface(plan: RunPlan, tracked: frozenset[str]) -> Surface:
    """What candidates of this run may change, ``tracked`` being the baseline's files."""
    contract = plan.contract
    return Surface(
        fixed=(f"{plan.mission_dir}/mission.md", f"{plan.mission_dir}/sandbox.md"),
        named=named_files(contract.commands, tracked),
        protected=contract.protected,
        editable=contract.editable,
    )


def prepare_checkout(world: Places, plan: RunPlan, surface: Surface, baseline: str) -> None:
    """Copies and set-up for lane and checkout. Raises BlockedError: a failing set-up is nobody's candidate."""
    make_folder(world.folder.held_out)
    copy_in(plan, world.lane.worktree)
    if plan.contract.worktree.setup is None:
        return
    one = _Measurement(world, plan, 0, baseline, baseline)
    for folder in dict.fromkeys((world.lane.worktree, world.checkout.place(baseline, baseline, surface.closed))):
        copy_in(plan, folder)
        failed = one.set_up(folder)
        if failed is not None:
            raise BlockedError(failed.error, f"its output: {world.folder.iteration(0) / 'set-up.log'}")


def _log_name(probe: Probe, number: int) -> str:
    if number == 0:
        return "evaluator.log"
    who = "incumbent" if probe.target is Target.INCUMBENT else "evaluator"
    return f"{who}-{number + 1:02d}.log"


class _Measurement:
    def __init__(self, world: Places, plan: RunPlan, iteration: int, commit: str, base: str) -> None:
        self._world = world
        self._plan = plan
        self._commit = commit
        self._records = world.folder.iteration(iteration)
        make_folder(self._records)
        self._environment = {
            **world.evaluator_environment,
            "OMAGY_RUN_ID": plan.run_id,
            "OMAGY_ITERATION": str(iteration),
            "OMAGY_BASE_COMMIT": base,
            "OMAGY_CANDIDATE_COMMIT": commit,
            "OMAGY_RESULT_FILE": str(self._records / "evaluator-result.json"),
            "OMAGY_COOKIE": evaluator_cookie(plan.worktree_path),
        }

    def _run(self, command: str, folder: Path, limit_s: float, log: Path) -> EvaluatorRun:
        environment = {**self._environment, "OMAGY_WORKTREE": str(folder)}
        run = self._world.evaluator.run(command, folder, environment, limit_s, log)
        self._world.lane.sweep_locks()
        if run is None:
            raise StoppedError
        return run

    # -- before anything can be measured

    def set_up(self, folder: Path) -> Evaluation | None:
        """Run the mission's set-up where it was not run for these dependencies; what went wrong, if it did."""
        settings = self._plan.contract.worktree
        if settings.setup is None:
            return None
        done = self._world.folder.setup_key.with_suffix(f".{folder.name}")
        key = self._world.lane.dependency_key(self._commit)
        if read_regular(done, 1000) == key.encode():
            return None
        self._world.reporter.note(f"setting up: {settings.setup}")
        run = self._run(settings.setup, folder, settings.setup_timeout_s, self._records / "set-up.log")
        result = read_check(run, "the set-up (worktree.setup)")
        if not result.passed:
            return replace(result, fault=EvaluatorFault.SETUP, passed=None)
        if folder != self._world.lane.worktree:
            self._world.checkout.settle()
        write_atomic(done, key.encode(), durable=False)
        return None

    def build(self, folder: Path) -> Evaluation | None:
        """Build the commit, if the mission says how: a stale build is never measured. What went wrong, if it did."""
        settings = self._plan.contract.evaluator
        if settings.build is None:
            return None
        run = self._run(settings.build, folder, settings.timeout_s, self._records / "build.log")
        result = read_check(run, "the build (evaluator.build)")
        return None if result.passed else replace(result, fault=EvaluatorFault.BUILD, passed=None)

    # -- the measurements themselves

    def evaluator(self, folder: Path, log: str) -> Evaluation:
        settings = self._plan.contract.evaluator
        run = self._run(settings.command, folder, settings.timeout_s, self._records / log)
        dirt = self._world.checkout.dirt()
        return replace(read_evaluation(run), dirty=tuple(map(shown_path, dirt[:_DIRT_SHOWN])))

    def guard(self, folder: Path) -> Evaluation:
        guard = self._plan.contract.guard
        assert guard is not None, "only a mission with a guard asks for it"
        return read_check(self._run(guard.command, folder, guard.timeout_s, self._records / "guard.log"), "it")

    def holdout(self, folder: Path) -> Evaluation:
        """What the check printed stays out of everything that an agent is shown: only that it failed is told."""
        settings = self._plan.contract.evaluator.holdout
        assert settings is not None, "only a mission with a held-out check asks for it"
        make_folder(self._world.folder.held_out)
        log = self._world.folder.held_out / f"{self._records.name}.log"
        with held_out_files(self._plan, folder):
            run = self._run(settings.command, folder, settings.timeout_s, log)
        result = read_check(run, "it")
        if result.passed and _says_fail(run.stdout):
            return Evaluation(passed=False, error="it says pass=false", exit_status=0, duration_s=run.duration_s)
        told = result.error.partition(":")[0]
        return Evaluation(passed=result.passed, error=told, exit_status=run.exit_status, duration_s=run.duration_s)


def _says_fail(stdout: bytes) -> bool:
    """True when a check that exited 0 printed an evaluator's answer with pass=false as its last line."""
    lines = [line for line in stdout.splitlines() if line.strip()]
    with contextlib.suppress(ValueError, RecursionError):
        answer = json.loads(lines[-1]) if lines else None
        return isinstance(answer, dict) and answer.get("pass") is False
    return False
