"""``omagy state`` as a person and a program call it."""

import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fakes.transitions import ALL, DENIED, HANDOFFS, PEERS, Transition
from fakes.workspace import PATIENCE_S, Workspace, contents
from omagy_autoresearch.mode_request import StateRequest, parse_write
from omagy_autoresearch.workflow import Mode
from omagy_autoresearch.workflow_stop import MayStop, MustContinue
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.settings import read_settings
from omagy_supervisor.workflow_state import list_scopes, read, stop_decision, write

Done = subprocess.CompletedProcess[str]


def state(ws: Workspace, verb: str, **request: Any) -> Done:
    """One state command as a program calls it."""
    return ws.omagy("state", verb, "--input", json.dumps(request), "--json")


def answer(done: Done) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def activate(ws: Workspace, *modes: str, **request: Any) -> Any:
    """What a test begins with, written in this process; the answer to the last."""
    told: Any = None
    for mode in modes:
        told = write(StateRoot(ws.root), parse_write({"mode": mode, **request}), read_settings(ws.environment))
    return told


def active(ws: Workspace, session_id: str | None = None) -> str:
    return str(read(StateRoot(ws.root), StateRequest(session_id=session_id))["combination"])


def files(ws: Workspace) -> dict[str, str]:
    return contents(ws.root / ".omagy")


def read_file(ws: Workspace, name: str) -> Any:
    return json.loads((ws.root / ".omagy/state" / name).read_text())


def put(ws: Workspace, name: str, data: Any) -> Path:
    text = data if isinstance(data, str) else json.dumps(data)
    return ws.write(f".omagy/state/{name}", text)


# -- the expectations of the transition contract, by their names there


def _is_allowed_in_both_orders(ws: Workspace, partner: str) -> None:
    cases = [case for case in PEERS if partner in (*case.before, case.target)]
    assert len(cases) == 2
    for case in cases:
        for mode in case.before:
            answer(state(ws, "write", mode=mode))
        told = answer(state(ws, "write", mode=case.target))
        assert told["combination"] == case.after == answer(state(ws, "read"))["combination"]
        for mode in (*case.before, case.target):
            assert read_file(ws, f"{mode}-state.json")["active"] is True
        assert [row["skill"] for row in read_file(ws, "skill-active-state.json")["active_skills"]] == [
            "team",
            partner,
        ]
        answer(state(ws, "clear", all=True))


def test_team_and_ralph_are_allowed_in_both_activation_orders(ws: Workspace) -> None:
    _is_allowed_in_both_orders(ws, "ralph")


def test_team_and_ultrawork_are_allowed_in_both_activation_orders(ws: Workspace) -> None:
    _is_allowed_in_both_orders(ws, "ultrawork")


def test_team_and_ultragoal_are_allowed_in_both_activation_orders(ws: Workspace) -> None:
    _is_allowed_in_both_orders(ws, "ultragoal")


@pytest.mark.parametrize("case", DENIED, ids=str)
def test_unsupported_overlaps_deny_without_mutation(ws: Workspace, case: Transition) -> None:
    """Not a byte of the state changes."""
    activate(ws, *case.before)
    before = files(ws)
    assert state(ws, "write", mode=case.target, current_phase="exec").returncode == 2
    assert files(ws) == before
    assert active(ws) == case.after


@pytest.mark.parametrize("case", DENIED, ids=str)
def test_denied_transition_messages_mention_both_cli_and_mcp_recovery_surfaces(
    ws: Workspace, case: Transition
) -> None:
    """The active set, the combination, and what clears it: for a person on stderr, for a program on stdout."""
    activate(ws, *case.before)
    done = state(ws, "write", mode=case.target)
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "denied"
    assert f"{case.after} is active" in error["message"]
    assert case.pair in error["message"]
    for mode in case.clear:
        assert f'omagy state clear --input \'{{"mode":"{mode}"}}\' --json' in error["hint"]
        assert f'omagy_state_clear with {{"mode":"{mode}"}}' in error["hint"]
    for line in (error["message"], *error["hint"].splitlines()):
        assert line in done.stderr


@pytest.mark.parametrize("way", ["clear it: ", "in a script: "])
@pytest.mark.parametrize("case", DENIED[:9], ids=str)
def test_the_recovery_that_a_denial_names_works_as_it_stands(ws: Workspace, case: Transition, way: str) -> None:
    """Copied into a shell, either form makes way for exactly what was denied."""
    activate(ws, *case.before)
    denied = state(ws, "write", mode=case.target)
    binary = Path(sys.executable).with_name("omagy")
    for line in json.loads(denied.stdout)["error"]["hint"].splitlines():
        if line.startswith(way):
            command = line.removeprefix(way).replace("omagy", str(binary), 1)
            subprocess.run(command, shell=True, check=True, cwd=ws.root, env=ws.environment, capture_output=True)
    assert activate(ws, case.target)["active"]


def _hands_over(ws: Workspace, source: str, target: str) -> None:
    activate(ws, source, state={"notes": ["kept"]})
    told = answer(state(ws, "write", mode=target))
    assert told["completed"] == [source]
    assert active(ws) == target
    left = read_file(ws, f"{source}-state.json")
    assert (left["active"], left["lifecycle_outcome"], left["handoff_to"]) == (False, "finished", target)
    assert left["completed_at"] == read_file(ws, f"{target}-state.json")["started_at"]
    assert left["notes"] == ["kept"]


