"""The MCP server on stdin and stdout: protocol in, calls of tools out. All that knows the SDK is here.

Tools run in threads, so one that waits, or a slow disk, never keeps the others from answering. stdout is the
protocol's alone: while the server runs, the SDK points it at stderr for everything else in this process.
"""

import json
import logging
import os
import signal
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from omagy_autoresearch import __version__
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.spelling import nearest
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.tools.call import Answer, Call, Caller, answer, failure
from omagy_supervisor.tools.catalog import Effect, Tool
from omagy_supervisor.tools.schemas import input_schema, read_input, schema_of

INSTRUCTIONS = """\
Tools of omagy, which runs autonomous experiment loops (autoresearch) on a git repository and keeps the state of \
workflow modes. They work on the repository of this session's folder; working_directory names another one. \
An answer with `error` did nothing: its hint says what to do instead."""

log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any]
_Lines = AsyncIterable[SessionMessage | Exception]
_Onward = MemoryObjectSendStream[SessionMessage | Exception]
_Send = Callable[[SessionMessage], Awaitable[None]]
_AT_ONCE, _WAITING_AT_ONCE = 8, 64
_END_S = 3.0  # for calls that are under way when the server is told to end


def serve(caller: Caller, tools: Sequence[Tool]) -> int:
    """Answer one client until it closes stdin; returns the exit status. SIGTERM and SIGINT end the process."""
    anyio.run(_serve, caller, tools)
    return 0


async def _serve(caller: Caller, tools: Sequence[Tool]) -> None:
    calls = _Calls(caller, tools)
    server: Server[Any] = Server(
        "omagy",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=calls.listed,
        on_call_tool=calls.called,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(_end_on_signal, calls)
        async with stdio_server() as (lines, write):
            onward, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
            group.start_soon(_sort_out, lines, onward, write.send)
            try:
                await server.run(read, write, server.create_initialization_options())
            except anyio.get_cancelled_exc_class():
                calls.leave(0, "nobody reads stdout any more")
        log.debug("stdin is closed")
        group.cancel_scope.cancel()


async def _sort_out(lines: _Lines, onward: _Onward, send: _Send) -> None:
    """Hand messages on, and answer what is none: the SDK passes it over, and whoever wrote it would wait for ever."""
    async with onward:
        async for item in lines:
            if isinstance(item, SessionMessage):
                await onward.send(item)
            elif (told := _no_message(item)) is not None:
                await send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=told)))


def _no_message(problem: Exception) -> types.ErrorData | None:
    """What is wrong with a line; None for an empty one. Which request it was nobody can tell."""
    first = problem.errors()[0] if isinstance(problem, ValidationError) else None
    if first is not None and first["type"] != "json_invalid":
        return types.ErrorData(code=types.INVALID_REQUEST, message="the line is not a JSON-RPC 2.0 message")
    if first is not None and not str(first["input"]).strip():
        return None
    why = one_line(str(first["ctx"]["error"]), 200) if first is not None else type(problem).__name__
    return types.ErrorData(code=types.PARSE_ERROR, message=f"the line is not JSON: {why}")


class _Calls:
    """The protocol's two questions: which tools there are, and what one of them answers."""

    def __init__(self, caller: Caller, tools: Sequence[Tool]) -> None:
        self._caller = caller
        self._tools = {tool.name: tool for tool in tools}
        self._working = anyio.CapacityLimiter(_AT_ONCE)
        self._waiting = anyio.CapacityLimiter(_WAITING_AT_ONCE)
        self._working_on: set[Call] = set()

    async def listed(self, _context: _Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_shown(tool) for tool in self._tools.values()])

    async def called(self, _context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            hint = f"tools: {', '.join(self._tools)}"
            return _result(
                failure("unknown_tool", f"there is no tool {params.name}{nearest(params.name, self._tools)}", hint)
            )
        began_s = SystemClock().monotonic_s()
        done = await self._answer(tool, params.arguments or {})
        took_ms = (SystemClock().monotonic_s() - began_s) * 1000
        log.debug("%s: %s in %.0f ms", tool.name, done.content["error"] if done.is_error else "done", took_ms)
        return _result(done)

    async def _answer(self, tool: Tool, arguments: dict[str, Any]) -> Answer:
        call = Call(self._caller)
        limiter = self._waiting if tool.waits else self._working
        work = partial(self._work, call, tool, arguments)
        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
        finally:
            call.abandoned.set()

    def _work(self, call: Call, tool: Tool, arguments: dict[str, Any]) -> Answer:
        self._working_on.add(call)
        try:
            return answer(lambda: tool.run(call, read_input(tool.input, arguments)))
        finally:
            self._working_on.discard(call)
            call.finished.set()

    def leave(self, status: int, why: str) -> NoReturn:
        """End the process once what works is done; what waits is let go.

        Nothing is unwound: a thread that reads stdin cannot be woken, and would be waited for.
        """
        log.debug("ending: %s", why)
        under_way = list(self._working_on)
        for call in under_way:
            call.abandoned.set()
        clock = SystemClock()
        deadline = clock.monotonic_s() + _END_S
        for call in under_way:
            call.finished.wait(max(deadline - clock.monotonic_s(), 0))
        os._exit(status)


async def _end_on_signal(calls: _Calls) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            calls.leave(128 + number, number.name)


def _shown(tool: Tool) -> types.Tool:
    reads = tool.effect is Effect.READ
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.input),
        output_schema=schema_of(tool.output),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=reads,
            destructive_hint=tool.effect is Effect.DESTRUCTIVE,
            idempotent_hint=tool.repeatable,
            open_world_hint=False,
        ),
    )


def _result(done: Answer) -> types.CallToolResult:
    """Both forms of one answer: some clients show the model the text, others the structured content."""
    text = json.dumps(done.content, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=done.content,
        is_error=done.is_error,
    )
