"""Codex's JSON events as lines for a person who watches a session.

The session runner imports this module in every session: it needs the standard library only, and nothing it
is fed makes it raise.
"""

import shlex
from collections.abc import Callable

from omagy_autoresearch.lines import cut, one_line, visible
from omagy_supervisor.adapters.codex.jsonl import Json, child, children, count, parse_object, string

_LINE_CHARS = 400
_OUTPUT_LINES = 8
_MESSAGE_LINES = 60
_EVENT_CHARS = 4_000_000  # a longer event is not parsed: nobody reads it in a pane
_SHELL_WORDS = 3  # Codex wraps what the model asked for: /bin/bash -lc '<command>'


def session_view() -> Callable[[str], list[str]]:
    """``render_event`` for the lines of one session: a failure that only repeats the error before it is left out."""
    error = ""

    def view(line: str) -> list[str]:
        nonlocal error
        shown = render_event(line)
        if error and shown == [f"failed: {error}"]:
            return []
        error = shown[0].removeprefix("error: ") if shown and shown[0].startswith("error: ") else ""
        return shown

    return view


def render_event(line: str) -> list[str]:
    """Turn one raw line of ``codex exec --json`` into plain lines to show, none when there is nothing to see.

    A line that is no event is shown as it is: it may be the only trace of what went wrong.
    """
    if len(line) > _EVENT_CHARS:
        return [f"(an event of {len(line):,} characters; it stands in events.jsonl)"]
    event = parse_object(line)
    if event is None:
        return _block("", line, _MESSAGE_LINES)
    handler = _EVENTS.get(string(event, "type"))
    return handler(event) if handler else []


def _block(label: str, text: str, most_lines: int) -> list[str]:
    """``text`` behind ``label``, further lines indented under it, the middle left out when there are too many."""
    lines = [cut(each.rstrip(), _LINE_CHARS) for each in visible(text).strip("\n").split("\n")]
    if len(lines) > most_lines:
        head, tail = most_lines // 2, most_lines - most_lines // 2
        left_out = f"… {len(lines) - most_lines:,} more lines"
        lines = [*lines[:head], left_out, *lines[-tail:]]
    if lines == [""]:
        return []
    indent = " " * len(label)
    return [(indent if position else label) + each for position, each in enumerate(lines)]


def _thread_started(event: Json) -> list[str]:
    return _block("session ", one_line(string(event, "thread_id"), _LINE_CHARS), 1)


def _error(event: Json) -> list[str]:
    message = one_line(string(event, "message"), _LINE_CHARS)
    return [f"waiting: {message}" if message.startswith("Reconnecting") else f"error: {message}"]


def _turn_failed(event: Json) -> list[str]:
    return [f"failed: {one_line(string(child(event, 'error'), 'message'), _LINE_CHARS)}"]


def _turn_completed(event: Json) -> list[str]:
    usage = child(event, "usage")
    read, cached = count(usage, "input_tokens"), count(usage, "cached_input_tokens")
    return [f"tokens: {read:,} in ({cached:,} of them cached), {count(usage, 'output_tokens'):,} out"]


def _item_started(event: Json) -> list[str]:
    item = child(event, "item")
    if string(item, "type") == "command_execution":
        return _block("$ ", _command(string(item, "command")), _OUTPUT_LINES)
    return []


def _item_completed(event: Json) -> list[str]:
    item = child(event, "item")
    handler = _ITEMS.get(string(item, "type"))
    return handler(item) if handler else []


def _command(wrapped: str) -> str:
    """What the model asked for, out of the shell call that Codex made of it."""
    try:
        words = shlex.split(wrapped)
    except ValueError:
        return wrapped
    wraps = len(words) == _SHELL_WORDS and words[1] in ("-c", "-lc")
    return words[2] if wraps else wrapped


def _command_execution(item: Json) -> list[str]:
    output = _block("  ", string(item, "aggregated_output"), _OUTPUT_LINES)
    status = item.get("exit_code")
    ending = f"exit {status}" if isinstance(status, int) else one_line(string(item, "status"), 40) or "ended"
    return [*output, f"  [{cut(ending, 40)}]"]


def _agent_message(item: Json) -> list[str]:
    return _block("codex: ", string(item, "text"), _MESSAGE_LINES)


def _reasoning(item: Json) -> list[str]:
    return _block("thinking: ", string(item, "text"), _OUTPUT_LINES)


def _file_change(item: Json) -> list[str]:
    failed = " (failed)" if string(item, "status") == "failed" else ""
    changes = children(item, "changes")
    shown = [
        f"{one_line(string(each, 'kind'), 20) or 'change'} {one_line(string(each, 'path'), _LINE_CHARS)}{failed}"
        for each in changes[:_MESSAGE_LINES]
    ]
    left_out = len(changes) - len(shown)
    return [*shown, f"… {left_out:,} more files"] if left_out else shown


def _tool_call(item: Json) -> list[str]:
    name = one_line(f"{string(item, 'server')}.{string(item, 'tool')}", 120)
    status = one_line(string(item, "status"), 40)
    return [f"tool {name} [{status or 'ended'}]"]


def _web_search(item: Json) -> list[str]:
    return _block("search: ", one_line(string(item, "query"), _LINE_CHARS), 1)


def _todo_list(item: Json) -> list[str]:
    todos = children(item, "items")[:_MESSAGE_LINES]
    return [
        f"[{'x' if each.get('completed') is True else ' '}] {one_line(string(each, 'text'), _LINE_CHARS)}"
        for each in todos
    ]


def _warning(item: Json) -> list[str]:
    return _block("warning: ", string(item, "message"), _OUTPUT_LINES)


_EVENTS: dict[str, Callable[[Json], list[str]]] = {
    "thread.started": _thread_started,
    "turn.completed": _turn_completed,
    "turn.failed": _turn_failed,
    "item.started": _item_started,
    "item.completed": _item_completed,
    "error": _error,
}

_ITEMS: dict[str, Callable[[Json], list[str]]] = {
    "agent_message": _agent_message,
    "command_execution": _command_execution,
    "error": _warning,
    "file_change": _file_change,
    "mcp_tool_call": _tool_call,
    "reasoning": _reasoning,
    "todo_list": _todo_list,
    "web_search": _web_search,
}
