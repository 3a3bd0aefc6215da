"""``omagy autoresearch --resume <run-id>`` (contract section 6)."""

from pathlib import Path

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.plan import AgentChoice, Overrides
from omagy_autoresearch.run import RunState
from omagy_supervisor.active import supervisor_lives
from omagy_supervisor.adapters.journal import read_journal
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.arguments import Arguments
from omagy_supervisor.bootstrap import make_lane
from omagy_supervisor.commands.chosen import state_root
from omagy_supervisor.commands.launch import budget_with_flags, choose_agent, refuse_inside_session
from omagy_supervisor.commands.start import start
from omagy_supervisor.daemon import another_run_active, rewrite_records
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.reconcile import refuse_contradictions
from omagy_supervisor.recover import (
    refuse_dirty_lane,
    refuse_missing_worktree,
    refuse_terminal,
    refuse_unanswered,
    refuse_without_journal,
    replay,
    require_manifest,
)
from omagy_supervisor.requests import Resume
from omagy_supervisor.settings import Settings
from omagy_supervisor.workflow_run import refuse_beside_modes
from omagy_supervisor.workflow_store import mend


def resume(arguments: Arguments, settings: Settings) -> int:
    """Go on with a run; returns the exit status. Raises OmagyError with what to settle first."""
    refuse_inside_session(settings)
    root, run_id = state_root(settings), arguments.values["--resume"]
    state = _refuse(root, run_id, settings, save_leftovers=arguments.has("--save-leftovers"))
    overrides = _overrides(state, arguments, settings)
    request = Resume(str(root.repo_root), run_id, overrides, arguments.has("--save-leftovers"))
    return start(request, arguments, settings)


def _refuse(root: StateRoot, run_id: str, settings: Settings, *, save_leftovers: bool) -> RunState:
    """The run's state, when nothing speaks against going on. The supervisor looks once more under its lock."""
    manifest = require_manifest(root, run_id)
    if supervisor_lives(root):
        raise another_run_active(root)
    mend(root, None)  # a supervisor that was killed may have left its run in the active set
    refuse_beside_modes(root)
    refuse_without_journal(root.run(run_id), manifest)
    run = replay(*read_journal(root.run(run_id).journal))
    state = run.state
    if Path(state.plan.repo_root) != root.repo_root:
        raise ContractError(
            f"run {run_id} belongs to {state.plan.repo_root}, which is not where it lies now ({root.repo_root})",
            "move the repository back: a run's worktree is bound to its place",
        )
    refuse_contradictions(root.run(run_id), run, manifest)
    if state.ended and manifest.outcome is not state.outcome:
        rewrite_records(root, run_id)  # its supervisor died between ending it and telling so
    refuse_terminal(state)
    refuse_missing_worktree(state)
    refuse_unanswered(state, QuestionFiles(root.state))
    if state.ended and not save_leftovers:
        refuse_dirty_lane(state, make_lane(settings, state.plan))
    return state


def _overrides(state: RunState, arguments: Arguments, settings: Settings) -> Overrides:
    budget = budget_with_flags(state.budget, arguments)
    return Overrides(
        budget=budget if budget != state.budget else None,
        agent=_agent(state, arguments, settings),
        wait_for_limits=False if arguments.has("--no-wait") else None,
        allow_broken_baseline=True if arguments.has("--allow-broken-baseline") else None,
    )


def _agent(state: RunState, arguments: Arguments, settings: Settings) -> AgentChoice | None:
    """The agent that the command line asks for, with what it leaves open as the run had it; None for no change."""
    own = state.plan.agent
    asked = arguments.tells_codex_args or {"--agent", "--codex-sandbox"} & arguments.values.keys()
    if not asked:
        return None
    named = arguments.values.get("--agent") or (f"command:{own.command}" if own.command else own.kind)
    values = {"--codex-sandbox": own.codex_sandbox, **arguments.values, "--agent": named}
    codex_args = arguments.codex_args if arguments.tells_codex_args else own.codex_args
    choice, _ = choose_agent(Arguments(values=values, codex_args=codex_args), state.plan.contract, settings)
    return choice
