"""``list``, ``status`` and ``watch``: what exists, what runs, and the next command (contract section 10)."""

import sys
from datetime import datetime
from typing import Any

import msgspec

from omagy_autoresearch.decision import show as show_score
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.manifest import Manifest
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.commands.chosen import active_pointer, active_run, all_manifests, chosen_run, state_root
from omagy_supervisor.commands.follow import follow
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.recover import known_runs
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import say, show, show_data
from omagy_supervisor.ui.style import styled


def list_runs(settings: Settings, *, as_json: bool) -> int:
    """Print all runs of the repository, oldest first."""
    root = state_root(settings)
    active, manifests = active_run(root), all_manifests(root)
    if as_json:
        _show_json({"active": active, "runs": [_facts(root, m, active) for m in manifests]})
        return 0
    elsewhere = active_pointer(root)
    if elsewhere is not None and active is None:
        say(f"run {elsewhere.run_id} is active in another worktree of this repository: {elsewhere.repo_root}")
    unread = sorted(set(known_runs(root)) - {manifest.run_id for manifest in manifests})
    for run_id in unread:
        say(f"run {run_id} has no manifest that can be read: omagy autoresearch rebuild {run_id}")
    if not manifests and not unread:
        show("No runs in this repository yet. Start one: omagy autoresearch <mission-dir>")
        return 0
    if not manifests:
        return 0
    rows = [("RUN", "STATE", "ITERATIONS", "KEPT", "SCORE", "UPDATED"), *(_row(m, active) for m in manifests)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        show(styled(line, "bold", sys.stdout) if number == 0 else line)
    return 0


def _row(manifest: Manifest, active: str | None) -> tuple[str, ...]:
    updated = datetime.fromisoformat(manifest.updated_at).astimezone()
    return (
        manifest.run_id,
        _state(manifest, active),
        str(manifest.iteration),
        str(manifest.tally.get("keep", 0)),
        f"{show_score(manifest.baseline_score)} → {show_score(manifest.last_kept_score)}",
        f"{updated:%Y-%m-%d %H:%M}",
    )


def _state(manifest: Manifest, active: str | None) -> str:
    if manifest.outcome is not None:
        return manifest.outcome
    if manifest.run_id == active:
        return manifest.status.replace("_", " ")
    return "over, it is not known how" if manifest.over else "interrupted"


def status(settings: Settings, run_id: str | None, *, as_json: bool) -> int:
    """Print one run: how it stands, since when, and the next command."""
    root = state_root(settings)
    manifest, active = chosen_run(root, run_id), active_run(root)
    if as_json:
        _show_json(_facts(root, manifest, active))
        return 0
    for label, value in _lines(root, manifest, active):
        show(f"{styled(label.ljust(9), 'bold', sys.stdout)} {value}")
    return 0


def _lines(root: StateRoot, manifest: Manifest, active: str | None) -> list[tuple[str, str]]:
    started = datetime.fromisoformat(manifest.created_at).astimezone()
    updated = datetime.fromisoformat(manifest.updated_at)
    tally = ", ".join(f"{count} {name}" for name, count in manifest.tally.items() if count) or "none decided"
    ago_s = max((SystemClock().now() - updated).total_seconds(), 0.0)
    supervised_s = manifest.elapsed_s + (ago_s if manifest.run_id == active else 0.0)
    lines = [
        ("run", manifest.run_id),
        ("state", _state(manifest, active) + (f": {manifest.stop_reason}" if manifest.stop_reason else "")),
        ("mission", f"{manifest.mission_dir} (agent: {manifest.agent or 'not told'})"),
        ("started", f"{started:%Y-%m-%d %H:%M:%S}, {format_duration(supervised_s)} supervised"),
        ("iteration", f"{manifest.iteration} ({tally})"),
        ("score", f"baseline {show_score(manifest.baseline_score)}, kept {show_score(manifest.last_kept_score)}"),
        ("kept", f"{(manifest.last_kept_commit or '')[:12]} on {manifest.branch_name}"),
        ("worktree", manifest.worktree_path),
        ("records", str(root.run(manifest.run_id).root)),
    ]
    if manifest.run_id == active:
        lines.insert(2, ("since", f"{format_duration(ago_s)} in this state"))
    if manifest.waiting_until:
        until = datetime.fromisoformat(manifest.waiting_until).astimezone()
        lines.insert(2, ("waiting", f"until {until:%Y-%m-%d %H:%M:%S}: {manifest.waiting_for}"))
    return [*lines, ("next", next_command(manifest, active))]


def next_command(manifest: Manifest, active: str | None) -> str:
    """What a person does next with this run."""
    if manifest.run_id == active:
        return f"omagy autoresearch watch {manifest.run_id}"
    outcome = manifest.outcome
    if not manifest.over or (outcome is not None and not outcome.terminal):
        return f"omagy autoresearch --resume {manifest.run_id}"
    if outcome is Outcome.FINISHED and manifest.tally.get("keep"):
        return f"git log --stat {(manifest.baseline_commit or '')[:12]}..{manifest.branch_name}"
    return f"omagy autoresearch {manifest.mission_dir}"


def _facts(root: StateRoot, manifest: Manifest, active: str | None) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(manifest),
        "active": manifest.run_id == active,
        "state": _state(manifest, active),
        "records": str(root.run(manifest.run_id).root),
        "next_command": next_command(manifest, active),
    }


def _show_json(value: Any) -> None:
    show_data(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def watch(settings: Settings, run_id: str | None) -> int:
    """Follow a run's progress until it ends; Ctrl-C leaves the view, not the run."""
    root = state_root(settings)
    return follow(root, chosen_run(root, run_id).run_id)
