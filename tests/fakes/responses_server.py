"""A scripted model server on the loopback interface, for driving the real Codex without a model.

It speaks the Responses API as far as Codex needs it. Each scenario is a list of steps; a session's n-th request
gets the n-th step, and the last step repeats. Codex has two ways to be given tools, and the server answers in
the one that the request uses: plain tools, or "code mode", where all tools are called from one JavaScript tool.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from fakes.workspace import PATIENCE_S

Json = dict[str, Any]


@dataclass(frozen=True)
class Message:
    """The model says ``text``; a turn ends with it."""

    text: str


@dataclass(frozen=True)
class Shell:
    """The model runs ``command`` in a shell."""

    command: str


@dataclass(frozen=True)
class Patch:
    """The model edits files: ``text`` is a patch in Codex's own format."""

    text: str


@dataclass(frozen=True)
class McpCall:
    """The model calls ``tool`` of the MCP server that Codex knows as ``server``."""

    server: str
    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpError:
    """The server answers with ``status`` and no stream."""

    status: int
    error: Mapping[str, object] = field(default_factory=lambda: {"message": "scripted error"})
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The stream says that the response failed."""

    code: str
    message: str = "scripted failure"


@dataclass(frozen=True)
class Disconnect:
    """The stream breaks off after its first event."""


@dataclass(frozen=True)
class Hang:
    """The stream falls silent after its first event, until the server is closed."""


@dataclass(frozen=True)
class Held:
    """``step``, answered only once ``until`` is set."""

    step: "Step"
    until: threading.Event


Step = Message | Shell | Patch | McpCall | HttpError | Failed | Disconnect | Hang | Held


@dataclass(frozen=True)
class Request:
    """One request for a response, as it came in."""

    scenario: str
    session: str
    headers: Mapping[str, str]
    body: Json

    @property
    def code_mode(self) -> bool:
        """Whether this request offers one JavaScript tool in place of the plain ones."""
        return any(tool.get("type") == "custom" and tool.get("name") == "exec" for tool in self._tools())

    def tool_outputs(self) -> list[str]:
        """What the tools answered so far, oldest first."""
        items = [item for item in self.body.get("input", []) if str(item.get("type")).endswith("_call_output")]
        return [_flat(item.get("output")) for item in items]

    def _tools(self) -> Iterator[Json]:
        yield from _single_tools(self.body.get("tools"))
        for item in self.body.get("input") or []:
            if item.get("type") == "additional_tools":
                yield from _single_tools(item.get("tools"))


def _single_tools(tools: list[Json] | None) -> Iterator[Json]:
    """Tools stand alone or in namespaces."""
    for tool in tools or []:
        if tool.get("type") == "namespace":
            yield from _single_tools(tool.get("tools"))
        else:
            yield tool


def _flat(output: object) -> str:
    """A tool's output is a text, or a list of parts with a text each."""
    if isinstance(output, list):
        return "".join(str(part.get("text", "")) for part in output if isinstance(part, dict))
    return output if isinstance(output, str) else json.dumps(output)


