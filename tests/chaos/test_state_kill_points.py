"""A command that changes modes is killed before each of its effects; the next one finds a whole set, nothing lost."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omagy_autoresearch.mode_request import StateRequest, parse_write
from omagy_autoresearch.workflow import unsupported_pairs
from omagy_autoresearch.workflow_stop import MustContinue
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.settings import read_settings
from omagy_supervisor.workflow_state import list_scopes, read, stop_decision, write

_PROGRAM = Path(__file__).with_name("killing_state.py")
_SETTINGS = read_settings({})
KILLED = -9

SCRIPTS: dict[str, tuple[list[dict[str, Any]], list[str], str, str]] = {
    # what was there, the command, and the combination before and after it
    "first": ([], ["write", "team", "--phase", "exec"], "", "team"),
    "peer": ([{"mode": "team"}], ["write", "ralph"], "team", "team+ralph"),
    "handoff": ([{"mode": "deep-interview"}], ["write", "team"], "deep-interview", "team"),
    "update": ([{"mode": "team"}, {"mode": "ralph"}], ["write", "ralph", "--phase", "x"], "team+ralph", "team+ralph"),
    "clear": ([{"mode": "team"}, {"mode": "ralph"}], ["clear", "ralph"], "team+ralph", "team"),
    "clear-all": ([{"mode": "team"}, {"mode": "ralph"}], ["clear", "--all"], "team+ralph", ""),
    "cancel": ([{"mode": "team"}, {"mode": "ralph"}], ["cancel", "team"], "team+ralph", "ralph"),
}


@pytest.fixture(scope="module")
def killer() -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen([sys.executable, _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.communicate()


def _order(killer: "subprocess.Popen[str]", cwd: Path, args: list[str], number: int) -> int:
    assert killer.stdin is not None
    assert killer.stdout is not None
    killer.stdin.write(json.dumps({"cwd": str(cwd), "args": ["state", *args], "number": number}) + "\n")
    killer.stdin.flush()
    return int(killer.stdout.readline())


def _repository(folder: Path) -> StateRoot:
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    return StateRoot(folder)


def _precious(root: StateRoot) -> dict[str, Any]:
    """What the states of the modes hold beyond whether they are active."""
    answer = read(root, StateRequest())
    return {mode: state["mine"] for mode, state in answer["states"].items() if "mine" in state}


@pytest.mark.parametrize("session", [[], ["--session-id", "s1"]], ids=["root", "session"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_killed_command_did_all_or_nothing(
    killer: "subprocess.Popen[str]", tmp_path: Path, name: str, session: list[str]
) -> None:
    """Before the note of the change is whole nothing has happened, from then on all of it; reading says the same."""
    before, args, old, new = SCRIPTS[name]
    scope = session[1] if session else None
    seen = []
    for number in range(1, 60):
        root = _repository(tmp_path / str(number))
        for raw in before:
            where = {"session_id": scope} if scope else {}
            write(root, parse_write({**raw, **where, "state": {"mine": raw["mode"]}}), _SETTINGS)
        status = _order(killer, root.repo_root, [*args, *session], number)
        if status == KILLED:
            stop = stop_decision(root, scope)  # as a hook looks: without a repair
            looked = "+".join(stop.modes) if isinstance(stop, MustContinue) else ""
            found = read(root, StateRequest(session_id=scope))
            assert found["combination"] == looked
            assert found["combination"] in (old, new)
            assert not unsupported_pairs(frozenset(found["active_modes"]))
            assert not list(root.state.rglob("*corrupt*"))
            assert not list(root.state.glob("workflow-pending.json"))
            kept = {state["mine"] for state in found["states"].values() if "mine" in state}
            gone = {"clear": {"ralph"}, "clear-all": {"team", "ralph"}}.get(name, set()) if looked != old else set()
            assert kept == {raw["mode"] for raw in before} - gone
            seen.append(found["combination"])
        assert _order(killer, root.repo_root, [*args, *session], 10_000) == 0
        again = read(root, StateRequest(session_id=scope))
        assert again["combination"] == new
        assert not list_scopes(root)["notes"]
        if status != KILLED:
            assert status == 0
            break
    assert len(seen) >= 5
    assert seen == sorted(seen, key=lambda shown: shown == new)  # one moment at which it happens
    if old != new:
        assert {old, new} == set(seen)


def _disagreeing(root: StateRoot) -> None:
    """Two scopes whose files do not agree: a state nobody listed, one that was lost, an inventory nobody can read."""
    for name, text in {
        "s1/team-state.json": '{"mode": "team", "active": true, "mine": "team"}',
        "s1/skill-active-state.json": '{"active_skills": [{"skill": "ralph", "active": true}], "theirs": 1}',
        "s2/plan-state.json": '{"mode": "plan", "active": true, "mine": "plan"}',
        "s2/skill-active-state.json": "{",
    }.items():
        path = root.state / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _looked(root: StateRoot) -> dict[str, Any]:
    """The sets as one finds them who writes nothing."""
    stops = {name: stop_decision(root, name) for name in ("s1", "s2")}
    return {name: "+".join(stop.modes) for name, stop in stops.items() if isinstance(stop, MustContinue)}


def test_a_killed_repair_loses_nothing(killer: "subprocess.Popen[str]", tmp_path: Path) -> None:
    """Wherever a list is killed that makes files agree: the sets are the same before and after, and all is mended."""
    killed = 0
    for number in range(1, 60):
        root = _repository(tmp_path / str(number))
        _disagreeing(root)
        assert _looked(root) == {"s1": "team+ralph", "s2": "plan"}
        status = _order(killer, root.repo_root, ["list"], number)
        assert _looked(root) == {"s1": "team+ralph", "s2": "plan"}
        killed += status == KILLED
        assert _order(killer, root.repo_root, ["list"], 10_000) == 0
        told = list_scopes(root)
        assert ([scope["combination"] for scope in told["scopes"][1:]], told["notes"]) == (["team+ralph", "plan"], [])
        inventory = json.loads((root.state / "s1/skill-active-state.json").read_text())
        assert ([row["skill"] for row in inventory["active_skills"]], inventory["theirs"]) == (["team", "ralph"], 1)
        assert (root.state / "s2/skill-active-state.json.corrupt-1").read_text() == "{"
        assert not list(root.state.rglob("*.omagy-tmp"))
        if status != KILLED:
            assert status == 0
            break
    assert killed >= 5


def test_what_a_killed_write_left_is_swept(killer: "subprocess.Popen[str]", tmp_path: Path) -> None:
    """No temporary file of a dead command stays for good."""
    root = _repository(tmp_path / "r")
    for number in range(1, 20):
        _order(killer, root.repo_root, ["write", "team"], number)
    _order(killer, root.repo_root, ["write", "team"], 10_000)
    assert not list(root.folder.rglob("*.omagy-tmp"))
