"""Whole runs with the real Codex: it talks to a scripted model server on the loopback interface."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from fakes.codex_home import KEY_VARIABLE, ToolMode, codex_for_tests, make_codex_home
from fakes.responses_server import (
    Disconnect,
    Hang,
    Held,
    HttpError,
    Message,
    ResponsesServer,
    Shell,
    Step,
    responses_server,
)
from fakes.workspace import PATIENCE_S, Workspace, wait_until

ARTIFACT = (
    'printf \'{"status":"candidate","candidate_commit":"%s","base_commit":"%s","description":"value %s",'
    '"notes":["learnt"],"created_at":"2026-01-31T12:00:00Z"}\' '
    '"$(git rev-parse HEAD)" "$OMAGY_BASE_COMMIT" "$(cat value.txt)" > "$OMAGY_CANDIDATE_FILE"'
)


def propose(*values: int) -> Shell:
    """The model's work: iteration n writes the n-th value, commits it and hands in the artifact."""
    listed = " ".join(str(value) for value in values)
    return Shell(
        f'set -- {listed}; shift $((OMAGY_ITERATION - 1)); echo "$1" > value.txt; '
        f'git commit -qam "value $1" && {ARTIFACT}'
    )


@pytest.fixture
def server() -> Iterator[ResponsesServer]:
    with responses_server() as running:
        yield running


def use_codex(ws: Workspace, tmp_path: Path, base_url: str, mode: ToolMode = "plain") -> None:
    """Let the workspace's omagy find the real Codex, configured for the scripted server."""
    home = make_codex_home(tmp_path / "codex", base_url, mode)
    ws.environment |= {
        "OMAGY_CODEX": str(codex_for_tests()),
        "CODEX_HOME": home.environment["CODEX_HOME"],
        "TMPDIR": home.environment["TMPDIR"],
        KEY_VARIABLE: home.environment[KEY_VARIABLE],
        "OMAGY_PAUSE_SCALE": "0",
    }


def codex_mission(ws: Workspace, frontmatter: str = "budget:\n  max_iterations: 1\n") -> None:
    ws.mission(frontmatter)
    ws.commit()


def run(ws: Workspace, *options: str, codex_args: tuple[str, ...] = ()) -> int:
    done = ws.omagy("autoresearch", "--foreground", "--agent", "codex", *options, "missions/m", *codex_args)
    print(done.stdout, done.stderr)
    return done.returncode


@pytest.mark.parametrize("mode", ["plain", "code"])
def test_a_night_with_codex(ws: Workspace, tmp_path: Path, server: ResponsesServer, mode: ToolMode) -> None:
    """In both tool modes Codex's commits are kept and discarded by the evaluator, inside Codex's own sandbox."""
    use_codex(ws, tmp_path, server.play(propose(3, 2, 5), Message("done")), mode)
    codex_mission(ws, "budget:\n  max_iterations: 3\n")
    assert run(ws) == 0
    assert ws.decisions() == ["baseline", "keep", "discard", "keep"]
    entry = ws.ledger()["entries"][3]
    assert entry["agent"] == "codex"
    assert entry["description"] == "value 5"
    assert entry["session"]["usage"]["input_tokens"] > 0
    assert entry["session"]["thread_id"]
    folder = ws.folder() / "iterations/0003"
    assert '"type":"turn.completed"' in (folder / "events.jsonl").read_text()
    assert "git commit" in (folder / "session.log").read_text()
    assert "score improved: 1 → 3" in (folder / "instructions.md").read_text()
    assert ws.git("rev-parse", "main") == ws.manifest()["baseline_commit"]
    assert "not-a-real-key" not in every_text_below(ws.folder())
    sent = server.requests[0].body
    assert "You are one session of an autonomous experiment loop" in str(sent["input"])


