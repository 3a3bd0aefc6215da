"""Workflow modes over MCP: the same rules, answers and refusals as ``omagy state``."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp.client import Client

from fakes.mcp_client import done, refused, server_of, with_client
from fakes.transitions import ALL, DENIED, HANDOFFS, PEERS, Transition
from fakes.workspace import PATIENCE_S, Workspace, contents
from omagy_autoresearch.mode_request import CLEAR_KEYS, READ_KEYS, WRITE_KEYS
from omagy_supervisor.tools import state as state_tools
from omagy_supervisor.tools.schemas import Input


def command(ws: Workspace, verb: str, **request: Any) -> Any:
    """What the command line answers to the same request."""
    given = ["--input", json.dumps(request)] if verb != "list" else []
    return json.loads(ws.omagy("state", verb, *given, "--json").stdout)


def every_case(
    ws: Workspace, cases: list[Transition], expect: Callable[[Client, Transition], Awaitable[None]]
) -> None:
    """Put each of ``cases`` through ``expect``, from an empty state to the modes before it."""

    async def act(client: Client) -> None:
        for case in cases:
            for mode in case.before:
                await done(client, "omagy_state_write", mode=mode)
            await expect(client, case)
            await done(client, "omagy_state_clear", all=True)

    with_client(server_of(ws), act)


def test_the_cases_are_all_that_the_contract_names() -> None:
    assert len(ALL) == len(PEERS) + len(HANDOFFS) + len(DENIED) > 30


def test_peers_are_active_side_by_side_in_either_order(ws: Workspace) -> None:
    async def expect(client: Client, case: Transition) -> None:
        answer = await done(client, "omagy_state_write", mode=case.target)
        assert (answer["combination"], answer["completed"]) == (case.after, []), case
        assert (await done(client, "omagy_state_read"))["combination"] == case.after

    every_case(ws, PEERS, expect)


def test_a_handoff_completes_its_source(ws: Workspace) -> None:
    async def expect(client: Client, case: Transition) -> None:
        answer = await done(client, "omagy_state_write", mode=case.target)
        assert (answer["combination"], answer["completed"]) == (case.after, list(case.completed)), case
        (source,) = case.before
        left = (await done(client, "omagy_state_read", mode=source))["state"]
        assert (left["active"], left["lifecycle_outcome"]) == (False, "finished"), case

    every_case(ws, HANDOFFS, expect)


def test_what_is_not_supported_is_denied_without_a_change_and_says_how_to_go_on(ws: Workspace) -> None:
    """With the words of the command line; and the tool that they name, called as they say, clears the way."""

    async def expect(client: Client, case: Transition) -> None:
        before = contents(ws.root / ".omagy/state")
        error = await refused(client, "omagy_state_write", mode=case.target, current_phase="exec")
        assert contents(ws.root / ".omagy/state") == before, case
        assert error == command(ws, "write", mode=case.target)["error"], case
        assert error["code"] == "denied"
        assert case.pair in error["message"], case
        named = [line.partition(" with ")[2] for line in error["hint"].splitlines() if "omagy_state_clear" in line]
        assert [json.loads(one)["mode"] for one in named] == list(case.clear), case
        for one in named:
            await done(client, "omagy_state_clear", **json.loads(one))
        if case.target != "autoresearch":
            await done(client, "omagy_state_write", mode=case.target)

    every_case(ws, DENIED, expect)


def test_hud_stop_and_cancel_behavior_remain_correct_for_approved_overlaps(ws: Workspace) -> None:
    """The HUD shows both, a session may stop for neither, and what is taken out is the one that was named."""

    async def expect(client: Client, case: Transition) -> None:
        both = (await done(client, "omagy_state_write", mode=case.target))["active_modes"]
        assert (await done(client, "omagy_state_read"))["must_continue"] == both, case
        assert case.after in ws.omagy("hud").stdout
        gone, left = case.before[0], case.target
        assert (await done(client, "omagy_state_clear", mode=gone))["ended"] == [gone], case
        assert (await done(client, "omagy_state_read"))["must_continue"] == [left], case
        assert ws.omagy("hud").stdout == f"omagy: {left}\n", case

    every_case(ws, PEERS, expect)


def test_the_tools_answer_what_the_command_line_answers(ws: Workspace) -> None:
    """Reading and listing are equal to the last key; a session's scope is its own."""

    async def act(client: Client) -> None:
        await done(client, "omagy_state_write", mode="team", current_phase="exec", state={"workers": 3})
        await done(client, "omagy_state_write", mode="plan", session_id="s-1", task_description="think")
        assert await done(client, "omagy_state_list") == command(ws, "list")
        assert await done(client, "omagy_state_read") == command(ws, "read")
        assert await done(client, "omagy_state_read", mode="team") == command(ws, "read", mode="team")
        scoped = await done(client, "omagy_state_read", mode="plan", session_id="s-1")
        assert scoped == command(ws, "read", mode="plan", session_id="s-1")
        assert (await done(client, "omagy_state_read", mode="plan"))["exists"] is False
        assert (await done(client, "omagy_state_read", mode=None))["active_modes"] == ["team"]
        ended = await done(client, "omagy_state_write", mode="team", lifecycle_outcome="finished")
        assert (ended["active"], ended["state"]["workers"]) == (False, 3)

    with_client(server_of(ws), act)


