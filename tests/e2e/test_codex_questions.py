"""A question from inside the real Codex, in its own sandbox: asked, answered, and known to the next session."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.test_codex_runs import codex_mission, run, use_codex
from fakes.codex_home import ToolMode
from fakes.responses_server import Message, ResponsesServer, Shell, responses_server
from fakes.workspace import Workspace

ABORT = (
    'printf \'{"status":"abort","candidate_commit":null,"base_commit":"%s","description":"needs an answer",'
    '"notes":[],"created_at":"2026-01-31T12:00:00Z"}\' "$OMAGY_BASE_COMMIT" > "$OMAGY_CANDIDATE_FILE"'
)
ASK = (
    "omagy=$(sed -n 's/^ *\\(.*\\) question --input .*/\\1/p' \"$OMAGY_INSTRUCTIONS_FILE\"); "
    '$omagy question --input \'{"question":"Which backend?","options":["fast","small"]}\' --json; '
    f"echo status $?; {ABORT}"
)


@pytest.fixture
def server() -> Iterator[ResponsesServer]:
    with responses_server() as running:
        yield running


@pytest.mark.parametrize("mode", ["plain", "code"])
def test_codex_asks_from_its_sandbox(ws: Workspace, tmp_path: Path, server: ResponsesServer, mode: ToolMode) -> None:
    """The run ends as askuserQuestion; once it is answered, the model's next request contains the answer."""
    url = server.play(Shell(ASK), Message("asked"))
    use_codex(ws, tmp_path, url, mode)
    codex_mission(ws, "budget:\n  max_iterations: 2\n")
    assert run(ws) == 4
    (output,) = server.requests[-1].tool_outputs()
    assert "status 4" in output
    assert "End this session now" in output
    (question,) = json.loads(ws.omagy("question", "list", "--json").stdout)["questions"]
    assert question["id"] in output
    assert (question["question"], question["status"], question["run_id"]) == ("Which backend?", "open", ws.run_id())
    assert ws.decisions() == ["baseline", "abort"]
    assert ws.manifest()["lifecycle_outcome"] == "askuserQuestion"
    before = len(server.requests)
    assert ws.omagy("question", "answer", question["id"], "small").returncode == 0
    server.replace(url, Message("I know now"))
    resumed = ws.omagy("autoresearch", "--foreground", "--resume", ws.run_id())
    assert resumed.returncode == 0, resumed.stderr
    asked = str(server.requests[before].body["input"])
    assert "Question: Which backend?" in asked
    assert "Answer: small" in asked