def test_deep_interview_handoff_to_ultrawork_still_auto_completes(ws: Workspace) -> None:
    _hands_over(ws, "deep-interview", "ultrawork")


def test_plan_handoff_to_ultragoal_auto_completes_planning_state(ws: Workspace) -> None:
    _hands_over(ws, "plan", "ultragoal")


@pytest.mark.parametrize("case", HANDOFFS, ids=str)
def test_every_handoff_completes_its_source(ws: Workspace, case: Transition) -> None:
    _hands_over(ws, case.before[0], case.target)


@pytest.mark.parametrize("case", PEERS[::2], ids=str)
def test_hud_stop_and_cancel_behavior_remain_correct_for_approved_overlaps(ws: Workspace, case: Transition) -> None:
    """The HUD shows both, a Stop hook respects both, and a cancel ends the one it names."""
    first, second = activate(ws, *case.before, case.target)["active_modes"]
    assert f"team+{second}" in ws.omagy("hud").stdout
    root = StateRoot(ws.root)
    stop = stop_decision(root, None)
    assert isinstance(stop, MustContinue)
    assert stop.modes == (first, second)

    told = answer(state(ws, "cancel", mode=second))
    assert (told["ended"], told["combination"]) == ([second], "team")
    left = read_file(ws, f"{second}-state.json")
    assert (left["active"], left["lifecycle_outcome"]) == (False, "userinterlude")
    stop = stop_decision(root, None)
    assert isinstance(stop, MustContinue)
    assert stop.modes == ("team",)
    assert "team+" not in ws.omagy("hud").stdout

    activate(ws, second)
    answer(state(ws, "cancel", all=True))
    assert isinstance(stop_decision(root, None), MayStop)
    assert active(ws) == ""


def test_one_peer_that_has_not_ended_is_enough_to_continue(ws: Workspace) -> None:
    activate(ws, "team", "ralph")
    answer(state(ws, "write", mode="team", lifecycle_outcome="finished"))
    assert answer(state(ws, "read"))["must_continue"] == ["ralph"]
    answer(state(ws, "write", mode="ralph", current_phase="complete"))
    assert answer(state(ws, "read"))["must_continue"] == []


def test_a_mode_that_waits_for_an_answer_keeps_no_session(ws: Workspace) -> None:
    """Its peer does."""
    asked = {"question": {"id": "q1", "status": "open"}}
    activate(ws, "ralph")
    activate(ws, "ralph", state=asked)
    told = answer(state(ws, "read"))
    assert (told["combination"], told["must_continue"]) == ("ralph", [])
    assert "waits for an answer" in told["reason"]
    activate(ws, "team")
    assert answer(state(ws, "read"))["must_continue"] == ["team"]


def test_a_mode_that_names_its_question_waits_as_long_as_that_is_open(ws: Workspace) -> None:
    """The question's own record counts, whatever the state said when it was asked: answered, the mode goes on."""
    asked = json.loads(ws.omagy("question", "--question", "Which?", "--json").stdout)["question_id"]
    activate(ws, "ralph", question_id=asked)
    told = answer(state(ws, "read"))
    assert (told["must_continue"], told["reason"]) == ([], "ralph waits for an answer")
    activate(ws, "ralph", state={"question_status": "open"})
    assert ws.omagy("question", "answer", asked, "the", "second").returncode == 0
    told = answer(state(ws, "read"))
    assert told["must_continue"] == ["ralph"]
    assert f"question {asked} is answered" in told["reason"]


@pytest.mark.parametrize("how", [("cancel",), ("expire",)], ids=str)
def test_a_question_that_nobody_will_answer_keeps_its_mode_from_nothing(ws: Workspace, how: tuple[str]) -> None:
    """Withdrawn, or over its time though no process saw that: the mode goes on without an answer."""
    words = ("--timeout", "0.001s") if how == ("expire",) else ()
    told = json.loads(ws.omagy("question", "--question", "Which?", "--json", "--renderer", "none", *words).stdout)
    activate(ws, "ralph", question_id=told["question_id"], state={"question_status": "open"})
    if how == ("cancel",):
        assert ws.omagy("question", "cancel", told["question_id"]).returncode == 0
    assert answer(state(ws, "read"))["must_continue"] == ["ralph"]


# -- write


def test_a_write_merges_and_keeps_what_it_does_not_know(ws: Workspace) -> None:
    """Fields of other tools stay, in the state and in the inventory."""
    put(ws, "team-state.json", {"mode": "team", "active": True, "started_at": "T0", "theirs": {"a": 1}})
    row = {"skill": "team", "active": True, "activated_at": "T0", "turn_id": "t"}
    foreign = {"skill": "autopilot", "active": True, "session_id": "other"}
    put(ws, "skill-active-state.json", {"active_skills": [row, foreign], "input_lock": {"x": 1}})
    told = activate(ws, "team", current_phase="exec", state={"workers": 3})
    assert told["state"]["theirs"] == {"a": 1}
    kept = read_file(ws, "team-state.json")
    assert (kept["started_at"], kept["current_phase"], kept["workers"], kept["theirs"]) == ("T0", "exec", 3, {"a": 1})
    inventory = read_file(ws, "skill-active-state.json")
    assert inventory["input_lock"] == {"x": 1}
    assert inventory["active_skills"][0]["turn_id"] == "t"
    assert inventory["active_skills"][0]["phase"] == "exec"
    assert inventory["active_skills"][1] == foreign


