"""``omagy stop-conditions`` as a person and a program call it."""

import json

import pytest

from fakes.workspace import Workspace


def test_the_rules_are_listed(ws: Workspace) -> None:
    """All of them with their terms, for people and for programs."""
    text = ws.omagy("stop-conditions", "list")
    assert text.returncode == 0
    data = json.loads(ws.omagy("stop-conditions", "list", "--json").stdout)
    assert len(data["rules"]) == 11
    assert all(rule["id"] in text.stdout for rule in data["rules"])
    assert all(term["word"] in text.stdout for term in data["terms"])


def test_an_observation_gets_its_ruling(ws: Workspace) -> None:
    """Exit status 0 whatever the ruling; --json prints nothing else on stdout."""
    ask = ("stop-conditions", "evaluate", "--input")
    done = ws.omagy(*ask, '{"state": "merge_ready"}', "--json")
    assert done.returncode == 0
    ruling = json.loads(done.stdout)
    assert (ruling["rule"], ruling["stops"]) == ("STOP-MERGE-AUTH-001", True)
    assert ruling["state"] == "waiting_for_merge_authorization"
    told = ws.omagy(*ask, '{"state": "done", "active": true}')
    assert told.returncode == 0
    assert told.stdout.startswith("stop: STOP-RECONCILE-001\n")
    assert "does not fit: it has ended, and is said to be active" in told.stdout
    watched = '{"state": "waiting_for_copilot_review", "waiting_since": "2020-01-01T00:00:00Z"}'
    assert "used up: read the state anew" in ws.omagy(*ask, watched).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "a command is missing"),
        (["evaluat"], "did you mean evaluate?"),
        (["evaluate"], "evaluate needs --input"),
        (["evaluate", "--input", "[]"], "not a JSON object"),
        (["evaluate", "--input", "{"], "not JSON"),
        (["list", "--input", "{}"], "list takes no --input"),
        (["list", "all"], "list takes no all"),
        (["list", "--jsn"], "did you mean --json?"),
    ],
)
def test_wrong_usage_is_told(ws: Workspace, words: list[str], said: str) -> None:
    """Exit status 2 with the way out, and nothing on stdout."""
    done = ws.omagy("stop-conditions", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_help_says_what_an_observation_may_say(ws: Workspace) -> None:
    """Every key, on stdout."""
    done = ws.omagy("stop-conditions", "--help")
    assert done.returncode == 0
    assert "autonomy.humanMergeOnly" in done.stdout


def test_nothing_in_an_observation_steers_the_terminal(ws: Workspace) -> None:
    """It can be another program's, and hold what an agent wrote."""
    evil = "\x1b]0;owned\x07\x1b[2J\u202ex"
    for key in ("state", "lifecycle_outcome", "run_outcome", "strategy", "waited_s", f"stat{evil}e"):
        done = ws.omagy("stop-conditions", "evaluate", "--input", json.dumps({key: evil}))
        assert "STOP-RECONCILE-001" in done.stdout
        assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout + done.stderr), key
