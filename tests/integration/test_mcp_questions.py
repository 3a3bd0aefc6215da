"""Questions over MCP: asked by an agent, answered by the person, without anybody holding anybody up."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from fakes.mcp_client import done, refused, server_of, with_client
from fakes.workspace import PATIENCE_S, Workspace, contents, wait_until

CHOICE = {"question": "Which?", "options": ["left", {"label": "right", "value": "r", "description": "the other"}]}


def command(ws: Workspace, *words: str) -> Any:
    return json.loads(ws.omagy("question", *words, "--json").stdout)


def test_without_a_person_the_question_comes_back_open(ws: Workspace) -> None:
    """It says how it is answered, and is there for the command line."""
    ws.commit()

    async def act(client: Client) -> None:
        asked = await done(client, "omagy_question_ask", **CHOICE)
        name = asked["question_id"]
        assert (asked["ok"], asked["status"], asked["answers"]) == (False, "open", [])
        assert f"omagy question answer {name}" in asked["next"]
        assert f"omagy_question_list with question_id {name}" in asked["next"]
        listed = await done(client, "omagy_question_list")
        assert listed == command(ws, "list") | {"left_out": 0}
        (record,) = listed["questions"]
        assert (record["question"], record["source"]) == ("Which?", "agent")

    with_client(server_of(ws), act)


def test_an_answer_is_what_the_person_says_and_only_once(ws: Workspace) -> None:
    async def act(client: Client) -> None:
        name = (await done(client, "omagy_question_ask", **CHOICE))["question_id"]
        error = await refused(client, "omagy_question_answer", question_id=name, answer="up")
        assert "up" in error["message"]
        answered = await done(client, "omagy_question_answer", question_id=name, answer="2")
        assert (answered["ok"], answered["answer"]["value"]) == (True, "r")
        error = await refused(client, "omagy_question_answer", question_id=name, answer="1")
        assert "is not open" in error["message"]
        (record,) = (await done(client, "omagy_question_list", question_id=name))["questions"]
        assert (record["status"], record["answers"][0]["answer"]["value"]) == ("answered", "r")
        assert (await done(client, "omagy_question_list", status="open"))["questions"] == []

    with_client(server_of(ws), act)


def test_several_questions_are_asked_and_answered_together(ws: Workspace) -> None:
    async def act(client: Client) -> None:
        prompts = [
            {"question": "Name?", "id": "name"},
            {"question": "Colours?", "options": ["a", "b"], "multi_select": True},
        ]
        asked = await done(client, "omagy_question_ask", questions=prompts, header="Two things")
        name = asked["question_id"]
        answered = await done(client, "omagy_question_answer", question_id=name, answers=["Bo", ["a", "b"]])
        assert [one["answer"]["value"] for one in answered["answers"]] == ["Bo", ["a", "b"]]

    with_client(server_of(ws), act)


def test_a_question_that_waits_keeps_no_other_tool_from_answering(ws: Workspace) -> None:
    """Twenty wait; the person answers one in a shell; who asked it gets the answer, and the others are let go."""
    ws.commit()

    async def act(client: Client) -> None:
        got: list[Any] = []

        async def ask(number: int) -> None:
            got.append(await done(client, "omagy_question_ask", question=f"Number {number}?", wait_s=600))

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(ask, number)
            while len(asked := (await done(client, "omagy_question_list"))["questions"]) < 20:  # noqa: ASYNC110
                await anyio.sleep(0.02)
            name = asked[7]["id"]
            assert ws.omagy("question", "answer", name, "seven").returncode == 0
            while not got:  # noqa: ASYNC110
                await anyio.sleep(0.02)
            group.cancel_scope.cancel()
        assert [(one["question_id"], one["answer"]["value"]) for one in got] == [(name, "seven")]
        assert len((await done(client, "omagy_question_list", status="open", newest=100))["questions"]) == 19

    with_client(server_of(ws), act)


def test_a_wait_ends_when_its_time_is_over(ws: Workspace) -> None:
    async def act(client: Client) -> None:
        assert (await done(client, "omagy_question_ask", question="Now?", wait_s=0.2))["status"] == "open"
        expired = await done(client, "omagy_question_ask", question="Now?", timeout=0.2, wait_s=60)
        assert (expired["status"], expired["next"]) == ("expired", "nobody answered in time")

    with_client(server_of(ws), act)


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        ("omagy_question_ask", {}, "the question itself is missing"),
        ("omagy_question_ask", {"question": "x", "optoins": []}, "did you mean options?"),
        ("omagy_question_ask", {"question": "x", "options": [{"lable": "a"}]}, "did you mean label?"),
        ("omagy_question_ask", {"question": "x", "options": "a|b"}, "options: Expected array"),
        ("omagy_question_ask", {"questions": [{"question": "x", "hedaer": "h"}]}, "did you mean header?"),
        ("omagy_question_ask", {"question": "x", "wait_s": -1}, "wait_s is out of range"),
        ("omagy_question_ask", {"question": "x", "session_id": "../x"}, "session"),
        ("omagy_question_answer", {"question_id": "q-no", "answer": "x"}, "there is no question q-no"),
        ("omagy_question_answer", {"answer": "x"}, "missing input question_id"),
        ("omagy_question_list", {"status": "opne"}, "did you mean open?"),
        ("omagy_question_list", {"question_id": "q-no"}, "there is no question q-no"),
    ],
)
def test_a_wrong_request_is_refused(ws: Workspace, tool: str, given: dict[str, Any], message: str) -> None:
    async def act(client: Client) -> None:
        assert message in (await refused(client, tool, **given))["message"]

    with_client(server_of(ws), act)


def test_a_session_asks_its_run_and_answers_nothing(ws: Workspace) -> None:
    """The question goes where the supervisor takes it up, nobody waits, and the run ends as askuserQuestion."""
    ws.mission()
    ws.commit()
    go_on = ws.root.parent / "go-on"
    ws.plan(default=[{"print": "hanging"}, {"wait_for": str(go_on)}, {"artifact": {"status": "abort"}}])
    run = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session()
    candidate = ws.folder() / "iterations/0001/outbox/candidate.json"
    inside = {"OMAGY_RUN_ID": run_id, "OMAGY_CANDIDATE_FILE": str(candidate), "OMAGY_ITERATION": "1"}

    async def act(client: Client) -> None:
        asked = await done(client, "omagy_question_ask", **CHOICE, wait_s=600)
        assert (asked["status"], asked["run_id"]) == ("open", run_id)
        assert asked["next"].startswith(f"End this session now. Write {candidate} first")
        error = await refused(client, "omagy_question_answer", question_id=asked["question_id"], answer="left")
        assert error["code"] == "inside_session"

    with_client(server_of(ws, ws.lane(), inside), act)
    go_on.touch()
    assert run.wait(PATIENCE_S) == 4
    assert ws.manifest()["lifecycle_outcome"] == "askuserQuestion"

    async def outside(client: Client) -> None:
        (record,) = (await done(client, "omagy_question_list", status="open"))["questions"]
        assert (record["question"], record["run_id"]) == ("Which?", run_id)
        await done(client, "omagy_question_answer", question_id=record["id"], answer="left")

    with_client(server_of(ws), outside)


def test_the_question_is_shown_in_the_persons_tmux(ws: Workspace) -> None:
    """A pane beside the agent's, which closes when the question is answered anywhere."""
    ws.tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", str(ws.root), "sleep 600")
    told = ws.tmux("display-message", "-p", "#{socket_path},#{pid},0 #{pane_id}").stdout.split()
    where = dict(zip(("TMUX", "TMUX_PANE"), told, strict=True))

    def shown() -> str:
        panes = ws.tmux("list-panes", "-a", "-F", "#{pane_id}").stdout.split()
        return "".join(ws.tmux("capture-pane", "-p", "-t", pane).stdout for pane in panes if pane != told[1])

    async def act(client: Client) -> None:
        asked = await done(client, "omagy_question_ask", **CHOICE, wait_s=0)
        wait_until(lambda: "Which?" in shown(), "the question in a pane")
        await done(client, "omagy_question_answer", question_id=asked["question_id"], answer="left")
        wait_until(lambda: shown() == "", "the end of the pane")

    with_client(server_of(ws, variables=where), act)
    ws.tmux("kill-server")
    wait_until(lambda: not ws.running(), "the end of tmux")


def test_a_linked_state_takes_no_question(ws: Workspace, tmp_path: Path) -> None:
    """Neither asked nor answered: nothing is written where the link leads."""

    async def act(client: Client) -> None:
        name = (await done(client, "omagy_question_ask", **CHOICE))["question_id"]
        elsewhere, state = tmp_path / "elsewhere", ws.root / ".omagy/state"
        state.rename(elsewhere)
        state.symlink_to(elsewhere)
        before = contents(elsewhere)
        mode = await refused(client, "omagy_state_write", mode="team")
        assert await refused(client, "omagy_question_ask", **CHOICE) == mode
        assert await refused(client, "omagy_question_answer", question_id=name, answer="1") == mode
        assert "is not a folder of its own, but a link" in mode["message"]
        assert contents(elsewhere) == before

    with_client(server_of(ws), act)
