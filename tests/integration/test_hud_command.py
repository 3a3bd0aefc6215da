"""``omagy hud`` as a status line calls it."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fakes.workspace import PATIENCE_S, Workspace, candidate, contents, wait_until
from omagy_autoresearch.mode_request import parse_write
from omagy_supervisor.adapters.lock import RunLock
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.settings import read_settings
from omagy_supervisor.workflow_state import write

HEAVY = (
    *("git", "libtmux", "rich", "ruamel", "psutil", "msgspec", "subprocess"),
    *("dataclasses", "inspect", "difflib", "shutil", "socket", "secrets", "traceback"),
)
LIGHT = f"""
import sys
from omagy_supervisor.cli import main
assert main(["hud"]) == 0
print(sorted(set({HEAVY!r}) & set(sys.modules)))
"""


def activate(ws: Workspace, mode: str, **request: Any) -> None:
    write(StateRoot(ws.root), parse_write({"mode": mode, **request}), read_settings(ws.environment))


def hud(ws: Workspace, *options: str, cwd: Path | None = None) -> str:
    done = ws.omagy("hud", *options, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


NEWEST = "speed-20260131t120000z"


def manifest(ws: Workspace, run_id: str = NEWEST, **fields: Any) -> None:
    """A run's records as far as the HUD reads them; it was the last that was active."""
    known = {"mission_slug": "speed", "iteration": 7, "status": "in_session", "last_kept_score": 9.5}
    ws.write(f".omagy/logs/autoresearch/{run_id}/manifest.json", json.dumps({"run_id": run_id, **known, **fields}))
    ws.write(".omagy/state/autoresearch-state.json", json.dumps({"run_id": run_id, "active": True}))


def test_it_is_idle_without_anything_and_writes_nothing(ws: Workspace) -> None:
    before = contents(ws.root)
    assert hud(ws) == "omagy: idle\n"
    assert contents(ws.root) == before


def test_outside_a_repository_it_says_nothing(ws: Workspace, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert hud(ws, cwd=elsewhere) == ""
    assert json.loads(hud(ws, "--json", cwd=elsewhere)) == {"repository": None, "line": ""}
    assert hud(ws, "--path", str(elsewhere)) == ""
    assert hud(ws, "--path", str(ws.root), cwd=elsewhere) == "omagy: idle\n"


def test_it_shows_the_modes_of_all_scopes_or_of_one(ws: Workspace) -> None:
    """From any folder of the repository."""
    for mode in ("ralph", "team"):
        activate(ws, mode)
    for session_id in ("s1", "s2"):
        activate(ws, "plan", session_id=session_id)
    below = ws.root / "a/b"
    below.mkdir(parents=True)
    assert hud(ws, cwd=below) == "omagy: team+ralph, plan\n"
    assert hud(ws, "--session-id", "s1") == "omagy: plan\n"
    assert hud(ws, "--session-id", "s3") == "omagy: idle\n"
    told = json.loads(hud(ws, "--json"))
    assert told["scopes"] == {"": "team+ralph", "s1": "plan", "s2": "plan"}
    assert told["line"] == "omagy: team+ralph, plan"


def test_it_shows_a_run_while_it_lives_and_how_it_ended(ws: Workspace) -> None:
    """Iteration, score and trend come from the manifest."""
    ws.mission()
    ws.commit()
    ws.plan(i1=candidate(2), i2=candidate(4), default=[{"hang": True}])
    process = ws.start_launch()
    ws.wait_for_run()
    ws.wait_for_session(3)
    wait_until(lambda: "iteration 3" in hud(ws), "the third iteration")
    assert hud(ws) == "omagy: autoresearch m in session | iteration 3 | best 4 (+300.0%) ▁▃█\n"
    assert hud(ws, "--width", "30") == "omagy: autoresearch in sessio…\n"
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE_S)
    assert hud(ws).startswith("omagy: autoresearch m userinterlude | iteration 3 | best 4")


def test_a_run_whose_supervisor_died_is_interrupted(ws: Workspace) -> None:
    manifest(ws)
    assert hud(ws) == "omagy: autoresearch speed interrupted | iteration 7 | best 9.5\n"


def test_an_ended_run_is_shown_for_a_day(ws: Workspace) -> None:
    now = datetime.now(UTC)
    manifest(ws, lifecycle_outcome="complete", completed_at=(now - timedelta(hours=23)).isoformat())
    assert hud(ws) == "omagy: autoresearch speed finished | iteration 7 | best 9.5\n"
    manifest(ws, lifecycle_outcome="finished", completed_at=(now - timedelta(hours=25)).isoformat())
    assert hud(ws) == "omagy: idle\n"


def test_without_the_newest_run_it_shows_the_next_newest(ws: Workspace) -> None:
    """A person removed its folder, or the pointer to it."""
    for day, name in enumerate(("old", "older", "speed"), start=1):
        manifest(ws, f"{name}-2026010{day}t120000z", mission_slug=name, iteration=day)
    runs = ws.root / ".omagy/logs/autoresearch"
    assert hud(ws).startswith("omagy: autoresearch speed interrupted")
    shutil.rmtree(runs / "speed-20260103t120000z")
    assert hud(ws) == "omagy: autoresearch older interrupted | iteration 2 | best 9.5\n"
    (ws.root / ".omagy/state/autoresearch-state.json").unlink()
    assert hud(ws) == "omagy: autoresearch older interrupted | iteration 2 | best 9.5\n"
    shutil.rmtree(runs)
    assert hud(ws) == "omagy: idle\n"