@pytest.mark.parametrize(
    ("word", "outcome"),
    [("complete", "finished"), ("cancelled", "userinterlude"), ("Finished", "finished"), ("blocked", "blocked")],
)
def test_an_outcome_is_recorded_in_its_canonical_word(ws: Workspace, word: str, outcome: str) -> None:
    activate(ws, "team", "ralph")
    told = answer(state(ws, "write", mode="ralph", lifecycle_outcome=word))
    assert (told["active"], told["combination"]) == (False, "team")
    left = read_file(ws, "ralph-state.json")
    assert left["lifecycle_outcome"] == outcome
    assert left["completed_at"]


def test_an_unknown_outcome_is_refused_and_changes_nothing(ws: Workspace) -> None:
    activate(ws, "team")
    before = files(ws)
    done = state(ws, "write", mode="team", lifecycle_outcome="finnished")
    assert done.returncode == 2
    assert "did you mean finished?" in done.stderr
    assert files(ws) == before


def test_a_mode_that_ended_begins_anew(ws: Workspace) -> None:
    """Nothing of its last end remains, and what was its own does."""
    activate(ws, "team", state={"mine": 1}, current_phase="exec")
    answer(state(ws, "write", mode="team", lifecycle_outcome="failed"))
    assert answer(state(ws, "write", mode="team", state={"more": 2}))["active"] is False  # says nothing of active
    again = answer(state(ws, "write", mode="team", active=True))
    assert again["combination"] == "team"
    assert again["state"].keys() == {"mode", "active", "started_at", "updated_at", "mine", "more"}


def test_a_mode_can_end_without_saying_how(ws: Workspace) -> None:
    activate(ws, "team", "ralph")
    told = answer(state(ws, "write", mode="team", active=False))
    assert told["combination"] == "ralph"
    assert "lifecycle_outcome" not in read_file(ws, "team-state.json")


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({}, "mode is missing"),
        ({"mode": "rallph"}, "did you mean ralph?"),
        ({"mode": "team", "current_fase": "x"}, "did you mean current_phase?"),
        ({"mode": "team", "active": "yes"}, "active is 'yes', neither true nor false"),
        ({"mode": "team", "state": []}, "state is not a JSON object"),
        ({"mode": "team", "state": {"mode": "ralph"}}, "state.mode cannot be set"),
        ({"mode": "team", "state": {"started_at": "x"}}, "state.started_at cannot be set"),
        ({"mode": "team", "active": True, "state": {"active": False}}, "active stands in the request twice"),
        ({"mode": "team", "active": True, "lifecycle_outcome": "finished"}, "is not active"),
        ({"mode": "team", "active": True, "current_phase": "complete"}, "is not active"),
        ({"mode": "team", "current_phase": "a\nb"}, "current_phase is not a word"),
        ({"mode": "team", "lifecycle_outcome": 3}, "is no outcome"),
        ({"mode": "team", "session_id": ""}, "cannot name a scope"),
        ({"mode": "team", "session_id": ".."}, "cannot name a scope"),
        ({"mode": "team", "session_id": "../x"}, "cannot name a scope"),
        ({"mode": "team", "session_id": "a/b"}, "cannot name a scope"),
        ({"mode": "team", "session_id": "a\u0000b"}, "cannot name a scope"),
        ({"mode": "team", "session_id": "x" * 129}, "cannot name a scope"),
        ({"mode": "team", "session_id": "ralph-state.json"}, "cannot name a scope"),
        ({"mode": "team", "session_id": "Questions"}, "reserved"),
        ({"mode": "team", "session_id": "start-12"}, "reserved"),
        ({"mode": "team", "session_id": 3}, "cannot name a scope"),
        ({"mode": "team", "state": {"x": "y" * (1 << 20)}}, "larger than 1 MiB"),
    ],
)
def test_a_wrong_request_is_told_and_changes_nothing(ws: Workspace, request_: dict[str, Any], told: str) -> None:
    activate(ws, "plan")
    before = files(ws)
    done = ws.omagy("state", "write", "--json", "--input=" + json.dumps(request_)) if len(
        str(request_)
    ) < 100_000 else subprocess.run(
        [sys.executable, "-m", "omagy_supervisor", "state", "write", "--json", "--input", "-"],
        cwd=ws.root, env=ws.environment, input=json.dumps(request_), capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert told in json.loads(done.stdout)["error"]["message"]
    assert files(ws) == before


def test_deeply_nested_state_is_refused_rather_than_lost(ws: Workspace) -> None:
    """What could be written but not read back would be gone."""
    nested: Any = 1
    for _ in range(46):
        nested = {"a": nested}
    activate(ws, "plan")
    before = files(ws)
    done = state(ws, "write", mode="plan", state={"deep": nested})
    assert done.returncode == 2
    assert "nested too deeply" in done.stderr
    assert files(ws) == before


def test_plain_options_say_the_same_as_json(ws: Workspace) -> None:
    """And a person reads what is active now."""
    done = ws.omagy("state", "write", "team", "--phase", "exec", "--session-id", "s1")
    assert done.stdout == "team is active\nactive in session s1: team\n"
    assert read_file(ws, "s1/team-state.json")["current_phase"] == "exec"
    done = ws.omagy("state", "write", "--mode=ralph", "--session-id=s1")
    assert done.stdout == "ralph is active\nactive in session s1: team+ralph\n"
    done = ws.omagy("state", "write", "ralph", "--session-id", "s1", "--outcome", "done")
    assert done.stdout.startswith("ralph is not active (finished)\nactive in session s1: team\n\n# Workflow ralph\n")
    listed = ws.omagy("state", "list").stdout
    assert listed.startswith(
        "active in this repository: nothing\nactive in session s1: team\n  team            active"
    )
    assert "ralph           finished" in listed


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["wirte", "team"], "did you mean write?"),
        (["write", "team", "ralph"], "does not take team ralph"),
        (["write", "team", "--mode", "team"], "given twice"),
        (["write", "team", "--input", '{"mode":"ralph"}'], "differs"),
        (["write", "--input", "{"], "--input: it is not JSON"),
        (["clear"], "mode is missing"),
        (["clear", "team", "--all"], "exclude each other"),
        (["list", "team"], "does not take team"),
        (["read", "--al"], "has no option --al"),
    ],
)
def test_a_wrong_command_line_is_told(ws: Workspace, argv: list[str], told: str) -> None:
    done = ws.omagy("state", *argv)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (ws.root / ".omagy").exists()


