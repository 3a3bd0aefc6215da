"""The real Codex uses omagy's tools, registered as ``omagy mcp --print-config codex`` says."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.codex_home import ToolMode, codex_for_tests, make_codex_home
from fakes.responses_server import McpCall, Message, ResponsesServer, responses_server
from fakes.workspace import Workspace


@pytest.fixture
def server() -> Iterator[ResponsesServer]:
    with responses_server() as running:
        yield running


def codex_exec(
    ws: Workspace, folder: Path, base_url: str, mode: ToolMode, variables: dict[str, str]
) -> list[dict[str, Any]]:
    """A session of Codex in the workspace; returns its events. The scripted model is too quick not to require."""
    home = make_codex_home(folder, base_url, mode)
    registered = ws.omagy("mcp", "--print-config", "codex").stdout.replace("# required", "required")
    with home.config_file.open("a") as config:
        config.write(f"\n{registered}")
    done = subprocess.run(
        [str(codex_for_tests()), "exec", "--json", "-C", str(ws.root), "look at the runs"],
        env=ws.environment | dict(home.environment) | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def calls(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    items = (event["item"] for event in events if event["type"] == "item.completed")
    return [item for item in items if item["type"] == "mcp_tool_call"]


@pytest.mark.parametrize("mode", ["plain", "code"])
def test_codex_gets_the_tools_answer(ws: Workspace, tmp_path: Path, server: ResponsesServer, mode: ToolMode) -> None:
    """The model calls a tool, and its next request holds what the tool answered about the session's repository."""
    ws.mission()
    ws.commit()
    ws.plan()
    url = server.play(
        McpCall("omagy", "omagy_autoresearch_list"),
        McpCall("omagy", "omagy_autoresearch_status", {"run_id": "r-1"}),
        Message("seen"),
    )
    listed, status = calls(codex_exec(ws, tmp_path / "codex", url, mode, {}))
    assert (listed["status"], status["status"]) == ("completed", "failed")
    assert listed["result"]["structured_content"]["runs"] == []
    first, second = server.requests[-1].tool_outputs()
    assert '"unreadable":[]' in first.replace(" ", "")
    assert f"there is no run r-1 in {ws.root}" in second
    assert "there are no runs in this repository" in second