def test_when_the_only_run_was_removed_it_says_that_there_is_none(ws: Workspace) -> None:
    """Beside the modes as well; the pointer alone still knows of it."""
    manifest(ws)
    shutil.rmtree(ws.root / ".omagy/logs")
    assert hud(ws) == "omagy: no run\n"
    assert json.loads(hud(ws, "--json"))["run"] is None
    activate(ws, "team")
    assert hud(ws) == "omagy: team\n"


def test_records_that_cannot_be_read_are_said_so(ws: Workspace) -> None:
    """The run is there: neither idle, nor one before it in its place."""
    manifest(ws, "speed-20250131t120000z")
    manifest(ws)
    ws.write(f".omagy/logs/autoresearch/{NEWEST}/manifest.json", "{")
    assert hud(ws) == f"omagy: autoresearch {NEWEST} unreadable\n"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("state/autoresearch-state.json", '{"run_id": "../../../x", "active": true}'),
        ("state/autoresearch-state.json", "{"),
        ("state/skill-active-state.json", "{"),
        ("state/team-state.json", "[]"),
        ("state/workflow-pending.json", '{"writes": [{"name": "../x"}]}'),
        ("logs/autoresearch/speed-20260131t120000z/manifest.json", "{"),
        ("logs/autoresearch/speed-20260131t120000z/manifest.json", '{"iteration": "x", "kept_scores": [null, "a"]}'),
    ],
)
def test_garbage_is_left_out(ws: Workspace, name: str, data: str) -> None:
    """A status line shows what it can, whatever somebody wrote."""
    manifest(ws)
    ws.write(f".omagy/{name}", data)
    assert hud(ws).startswith("omagy: ")


@pytest.mark.parametrize("until", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"])
def test_a_wait_that_no_clock_can_show_is_left_out(ws: Workspace, until: str) -> None:
    """Whoever wrote that, the run is shown without it."""
    manifest(ws, status="waiting", waiting_until=until, iteration=True)
    root = StateRoot(ws.root)
    root.shared.mkdir()
    lock = RunLock(root.lock)
    assert lock.acquire()
    try:
        assert hud(ws) == "omagy: autoresearch speed waiting | iteration 0 | best 9.5\n"
    finally:
        lock.release()


def test_a_killed_command_is_seen_as_done(ws: Workspace) -> None:
    """Without the lock, and without finishing it."""
    state = {"mode": "team", "active": True}
    ws.write(
        ".omagy/state/workflow-pending.json",
        json.dumps({"version": 1, "writes": [{"session_id": None, "name": "team-state.json", "content": state}]}),
    )
    before = contents(ws.root)
    assert hud(ws) == "omagy: team\n"
    assert contents(ws.root) == before


def test_it_imports_nothing_heavy(ws: Workspace) -> None:
    """A status line calls it every few seconds."""
    manifest(ws, waiting_until="2026-01-31T12:00:00+00:00", kept_scores=[1, 2])
    activate(ws, "team")
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=ws.root, env=ws.environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_off_utf8_it_keeps_to_ascii(ws: Workspace) -> None:
    manifest(ws, kept_scores=[1, 9.5], baseline_score=1)
    ws.environment |= {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    assert hud(ws) == "omagy: autoresearch speed interrupted | iteration 7 | best 9.5 (+850.0%)\n"


def test_watch_tells_each_change_once(ws: Workspace) -> None:
    """Off a terminal a line for each; Ctrl-C ends it without an error."""
    process = ws.start("hud", "--watch")
    assert process.stdout is not None
    assert process.stdout.readline() == "omagy: idle\n"
    activate(ws, "team")
    assert process.stdout.readline() == "omagy: team\n"
    activate(ws, "team", current_phase="exec")
    activate(ws, "ralph")
    assert process.stdout.readline() == "omagy: team+ralph\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0


def test_watch_replaces_its_line_on_a_terminal(ws: Workspace) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "omagy_supervisor", "hud", "--watch"],
        cwd=ws.root,
        env=ws.environment,
        stdin=follower,
        stdout=follower,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    os.close(follower)
    seen = b""
    while b"idle" not in seen:
        seen += os.read(leader, 1000)
    assert seen.startswith(b"\r\033[Komagy: idle")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE_S)[1] == b""
    assert process.returncode == 0
    os.close(leader)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--width", "0"], "--width 0"),
        (["--width", "wide"], "--width wide"),
        (["now"], "hud does not take now"),
        (["--session-id", "../x"], "cannot name a scope"),
        (["--wacth"], "did you mean --watch?"),
    ],
)
def test_a_wrong_option_is_told(ws: Workspace, argv: list[str], told: str) -> None:
    done = ws.omagy("hud", *argv)
    assert done.returncode == 2
    assert told in done.stderr


def test_help_says_how_tmux_shows_it(ws: Workspace) -> None:
    assert "status-right" in hud(ws, "--help")


def test_a_folder_that_cannot_be_looked_at_is_outside_of_every_repository(ws: Workspace) -> None:
    """A status bar asks in whatever folder a pane is: it gets nothing, and no fault."""
    done = ws.omagy("hud", "--path", "/" + "a" * 5000)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
