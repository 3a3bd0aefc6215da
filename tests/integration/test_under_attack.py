"""Agents without a sandbox that attack what supervises them, and people who clean up too much: what must hold."""

from pathlib import Path

import psutil
import pytest

from fakes.workspace import Acts, Workspace, candidate, noop


@pytest.fixture
def mission(ws: Workspace) -> Workspace:
    ws.mission()
    ws.commit()
    return ws


def sh(command: str) -> Acts:
    return [{"sh": command}]


RUNNER = (
    'd=$(dirname "$(dirname "$OMAGY_CANDIDATE_FILE")"); '
    "pid=$(sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/' $d/runner.json); "
)
"""Shell: ``$d`` is the attempt's folder, ``$pid`` its runner."""


def reasons(ws: Workspace) -> list[str]:
    return [entry["decision_reason"] for entry in ws.ledger()["entries"]]


# -- the runner is killed


def test_a_candidate_whose_runner_was_killed_is_not_measured(mission: Workspace, tmp_path: Path) -> None:
    """What escaped from every list of processes could rewrite the tree meanwhile."""
    stray = tmp_path / "stray"
    escape = f"env -i setsid sh -c 'echo $$ > {stray}; exec sleep 600' </dev/null >/dev/null 2>&1 & "
    wait = f"while [ ! -s {stray} ]; do :; done; "
    mission.plan(i1=[*candidate(5), *sh(f"{RUNNER} {escape} {wait} kill -9 $pid")])
    done = mission.launch("--max-iterations", "1")
    try:
        assert mission.decisions() == ["baseline", "error"], done.stderr
        assert "the session's runner was killed" in reasons(mission)[1]
    finally:
        psutil.Process(int(stray.read_text())).kill()


MALFORMED = {
    "words for numbers": 'echo \'{"status": 0, "duration_s": "abc"}\' > $d/exit.json; ',
    "no number": 'echo \'{"status": 0, "duration_s": NaN}\' > $d/exit.json; ',
    "beyond all numbers": 'echo \'{"status": 0, "duration_s": 1e999}\' > $d/exit.json; ',
    "a pipe": "mkfifo $d/exit.json; ",
    "a folder": "mkdir $d/exit.json; ",
    "no runner either": "echo '[]' > $d/exit.json; echo '{\"pid\": \"x\"}' > $d/runner.json; ",
}


@pytest.mark.parametrize("forged", MALFORMED.values(), ids=MALFORMED)
def test_a_forged_record_of_the_end_is_none(mission: Workspace, forged: str) -> None:
    """It never stops the run, and never reaches the journal: the attempt is lost, and bounded as such."""
    mission.plan(i1=sh(f"{RUNNER} {forged} kill -9 $pid"), default=noop())
    done = mission.launch("--max-iterations", "2")
    assert done.returncode == 0, done.stderr
    assert mission.decisions() == ["baseline", "error", "noop"]
    assert mission.ledger()["entries"][1]["session"]["ending"] == "lost"


# -- agents that do not listen


def test_an_agent_without_output_is_held_to_its_time_limit(ws: Workspace) -> None:
    """Closing stdout and stderr takes nobody out of the runner's sight."""
    ws.mission("session:\n  timeout: 2s\n")
    ws.commit()
    ws.plan(default=noop())
    agent = "command:[ $OMAGY_ITERATION = 1 ] && exec sleep 600 >&- 2>&-"
    done = ws.omagy("autoresearch", "--foreground", "--agent", agent, "--max-iterations", "1", "missions/m")
    assert done.returncode == 0, done.stderr
    assert ws.decisions() == ["baseline", "error"]
    entry = ws.ledger()["entries"][1]
    assert (entry["session"]["ending"], entry["session"].get("attempt", 1)) == ("timed_out", 1)
    assert entry["session"]["duration_s"] < 15


# -- what cannot be written


def test_lessons_that_cannot_be_written_end_no_run(mission: Workspace) -> None:
    """The run has its handoff, its ledger its outcome; that the lessons are missing is told."""
    mission.plan(i1=candidate(2))
    lessons = mission.root / ".omagy/autoresearch/m/lessons.md"
    lessons.mkdir(parents=True)
    (lessons / "in the way").write_text("")
    done = mission.launch("--max-iterations", "1")
    assert done.returncode == 0, done.stderr
    assert "the lessons of this run could not be written" in done.stderr
    assert mission.manifest()["lifecycle_outcome"] == "finished"
    assert (mission.folder() / "handoff.md").exists()


def test_a_fault_that_may_pass_ends_no_run_for_good(mission: Workspace) -> None:
    """Whatever omagy cannot name a remedy for may have one: the run is blocked, and goes on."""
    mission.plan(i1=sh(f"mv missions/m/eval.py x; git update-ref -d HEAD; {RUNNER} rm -rf $d; echo > $d"))
    done = mission.launch("--max-iterations", "1")
    assert done.returncode == 3, done.stderr
    assert mission.manifest()["lifecycle_outcome"] == "blocked"