class ResponsesServer:
    """The server: scenarios go in, the requests that came stand in ``requests``. Safe for parallel sessions."""

    def __init__(self) -> None:
        self._scenarios: dict[str, tuple[Step, ...]] = {}
        self._begun: dict[tuple[str, str], tuple[Step, ...]] = {}
        self._served: Counter[tuple[str, str]] = Counter()
        self._requests: list[Request] = []
        self._changed = threading.Condition()
        self.closing = threading.Event()
        self._http = _HttpServer(("127.0.0.1", 0), _Handler)
        self._http.responses = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="responses-server")

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Let go of every waiting request and end; no thread is left afterwards."""
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def play(self, *steps: Step) -> str:
        """Add a scenario; returns the base URL under which it is served."""
        name = f"scenario-{len(self._scenarios) + 1}"
        self._scenarios[name] = steps
        return f"http://127.0.0.1:{self._http.server_address[1]}/{name}/v1"

    def replace(self, base_url: str, *steps: Step) -> None:
        """Let the sessions that begin from now on at ``base_url`` get ``steps``; those under way go on in them."""
        self._scenarios[base_url.split("/")[-2]] = steps

    @property
    def requests(self) -> tuple[Request, ...]:
        with self._changed:
            return tuple(self._requests)

    def wait_for_requests(self, number: int, limit_s: float = PATIENCE_S) -> tuple[Request, ...]:
        """The requests so far, as soon as there are ``number`` of them. Raises AssertionError."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self._requests) >= number, limit_s)
            assert arrived, f"{len(self._requests)} of {number} requests came within {limit_s} s"
            return tuple(self._requests)

    def receive(self, request: Request) -> Step | None:
        """Note ``request`` and pick its answer; None for a scenario that does not exist."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            key = (request.scenario, request.session)
            steps = self._begun.setdefault(key, self._scenarios.get(request.scenario, ()))
            position = self._served[key]
            self._served[key] += 1
        return steps[min(position, len(steps) - 1)] if steps else None


@contextmanager
def responses_server() -> Iterator[ResponsesServer]:
    """A running server, closed at the end."""
    server = ResponsesServer()
    server.start()
    try:
        yield server
    finally:
        server.close()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for every handler
    responses: ResponsesServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is part of many scenarios and no reason to print a traceback."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is given
        """Tests look at ``requests``."""

    def do_GET(self) -> None:
        self._answer_json(404, {"error": {"message": "nothing here"}})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        scenario, _, rest = self.path.partition("?")[0].strip("/").partition("/")
        if rest != "v1/responses":
            self._answer_json(404, {"error": {"message": "nothing here"}})
            return
        session = self.headers.get("session-id") or self.headers.get("thread-id") or ""
        request = Request(scenario, session, dict(self.headers.items()), json.loads(body))
        step = self._responses.receive(request)
        if step is None:
            self._answer_json(404, {"error": {"message": f"no scenario {scenario}"}})
        else:
            self._play(step, request)

    @property
    def _responses(self) -> ResponsesServer:
        return cast("_HttpServer", self.server).responses

    def _play(self, step: Step, request: Request) -> None:
        while isinstance(step, Held):
            self._wait(step.until)
            step = step.step
        if isinstance(step, HttpError):
            self._answer_json(step.status, {"error": dict(step.error)}, step.headers)
            return
        self._begin_stream()
        self._event("response.created", response={"id": "resp_1"})
        match step:
            case Disconnect():
                pass
            case Hang():
                self._responses.closing.wait()
            case Failed(code, message):
                error = {"code": code, "message": message}
                self._event("response.failed", response={"id": "resp_1", "status": "failed", "error": error})
            case Message() | Shell() | Patch() | McpCall():
                self._event("response.output_item.done", output_index=0, item=_item(step, request))
                self._event("response.completed", response={"id": "resp_1", "usage": _USAGE})

    def _wait(self, event: threading.Event) -> None:
        while not event.wait(0.05) and not self._responses.closing.is_set():
            pass

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self._end_headers()

    def _event(self, kind: str, **fields: object) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())
        self.wfile.flush()

    def _answer_json(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self._end_headers()
        self.wfile.write(content)

    def _end_headers(self) -> None:
        """One answer for each connection, so that no handler waits for a client that stays connected."""
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True


TOKENS_IN, TOKENS_CACHED, TOKENS_OUT, TOKENS_REASONING = 1000, 400, 50, 10  # of every scripted response
_USAGE = {
    "input_tokens": TOKENS_IN,
    "input_tokens_details": {"cached_tokens": TOKENS_CACHED},
    "output_tokens": TOKENS_OUT,
    "output_tokens_details": {"reasoning_tokens": TOKENS_REASONING},
    "total_tokens": TOKENS_IN + TOKENS_OUT,
}


def _item(step: Message | Shell | Patch | McpCall, request: Request) -> Json:
    """What the model answers, in the form that ``request`` asks for."""
    match step:
        case Message(text):
            return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        case Shell(command) if request.code_mode:
            return _script(request, "exec_command", {"cmd": command})
        case Shell(command):
            arguments = json.dumps({"cmd": command})
            return {**_call("function_call", request), "name": "exec_command", "arguments": arguments}
        case Patch(text) if request.code_mode:
            return _script(request, "apply_patch", text)
        case Patch(text):
            return {**_call("custom_tool_call", request), "name": "apply_patch", "input": text}
        case McpCall(server, tool, arguments) if request.code_mode:
            return _script(request, f"mcp__{server}__{tool}", dict(arguments))
        case McpCall(server, tool, arguments):
            named = {"namespace": f"mcp__{server}", "name": tool}
            return {**_call("function_call", request), **named, "arguments": json.dumps(dict(arguments))}


def _script(request: Request, tool: str, argument: object) -> Json:
    code = f"const answer = await tools.{tool}({json.dumps(argument)});\ntext(answer);\n"
    return {**_call("custom_tool_call", request), "name": "exec", "input": code}


def _call(kind: str, request: Request) -> Json:
    """A tool call needs an id of its own within the session."""
    return {"type": kind, "call_id": f"call_{len(request.tool_outputs()) + 1}"}
