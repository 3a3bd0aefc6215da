"""The MCP SDK's own client, connected to the real ``omagy mcp``. It fails on anything but protocol on stdout."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult

from fakes.workspace import WHOLE_RUN_S, Workspace

Json = dict[str, Any]


def server_of(
    ws: Workspace, folder: Path | None = None, variables: Mapping[str, str] | None = None
) -> StdioServerParameters:
    """How the server of ``ws`` is started, in ``folder`` or else its repository's root."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "omagy_supervisor", "mcp"],
        env=ws.environment | dict(variables or {}),
        cwd=folder or ws.root,
    )


@asynccontextmanager
async def connected(server: StdioServerParameters) -> AsyncIterator[Client]:
    """A client of ``server``, which ends with it. Raises AssertionError for lines that are not protocol."""
    garbage: list[Exception] = []

    async def look_at(message: object) -> None:
        if isinstance(message, Exception):
            garbage.append(message)

    async with Client(server, message_handler=look_at) as client:
        yield client
    assert not garbage, garbage


def with_client(server: StdioServerParameters, act: Callable[[Client], Awaitable[None]]) -> None:
    """Run ``act`` with a client of ``server``."""

    async def run() -> None:
        with anyio.fail_after(WHOLE_RUN_S):
            async with connected(server) as client:
                await act(client)

    try:
        anyio.run(run)
    except ExceptionGroup as group:
        raise _cause(group) from None


def _cause(error: Exception) -> Exception:
    """The failed assertion itself, out of the groups that the client's task groups put around it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


async def done(client: Client, tool: str, **given: Any) -> Json:
    """What ``tool`` answers. Raises AssertionError for an error."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.structured_content
    return content_of(result)


async def refused(client: Client, tool: str, **given: Any) -> Json:
    """The error that ``tool`` answers: its code, message and hint. Raises AssertionError when it does something."""
    result = await client.call_tool(tool, given)
    assert result.is_error, result.structured_content
    error: Json = content_of(result)["error"]
    return error


def content_of(result: CallToolResult) -> Json:
    """The structured content, which the text repeats."""
    (part,) = result.content
    assert json.loads(part.text) == result.structured_content  # type: ignore[union-attr]
    return dict(result.structured_content or {})
