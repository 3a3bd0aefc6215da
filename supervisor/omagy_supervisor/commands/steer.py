"""``attach``, ``stop`` and ``rebuild`` (contract section 10)."""

import os
import sys

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.events import StopMode
from omagy_supervisor.active import active_run
from omagy_supervisor.adapters.tmux import Tmux, require_tmux, tmux_version
from omagy_supervisor.commands.chosen import chosen_run, state_root
from omagy_supervisor.launching import tmux_session
from omagy_supervisor.settings import Settings
from omagy_supervisor.stopping import INSTEAD_IN_A_SESSION, ask_to_stop, await_end
from omagy_supervisor.ui.messages import say


def attach(settings: Settings, run_id: str | None) -> int:
    """Show the run's tmux session in this terminal, inside or outside tmux; does not return. Raises OmagyError."""
    root = state_root(settings)
    run = chosen_run(root, run_id).run_id
    if not sys.stdin.isatty():
        raise ContractError("attach needs a terminal", f"omagy autoresearch watch {run}")
    tmux = Tmux(settings.tmux_socket, require_tmux(settings.tmux, tmux_version(settings.tmux)))
    session = tmux_session(run, root.repo_root)
    if not tmux.has_session(session):
        active = active_run(root) == run
        where = "runs in the foreground of another terminal" if active else "has no tmux session: it is not running"
        hint = f"omagy autoresearch watch {run}" if active else f"omagy autoresearch status {run}"
        raise ContractError(f"run {run} {where}", hint)
    command = tmux.attach_command(session, settings.environment.get("TMUX", "").split(",")[0])
    os.execvpe(command[0], command, dict(settings.environment))  # noqa: S606 - becomes the tmux client


def stop(settings: Settings, run_id: str | None, *, after_iteration: bool) -> int:
    """Ask the active run to stop, now or after its iteration; waits for an immediate stop. Raises ContractError."""
    if settings.inside_session is not None:
        raise ContractError(f"a session of run {settings.inside_session} cannot stop a run", INSTEAD_IN_A_SESSION)
    mode = StopMode.AFTER_ITERATION if after_iteration else StopMode.NOW
    stopping = ask_to_stop(state_root(settings), run_id, mode)
    run, way = stopping.run_id, stopping.way
    if after_iteration:
        say(f"run {run} stops after the iteration it is in; watch: {way}omagy autoresearch watch {run}")
        return 0
    say(f"stopping run {run} …")
    await_end(stopping)
    if stopping.can_go_on:
        say(f"run {run} has stopped; go on with it: {way}omagy autoresearch --resume {run}")
    else:
        say(f"run {run} has stopped; its records were deleted, so it cannot go on ({stopping.root.run(run).root})")
    return 0


def rebuild(settings: Settings, run_id: str) -> int:
    """Write the records of a run anew from its journal. Raises OmagyError."""
    from omagy_supervisor.daemon import rewrite_records

    root = state_root(settings)
    if run_id not in root.known_runs():
        raise ContractError(f"there is no run {run_id}", "see what there is: omagy autoresearch list")
    rewrite_records(root, run_id)
    say(f"the records of run {run_id} are written anew from its journal")
    return 0
