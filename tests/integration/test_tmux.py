"""Runs in tmux, seen from a real terminal: following, leaving, attaching, and keeping out of the user's own tmux."""

import hashlib
import json
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fakes.screen import OpenScreen, Screen
from fakes.workspace import EVALUATOR, PATIENCE_S, Acts, Workspace, candidate, lives, noop, wait_until
from omagy_supervisor.active import supervisor_lives
from omagy_supervisor.launching import tmux_session
from omagy_supervisor.paths import StateRoot


@pytest.fixture
def screen(ws: Workspace) -> Iterator[Screen]:
    """A terminal of the user's own, in the tmux server that plain ``tmux`` uses."""
    made = Screen(ws, "default")
    yield made
    made.close()
    wait_until(lambda: not lives(made.shell), "the end of the terminal's shell")


def prepared(ws: Workspace, frontmatter: str = "budget:\n  max_iterations: 1\n", **plan: Acts) -> None:
    ws.mission(frontmatter)
    ws.commit()
    ws.plan(**plan)


def waiting(ws: Workspace, then: Acts) -> tuple[Path, Acts]:
    """A session that shows "working" and goes on once the returned file exists."""
    go = ws.root.parent / "go"
    return go, [{"print": "working"}, {"wait_for": str(go)}, *then]


def windows(ws: Workspace) -> list[str]:
    return ws.tmux("list-windows", "-a", "-F", "#{session_name} #{window_name}").stdout.splitlines()


def test_a_folder_for_the_socket_that_is_not_yours_is_named(ws: Workspace) -> None:
    """tmux cannot put its socket there; the message says how to go on, and nothing was begun."""
    prepared(ws)
    sockets = Path(ws.environment["TMUX_TMPDIR"])
    sockets.chmod(0o500)
    try:
        done = ws.unprivileged("autoresearch", "--agent", ws.agent, "missions/m")
    finally:
        sockets.chmod(0o700)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert "TMUX_TMPDIR names another" in done.stderr
    assert "--foreground" in done.stderr
    assert ws.run_ids() == []


def session_of(ws: Workspace) -> str:
    return tmux_session(ws.run_id(), ws.root)


def supervisor(ws: Workspace) -> psutil.Process:
    pointer = json.loads((ws.root / ".omagy/state/autoresearch-state.json").read_text())
    return psutil.Process(pointer["pid"])


def wait_for_end(ws: Workspace) -> None:
    wait_until(lambda: ws.manifest()["lifecycle_outcome"] is not None, "the end of the run")
    wait_until(lambda: not supervisor_lives(StateRoot(ws.root)), "the end of its supervisor")
    wait_until(lambda: ws.tmux("list-sessions").returncode != 0, "the end of omagy's tmux server")


def test_leaving_the_view_leaves_the_run(ws: Workspace, screen: Screen) -> None:
    """A launch on a terminal follows the run; Ctrl-C leaves the view and says so, the run goes on, its session's
    window is readable, and the user's own tmux is as it was."""
    go, acts = waiting(ws, candidate(2))
    prepared(ws, i1=acts)
    before = screen.state()
    screen.omagy("--agent", ws.agent, "missions/m")
    screen.wait("iteration 1: session started")
    run_id = ws.run_id()
    ws.wait_for_session(1, "working")
    assert windows(ws) == [f"{session_of(ws)} supervisor", f"{session_of(ws)} i0001"]
    window = ("capture-pane", "-p", "-t", f"={session_of(ws)}:i0001")
    wait_until(lambda: ws.tmux(*window).stdout.strip() == "working", "what the session's window shows")

    screen.press("C-c")
    shown = screen.wait("status 0")
    assert f"You left the view; run {run_id} goes on." in shown
    assert f"omagy autoresearch watch {run_id}" in shown
    assert f"omagy autoresearch stop {run_id}" in shown
    assert supervisor(ws).is_running()

    screen.omagy("watch")
    screen.wait("iteration 1: session started")
    go.touch()
    shown = screen.wait("status 0")
    assert "iteration 1: keep, score improved: 1 → 2" in shown
    assert "## Handoff" in shown
    assert ws.decisions() == ["baseline", "keep"]
    wait_for_end(ws)
    assert screen.state() == before


