"""``omagy mcp`` as an agent meets it: the SDK's own client, over stdio, against the real process."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from fakes.mcp_client import done, refused, server_of, with_client
from fakes.workspace import PATIENCE_S, Workspace, candidate, wait_until

NEEDED: dict[str, dict[str, Any]] = {
    "omagy_question_answer": {"question_id": "q-1", "answer": "yes"},
    "omagy_question_ask": {"question": "Which?"},
    "omagy_state_clear": {"all": True},
    "omagy_state_write": {"mode": "team"},
}
"""What a tool cannot do without."""

TOOLS = {
    "omagy_autoresearch_list": "reads",
    "omagy_autoresearch_status": "reads",
    "omagy_autoresearch_stop": "destroys",
    "omagy_question_answer": "adds",
    "omagy_question_ask": "adds",
    "omagy_question_list": "reads",
    "omagy_state_clear": "destroys",
    "omagy_state_list": "reads",
    "omagy_state_read": "reads",
    "omagy_state_write": "adds",
}


@pytest.fixture
def repo(ws: Workspace) -> Workspace:
    """A repository with a mission and a commit."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    return ws


# -- what there is


def test_the_tools_say_what_they_take_answer_and_do(repo: Workspace) -> None:
    """Every tool has a description, closed and self-contained schemas, and annotations that a client can rely on."""

    async def act(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == set(TOOLS)
        for name, tool in tools.items():
            assert tool.description
            assert tool.title
            assert tool.input_schema["additionalProperties"] is False
            assert all("description" in one for one in tool.input_schema["properties"].values()), name
            assert tool.output_schema is not None
            assert '"null"' not in json.dumps(tool.input_schema)
            assert "$ref" not in json.dumps([tool.input_schema, tool.output_schema])
            hints = tool.annotations
            assert hints is not None
            told = "reads" if hints.read_only_hint else "destroys" if hints.destructive_hint else "adds"
            assert (told, hints.open_world_hint) == (TOOLS[name], False), name

    with_client(server_of(repo), act)


# -- runs


def test_runs_are_listed_and_told_as_on_the_command_line(repo: Workspace) -> None:
    """The tools answer with exactly what --json prints."""
    repo.plan(default=candidate(2))
    assert repo.launch().returncode == 0
    listed = json.loads(repo.omagy("autoresearch", "list", "--json").stdout) | {"left_out": 0}
    status = json.loads(repo.omagy("autoresearch", "status", "--json").stdout)
    elsewhere = repo.root.parent

    async def act(client: Client) -> None:
        assert await done(client, "omagy_autoresearch_list") == listed
        assert await done(client, "omagy_autoresearch_status") == status
        assert await done(client, "omagy_autoresearch_status", run_id=repo.run_id()) == status
        error = await refused(client, "omagy_autoresearch_status", run_id="nope")
        assert error["message"].startswith("there is no run nope")
        assert repo.run_id() in error["hint"]

    with_client(server_of(repo), act)

    async def from_outside(client: Client) -> None:
        assert await done(client, "omagy_autoresearch_list", working_directory=str(repo.root / "missions")) == listed

    with_client(server_of(repo, elsewhere), from_outside)


def test_a_list_tells_of_the_newest_runs_and_counts_the_others(repo: Workspace) -> None:
    """A model's context is dear; what is left out is counted."""
    repo.plan(default=candidate(2))
    for _ in range(2):
        assert repo.launch().returncode == 0

    async def act(client: Client) -> None:
        listed = await done(client, "omagy_autoresearch_list", newest=1)
        assert ([run["run_id"] for run in listed["runs"]], listed["left_out"]) == (repo.run_ids()[-1:], 1)
        assert (await done(client, "omagy_autoresearch_list"))["left_out"] == 0

    with_client(server_of(repo), act)


@pytest.mark.parametrize("after_iteration", [False, True])
def test_stop_stops_the_active_run(repo: Workspace, *, after_iteration: bool) -> None:
    """A stop at once waits for the end and says how to go on; one after the iteration returns while the run lives."""
    repo.plan(default=[{"hang": True}])
    run = repo.start_launch()
    run_id = repo.wait_for_run()
    repo.wait_for_session()

    async def act(client: Client) -> None:
        assert "the active run is" in (await refused(client, "omagy_autoresearch_stop", run_id="other"))["message"]
        stopped = await done(client, "omagy_autoresearch_stop", after_iteration=after_iteration)
        assert (stopped["run_id"], stopped["stopped"]) == (run_id, not after_iteration)
        if after_iteration:
            assert stopped["next_command"] == f"omagy autoresearch status {run_id}"
            assert run.poll() is None
            return
        assert stopped["next_command"] == f"omagy autoresearch --resume {run_id}"
        assert (await done(client, "omagy_autoresearch_status"))["lifecycle_outcome"] == "userinterlude"
        error = await refused(client, "omagy_autoresearch_stop")
        assert error["message"] == "no run is active in this repository"

    with_client(server_of(repo), act)


@pytest.mark.parametrize("told", ["server", "parent"])
def test_a_session_can_look_at_its_run_but_not_stop_it(repo: Workspace, told: str) -> None:
    """Whether the agent hands its environment on to the server or not, the tools know whose session it is."""
    repo.plan(default=[{"hang": True}])
    repo.start_launch()
    run_id = repo.wait_for_run()
    repo.wait_for_session()

    async def act(client: Client) -> None:
        status = await done(client, "omagy_autoresearch_status")
        assert (status["run_id"], status["state"]) == (run_id, "in session")
        error = await refused(client, "omagy_autoresearch_stop")
        assert error["code"] == "inside_session"
        assert "candidate file" in error["hint"]
        assert (await done(client, "omagy_autoresearch_status"))["active"]

    server = server_of(repo, repo.lane(), {"OMAGY_RUN_ID": run_id})
    if told == "parent":
        server = in_shell(server, 'env -u OMAGY_RUN_ID "$@"; true')
    with_client(server, act)


def in_shell(server: StdioServerParameters, script: str) -> StdioServerParameters:
    """``server`` as a child of a shell, which gets its command as arguments."""
    return server.model_copy(update={"command": "sh", "args": ["-c", script, "sh", server.command, *server.args]})


# -- errors are answers


@pytest.mark.parametrize(
    ("tool", "given", "code", "message", "hint"),
    [
        ("omagy_autoresearch_lst", {}, "unknown_tool", "did you mean omagy_autoresearch_list?", "tools: "),
        ("omagy_autoresearch_status", {"runid": "x"}, "invalid_input", "did you mean run_id?", "inputs: "),
        ("omagy_autoresearch_status", {"run_id": 7}, "invalid_input", "run_id: Expected str | null, got int", ""),
        ("omagy_autoresearch_status", {"run_id": "../../x"}, "usage", "there is no run ../../x", "no runs"),
        (
            "omagy_autoresearch_stop",
            {"after_iteration": "yes"},
            "invalid_input",
            "after_iteration: Expected bool",
            "",
        ),
        ("omagy_autoresearch_list", {"newest": 0}, "invalid_input", "newest: Expected int >= 1", "inputs: "),
        ("omagy_autoresearch_list", {"working_directory": "here"}, "usage", "not an absolute path", "inside the"),
        ("omagy_autoresearch_list", {"working_directory": "/no\0where"}, "usage", "is not a folder", "inside the"),
        (
            "omagy_autoresearch_list",
            {"working_directory": "/" + "a" * 5000},
            "usage",
            "is not a folder",
            "inside the",
        ),
        ("omagy_autoresearch_list", {"working_directory": "/"}, "usage", "not inside a git", "working_directory"),
        ("omagy_autoresearch_list", {"\ud800": 1}, "invalid_input", "there is no input", "working_directory"),
    ],
)
def test_an_error_is_an_answer_with_a_way_out(
    repo: Workspace, tool: str, given: dict[str, Any], code: str, message: str, hint: str
) -> None:
    """Wrong input is refused with what is wrong and what there is instead; the server goes on."""

    async def act(client: Client) -> None:
        error = await refused(client, tool, **given)
        assert error["code"] == code
        assert message in error["message"]
        assert hint in error["hint"]
        assert await done(client, "omagy_autoresearch_list")

    with_client(server_of(repo), act)


def test_outside_of_a_repository_every_tool_says_so(ws: Workspace) -> None:
    """The server starts anywhere, and each tool names the folder that is no repository."""
    outside = ws.root.parent

    async def act(client: Client) -> None:
        for tool in TOOLS:
            error = await refused(client, tool, **NEEDED.get(tool, {}))
            assert f"{outside} is not inside a git repository" in error["message"], tool

    with_client(server_of(ws, outside), act)


# -- the process


class Wire:
    """The server's raw lines, for what a well-behaved client never sends."""

    def __init__(self, ws: Workspace, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "omagy_supervisor", "mcp", *options],
            cwd=ws.root,
            env=ws.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, number: int, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())

    def answer(self) -> dict[str, Any]:
        """The next message; every line on stdout is one."""
        assert self.process.stdout is not None
        message = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        return dict(message)

    def greet(self) -> None:
        client = {"name": "test", "version": "1"}
        self.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        assert self.answer()["result"]["serverInfo"]["name"] == "omagy"
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def close(self) -> tuple[int, str]:
        """Close stdin; the exit status and stderr."""
        rest, told = self.process.communicate(timeout=PATIENCE_S)
        assert rest == b""
        return self.process.returncode, told.decode()


