"""A run is the mode autoresearch: it excludes all others, exactly as long as its supervisor lives."""

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.workspace import PATIENCE_S, Workspace, candidate, contents, noop, wait_until
from omagy_autoresearch.mode_request import StateRequest, parse_write
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.settings import read_settings
from omagy_supervisor.workflow_state import read, write

HANG = [{"hang": True}]


def activate(ws: Workspace, mode: str, session_id: str | None = None, root: Path | None = None) -> None:
    where = {"session_id": session_id} if session_id else {}
    write(StateRoot(root or ws.root), parse_write({"mode": mode, **where}), read_settings(ws.environment))


def active(ws: Workspace, root: Path | None = None) -> str:
    return str(read(StateRoot(root or ws.root), StateRequest())["combination"])


def inventory(ws: Workspace) -> list[str]:
    file = ws.root / ".omagy/state/skill-active-state.json"
    return [row["skill"] for row in json.loads(file.read_text())["active_skills"]]


@pytest.fixture
def running(ws: Workspace) -> Any:
    """A run whose session hangs; its supervisor's process."""
    ws.mission()
    ws.commit()
    ws.plan(default=HANG)
    process = ws.start_launch()
    ws.wait_for_run()
    ws.wait_for_session()
    return process


@pytest.mark.parametrize("session_id", [None, "s1"])
def test_a_launch_beside_a_mode_is_refused_before_anything_is_created(ws: Workspace, session_id: str | None) -> None:
    """In whichever scope the mode is active; the refusal says how exactly it is cleared."""
    ws.mission()
    ws.commit()
    ws.plan(default=noop())
    activate(ws, "team", session_id)
    before = contents(ws.root)
    done = ws.launch("--max-iterations", "1")
    assert done.returncode == 2
    assert "team+autoresearch is not a supported combination" in done.stderr
    request = '{"mode":"team","session_id":"s1"}' if session_id else '{"mode":"team"}'
    assert f"omagy state clear --input '{request}' --json" in done.stderr
    assert f"omagy_state_clear with {request}" in done.stderr
    assert contents(ws.root) == before
    assert ws.omagy("state", "clear", "--input", request).returncode == 0
    assert ws.launch("--max-iterations", "1").returncode == 0
    assert (active(ws), inventory(ws)) == ("", [])


def test_a_resume_beside_a_mode_is_refused_and_changes_nothing(ws: Workspace) -> None:
    ws.mission()
    ws.commit()
    ws.plan(default=[{"artifact": {"status": "abort"}}])
    assert ws.launch().returncode == 3
    activate(ws, "ralph")
    before = contents(ws.root)
    done = ws.resume(ws.run_id())
    assert done.returncode == 2
    assert "ralph+autoresearch" in done.stderr
    assert contents(ws.root) == before


def test_a_mode_of_another_worktree_excludes_a_run_too(ws: Workspace, tmp_path: Path) -> None:
    """A repository has one run, whichever worktree it is in; the refusal leads to the worktree of the mode."""
    ws.mission()
    ws.commit()
    ws.plan(default=noop())
    other = tmp_path / "other tree"
    ws.git("worktree", "add", "-q", "-b", "other", str(other))
    activate(ws, "plan", root=other)
    done = ws.launch()
    assert done.returncode == 2
    assert f"cd '{other}' && omagy state clear" in done.stderr


def test_what_a_session_leaves_in_its_lane_is_no_mode(ws: Workspace) -> None:
    """A lane belongs to its run alone: nothing in it keeps a person's next run from starting."""
    ws.mission()
    ws.commit()
    ws.plan(i1=[{"artifact": {"status": "abort"}}], default=noop())
    assert ws.launch().returncode == 3
    planted = ws.lane() / ".omagy/state/plan-state.json"
    planted.parent.mkdir(parents=True)
    planted.write_text('{"mode": "plan", "active": true}')
    ws.plan(default=noop())
    done = ws.launch("--max-iterations", "1")
    assert done.returncode == 0, done.stderr


def test_no_mode_is_activated_beside_a_run(ws: Workspace, running: Any, tmp_path: Path) -> None:
    """In no scope and no worktree; the inventory shows the run, and loses it with its end."""
    other = tmp_path / "other"
    ws.git("worktree", "add", "-q", "-b", "other", str(other))
    assert (active(ws), inventory(ws)) == ("autoresearch", ["autoresearch"])
    assert active(ws, other) == "autoresearch"
    for args, cwd in (([], ws.root), (["--session-id", "s1"], ws.root), ([], other)):
        done = ws.omagy("state", "write", "team", *args, cwd=cwd)
        assert done.returncode == 2
        assert "team+autoresearch is not a supported combination" in done.stderr
        assert """omagy state clear --input '{"mode":"autoresearch"}' --json""" in done.stderr
    done = ws.omagy("state", "write", "autoresearch")
    assert done.returncode == 2
    assert "omagy autoresearch <mission-dir>" in done.stderr
    shown = json.loads(ws.omagy("state", "read", "autoresearch", "--json").stdout)
    assert (shown["active"], shown["state"]["run_id"]) == (True, ws.run_id())
    assert ws.omagy("autoresearch", "stop").returncode == 0
    running.wait(PATIENCE_S)
    assert inventory(ws) == []
    activate(ws, "team")