def test_detach_returns_once_the_baseline_is_recorded(ws: Workspace) -> None:
    """Not before the evaluator has answered, and with the baseline in the ledger; the run goes on by itself."""
    ready = ws.root.parent / "ready"
    evaluator = (
        f"import os, time\nopen({str(ready)!r} + '.started', 'w')\n"
        f"while not os.path.exists({str(ready)!r}): time.sleep(0.02)\n{EVALUATOR}"
    )
    go, acts = waiting(ws, candidate(2))
    ws.mission("budget:\n  max_iterations: 1\n", evaluator=evaluator)
    ws.commit()
    ws.plan(i1=acts)
    launch = ws.start("autoresearch", "--detach", "--agent", ws.agent, "missions/m")
    wait_until(Path(f"{ready}.started").exists, "the evaluation")
    assert launch.poll() is None
    ready.touch()
    out, err = launch.communicate(timeout=PATIENCE_S)
    run_id = ws.run_id()
    assert (launch.returncode, out) == (0, "")
    assert f"run {run_id} is under way in tmux (attach: omagy autoresearch attach {run_id})" in err
    assert f"the baseline is recorded; watch: omagy autoresearch watch {run_id}" in err
    assert ws.decisions() == ["baseline"]
    ws.wait_for_session(1, "working")
    refused = ws.omagy("autoresearch", "--detach", "--agent", ws.agent, "missions/m")
    assert refused.returncode == 2
    assert f"run {run_id} is active" in refused.stderr
    no_terminal = ws.omagy("autoresearch", "attach")
    assert (no_terminal.returncode, "attach needs a terminal" in no_terminal.stderr) == (2, True)
    go.touch()
    wait_for_end(ws)
    assert ws.manifest()["lifecycle_outcome"] == "finished"
    resumed = ws.omagy("autoresearch", "--detach", "--resume", run_id)
    assert (resumed.returncode, "has ended for good" in resumed.stderr) == (2, True)


def test_detach_tells_of_a_run_that_ended_at_once(ws: Workspace) -> None:
    """A baseline that cannot be measured is told with the handoff and its exit status; a resume in tmux is as good
    as one in the foreground."""
    ws.write("value.txt", "none")
    prepared(ws, default=candidate(2))
    done = ws.omagy("autoresearch", "--detach", "--agent", ws.agent, "missions/m")
    assert done.returncode == 3, done.stderr
    assert "blocked: the baseline cannot be measured" in done.stdout
    wait_for_end(ws)
    again = ws.omagy("autoresearch", "--allow-broken-baseline", "--resume", ws.run_id())
    assert again.returncode == 0, again.stderr
    assert ws.decisions()[-1] == "keep"
    assert "finished: iteration budget used: 1" in again.stdout
    wait_for_end(ws)


def test_a_resume_tells_what_happens_from_then_on(ws: Workspace) -> None:
    """What the log said before was read before; with --detach nothing is said of a baseline that is long recorded."""
    prepared(ws, "budget:\n  max_iterations: 3\n", i1=[{"artifact": {"status": "abort"}}], default=noop())
    assert ws.omagy("autoresearch", "--agent", ws.agent, "missions/m").returncode == 3
    run_id = ws.run_id()
    ws.plan(i2=[{"artifact": {"status": "abort"}}], i3=[{"hang": True}])
    resumed = ws.omagy("autoresearch", "--resume", run_id)
    assert resumed.returncode == 3
    assert f"run {run_id} goes on: iteration 1" in resumed.stderr
    assert "iteration 2: abort" in resumed.stderr
    assert "iteration 1: abort" not in resumed.stderr
    detached = ws.omagy("autoresearch", "--detach", "--resume", run_id)
    assert detached.returncode == 0
    assert "baseline" not in detached.stderr
    assert f"it goes on; watch: omagy autoresearch watch {run_id}" in detached.stderr
    assert ws.omagy("autoresearch", "stop").returncode == 0
    wait_for_end(ws)