@pytest.fixture
def wire(repo: Workspace) -> Iterator[Callable[..., Wire]]:
    """Starts servers, and sees to it that none is left."""
    started: list[Wire] = []

    def start(*options: str) -> Wire:
        started.append(Wire(repo, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


GARBAGE = [b"", b"hello", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"jsonrpc":"2.0"}', b'{"id":1}', b"[" * 10000]


def test_garbage_on_stdin_is_survived(wire: Callable[..., Wire]) -> None:
    """Lines that are no protocol end neither the server nor the conversation, and print nothing but protocol."""
    server = wire()
    server.greet()
    for line in GARBAGE:
        server.send(line)
    server.ask(7, "tools/call", name="omagy_autoresearch_list", arguments={})
    answers = [server.answer()]
    while answers[-1].get("id") != 7:
        answers.append(server.answer())
    assert answers[-1]["result"]["structuredContent"]["runs"] == []
    assert server.close() == (0, "")


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        (b"{nope", -32700, "not JSON"),
        (b"\xff\xfe", -32700, "not JSON"),
        (b"[]", -32600, "not a JSON-RPC 2.0 message"),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', -32600, "not a JSON-RPC 2.0 message"),
        (b'{"jsonrpc":"1.0","id":5,"method":"tools/list"}', -32600, "not a JSON-RPC 2.0 message"),
    ],
)
def test_a_line_that_is_no_message_is_answered(wire: Callable[..., Wire], line: bytes, code: int, told: str) -> None:
    """Whoever wrote it would wait for ever; an empty line is nobody's question."""
    server = wire()
    server.greet()
    server.send(b"  ")
    server.send(line)
    answer = server.answer()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert told in answer["error"]["message"]
    assert server.close() == (0, "")