def test_help_tells_all_commands(ws: Workspace) -> None:
    for argv in (["--help"], ["write", "--help"]):
        done = ws.omagy("state", *argv)
        assert done.returncode == 0
        assert "omagy state clear" in done.stdout


def test_outside_a_repository_it_says_so(ws: Workspace, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = ws.omagy("state", "list", "--json", cwd=elsewhere)
    assert done.returncode == 2
    assert "not inside a git repository" in json.loads(done.stdout)["error"]["message"]


# -- clear and cancel


def test_clear_takes_the_named_member_alone(ws: Workspace) -> None:
    activate(ws, "team", "ralph")
    told = answer(state(ws, "clear", mode="ralph"))
    assert (told["ended"], told["combination"]) == (["ralph"], "team")
    assert not (ws.root / ".omagy/state/ralph-state.json").exists()
    assert (ws.root / ".omagy/state/team-state.json").exists()


def test_clearing_what_is_not_there_says_so_and_succeeds(ws: Workspace) -> None:
    activate(ws, "team", session_id="s1")
    done = ws.omagy("state", "clear", "team")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "team is not there in this repository: nothing to do\n"
        "  it is active in session s1: omagy state clear team --session-id s1\n"
    )
    assert active(ws, session_id="s1") == "team"
    done = ws.omagy("state", "cancel", "--all")
    assert done.returncode == 0
    assert "no mode is active in this repository: nothing to do" in done.stdout


def test_a_mode_that_has_ended_is_not_cancelled(ws: Workspace) -> None:
    """What it ended as stays."""
    activate(ws, "team")
    answer(state(ws, "write", mode="team", lifecycle_outcome="finished"))
    assert answer(state(ws, "cancel", mode="team"))["ended"] == []
    assert read_file(ws, "team-state.json")["lifecycle_outcome"] == "finished"


def test_scopes_are_apart(ws: Workspace) -> None:
    """What is active in one session keeps no other from anything; --all clears one scope."""
    activate(ws, "ralph")
    activate(ws, "ultrawork", session_id="s1")
    activate(ws, "plan", session_id="s2")
    assert (active(ws), active(ws, session_id="s1"), active(ws, session_id="s2")) == ("ralph", "ultrawork", "plan")
    listed = answer(ws.omagy("state", "list", "--json"))
    assert [(scope["session_id"], scope["combination"]) for scope in listed["scopes"]] == [
        (None, "ralph"),
        ("s1", "ultrawork"),
        ("s2", "plan"),
    ]
    answer(state(ws, "clear", all=True))
    assert (active(ws), active(ws, session_id="s1")) == ("", "ultrawork")
    assert read_file(ws, "s1/skill-active-state.json")["active_skills"][0]["session_id"] == "s1"


def test_an_unsupported_set_of_an_older_writer_can_only_be_left(ws: Workspace) -> None:
    """Nothing joins it; an update and clearing are allowed."""
    rows = [{"skill": "ralph", "active": True}, {"skill": "ultrawork", "active": True}]
    put(ws, "skill-active-state.json", {"version": 1, "active": True, "skill": "ralph", "active_skills": rows})
    assert active(ws) == "ralph+ultrawork"
    done = state(ws, "write", mode="team")
    assert done.returncode == 2
    for mode in ("ralph", "ultrawork"):
        assert f'{{"mode":"{mode}"}}' in done.stderr
    assert activate(ws, "ralph", current_phase="exec")["combination"] == "ralph+ultrawork"
    answer(state(ws, "clear", mode="ultrawork"))
    assert activate(ws, "team")["combination"] == "team+ralph"


# -- files that contradict one another