@pytest.mark.parametrize("place", ["inside", "outside"])
def test_attach_shows_the_runs_tmux_session(ws: Workspace, screen: Screen, place: str) -> None:
    """From a plain terminal and from inside the user's own tmux; leaving it leaves the run."""
    prepared(ws, i1=[{"print": "working"}, {"hang": True}])
    assert ws.omagy("autoresearch", "--detach", "--agent", ws.agent, "missions/m").returncode == 0
    run_id = ws.run_id()
    ws.wait_for_session(1, "working")
    if place == "outside":
        screen.type("unset TMUX TMUX_PANE; TERM=xterm-256color")
    screen.omagy("attach")
    shown = screen.wait("C-b C-b d leave" if place == "inside" else "C-b d leave", full_screen=True)
    assert all(words in shown for words in (f"[{session_of(ws)}]", "0:supervisor", "1:i0001"))
    wait_until(lambda: ws.tmux("list-clients").stdout.count("\n") == 1, "the client")
    ws.tmux("detach-client", "-s", f"={session_of(ws)}")
    screen.wait("status 0")
    assert supervisor(ws).is_running()
    assert ws.omagy("autoresearch", "stop").returncode == 0
    wait_for_end(ws)
    screen.omagy("attach")
    shown = screen.wait("status 2")
    assert f"run {run_id} has no tmux session: it is not running" in shown


@pytest.mark.parametrize(("columns", "whole"), [(80, False), (119, False), (120, True), (200, True)])
def test_the_status_line_has_room_for_the_windows(
    ws: Workspace, open_screen: OpenScreen, columns: int, whole: bool
) -> None:
    """Supervisor, session and the keys to leave stand there at 80 columns, too; the run's name gives way."""
    prepared(ws, i1=[{"print": "working"}, {"hang": True}])
    assert ws.omagy("autoresearch", "--detach", "--agent", ws.agent, "missions/m").returncode == 0
    ws.wait_for_session(1, "working")
    screen = open_screen(columns, 24)
    screen.omagy("attach")
    keys = "C-b C-b n next, C-b C-b d leave"
    (status,) = [line for line in screen.wait(keys, full_screen=True).splitlines() if keys in line]
    assert "0:supervisor" in status
    assert "1:i0001" in status
    assert (f"[{session_of(ws)}]" in status) is whole, status
    assert session_of(ws)[:15] in status
    ws.tmux("detach-client", "-s", f"={session_of(ws)}")
    assert ws.omagy("autoresearch", "stop").returncode == 0
    wait_for_end(ws)


def test_attach_inside_the_runs_own_tmux_shows_no_session_within_itself(ws: Workspace, screen: Screen) -> None:
    """A shell in another window of omagy's server is taken to the session; a picture in its own picture ends never.
    A tmux of the user's with another prefix key needs ours once."""
    prepared(ws, i1=[{"print": "working"}, {"hang": True}])
    assert ws.omagy("autoresearch", "--detach", "--agent", ws.agent, "missions/m").returncode == 0
    ws.wait_for_session(1, "working")
    ws.tmux("new-session", "-d", "-s", "own", "-c", str(ws.root), "sh")
    screen._do("set-option", "-g", "prefix", "C-a")
    screen.type(f"env -u TMUX {shutil.which('tmux')} -L {ws.environment['OMAGY_TMUX_SOCKET']} attach -t own")
    wait_until(lambda: ws.tmux("list-clients").stdout.count("\n") == 1, "the client")
    again = shlex.join([sys.executable, "-m", "omagy_supervisor", "autoresearch", "attach"])
    ws.tmux("send-keys", "-t", "own", again, "Enter")
    clients = ("list-clients", "-F", "#{session_name}")
    wait_until(lambda: ws.tmux(*clients).stdout == f"{session_of(ws)}\n", "the client in the run's session")
    ws.tmux("detach-client", "-s", f"={session_of(ws)}")
    screen.wait("[detached", full_screen=True)  # a client that is leaving would take what is typed
    screen.omagy("attach")
    assert "C-b C-b d leave" not in screen.wait("C-b d leave", full_screen=True)
    ws.tmux("kill-session", "-t", "own")
    assert ws.omagy("autoresearch", "stop").returncode == 0
    wait_for_end(ws)


