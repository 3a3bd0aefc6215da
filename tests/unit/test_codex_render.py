"""Codex's events as a person sees them."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omagy_supervisor.adapters.codex.render import render_event, session_view


def _item(kind: str, event: str = "item.completed", **fields: Any) -> str:
    return json.dumps({"type": event, "item": {"id": "item_1", "type": kind, **fields}})


COMMAND: dict[str, Any] = {"command": "/bin/bash -lc 'echo hi; exit 3'"}
NEW_FILE: dict[str, Any] = {"changes": [{"path": "/lane/new.txt", "kind": "add"}], "status": "completed"}

# Events as codex 0.171.0 writes them.
RECORDED = [
    ('{"type":"thread.started","thread_id":"01a2-84c8"}', ["session 01a2-84c8"]),
    ('{"type":"turn.started"}', []),
    (
        _item("command_execution", "item.started", **COMMAND, aggregated_output="", exit_code=None),
        ["$ echo hi; exit 3"],
    ),
    (_item("command_execution", **COMMAND, aggregated_output="hi\n", exit_code=3), ["  hi", "  [exit 3]"]),
    (_item("file_change", "item.started", **NEW_FILE), []),
    (_item("file_change", **NEW_FILE), ["add /lane/new.txt"]),
    (_item("agent_message", text="two\nlines"), ["codex: two", "       lines"]),
    (_item("error", message="Falling back to HTTPS."), ["warning: Falling back to HTTPS."]),
    (
        '{"type":"turn.completed","usage":{"input_tokens":7000,"cached_input_tokens":2800,"output_tokens":350}}',
        ["tokens: 7,000 in (2,800 of them cached), 350 out"],
    ),
    (
        '{"type":"error","message":"Reconnecting... 1/5 (Connection failed)"}',
        ["waiting: Reconnecting... 1/5 (Connection failed)"],
    ),
    ('{"type":"error","message":"Quota exceeded."}', ["error: Quota exceeded."]),
    ('{"type":"turn.failed","error":{"message":"Quota exceeded."}}', ["failed: Quota exceeded."]),
    ('{"type":"something.new","detail":1}', []),
    ("", []),
]


@pytest.mark.parametrize(("line", "shown"), RECORDED)
def test_a_recorded_event_is_readable(line: str, shown: list[str]) -> None:
    """Each kind of event becomes the lines that a person wants to see of it."""
    assert render_event(line) == shown


def test_a_failure_that_only_repeats_the_error_before_it_is_shown_once() -> None:
    """Codex tells the end of a turn twice; one that it tells once is shown, too."""
    error, failed = RECORDED[10][0], RECORDED[11][0]
    view = session_view()
    assert [view(line) for line in (error, failed)] == [["error: Quota exceeded."], []]
    assert session_view()(failed) == ["failed: Quota exceeded."]
    view(error)
    assert view(failed.replace("Quota", "Time")) == ["failed: Time exceeded."]


def test_a_failed_file_change_says_so() -> None:
    """An edit that did not happen is not shown like one that did."""
    line = _item("file_change", changes=[{"path": "a.txt", "kind": "update"}], status="failed")
    assert render_event(line) == ["update a.txt (failed)"]


def test_a_tool_call_names_server_and_tool() -> None:
    """A call of an MCP tool says which tool of which server, and how it went."""
    line = _item("mcp_tool_call", server="omagy", tool="state", status="completed")
    assert render_event(line) == ["tool omagy.state [completed]"]


def test_a_plan_shows_what_is_done() -> None:
    """A plan's finished steps are marked."""
    line = _item("todo_list", items=[{"text": "measure", "completed": True}, {"text": "fix", "completed": False}])
    assert render_event(line) == ["[x] measure", "[ ] fix"]


def test_long_output_keeps_its_ends() -> None:
    """Of a long output the first and the last lines are shown, with the number of those between them."""
    output = "".join(f"line {number}\n" for number in range(1, 1001))
    shown = render_event(_item("command_execution", aggregated_output=output, exit_code=0))
    assert shown[0] == "  line 1"
    assert shown[-2:] == ["  line 1000", "  [exit 0]"]
    assert "  … 992 more lines" in shown


def test_a_line_that_is_no_event_is_shown() -> None:
    """A message that is not JSON may be the only trace of what went wrong, so it is shown as it came."""
    assert render_event("Segmentation fault") == ["Segmentation fault"]


@pytest.mark.parametrize(
    "hidden",
    [
        "\x1b[31m",
        "\x1b]0;new title\x07",
        "\x1b]8;;http://elsewhere.example\x1b\\",
        "\x1b]52;c;c3RvbGVu\x07",
        "\x1bP1$r\x1b\\",
        "\x9b2J",
        "\x1bc",
        "\x07",
        "\x00",
        "\u202e",
    ],
)
def test_terminal_control_is_stripped(hidden: str) -> None:
    """What an agent prints cannot colour, retitle, reset or write to the clipboard of the terminal it is seen in."""
    assert render_event(_item("agent_message", text=f"be{hidden}fore")) == ["codex: before"]


def test_a_lone_surrogate_can_be_printed() -> None:
    """JSON can hold characters that no encoding can write; the lines can always be written."""
    (line,) = render_event('{"type":"error","message":"odd \\ud800 mark"}')
    assert line.encode() == b"error: odd ? mark"


def test_a_huge_event_is_named_not_shown() -> None:
    """An event of many megabytes costs one line."""
    (line,) = render_event(_item("agent_message", text="x" * 5_000_000))
    assert "5,000," in line
    assert len(line) < 100


def test_deep_nesting_is_survived() -> None:
    """JSON nested deeper than Python can follow is shown as the line that it is."""
    (line,) = render_event("[" * 100_000)
    assert line.startswith("[[[[")


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=4)
_KINDS = st.sampled_from(
    ["agent_message", "command_execution", "error", "file_change", "mcp_tool_call", "reasoning", "todo_list", "odd"]
)
_FIELDS = st.dictionaries(
    st.sampled_from(
        [
            "text",
            "message",
            "changes",
            "items",
            "exit_code",
            "aggregated_output",
            "command",
            "status",
            "usage",
            "error",
        ]
    ),
    _JSON | st.lists(st.dictionaries(st.sampled_from(["path", "kind", "text", "completed"]), _JSON)),
)


@settings(deadline=None)
@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_any_text_is_survived(line: str) -> None:
    """Whatever a line holds, rendering it neither raises nor lets an escape through."""
    for shown in render_event(line):
        shown.encode()
        assert "\x1b" not in shown


@settings(deadline=None)
@given(st.sampled_from(["item.started", "item.completed", "turn.completed", "turn.failed", "error"]), _KINDS, _FIELDS)
def test_any_event_is_survived(event: str, kind: str, fields: dict[str, object]) -> None:
    """An event whose fields hold anything at all neither raises nor lets an escape or a line end through."""
    line = json.dumps({"type": event, **fields, "item": {**fields, "type": kind}})
    for shown in render_event(line):
        shown.encode()
        assert "\n" not in shown
        assert "\x1b" not in shown


def test_rendering_needs_no_heavy_library() -> None:
    """The session runner starts once for each session, so rendering brings in the standard library only."""
    heavy = ("git", "libtmux", "psutil", "rich", "ruamel", "msgspec")
    code = (
        "import sys, omagy_supervisor.adapters.codex.render;"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
