"""Lets one session of Codex look at a copy of the repository and propose a measurement (``--infer``)."""

import os
from collections.abc import Mapping
from pathlib import Path

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.evaluation import EvaluatorRun
from omagy_autoresearch.intake.background import Inferred
from omagy_autoresearch.intake.inference import instructions, read_inferred
from omagy_autoresearch.lines import one_line
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.codex.inference import CodexInference
from omagy_supervisor.adapters.codex.install import find_codex
from omagy_supervisor.adapters.evaluator import RESULT_FILE, ShellEvaluator
from omagy_supervisor.adapters.git.facts import RepositoryFacts
from omagy_supervisor.adapters.git.private_copy import check_out, make_private_copy
from omagy_supervisor.adapters.processes import SystemProcesses
from omagy_supervisor.agents import SessionSpec
from omagy_supervisor.bootstrap import users_git
from omagy_supervisor.commands.probing import stoppable
from omagy_supervisor.commands.trying import private_place
from omagy_supervisor.measuring import StoppedError
from omagy_supervisor.paths import RunFolder
from omagy_supervisor.settings import Settings, environment_for_programs

_LIMIT_S = 600.0
_SHOWN = 200


def infer(goal: str, facts: RepositoryFacts, settings: Settings) -> Inferred:
    """What Codex proposes for ``goal``. Nothing of the user's can be changed by it.

    Raises OmagyError with what went wrong, KeyboardInterrupt when it is stopped.
    """
    executable = find_codex(settings.environment)
    if executable is None:
        raise BlockedError("Codex is not installed", "npm install -g @openai/codex && codex login")
    with private_place(facts) as place:
        copy = place / facts.root.name
        git = users_git(settings, facts.root)
        make_private_copy(git, facts, copy)
        check_out(git, copy)
        codex = CodexInference(executable, now=SystemClock().now)
        spec = _spec(copy, place / "session", facts.head, environment_for_programs(settings.environment))
        answer = codex.answer(spec, _run(codex.command(spec, instructions(goal)), spec, place))
    try:
        return read_inferred(answer)
    except ValueError as problem:
        shown = one_line(answer, _SHOWN)
        raise BlockedError(f"Codex's answer is no proposal: {problem}", f"it said: {shown}") from None


def _run(command: str, spec: SessionSpec, place: Path) -> EvaluatorRun:
    """Bounded in time, and nothing of it is left, like an evaluation."""
    with stoppable(RunFolder(place)) as stops:
        clock = SystemClock()
        shell = ShellEvaluator(clock, stops, SystemProcesses(stops, clock), str(place))
        environment = {**spec.environment, RESULT_FILE: os.fspath(place / "unused")}
        run = shell.run(command, spec.worktree, environment, _LIMIT_S, place / "session.log")
        if run is None:
            raise StoppedError
    return run


def _spec(copy: Path, folder: Path, head: str, environment: Mapping[str, str]) -> SessionSpec:
    outbox = folder / "outbox"
    return SessionSpec(
        run_id="intake",
        iteration=0,
        attempt=1,
        worktree=copy,
        git_dir=copy / ".git",
        common_dir=copy / ".git",
        branch="autoresearch/intake",
        base_commit=head,
        folder=folder,
        outbox=outbox,
        candidate_file=outbox / "candidate.json",
        instructions_file=folder / "instructions.md",
        environment={**environment, "OMAGY_COOKIE": str(folder.parent)},
    )