def test_a_server_with_a_stale_environment_gets_the_new_one_and_no_secret_is_left_anywhere(ws: Workspace) -> None:
    """Supervisor, sessions and evaluators see the environment of the launch, not that of the tmux server; a value in
    it stands in no file and on no command line."""
    secret, home = secrets.token_hex(20), ws.root.parent
    expected = hashlib.sha256(secret.encode()).hexdigest()
    tools = home / "tools"
    tools.mkdir()
    (tools / "special").write_text("#!/bin/sh\necho special\n")
    (tools / "special").chmod(0o755)
    fresh = dict(ws.environment)
    ws.environment.update({"STALE": "yes", "PATH": "/usr/bin:/bin", "SECRET_TOKEN": "stale"})
    ws.tmux("-f", "/dev/null", "new-session", "-d", "-s", "other", "sleep", "600")
    ws.tmux("set-option", "-g", "default-shell", "/bin/false")
    ws.environment.clear()
    ws.environment.update({**fresh, "SECRET_TOKEN": secret, "PATH": f"{tools}:{fresh['PATH']}"})
    check = (
        f'special > /dev/null && test -z "$STALE" && '
        f'test "$(printf %s "$SECRET_TOKEN" | sha256sum | cut -d" " -f1)" = {expected}'
    )
    evaluator = f"import subprocess\nsubprocess.run(['sh', '-c', {check!r}], check=True)\n{EVALUATOR}"
    ws.mission("budget:\n  max_iterations: 1\n", evaluator=evaluator)
    ws.commit()
    go, acts = waiting(ws, candidate(2))
    ws.plan(i1=[{"sh": check}, *acts])
    done = ws.omagy("autoresearch", "--detach", "--agent", ws.agent, "missions/m")
    assert done.returncode == 0, done.stderr
    ws.wait_for_session(1, "working")
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert any(str(ws.root) in line for line in lines)
    assert not [line for line in lines if secret in line]
    go.touch()
    wait_until(lambda: not [line for line in ws.running() if "omagy_supervisor" in line], "the end of the run")
    assert ws.decisions() == ["baseline", "keep"], ws.ledger()
    files = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(files) > 20
    assert not [path for path in files if secret.encode() in path.read_bytes()]
    assert secret not in ws.tmux("show-environment", "-g").stdout
    assert [name for name in windows(ws) if name.startswith("other ")]
    ws.tmux("kill-server")
    wait_until(lambda: not ws.running(), "the end of the stale server's own programs")


@pytest.mark.parametrize("way", ["its window is closed", "the server is killed"])
def test_a_supervisor_whose_tmux_goes_away_ends_its_run_so_that_it_can_be_resumed(ws: Workspace, way: str) -> None:
    """Closing the supervisor's window is a way to stop a run; nothing of it goes on unseen."""
    prepared(ws, i1=[{"print": "working"}, {"sh": 'echo $PPID > "$OMAGY_CANDIDATE_FILE.pid"'}, {"hang": True}])
    assert ws.omagy("autoresearch", "--detach", "--agent", ws.agent, "missions/m").returncode == 0
    run_id = ws.run_id()
    ws.wait_for_session()
    agent = int((ws.folder() / "iterations/0001/outbox/candidate.json.pid").read_text())
    if way == "its window is closed":
        ws.tmux("kill-window", "-t", f"={session_of(ws)}:supervisor")
    else:
        psutil.Process(int(ws.tmux("display-message", "-p", "#{pid}").stdout)).kill()
    wait_for_end(ws)
    assert ws.manifest()["lifecycle_outcome"] == "userinterlude"
    assert "SIGHUP (its tmux window or terminal was closed)" in ws.manifest()["stop_reason"]
    wait_until(lambda: not lives(agent), "the agent's end")
    ws.plan(default=candidate(2))
    again = ws.omagy("autoresearch", "--resume", run_id)
    assert again.returncode == 0, again.stderr
    assert ws.decisions()[-1] == "keep"
    wait_for_end(ws)


def test_a_view_on_a_terminal_has_colour_and_without_one_plain_text(ws: Workspace, screen: Screen) -> None:
    """Colour is for terminals, and NO_COLOR switches it off there too."""
    prepared(ws, default=noop())
    log = ws.root.parent / "typed.log"
    log.touch()
    screen._do("pipe-pane", "-t", "mine", "-O", f"cat > {shlex.quote(str(log))}")
    assert ws.launch().returncode == 0
    screen.omagy("watch")
    screen.wait("status 0")
    wait_until(lambda: "run ended" in log.read_text(errors="replace"), "the typed log")
    assert re.search("\033\\[1m[^\n]*run ended", log.read_text(errors="replace"))
    log.write_text("")
    screen.type("NO_COLOR=1; export NO_COLOR")
    screen.omagy("watch")
    screen.wait("status 0")
    wait_until(lambda: "run ended" in log.read_text(errors="replace"), "the typed log")
    plain = log.read_text(errors="replace")
    assert not re.search("\033\\[1m[^\n]*run ended", plain)
