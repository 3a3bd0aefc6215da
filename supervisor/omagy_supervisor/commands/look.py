"""``list``, ``status`` and ``watch``: what exists, what runs, and the next command (contract section 10)."""

import sys
from datetime import datetime

from omagy_autoresearch.decision import show as show_score
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.events import StopMode
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.commands.chosen import chosen_run, left_branches, state_root
from omagy_supervisor.commands.follow import follow
from omagy_supervisor.commands.runs import RunFacts, overview, run_facts
from omagy_supervisor.quiet import LOOK_S
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.fitting import columns_of
from omagy_supervisor.ui.messages import say, show, show_json, show_row
from omagy_supervisor.ui.style import styled

_STOPS = {StopMode.NOW: "now", StopMode.AFTER_ITERATION: "after the iteration it is in"}


def list_runs(settings: Settings, *, as_json: bool) -> int:
    """Print all runs of the repository, oldest first."""
    root = state_root(settings)
    found = overview(root)
    if as_json:
        show_json(found)
        return 0
    if found.active_elsewhere is not None:
        where = found.active_elsewhere
        say(f"run {where.run_id} is active in another worktree of this repository: {where.repo_root}")
    for run_id in found.unreadable:
        say(f"run {run_id} has no manifest that can be read: omagy autoresearch rebuild {run_id}")
    if not found.runs and not found.unreadable and found.active_elsewhere is None:
        left = left_branches(root)
        none_yet = "No runs in this repository yet. Start one: omagy autoresearch <mission-dir>"
        show(f"No runs here; {left}" if left else none_yet)
        return 0
    if not found.runs:
        return 0
    head, *lines = _table([("RUN", "STATE", "KEPT", "SCORE", "UPDATED"), *(_row(run) for run in found.runs)])
    show(styled(head, "bold", sys.stdout))
    for line in lines:
        show(line)
    return 0


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """One line for each row; on a terminal that is too narrow, the first cell above the others."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    fits = sum(widths) + 2 * (len(widths) - 1) <= columns_of(sys.stdout)
    return [
        f"{first}  {'  '.join(rest)}".rstrip() if fits else f"{first.rstrip()}\n  {'  '.join(rest)}".rstrip()
        for first, *rest in lines
    ]


def _row(run: RunFacts) -> tuple[str, ...]:
    updated = datetime.fromisoformat(run.updated_at).astimezone()
    return (
        run.run_id,
        run.state,
        f"{run.tally.get('keep', 0)} of {run.iteration}",
        f"{show_score(run.baseline_score)} → {show_score(run.last_kept_score)}",
        f"{updated:%Y-%m-%d %H:%M}",
    )


def status(settings: Settings, run_id: str | None, *, as_json: bool) -> int:
    """Print one run: how it stands, since when, and the next command."""
    run = run_facts(state_root(settings), run_id)
    if as_json:
        show_json(run)
        return 0
    for label, value in _lines(run):
        show_row(label.ljust(9), value)
    return 0


def _lines(run: RunFacts) -> list[tuple[str, str]]:
    started = datetime.fromisoformat(run.created_at).astimezone()
    updated = datetime.fromisoformat(run.updated_at)
    tally = ", ".join(f"{count} {name}" for name, count in run.tally.items() if count) or "none decided"
    ago_s = max((SystemClock().now() - updated).total_seconds(), 0.0)
    at_work_s = run.elapsed_s + (ago_s if run.active else 0.0)
    of_iterations = f" of {run.max_iterations}" if run.max_iterations else ""
    of_time = f" of at most {format_duration(run.max_wall_time_s)}" if run.max_wall_time_s else ""
    lines = [
        ("run", run.run_id),
        ("state", run.state + (f": {run.stop_reason}" if run.stop_reason else "")),
        ("mission", f"{run.mission_dir} (agent: {run.agent or 'not told'})"),
        ("started", f"{started:%Y-%m-%d %H:%M:%S}, {format_duration(at_work_s)} at work{of_time}"),
        ("iteration", f"{run.iteration}{of_iterations} ({tally})"),
        ("score", f"baseline {show_score(run.baseline_score)}, kept {show_score(run.last_kept_score)}"),
        ("kept", f"{(run.last_kept_commit or '')[:12]} on {run.branch_name}"),
        ("worktree", run.worktree_path),
        ("records", run.records),
    ]
    lines.insert(2, _since(run, updated, ago_s))
    if run.quiet_s is not None and run.quiet_s >= LOOK_S:
        lines.insert(3, ("quiet", f"no output for {format_duration(run.quiet_s)}; observed, not a stop"))
    if run.stop_requested is not None:
        lines.insert(3, ("stopping", _STOPS[run.stop_requested]))
    if run.waiting_until:
        until = datetime.fromisoformat(run.waiting_until).astimezone()
        waits = f"until {until:%Y-%m-%d %H:%M:%S}: {run.waiting_for}"
        lines.insert(2, ("waiting", waits) if run.active else ("waited", f"{waits}; nothing waits now"))
    if run.open_question is not None:
        lines.append(("question", f"{run.open_question.id}: {run.open_question.question}"))
    if run.first_step is not None:
        lines.append(("first", run.first_step))
    return [*lines, ("next", run.next_command)]


def _since(run: RunFacts, updated: datetime, ago_s: float) -> tuple[str, str]:
    """Since when it stands so. When a supervisor died nobody noted: the last record is what there is."""
    ago = format_duration(ago_s)
    if run.active:
        return "since", f"{ago} in this state"
    at = f"{updated.astimezone():%Y-%m-%d %H:%M:%S}"
    return ("ended", f"{at}, {ago} ago") if run.over else ("since", f"{at} at the earliest, {ago} ago")


def watch(settings: Settings, run_id: str | None) -> int:
    """Follow a run's progress until it ends; Ctrl-C leaves the view, not the run."""
    root = state_root(settings)
    return follow(root, chosen_run(root, run_id).run_id)