def every_text_below(folder: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def test_a_session_without_an_artifact_is_an_error(ws: Workspace, tmp_path: Path, server: ResponsesServer) -> None:
    """Codex exits 0 after doing nothing; the run records an error, and three in a row end it as failed."""
    use_codex(ws, tmp_path, server.play(Message("I looked around")))
    codex_mission(ws, "")
    assert run(ws) == 1
    assert ws.decisions() == ["baseline", "error", "error", "error"]
    assert ws.manifest()["lifecycle_outcome"] == "failed"
    assert "wrote no candidate file" in ws.ledger()["entries"][1]["decision_reason"]


LIMIT = HttpError(
    429, {"type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_in_seconds": 2}
)


def test_a_usage_limit_without_waiting_blocks_the_run(ws: Workspace, tmp_path: Path, server: ResponsesServer) -> None:
    """With --no-wait a usage limit ends the run as blocked, and costs no iteration."""
    use_codex(ws, tmp_path, server.play(LIMIT))
    codex_mission(ws)
    assert run(ws, "--no-wait") == 3
    manifest = ws.manifest()
    assert (manifest["lifecycle_outcome"], ws.decisions()) == ("blocked", ["baseline"])
    assert "usage limit" in manifest["stop_reason"]
    assert f"--resume {ws.run_id()}" in (ws.folder() / "handoff.md").read_text()


def test_a_usage_limit_is_waited_out(ws: Workspace, tmp_path: Path, server: ResponsesServer) -> None:
    """A usage limit is waited out and probed again; the iteration that met it is then done, and counted once."""
    url = server.play(LIMIT)
    use_codex(ws, tmp_path, url)
    codex_mission(ws)
    process = ws.start("autoresearch", "--foreground", "--agent", "codex", "missions/m")
    server.wait_for_requests(2)
    server.replace(url, propose(4), Message("done"))
    assert process.wait(PATIENCE_S) == 0
    assert ws.decisions() == ["baseline", "keep"]
    assert ws.ledger()["entries"][1]["session"]["attempt"] > 1
    assert "waiting until" in (ws.folder() / "supervisor.log").read_text()


def test_a_run_that_was_killed_while_it_waited_is_not_said_to_wait(
    ws: Workspace, tmp_path: Path, server: ResponsesServer
) -> None:
    """Nobody tries again at the moment that was waited for; a resume need not wait for it either."""
    reset = int(datetime.now(UTC).timestamp()) + 7200
    limit = HttpError(429, {"type": "usage_limit_reached", "message": "used up", "resets_at": reset})
    use_codex(ws, tmp_path, server.play(limit))
    codex_mission(ws)
    process = ws.start("autoresearch", "--foreground", "--agent", "codex", "missions/m")
    ws.wait_for_run()
    wait_until(lambda: ws.manifest()["waiting_until"] is not None, "the wait")
    assert "\nwaiting   until " in ws.omagy("autoresearch", "status").stdout
    process.kill()
    process.wait(PATIENCE_S)
    status = ws.omagy("autoresearch", "status").stdout
    assert "state     interrupted" in status
    assert "\nwaiting" not in status
    assert "\nwaited    until " in status
    assert "nothing waits now" in status


def test_a_login_that_is_not_accepted_blocks_the_run(ws: Workspace, tmp_path: Path, server: ResponsesServer) -> None:
    """A 401 ends the run as blocked after one session, with the command that logs in."""
    use_codex(ws, tmp_path, server.play(HttpError(401, {"message": "bad key"})))
    codex_mission(ws)
    assert run(ws) == 3
    assert ws.manifest()["lifecycle_outcome"] == "blocked"
    assert ws.decisions() == ["baseline"]
    assert "codex login" in (ws.folder() / "handoff.md").read_text()
    assert "first     remove the blocker: log in with `codex login`\n" in ws.omagy("autoresearch", "status").stdout


@pytest.mark.parametrize("trouble", [HttpError(503), Disconnect()], ids=["503", "disconnect"])
def test_server_trouble_is_retried_and_costs_no_iteration(
    ws: Workspace, tmp_path: Path, server: ResponsesServer, trouble: Step
) -> None:
    """Trouble of the server is retried with back-off until it works."""
    url = server.play(trouble)
    use_codex(ws, tmp_path, url)
    codex_mission(ws)
    process = ws.start("autoresearch", "--foreground", "--agent", "codex", "missions/m")
    server.wait_for_requests(3)
    server.replace(url, propose(4), Message("done"))
    assert process.wait(PATIENCE_S) == 0
    assert ws.decisions() == ["baseline", "keep"]


def test_a_hanging_session_ends_at_its_time_limit(ws: Workspace, tmp_path: Path, server: ResponsesServer) -> None:
    """A server that falls silent does not hold the run for longer than session.timeout."""
    use_codex(ws, tmp_path, server.play(Hang()))
    codex_mission(ws, "budget:\n  max_iterations: 1\nsession:\n  timeout: 4s\n")
    assert run(ws) == 0
    assert ws.decisions() == ["baseline", "error"]
    assert "time limit of 4.0s" in ws.ledger()["entries"][1]["decision_reason"]


def test_a_session_that_is_killed_is_an_error_and_the_run_goes_on(
    ws: Workspace, tmp_path: Path, server: ResponsesServer
) -> None:
    """kill -9 of Codex while it works costs one iteration, and nothing of it goes on running."""
    gate = threading.Event()
    url = server.play(Held(Message("too late"), gate))
    use_codex(ws, tmp_path, url)
    codex_mission(ws, "budget:\n  max_iterations: 2\n")
    process = ws.start("autoresearch", "--foreground", "--agent", "codex", "missions/m")
    server.wait_for_requests(1)
    server.replace(url, propose(3, 4), Message("done"))
    for codex in codex_processes(ws):
        with suppress(psutil.Error):  # the end of one can be that of another
            codex.kill()
    gate.set()
    assert process.wait(PATIENCE_S) == 0
    assert ws.decisions() == ["baseline", "error", "keep"]


def codex_processes(ws: Workspace) -> list[psutil.Process]:
    found = []
    for process in ws.own_processes():
        with suppress(psutil.Error):
            words = process.cmdline()
            if "exec" in words and "codex" in str(words):
                found.append(process)
    assert found
    return found


def test_a_live_codex_session_is_adopted(ws: Workspace, tmp_path: Path, server: ResponsesServer) -> None:
    """After kill -9 of the supervisor its Codex session goes on, and a resume adopts it instead of paying twice."""
    gate = threading.Event()
    use_codex(ws, tmp_path, server.play(Held(propose(4), gate), Message("done")))
    codex_mission(ws)
    process = ws.start("autoresearch", "--foreground", "--agent", "codex", "missions/m")
    server.wait_for_requests(1)
    process.kill()
    process.wait()
    resumed = ws.start("autoresearch", "--foreground", "--resume", ws.run_id())
    log = ws.folder() / "supervisor.log"
    wait_until(lambda: "found the session of iteration 1 alive" in log.read_text(), "the adoption")
    gate.set()
    assert resumed.wait(PATIENCE_S) == 0
    assert ws.decisions() == ["baseline", "keep"]
    assert len({request.session for request in server.requests}) == 1


def test_codex_arguments_that_codex_refuses_block_the_run(
    ws: Workspace, tmp_path: Path, server: ResponsesServer
) -> None:
    """What Codex says about its arguments reaches the person; no session is repeated for it."""
    use_codex(ws, tmp_path, server.play(Message("never asked")))
    codex_mission(ws)
    assert run(ws, codex_args=("--no-such-option",)) == 3
    assert "--no-such-option" in ws.manifest()["stop_reason"]
    assert server.requests == ()


def test_a_resume_can_leave_out_an_argument_that_codex_refused(
    ws: Workspace, tmp_path: Path, server: ResponsesServer
) -> None:
    """The handoff names the way, and it leads to a session."""
    use_codex(ws, tmp_path, server.play(propose(4), Message("done")))
    codex_mission(ws)
    assert run(ws, codex_args=("--no-such-option",)) == 3
    resume = f"--resume {ws.run_id()} --"
    assert f"omagy autoresearch {resume} <codex-args>" in (ws.folder() / "handoff.md").read_text()
    assert ws.resume(ws.run_id()).returncode == 3
    assert ws.omagy("autoresearch", "--foreground", *resume.split()).returncode == 0
    assert ws.decisions() == ["baseline", "keep"]


def test_a_session_cannot_read_the_files_of_the_held_out_check(
    ws: Workspace, tmp_path: Path, server: ResponsesServer
) -> None:
    """The check uses its files in the user's checkout; a session in the default sandbox is refused them."""
    held = ws.write("held/answers.txt", "the answer\n")
    ws.write(".gitignore", "/held/\n")
    steps = (Shell(f"cat {held}"), propose(3), Message("done"))
    use_codex(ws, tmp_path, server.play(*steps))
    ws.mission(
        "budget:\n  max_iterations: 1\n",
        evaluator_keys="  holdout:\n    command: grep -q answer held/answers.txt\n    files: [held/answers.txt]\n",
    )
    ws.commit()
    assert run(ws) == 0
    assert ws.decisions() == ["baseline", "keep"]
    assert "Permission denied" in server.requests[1].tool_outputs()[-1]
    assert "the answer" not in str([request.tool_outputs() for request in server.requests])