def test_a_clear_takes_only_what_it_names(ws: Workspace) -> None:
    async def act(client: Client) -> None:
        for mode in ("team", "ralph"):
            await done(client, "omagy_state_write", mode=mode)
        cleared = await done(client, "omagy_state_clear", mode="ralph")
        assert (cleared["ended"], cleared["active_modes"]) == (["ralph"], ["team"])
        assert (list(cleared["handoffs"]), cleared["handoffs"]["ralph"]["outcome"]) == (["ralph"], "userinterlude")
        assert (await done(client, "omagy_state_clear", mode="ralph"))["ended"] == []
        assert (await done(client, "omagy_state_clear", all=True))["ended"] == ["team"]

    with_client(server_of(ws), act)


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        ("omagy_state_write", {}, "missing input mode"),
        ("omagy_state_write", {"mode": "teem"}, "there is no mode teem, did you mean team?"),
        ("omagy_state_write", {"mode": "team", "curent_phase": "x"}, "did you mean current_phase?"),
        ("omagy_state_write", {"mode": "team", "lifecycle_outcome": "finishd"}, "did you mean finished?"),
        ("omagy_state_write", {"mode": "team", "state": {"mode": "ralph"}}, "state.mode cannot be set"),
        ("omagy_state_write", {"mode": "team", "session_id": "../x"}, "cannot name a scope"),
        ("omagy_state_write", {"mode": "autoresearch"}, "autoresearch is active exactly while a run is"),
        ("omagy_state_read", {"mode": "ralf"}, "did you mean ralph?"),
        ("omagy_state_clear", {}, "mode is missing"),
        ("omagy_state_clear", {"mode": "team", "all": True}, "mode and all exclude each other"),
    ],
)
def test_a_wrong_request_is_refused_and_writes_nothing(
    ws: Workspace, tool: str, given: dict[str, Any], message: str
) -> None:
    async def act(client: Client) -> None:
        assert message in (await refused(client, tool, **given))["message"]
        assert not list((ws.root / ".omagy").glob("state/*-state.json"))

    with_client(server_of(ws), act)


def test_a_runs_session_can_read_modes_and_not_change_them(ws: Workspace) -> None:
    """Whatever mode, and whatever repository the session names."""
    ws.mission()
    ws.commit()
    ws.plan(default=[{"hang": True}])
    ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session()

    async def act(client: Client) -> None:
        assert (await done(client, "omagy_state_read"))["active_modes"] == ["autoresearch"]
        for tool, given in (
            ("omagy_state_clear", {"mode": "autoresearch"}),
            ("omagy_state_clear", {"all": True}),
            ("omagy_state_write", {"mode": "autoresearch", "active": False}),
            ("omagy_state_write", {"mode": "team", "working_directory": str(ws.root)}),
        ):
            error = await refused(client, tool, **given)
            assert run_id in error["message"]
            assert "cannot change workflow modes" in error["message"]
        assert (await done(client, "omagy_autoresearch_status"))["active"]

    with_client(server_of(ws, ws.lane(), {"OMAGY_RUN_ID": run_id}), act)


def test_clearing_autoresearch_outside_of_a_session_stops_the_run(ws: Workspace) -> None:
    ws.mission()
    ws.commit()
    ws.plan(default=[{"hang": True}])
    run = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session()

    async def act(client: Client) -> None:
        assert "autoresearch" in (await refused(client, "omagy_state_write", mode="ralph"))["message"]
        cleared = await done(client, "omagy_state_clear", mode="autoresearch")
        ended = {"run_id": run_id, "stopped": True, "outcome": "userinterlude", "can_go_on": True}
        assert cleared["run"] == ended
        await done(client, "omagy_state_write", mode="ralph")

    with_client(server_of(ws), act)
    assert run.wait(PATIENCE_S) == 130


@pytest.mark.parametrize(
    ("input_", "keys"),
    [
        (state_tools.ReadInput, READ_KEYS),
        (state_tools.WriteInput, WRITE_KEYS),
        (state_tools.ClearInput, CLEAR_KEYS),
    ],
)
def test_the_tools_take_what_the_command_takes(input_: type[Input], keys: tuple[str, ...]) -> None:
    """A key that one of the two knows, both know."""
    assert set(input_.__struct_fields__) == {*keys, "working_directory"}
