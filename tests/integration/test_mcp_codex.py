"""The real Codex uses omagy's tools, registered as ``omagy mcp --print-config codex`` says."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.codex_home import KEY_VARIABLE, CodexHome, ToolMode, codex_for_tests, make_codex_home
from fakes.responses_server import McpCall, Message, ResponsesServer, Shell, responses_server
from fakes.workspace import PATIENCE_S, Workspace


@pytest.fixture
def server() -> Iterator[ResponsesServer]:
    with responses_server() as running:
        yield running


def codex_with_omagy(ws: Workspace, folder: Path, base_url: str, mode: ToolMode) -> CodexHome:
    """Codex knows omagy as its person was told to register it. The scripted model is too quick not to require it."""
    home = make_codex_home(folder, base_url, mode)
    registered = ws.omagy("mcp", "--print-config", "codex").stdout.replace("# required", "required")
    with home.config_file.open("a") as config:
        config.write(f"\n{registered}\nstartup_timeout_sec = {PATIENCE_S}\n")
    return home


def calls(events: str) -> list[dict[str, Any]]:
    """What Codex says of the calls it made of MCP tools."""
    items = (event["item"] for event in map(json.loads, events.splitlines()) if event["type"] == "item.completed")
    return [item for item in items if item["type"] == "mcp_tool_call"]


@pytest.mark.parametrize("mode", ["plain", "code"])
def test_codex_gets_the_tools_answer(ws: Workspace, tmp_path: Path, server: ResponsesServer, mode: ToolMode) -> None:
    """The model calls tools, and its next requests hold what they answered about the session's repository."""
    ws.mission()
    ws.commit()
    url = server.play(
        McpCall("omagy", "omagy_autoresearch_list"),
        McpCall("omagy", "omagy_autoresearch_status", {"run_id": "r-1"}),
        McpCall("omagy", "omagy_state_write", {"mode": "team"}),
        McpCall("omagy", "omagy_state_write", {"mode": "plan"}),
        Message("seen"),
    )
    home = codex_with_omagy(ws, tmp_path / "codex", url, mode)
    done = subprocess.run(
        [str(codex_for_tests()), "exec", "--json", "-C", str(ws.root), "look at the runs"],
        env=ws.environment | dict(home.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = calls(done.stdout)
    assert [call["status"] for call in made] == ["completed", "failed", "completed", "failed"]
    assert made[0]["result"]["structured_content"]["runs"] == []
    listed, status, _, denied = server.requests[-1].tool_outputs()
    assert '"unreadable":[]' in listed.replace(" ", "")
    assert f"there is no run r-1 in {ws.root}" in status
    assert "there are no runs in this repository" in status
    assert "plan+team is not a supported combination" in denied
    assert "omagy_state_clear" in denied
    assert json.loads(ws.omagy("state", "read", "--json").stdout)["combination"] == "team"


ARTIFACT = (
    'printf \'{"status":"candidate","candidate_commit":"%s","base_commit":"%s","description":"better","notes":[],'
    '"created_at":"2026-01-31T12:00:00Z"}\' "$(git rev-parse HEAD)" "$OMAGY_BASE_COMMIT" > "$OMAGY_CANDIDATE_FILE"'
)


def test_a_session_of_a_run_sees_its_run_and_cannot_stop_it(
    ws: Workspace, tmp_path: Path, server: ResponsesServer
) -> None:
    """With the person's own registration, in Codex's sandbox; and the run ends as it would have without the tools."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    url = server.play(
        McpCall("omagy", "omagy_autoresearch_status"),
        McpCall("omagy", "omagy_autoresearch_stop"),
        McpCall("omagy", "omagy_state_clear", {"mode": "autoresearch"}),
        Shell(f"echo 5 > value.txt && git commit -qam better && {ARTIFACT}"),
        Message("done"),
    )
    home = codex_with_omagy(ws, tmp_path / "codex", url, "plain")
    ws.environment |= {
        "OMAGY_CODEX": str(codex_for_tests()),
        KEY_VARIABLE: home.environment[KEY_VARIABLE],
        **{name: home.environment[name] for name in ("CODEX_HOME", "TMPDIR")},
    }
    done = ws.omagy("autoresearch", "--foreground", "--agent", "codex", "missions/m")
    assert done.returncode == 0, done.stderr
    assert ws.decisions() == ["baseline", "keep"]
    status, stop, clear, _ = server.requests[-1].tool_outputs()
    assert f'"run_id":"{ws.run_id()}"' in status.replace(" ", "")
    assert f"a session of run {ws.run_id()} cannot stop a run" in stop
    assert "cannot change workflow modes" in clear