def test_a_killed_supervisor_leaves_no_mode_behind(ws: Workspace, running: Any) -> None:
    """Only the lock is believed: the next reader corrects what the dead one wrote."""
    os.kill(running.pid, signal.SIGKILL)
    running.wait(PATIENCE_S)
    assert inventory(ws) == ["autoresearch"]
    done = ws.omagy("state", "list")
    assert "active in this repository: nothing" in done.stdout
    assert inventory(ws) == []
    activate(ws, "team")
    assert ws.resume(ws.run_id()).returncode == 2
    told = ws.omagy("state", "clear", "autoresearch")
    assert told.returncode == 0
    assert f"omagy autoresearch --resume {ws.run_id()}" in told.stdout
    ws.kill_all()


@pytest.mark.parametrize("verb", ["clear", "cancel"])
def test_clearing_a_live_run_stops_it_and_waits(ws: Workspace, running: Any, verb: str) -> None:
    """As stop does: it ends as userinterlude, and can go on."""
    done = ws.omagy("state", verb, "--input", '{"mode":"autoresearch"}', "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["ended"], told["active_modes"]) == (["autoresearch"], [])
    ended = {"run_id": ws.run_id(), "stopped": True, "outcome": "userinterlude", "can_go_on": True}
    assert told["run"] == ended
    assert ws.manifest()["lifecycle_outcome"] == "userinterlude"
    assert running.wait(PATIENCE_S) == 130
    assert told["handoffs"] == {"autoresearch": json.loads((ws.folder() / "handoff.json").read_text())}
    activate(ws, "team")


@pytest.mark.parametrize("verb", ["clear", "cancel"])
def test_a_run_that_was_stopped_by_its_mode_is_told_in_four_parts(ws: Workspace, running: Any, verb: str) -> None:
    """They are those of its own handoff."""
    done = ws.omagy("state", verb, "autoresearch")
    assert done.stdout.endswith("\n\n" + (ws.folder() / "handoff.md").read_text())
    assert running.wait(PATIENCE_S) == 130


def test_a_run_whose_records_were_deleted_is_not_said_to_go_on(ws: Workspace, running: Any) -> None:
    """It is stopped all the same."""
    run_id = ws.run_id()
    shutil.rmtree(ws.folder())
    done = ws.omagy("state", "clear", "autoresearch")
    assert done.returncode == 0, done.stderr
    assert f"run {run_id} has stopped; its records cannot be read, so it cannot go on" in done.stdout
    assert "--resume" not in done.stdout
    running.wait(PATIENCE_S)


def test_a_run_whose_supervisor_was_killed_while_it_stopped_is_said_to_go_on(ws: Workspace, running: Any) -> None:
    """Its records are there, though they do not say yet how it ended."""
    run_id = ws.run_id()
    running.send_signal(signal.SIGSTOP)
    clearing = ws.start("state", "clear", "autoresearch")
    wait_until((ws.folder() / "stop-request.json").exists, "the request to stop")
    running.kill()
    running.wait(PATIENCE_S)
    told, _ = clearing.communicate(timeout=PATIENCE_S)
    assert f"run {run_id} has stopped\n  go on with it: omagy autoresearch --resume {run_id}\n" in told
    ws.kill_all()


def test_clearing_all_modes_leaves_a_run_alone(ws: Workspace, running: Any) -> None:
    """A night's work is stopped by its name alone."""
    done = ws.omagy("state", "clear", "--all")
    assert done.returncode == 0
    assert "active in this repository: autoresearch" in done.stdout
    assert f"run {ws.run_id()} goes on" in done.stderr
    assert "clear it: omagy state clear autoresearch\n" in done.stderr
    assert running.poll() is None


def test_a_runs_own_session_cannot_change_modes(ws: Workspace) -> None:
    """Neither from its lane nor from the person's checkout can it stop or confuse its run; it can look."""
    ws.mission()
    ws.commit()
    commands = [
        "cd {root} && {omagy} state clear autoresearch",
        "cd {root} && {omagy} state clear --all",
        "cd {root} && {omagy} autoresearch stop",
        "{omagy} autoresearch stop --after-iteration",
        "cd {root} && {omagy} state write team --session-id mine",
        "{omagy} state write team",
        "unset OMAGY_RUN_ID; {omagy} state write team",
        "{omagy} state list > {out}",
    ]
    out = ws.plan_file.with_name("listed")
    script = ws.plan_file.with_name("tries.sh")
    omagy = "python -m omagy_supervisor"
    lines = [f"({line.format(root=ws.root, omagy=omagy, out=out)}); echo $? >> {out}.status" for line in commands]
    script.write_text("\n".join(lines).replace("python -m", f"{sys.executable} -m"))
    ws.plan(i1=[{"sh": f"sh {script}"}, *candidate(2)], default=noop())
    done = ws.launch("--max-iterations", "1")
    assert done.returncode == 0, done.stderr
    assert ws.decisions() == ["baseline", "keep"]
    assert Path(f"{out}.status").read_text().split() == [*["2"] * 7, "0"]
    assert "autoresearch" in out.read_text()
    assert not (ws.lane() / ".omagy").exists()


def test_a_mode_and_a_run_never_start_together(ws: Workspace) -> None:
    """However close together they come, one of them is refused."""
    ws.mission()
    ws.commit()
    ws.plan(default=HANG)
    for _ in range(3):
        launch = ws.start_launch()
        wrote = ws.start("state", "write", "team")
        status = wrote.wait(PATIENCE_S)
        if status == 0:
            assert launch.wait(PATIENCE_S) == 2
            assert active(ws) == "team"
            assert ws.omagy("state", "clear", "team").returncode == 0
        else:
            assert status == 2
            wait_until(lambda: active(ws) == "autoresearch" and bool(ws.run_ids()), "the run")
            assert ws.omagy("state", "clear", "autoresearch").returncode in (0, 2)
            launch.kill()
            launch.wait(PATIENCE_S)
    ws.kill_all()