def test_a_mode_missing_in_the_inventory_is_put_into_it(ws: Workspace) -> None:
    put(ws, "team-state.json", {"mode": "team", "active": True, "current_phase": "exec"})
    assert active(ws) == "team"
    assert read_file(ws, "skill-active-state.json")["active_skills"][0]["phase"] == "exec"


def test_an_entry_whose_state_was_lost_stays_active_and_gets_a_state(ws: Workspace) -> None:
    activate(ws, "team", "ralph", current_phase="exec")
    (ws.root / ".omagy/state/ralph-state.json").unlink()
    assert active(ws) == "team+ralph"
    restored = read_file(ws, "ralph-state.json")
    assert (restored["mode"], restored["active"], restored["current_phase"]) == ("ralph", True, "exec")


def test_a_state_that_says_it_has_ended_leaves_the_set(ws: Workspace) -> None:
    activate(ws, "team", "ralph")
    put(ws, "ralph-state.json", {"mode": "ralph", "active": True, "run_outcome": "cancelled"})
    assert active(ws) == "team"
    assert [row["skill"] for row in read_file(ws, "skill-active-state.json")["active_skills"]] == ["team"]


@pytest.mark.parametrize("garbage", ["", "{", "[]", '{"a": NaN}', "\x00", '{"active_skills": 3}'])
def test_a_damaged_inventory_is_kept_and_made_anew_from_the_states(ws: Workspace, garbage: str) -> None:
    activate(ws, "team", "ralph")
    put(ws, "skill-active-state.json", garbage)
    done = state(ws, "read")
    assert answer(done)["combination"] == "team+ralph"
    if not garbage.startswith('{"active_skills"'):
        assert "skill-active-state.json.corrupt-1" in done.stderr
        assert (ws.root / ".omagy/state/skill-active-state.json.corrupt-1").read_text() == garbage
    assert len(read_file(ws, "skill-active-state.json")["active_skills"]) == 2
    assert not state(ws, "read").stderr


def test_a_damaged_state_is_never_overwritten(ws: Workspace) -> None:
    """It is kept aside, told, and its mode stays what the inventory says."""
    activate(ws, "team", "ralph")
    path = put(ws, "ralph-state.json", "{precious")
    done = state(ws, "write", mode="ralph", current_phase="exec")
    assert answer(done)["combination"] == "team+ralph"
    assert "ralph-state.json.corrupt-1" in done.stderr
    assert path.with_name("ralph-state.json.corrupt-1").read_text() == "{precious"
    path.write_text("{again")
    answer(state(ws, "clear", mode="ralph"))
    assert path.with_name("ralph-state.json.corrupt-2").read_text() == "{again"
    assert not path.exists()


def _link(path: Path, target: Path) -> None:
    path.symlink_to(target)