def test_closing_stdin_ends_the_server(wire: Callable[..., Wire]) -> None:
    """Before the first word, too; quietly and with status 0."""
    assert wire().close() == (0, "")
    server = wire()
    server.greet()
    assert server.close() == (0, "")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_end_the_server(wire: Callable[..., Wire], number: signal.Signals, status: int) -> None:
    server = wire()
    server.greet()
    server.process.send_signal(number)
    assert server.process.wait(PATIENCE_S) == status


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_a_question_that_waits_does_not_keep_the_server_alive(
    repo: Workspace, wire: Callable[..., Wire], number: signal.Signals | None
) -> None:
    """The question stays, for whoever answers it."""
    server = wire()
    server.greet()
    server.ask(1, "tools/call", name="omagy_question_ask", arguments={"question": "Now?", "wait_s": 3600})
    wait_until(lambda: bool(list(repo.root.glob(".omagy/state/questions/*.json"))), "the question")
    if number is None:
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.process.stdin = None
    else:
        server.process.send_signal(number)
    assert server.process.wait(PATIENCE_S) == (0 if number is None else 143)


def test_a_client_that_reads_no_more_ends_the_server(wire: Callable[..., Wire]) -> None:
    """Although it still holds stdin open; and without a word."""
    server = wire()
    server.greet()
    assert server.process.stdout is not None
    assert server.process.stderr is not None
    server.process.stdout.close()
    server.ask(1, "tools/list")
    assert server.process.wait(PATIENCE_S) == 0
    assert server.process.stderr.read() == b""
    server.process.stdout = None


def test_debug_logs_on_stderr_alone(wire: Callable[..., Wire]) -> None:
    server = wire("--debug")
    server.greet()
    server.ask(1, "tools/call", name="omagy_autoresearch_list", arguments={})
    assert server.answer()["id"] == 1
    status, told = server.close()
    assert status == 0
    assert "omagy_autoresearch_list: done in" in told


def test_calls_are_answered_side_by_side(repo: Workspace) -> None:
    """Many at once, from two clients, all with the same answer."""

    async def act(client: Client) -> None:
        answers: list[Any] = []

        async def one() -> None:
            answers.append(await done(client, "omagy_autoresearch_list"))

        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(one)
        assert (
            answers == [{"active": None, "runs": [], "unreadable": [], "active_elsewhere": None, "left_out": 0}] * 40
        )

    with_client(server_of(repo), act)
