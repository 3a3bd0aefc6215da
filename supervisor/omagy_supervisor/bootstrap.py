"""Puts the parts of a run together: the one place that knows which adapter stands behind which port."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.names import RESULTS, evaluator_cookie
from omagy_autoresearch.plan import AgentChoice, AgentKind, RunPlan
from omagy_supervisor.adapters.children import ChildTerminal
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.codex.agent import CodexAgent
from omagy_supervisor.adapters.codex.install import find_codex
from omagy_supervisor.adapters.command import CommandAgent
from omagy_supervisor.adapters.evaluator import ShellEvaluator
from omagy_supervisor.adapters.git.checkout import FreshCheckout, LaneCheckout
from omagy_supervisor.adapters.git.commands import Git, carried_settings, user_identity
from omagy_supervisor.adapters.git.lane import GitLane
from omagy_supervisor.adapters.journal import FileJournal
from omagy_supervisor.adapters.ledger_file import LedgerFile
from omagy_supervisor.adapters.lessons import LessonsFile
from omagy_supervisor.adapters.processes import SystemProcesses
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.adapters.records import FileRecords
from omagy_supervisor.adapters.rehearsal import RehearsalAgent
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.adapters.tmux import Tmux, TmuxTerminal
from omagy_supervisor.agents import Agent
from omagy_supervisor.paths import RunFolder, StateRoot
from omagy_supervisor.ports import Checkout, Clock, Reporter, Stops, Terminal
from omagy_supervisor.recover import LoadedRun
from omagy_supervisor.settings import Settings, environment_for_programs
from omagy_supervisor.world import World


def users_git(settings: Settings, folder: Path, settled: Sequence[bytes] = ()) -> Git:
    """git as omagy uses it, with what is kept of the user's configuration, ``settled`` as it was earlier."""
    carried, identity = carried_settings(settings.environment, folder, settled)
    return Git(carried, identity)


def _git_of_run(settings: Settings, plan: RunPlan) -> Git:
    """What a session set in the repository's configuration since the launch counts in no later life of the run."""
    return users_git(settings, Path(plan.repo_root), plan.git_settings)


def make_lane(settings: Settings, plan: RunPlan) -> GitLane:
    folder = StateRoot(Path(plan.repo_root)).run(plan.run_id)
    return GitLane(_git_of_run(settings, plan), plan, folder.root / "set-aside")


def make_checkout(settings: Settings, plan: RunPlan, lane: GitLane) -> Checkout:
    """Where the run measures its commits (evaluator.isolation)."""
    if plan.contract.evaluator.isolation == "lane":
        return LaneCheckout(lane)
    return FreshCheckout(_git_of_run(settings, plan), plan)


def make_agent(choice: AgentChoice, plan: RunPlan, settings: Settings, clock: Clock) -> Agent:
    """The agent of a run. Raises BlockedError when it is not installed."""
    match choice.kind:
        case AgentKind.COMMAND:
            return CommandAgent(choice.command)
        case AgentKind.REHEARSAL:
            proposals = Path(plan.worktree_path) / plan.mission_dir / (plan.contract.agent.rehearsal or "rehearsal")
            return RehearsalAgent(proposals, sys.executable)
        case AgentKind.CODEX:
            executable = find_codex(settings.environment)
            if executable is None:
                raise BlockedError("Codex is not installed", "install it: npm install -g @openai/codex")
            return CodexAgent(executable, choice.codex_args, choice.codex_sandbox, now=clock.now)


def make_terminal(settings: Settings, session: str) -> Terminal:
    """Windows of the run's tmux session, or plain children where there is no tmux."""
    if settings.tmux is None:
        return ChildTerminal()
    return TmuxTerminal(Tmux(settings.tmux_socket, settings.tmux), session)


def session_environment(settings: Settings, plan: RunPlan) -> dict[str, str]:
    """What every session gets: the user's environment, and a git that commits without hooks, keys or questions.

    A session's commits are experiments of an unattended loop: the user's hooks and signing keys are for commits
    that the user makes (taking over the result is one).
    """
    environment = environment_for_programs(settings.environment)
    pairs = [("core.hooksPath", os.devnull), ("commit.gpgSign", "false"), ("tag.gpgSign", "false")]
    # A clean-up that git starts behind a commit would be killed with the session and leave its files behind.
    pairs += [("gc.auto", "0"), ("maintenance.auto", "false")]
    if user_identity(settings.environment, Path(plan.repo_root)) is None:
        pairs += [("user.name", "omagy agent"), ("user.email", "omagy-agent@localhost")]
    environment["GIT_CONFIG_COUNT"] = str(len(pairs))
    for number, (key, value) in enumerate(pairs):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return {**environment, "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}


def make_stops(folder: RunFolder, clock: Clock) -> SignalStops:
    stops = SignalStops(folder.stop_request, clock)
    stops.install()
    return stops


def make_records(folder: RunFolder, run: LoadedRun) -> FileRecords:
    """The records of ``run``, brought up to what its journal holds. Raises StorageError."""
    ledger = LedgerFile(folder.ledger, run.state.plan.run_id, run.entries, None, None)
    plan = run.state.plan
    results = (Path(plan.worktree_path) if plan.results_in_lane else folder.root) / RESULTS
    return FileRecords(folder, results, ledger, run.entries)


def make_world(
    settings: Settings, root: StateRoot, run: LoadedRun, agent: AgentChoice, stops: Stops, reporter: Reporter
) -> World:
    """The world of ``run``, whose journal is opened for writing. Raises OmagyError."""
    state, plan, clock = run.state, run.state.plan, SystemClock()
    folder = root.run(plan.run_id)
    processes = SystemProcesses(stops, clock)
    lane = make_lane(settings, plan)
    return World(
        folder=folder,
        clock=clock,
        stops=stops,
        journal=FileJournal(folder.journal, run.whole),
        records=make_records(folder, run),
        lane=lane,
        checkout=make_checkout(settings, plan, lane),
        terminal=make_terminal(settings, plan.run_id),
        processes=processes,
        evaluator=ShellEvaluator(clock, stops, processes, evaluator_cookie(plan.worktree_path)),
        agent=make_agent(agent, plan, settings, clock),
        questions=QuestionFiles(root.state),
        lessons=LessonsFile(root.lessons(plan.mission_slug)),
        reporter=reporter,
        session_environment=session_environment(settings, plan),
        evaluator_environment=environment_for_programs(settings.environment),
        elapsed_before_s=state.elapsed_s,
        since_s=clock.monotonic_s(),
    )