def _huge(path: Path, _target: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def _pipe(path: Path, _target: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, _target: Path) -> None:
    path.mkdir()
    (path / "in").write_text("precious")


@pytest.mark.parametrize("name", ["team-state.json", "skill-active-state.json", "workflow-pending.json"])
@pytest.mark.parametrize("make", [_link, _huge, _pipe, _folder])
def test_what_is_planted_in_the_place_of_a_file_is_not_followed(
    ws: Workspace, tmp_path: Path, name: str, make: Any
) -> None:
    """It is moved aside, its target stays, and the set is what the other files say."""
    activate(ws, "team", "ralph")
    target = tmp_path / "target"
    target.write_text("precious")
    place = ws.root / ".omagy/state" / name
    place.unlink(missing_ok=True)
    make(place, target)
    assert answer(state(ws, "write", mode="team", current_phase="exec"))["combination"] == "team+ralph"
    assert target.read_text() == "precious"
    assert os.path.lexists(place.with_name(f"{name}.corrupt-1"))


def test_a_link_in_the_place_of_a_scope_is_not_followed(ws: Workspace, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "team-state.json").write_text('{"mode": "team", "active": true}')
    activate(ws, "plan")
    (ws.root / ".omagy/state/s1").symlink_to(elsewhere)
    assert active(ws, session_id="s1") == ""
    done = state(ws, "write", mode="ralph", session_id="s1")
    assert done.returncode == 1
    assert "is not a folder of its own" in done.stderr
    assert sorted(path.name for path in elsewhere.iterdir()) == ["team-state.json"]
    assert active(ws) == "plan"


# -- many at once


def test_to_mend_many_scopes_takes_one_synced_write_for_each(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that takes its time a list of all scopes is there as soon as that allows; it mends them all."""
    scopes = [f"s{number:02}" for number in range(30)]
    for name in scopes:
        put(ws, f"{name}/team-state.json", {"mode": "team", "active": True})
    calls: Counter[str] = Counter()
    fsync, flock = os.fsync, fcntl.flock

    def counted_fsync(fd: int) -> None:
        calls["synced"] += 1
        fsync(fd)

    def counted_flock(fd: int, how: int) -> None:
        calls["locked"] += how == fcntl.LOCK_EX | fcntl.LOCK_NB
        flock(fd, how)

    monkeypatch.setattr(os, "fsync", counted_fsync)
    monkeypatch.setattr(fcntl, "flock", counted_flock)
    told = list_scopes(StateRoot(ws.root))
    assert [scope["combination"] for scope in told["scopes"][1:]] == ["team"] * len(scopes)
    assert calls == {"synced": len(scopes), "locked": 1}
    for name in scopes:
        assert [row["skill"] for row in read_file(ws, f"{name}/skill-active-state.json")["active_skills"]] == ["team"]
    calls.clear()
    assert list_scopes(StateRoot(ws.root)) == told
    assert calls["synced"] == 0


def test_a_repair_writes_nothing_that_could_not_be_read_back(ws: Workspace) -> None:
    """An inventory for one mode becomes a row of one for several, and all of it is two levels deeper there."""
    deep: Any = 1
    for _ in range(47):
        deep = [deep]
    text = json.dumps({"skill": "team", "active": True, "theirs": deep})
    path = put(ws, "skill-active-state.json", text)
    put(ws, "ralph-state.json", {"mode": "ralph", "active": True})
    for _ in range(2):
        done = state(ws, "read")
        assert answer(done)["combination"] == "team+ralph"
        assert "could not be mended: the state cannot be kept: it is nested too deeply" in done.stderr
        assert path.read_text() == text


def test_a_scope_that_cannot_be_mended_keeps_no_other_from_it(ws: Workspace) -> None:
    """It is told, and read all the same; nothing is written that could not be read back."""
    rows = [{"skill": "theirs", "active": True, "n": number} for number in range(20_000)]
    large = json.dumps({"active_skills": rows}, separators=(",", ":"))
    for name in ("s1", "s2", "s3"):
        put(ws, f"{name}/team-state.json", {"mode": "team", "active": True})
    path = put(ws, "s2/skill-active-state.json", large)
    done = ws.omagy("state", "list", "--json")
    assert [scope["combination"] for scope in answer(done)["scopes"][1:]] == ["team"] * 3
    assert "could not be mended: skill-active-state.json would be larger than 1 MiB" in done.stderr
    assert path.read_text() == large
    assert read_file(ws, "s3/skill-active-state.json")["skill"] == "team"


def test_writers_of_different_scopes_and_modes_lose_nothing(ws: Workspace) -> None:
    """Forty commands at a time, all of them allowed, all of them done."""
    activate(ws, "plan")
    jobs = [("write", f"s{n}", mode) for n in range(10) for mode in ("team", "ralph")]
    results: list[Done] = []

    def work(verb: str, session_id: str, mode: str) -> None:
        results.append(state(ws, verb, mode=mode, session_id=session_id))

    threads = [threading.Thread(target=work, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done.returncode for done in results] == [0] * 20
    listed = answer(ws.omagy("state", "list", "--json"))["scopes"]
    assert [scope["combination"] for scope in listed] == ["plan", *["team+ralph"] * 10]


def test_of_two_that_exclude_each_other_one_is_denied(ws: Workspace) -> None:
    """However close together they come."""
    for _ in range(5):
        started = [ws.start("state", "write", mode) for mode in ("ralph", "ultrawork")]
        statuses = sorted(process.wait(PATIENCE_S) for process in started)
        assert statuses == [0, 2]
        assert active(ws) in ("ralph", "ultrawork")
        answer(state(ws, "clear", all=True))


def test_all_cases_are_covered() -> None:
    """Every mode takes part in some case."""
    assert {mode for case in ALL for mode in (*case.before, case.target)} == set(Mode)


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({"active": True, "lifecycle_outcome": "complete"}, "finished"),
        ({"active": False, "run_outcome": "blocked_on_user"}, "blocked"),
        ({"run_outcome": "cancelled"}, "userinterlude"),
        ({"lifecycle_outcome": "failed", "run_outcome": "done"}, "failed"),
    ],
)
def test_the_words_of_older_states_are_never_shown_as_outcomes(
    ws: Workspace, told: dict[str, Any], outcome: str
) -> None:
    """A person reads the canonical word alone; a program finds it beside the state as it lies there."""
    file = ws.root / ".omagy/state/team-state.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"mode": "team", "old_field": 7, **told}))
    for words in (("read", "team"), ("read",), ("list",)):
        shown, _, end = ws.omagy("state", *words).stdout.partition("# Workflow team")
        assert outcome in shown
        assert not end or f"## Outcome\n\n- {outcome}: " in end
        assert not any(word in shown for word in ("complete", "done", "cancelled", "blocked_on_user"))
    read_back = answer(state(ws, "read", mode="team"))
    assert (read_back["lifecycle_outcome"], read_back["state"]["old_field"]) == (outcome, 7)


def test_json_is_whole_in_a_locale_that_cannot_spell_it(ws: Workspace) -> None:
    """A program reads what stands there, never a question mark in its place."""
    activate(ws, "team", current_phase="Prüfung… 🚀")
    ws.environment.update(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert answer(state(ws, "read", mode="team"))["state"]["current_phase"] == "Prüfung… 🚀"


def by_shell(ws: Workspace, command: str) -> subprocess.CompletedProcess[str]:
    """omagy with the redirections of ``command``."""
    return subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m omagy_supervisor {command}"],
        cwd=ws.root,
        env=ws.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "status"),
    [("hud >&-", 0), ("state list >&- 2>&-", 0), ("state write temm 2>&-", 2), ("question --question x <&-", 4)],
)
def test_a_closed_stream_is_no_fault(ws: Workspace, command: str, status: int) -> None:
    """As cron and some hooks start programs; a file that is opened later never takes the stream's place."""
    done = by_shell(ws, command)
    assert (done.returncode, "fault" in done.stderr) == (status, False), done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no such device")
def test_an_answer_that_finds_no_room_is_said_so(ws: Workspace) -> None:
    done = by_shell(ws, "state list --json >/dev/full")
    assert done.returncode == 1
    assert "the answer cannot be written: No space left on device" in done.stderr
    assert "fault" not in done.stderr


def test_an_error_that_nobody_reads_any_more_is_no_fault(ws: Workspace) -> None:
    """The program that asked for JSON went away."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "omagy_supervisor", "state", "write", "temm", "--json"],
        cwd=ws.root,
        env=ws.environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr


@pytest.mark.parametrize("place", [".omagy", ".omagy/state"])
def test_a_file_in_the_folders_place_is_told_once(ws: Workspace, place: str) -> None:
    """It is nobody's to remove but the person's, who is told what is in the way."""
    ws.write(place, "mine")
    seen = ws.omagy("state", "list")
    assert (seen.returncode, len(seen.stderr.splitlines())) == (0, 1)
    assert f"{ws.root / place} is not a folder" in seen.stderr
    for command in (["state", "write", "team"], ["question", "--question", "x"]):
        done = ws.omagy(*command)
        assert done.returncode == 1
        assert "something else stands in the place of a folder: look at it, and move it away" in done.stderr
    assert (ws.root / place).read_text() == "mine"


def test_nothing_in_a_state_steers_the_terminal(ws: Workspace) -> None:
    """Neither what a planted file says of a mode nor what it calls its fields is more than text."""
    evil = "\x1b]0;owned\x07\x1b[2J\u202ex\n"
    put(ws, "team-state.json", {"active": True, evil: evil, "current_phase": evil, "updated_at": evil})
    put(ws, "ralph-state.json", {"active": False, "lifecycle_outcome": evil, "current_phase": [evil]})
    pointer = {"run_id": evil, "active": False, "since": evil, "repo_root": str(ws.root)}
    put(ws, "autoresearch-state.json", pointer)
    for words in (
        ("list",),
        ("read",),
        ("read", "team"),
        ("read", "ralph"),
        ("cancel", "autoresearch"),
        ("clear", "--all"),
    ):
        done = ws.omagy("state", *words)
        assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout + done.stderr), words
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("session", [(), ("--session-id", "s-1")], ids=["root", "session"])
def test_an_end_is_told_in_four_parts_and_can_be_read_again(ws: Workspace, session: tuple[str, ...]) -> None:
    """Outcome, evidence, state and who is next; what an agent said is quoted, and the clear is that of the scope."""
    soft = json.dumps({"error": "no key. Would you like me to go on?"})
    ended = ws.omagy("state", "write", "team", "--outcome", "finished", "--input", soft, *session)
    again = ws.omagy("state", "read", "team", *session)
    for told in (ended.stdout, again.stdout):
        parts = told[told.index("# Workflow team") :]
        assert [line for line in parts.splitlines() if line.startswith("## ")] == [
            "## Outcome",
            "## Evidence",
            "## Artifacts / state",
            "## Handoff",
        ]
        assert "error: “no key. Would you like me to go on?”" in parts
        assert parts.split("## Handoff")[1].count("you: ") == 2
    data = json.loads(ws.omagy("state", "read", "team", "--json", *session).stdout)["handoff"]
    assert (data["outcome"], data["workflow"]) == ("finished", "team")
    command = data["handoff"][-1].split("`")[1]
    assert ws.omagy(*shlex.split(command)[1:]).returncode == 0
    assert json.loads(ws.omagy("state", "read", "team", "--json", *session).stdout)["exists"] is False


PARTS = ["## Outcome", "## Evidence", "## Artifacts / state", "## Handoff"]


@pytest.mark.parametrize("session", [(), ("--session-id", "s-1")], ids=["root", "session"])
@pytest.mark.parametrize("verb", ["cancel", "clear"])
def test_a_mode_that_is_cancelled_or_cleared_is_told_in_four_parts(
    ws: Workspace, verb: str, session: tuple[str, ...]
) -> None:
    """As every end: a person's doing, each mode with its own evidence, and how it is taken up again."""
    scope = {"session_id": session[1]} if session else {}
    activate(ws, "team", "ralph", **scope)
    activate(ws, "ralph", iteration=3, **scope)
    told = ws.omagy("state", verb, "--all", *session).stdout
    for mode, evidence in (("team", "the record holds none"), ("ralph", "iteration 3")):
        part = told.split(f"# Workflow {mode}\n")[1].split("# Workflow")[0]
        assert [line for line in part.splitlines() if line.startswith("## ")] == PARTS
        assert "- userinterlude: a person stopped it" in part
        assert f"- {evidence}\n" in part
        assert f"you: start {mode} again" in part
        kept = ws.root / ".omagy/state" / scope.get("session_id", "") / f"{mode}-state.json"
        assert (f"state {kept}" in part, kept.exists()) == ((verb == "cancel",) * 2)


def test_what_ends_is_told_to_programs_as_well(ws: Workspace) -> None:
    """A cancel, a clear and a write by which another mode is completed; what had ended before ends no second time."""
    activate(ws, "team", "ralph")
    told = answer(state(ws, "cancel", mode="ralph"))
    assert told["handoffs"] == {"ralph": answer(state(ws, "read", mode="ralph"))["handoff"]}
    told = answer(state(ws, "clear", all=True))
    assert (told["ended"], list(told["handoffs"])) == (["team", "ralph"], ["team"])
    assert answer(state(ws, "clear", all=True))["handoffs"] == {}
    activate(ws, "plan")
    told = answer(state(ws, "write", mode="team"))
    assert told["handoff"] is None
    assert told["handoffs"] == {"plan": answer(state(ws, "read", mode="plan"))["handoff"]}
    told = answer(state(ws, "write", mode="team", lifecycle_outcome="failed"))
    assert told["handoffs"] == {"team": told["handoff"]}


def test_a_mode_that_hands_over_is_told_in_four_parts(ws: Workspace) -> None:
    activate(ws, "plan")
    told = ws.omagy("state", "write", "ralph").stdout
    part = told[told.index("# Workflow plan") :]
    assert [line for line in part.splitlines() if line.startswith("## ")] == PARTS
    assert "- ralph: it has taken over" in part


def test_an_active_mode_and_a_run_have_no_such_end(ws: Workspace) -> None:
    """A run's is among its records."""
    activate(ws, "team")
    put(ws, "autoresearch-state.json", {"run_id": "m-1", "active": False})
    for mode in ("team", "autoresearch", "plan"):
        assert answer(state(ws, "read", mode=mode))["handoff"] is None


def test_every_answer_has_the_keys_that_its_document_names(ws: Workspace) -> None:
    """Programs rely on them."""
    page = (Path(__file__).parents[2] / "docs/contracts/multi-state-transitions.md").read_text()
    rows = re.findall(r"^\| (`state .*?) \| `([\w, ]+)`", page, re.MULTILINE)
    named = {command: set(keys.split(", ")) for row, keys in rows for command in re.findall(r"`state (.*?)`", row)}
    asked = {"write": ("write", "team"), "read <mode>": ("read", "team"), "read": ("read",), "list": ("list",)}
    asked |= {"clear": ("clear", "team"), "cancel": ("cancel", "--all")}
    assert named.keys() == asked.keys()
    for command, words in asked.items():
        assert answer(ws.omagy("state", *words, "--json")).keys() == named[command], command


def test_the_pointer_of_a_killed_run_does_not_say_that_it_is_active(ws: Workspace) -> None:
    """Its supervisor could not write any more; the lock knows."""
    put(ws, "autoresearch-state.json", {"run_id": "m-1", "active": True, "pid": 1})
    told = answer(state(ws, "read", mode="autoresearch"))
    assert (told["active"], told["state"]["active"], told["state"]["run_id"]) == (False, False, "m-1")


@pytest.mark.parametrize("mode", [0o000, 0o500])
def test_a_scope_that_cannot_be_written_holds_up_no_other(ws: Workspace, mode: int) -> None:
    """What was refused is not made later, by whoever comes next; nobody reads it as made."""
    activate(ws, "team", "ralph")
    activate(ws, "plan", session_id="s1")
    folder = ws.root / ".omagy/state/s1"
    before = files(ws)
    folder.chmod(mode)
    try:
        for words in (("write", "plan", "--phase", "x"), ("write", "ralph"), ("clear", "plan"), ("cancel", "--all")):
            done = ws.unprivileged("state", *words, "--session-id", "s1")
            assert done.returncode in (0, 1), done.stderr
            assert "fault" not in done.stderr
        assert ws.unprivileged("state", "cancel", "ralph").returncode == 0
        assert active(ws) == "team"
    finally:
        folder.chmod(0o755)
    changed = {name for name, held in files(ws).items() if before.get(name) != held}
    assert changed == {"state/ralph-state.json", "state/skill-active-state.json"}


@pytest.mark.parametrize("place", [".omagy/state", ".omagy/state/s1", ".omagy/state/questions", ".omagy"])
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o500])
def test_a_folder_that_may_not_be_used_is_told_and_no_fault(ws: Workspace, place: str, mode: int) -> None:
    """One note for the folder, not one for each file in it; whoever has to write is refused with its name."""
    activate(ws, "team")
    activate(ws, "plan", session_id="s1")
    asked = json.loads(ws.omagy("question", "--question", "Which?", "--json").stdout)["question_id"]
    folder = ws.root / place
    before = files(ws)
    folder.chmod(mode)
    tries = [
        *(("state", *words.split()) for words in ("list", "read", "read team", "cancel ralph", "clear review")),
        *(("state", "write", "team", *words.split()) for words in ("--phase x", "--session-id s2")),
        ("hud",),
        *(("question", *words.split()) for words in ("list", "--question New?", f"answer {asked} x")),
    ]
    try:
        for words in tries:
            done = ws.unprivileged(*words)
            assert done.returncode in (0, 1, 2, 4), done.stderr
            assert not any(word in done.stderr for word in ("fault", "Traceback")), (words, done.stderr)
            assert len(done.stderr.splitlines()) <= 4, (words, done.stderr)
    finally:
        folder.chmod(0o755)
    assert before.keys() <= files(ws).keys()
