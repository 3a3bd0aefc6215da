"""Agents without a sandbox that attack what supervises them, and people who clean up too much: what must hold."""

import os
import re
import shutil
from pathlib import Path

import psutil
import pytest

from fakes.workspace import PATIENCE_S, Acts, Workspace, candidate, noop
from omagy_supervisor.launching import tmux_session


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
    """What escaped from every list of processes could rewrite the tree meanwhile. The attempt counts as lost."""
    stray = tmp_path / "stray"
    escape = (
        f"[ -s {stray} ] || env -i setsid sh -c 'echo $$ > {stray}; exec sleep 600' </dev/null >/dev/null 2>&1 & "
    )
    wait = f"while [ ! -s {stray} ]; do :; done; "
    mission.plan(i1=[*candidate(5), *sh(f"{RUNNER} {escape} {wait} kill -9 $pid")])
    done = mission.launch("--max-iterations", "1")
    try:
        assert mission.decisions() == ["baseline", "error"], done.stderr
        assert "its runner was killed" in reasons(mission)[1]
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
    assert entry["session"]["duration_s"] < 600


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


# -- the person cleans up too much


def test_deleted_records_end_the_run_and_are_told(mission: Workspace) -> None:
    """``git clean -fdx`` takes .omagy along: no second run can start beside the first, which can be stopped."""
    go = mission.root.parent / "go"
    mission.plan(i1=candidate(2), i2=[{"print": "working"}, {"wait_for": str(go)}, *noop()])
    process = mission.start_launch()
    run_id = mission.wait_for_run()
    mission.wait_for_session(2, "working")
    mission.git("clean", "-fdxq")
    second = mission.launch()
    assert (second.returncode, f"run {run_id} is active" in second.stderr) == (2, True), second.stderr
    go.write_text("")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, err
    assert f"the records of run {run_id} were deleted or replaced while it ran" in err
    assert f"the kept work is on its branch: git log autoresearch/m/{run_id.removeprefix('m-').upper()}" in err
    assert "the run can go on" not in err
    assert mission.omagy("autoresearch", "stop").returncode == 2
    left = "git branch --list 'autoresearch/*'"
    assert left in mission.omagy("autoresearch", "status").stderr
    assert left in mission.omagy("autoresearch", "list").stdout
    mission.plan(default=noop())
    third = mission.launch("--max-iterations", "1")
    assert third.returncode == 0, third.stderr
    assert "was interrupted" not in third.stderr


def test_a_repository_that_was_moved_is_not_made_anew(mission: Workspace) -> None:
    """Whoever renames the repository and back finds it as it was, is told so, and the run goes on."""
    go, away = mission.root.parent / "go", mission.root.with_name("renamed")
    mission.plan(i1=candidate(2), i2=[{"print": "working"}, {"wait_for": str(go)}, {"exit": 0}], default=candidate(3))
    process = mission.start_launch("--max-iterations", "3")
    run_id = mission.wait_for_run()
    mission.wait_for_session(2, "working")
    mission.root.rename(away)
    go.write_text("")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, err
    assert not mission.root.exists()
    assert f"the repository {mission.root} was moved or deleted" in err
    assert f"move it back, then go on: omagy autoresearch --resume {run_id}" in err
    away.rename(mission.root)
    resumed = mission.resume(run_id)
    assert resumed.returncode == 0, resumed.stderr
    assert mission.decisions()[:2] == ["baseline", "keep"]


def test_a_view_of_a_moved_repository_says_that_it_can_come_back(mission: Workspace) -> None:
    """The view calls neither the records deleted, which are elsewhere, nor the supervisor gone, which may live."""
    away = mission.root.with_name("renamed")
    mission.plan(i1=[{"print": "hanging"}, {"hang": True}])
    process = mission.start_launch()
    run_id = mission.wait_for_run()
    mission.wait_for_session(1)
    view = mission.start("autoresearch", "watch", run_id)
    assert view.stderr is not None
    next(line for line in view.stderr if "iteration 1: session started" in line)
    mission.root.rename(away)
    process.kill()
    _, err = view.communicate(timeout=PATIENCE_S)
    assert f"the repository {mission.root} was moved or deleted" in err
    assert "deleted (" not in err
    assert f"move it back, and see how the run stands: omagy autoresearch status {run_id}" in err
    assert not mission.root.exists()
    away.rename(mission.root)


def test_a_run_without_records_can_still_be_stopped(mission: Workspace) -> None:
    """The pointer beside the lock says who holds it."""
    mission.plan(i1=[{"print": "hanging"}, {"hang": True}])
    process = mission.start_launch()
    mission.wait_for_run()
    mission.wait_for_session(1)
    mission.git("clean", "-fdxq")
    stopped = mission.omagy("autoresearch", "stop")
    assert stopped.returncode == 0, stopped.stderr
    assert "its records were deleted" in stopped.stderr
    process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("second", ["a launch", "a resume"])
def test_a_removed_lock_lets_no_second_supervisor_in(mission: Workspace, second: str) -> None:
    """Two that wrote one journal would leave none that can be read; the session of a living run is not ended."""
    go = mission.root.parent / "go"
    remove = sh('rm -rf "$(git rev-parse --git-common-dir)/omagy"')
    mission.plan(i1=[*remove, {"print": "working"}, {"wait_for": str(go)}, *candidate(2)], default=candidate(3))
    process = mission.start_launch("--max-iterations", "1")
    run_id = mission.wait_for_run()
    mission.wait_for_session(1, "working")
    other = mission.resume(run_id) if second == "a resume" else mission.launch()
    assert (other.returncode, f"run {run_id} is active" in other.stderr) == (2, True), other.stderr
    go.write_text("")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert mission.decisions(run_id) == ["baseline", "keep"]


def test_a_run_whose_lock_was_removed_is_seen_and_can_be_stopped(mission: Workspace) -> None:
    """A launch that is refused for its sake says how; until it has ended nothing calls it over."""
    remove = sh('rm -rf "$(git rev-parse --git-common-dir)/omagy"')
    mission.plan(i1=[*remove, {"print": "working"}, {"hang": True}])
    process = mission.start_launch()
    run_id = mission.wait_for_run()
    mission.wait_for_session(1, "working")
    assert f"omagy autoresearch stop {run_id}" in mission.launch().stderr
    assert "in session" in mission.omagy("autoresearch", "status").stdout
    assert "in session" in mission.omagy("hud").stdout
    assert "autoresearch is active" in mission.omagy("state", "read", "autoresearch").stdout
    stopped = mission.omagy("autoresearch", "stop", run_id)
    assert stopped.returncode == 0, stopped.stderr
    assert mission.manifest(run_id)["lifecycle_outcome"] == "userinterlude"
    process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("verb", [("autoresearch", "stop"), ("state", "clear", "autoresearch")], ids=" ".join)
def test_a_run_without_lock_and_records_is_seen_and_can_be_stopped(mission: Workspace, verb: tuple[str, ...]) -> None:
    """Whoever wrote the pointer lives: known by its start, not by its number alone. No second run comes beside it."""
    mission.plan(i1=[{"print": "working"}, {"hang": True}])
    process = mission.start_launch()
    run_id = mission.wait_for_run()
    mission.wait_for_session(1, "working")
    mission.git("clean", "-fdxq")
    (mission.root / ".git/omagy/autoresearch.lock").unlink()
    assert mission.omagy("state", "write", "team").returncode == 2
    refused = mission.launch()
    assert (refused.returncode, f"run {run_id} is active" in refused.stderr) == (2, True), refused.stderr
    assert f"autoresearch {run_id} without records" in mission.omagy("hud").stdout
    stopped = mission.omagy(*verb)
    assert stopped.returncode == 0, stopped.stderr
    assert f"run {run_id} has stopped; its records" in stopped.stdout + stopped.stderr
    process.communicate(timeout=PATIENCE_S)
    assert "no run is active" in mission.omagy("autoresearch", "stop").stderr
    assert mission.omagy("state", "write", "team").returncode == 0


ELSEWHERE = {
    "an alternate": 'echo "$e" >> $c/objects/info/alternates; '
    "GIT_OBJECT_DIRECTORY=$e GIT_ALTERNATE_OBJECT_DIRECTORIES=$c/objects git commit -qam 5",
    "an alternate, and other attributes": 'echo "$e" >> $c/objects/info/alternates; '
    'mkdir -p $c/info; echo "* text" >> $c/info/attributes; '
    "GIT_OBJECT_DIRECTORY=$e GIT_ALTERNATE_OBJECT_DIRECTORIES=$c/objects git commit -qam 5",
    "a link": 'git commit -qam 5; o=$c/objects/$(git rev-parse HEAD | sed "s|..|&/|"); mv $o $e/x; ln -s $e/x $o',
    "a linked folder": "git commit -qam 5; o=$c/objects/$(git rev-parse HEAD | cut -c 1-2); mv $o $e; ln -s $e/?? $o",
}


@pytest.mark.parametrize("lies", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_commit_that_lies_outside_the_repository_is_not_kept(mission: Workspace, tmp_path: Path, lies: str) -> None:
    """Whoever clears the other place away would take the kept work along."""
    prepare = f"c=$(git rev-parse --git-common-dir); e={tmp_path}/elsewhere; mkdir $e; echo 5 > value.txt; "
    mission.plan(i1=[*sh(prepare + lies), {"artifact": {}}])
    done = mission.launch("--max-iterations", "1")
    assert done.returncode == 0, done.stderr
    assert mission.decisions() == ["baseline", "error"]
    assert "outside the repository" in reasons(mission)[1]


@pytest.mark.parametrize("then", ["true", "git checkout -q --detach HEAD~1"], ids=["at it", "beside it"])
def test_git_can_still_clean_up_once_a_commit_outside_is_gone(mission: Workspace, tmp_path: Path, then: str) -> None:
    """No ref or log of a run may name it."""
    prepare = f"c=$(git rev-parse --git-common-dir); e={tmp_path}/elsewhere; mkdir $e; echo 5 > value.txt; "
    mission.plan(i1=[*sh(f"{prepare}{ELSEWHERE['an alternate']}; {then}"), {"artifact": {}}])
    assert mission.launch("--max-iterations", "1").returncode == 0
    shutil.rmtree(tmp_path / "elsewhere")
    (mission.root / ".git/objects/info/alternates").unlink()
    mission.git("gc", "--quiet")


PIPES: dict[str, list[tuple[str, ...]]] = {
    ".omagy/.gitignore": [("state", "write", "team")],
    "manifest.json": [
        *[("autoresearch", verb) for verb in ("list", "status", "stop", "watch")],
        ("state", "clear", "autoresearch"),
        ("hud",),
    ],
    "journal.jsonl": [("autoresearch", "rebuild", "{run}"), ("autoresearch", "--resume", "{run}")],
    "handoff.md": [("autoresearch", "watch", "{run}")],
    "supervisor.log": [("autoresearch", "watch", "{run}")],
    "handoff.json": [("autoresearch", "status"), ("autoresearch", "list")],
}


@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_in_the_place_of_a_file_holds_up_no_command(mission: Workspace, name: str) -> None:
    """Nobody writes into it: whatever reads it says that it is no file, or does without."""
    mission.plan(i1=noop())
    assert mission.launch("--max-iterations", "1").returncode == 0
    run_id = mission.run_id()
    place = mission.root / name if "/" in name else mission.folder() / name
    place.unlink()
    os.mkfifo(place)
    for words in PIPES[name]:
        done = mission.omagy(*(word.format(run=run_id) for word in words), timeout=PATIENCE_S)
        assert "Traceback" not in done.stderr
        assert "fault" not in done.stderr
        assert done.returncode in (0, 1, 2), done.stderr


# -- one run in a repository, whatever the worktree


def test_worktrees_of_one_repository_share_its_lock(mission: Workspace) -> None:
    """A second run is refused with where the first one is; it can be stopped from there."""
    other = mission.root.parent / "other"
    mission.git("worktree", "add", "-q", str(other))
    mission.plan(i1=[{"print": "hanging"}, {"hang": True}])
    process = mission.start_launch()
    run_id = mission.wait_for_run()
    mission.wait_for_session(1)
    refused = mission.omagy("autoresearch", "--foreground", "--agent", mission.agent, "missions/m", cwd=other)
    assert refused.returncode == 2
    assert f"run {run_id} is active in {mission.root}, a worktree of the same repository" in refused.stderr
    assert f"cd {mission.root} && omagy autoresearch watch {run_id}" in refused.stderr
    listed = mission.omagy("autoresearch", "list", cwd=other)
    assert f"run {run_id} is active in another worktree of this repository: {mission.root}" in listed.stderr
    assert "No runs in this repository yet" not in listed.stdout
    status = mission.omagy("autoresearch", "status", cwd=other)
    assert f"it is active elsewhere: cd {mission.root} && omagy autoresearch status {run_id}" in status.stderr
    assert "start one" not in status.stderr
    later = mission.omagy("autoresearch", "stop", "--after-iteration", cwd=other)
    assert f"cd {mission.root} && omagy autoresearch watch {run_id}" in later.stderr
    stopped = mission.omagy("autoresearch", "stop", cwd=other)
    assert stopped.returncode == 0, stopped.stderr
    assert f"cd {mission.root} && omagy autoresearch --resume {run_id}" in stopped.stderr
    process.communicate(timeout=PATIENCE_S)
    assert mission.manifest()["lifecycle_outcome"] == "userinterlude"


# -- names and terminals


def test_a_mission_of_other_letters_has_a_name_too(ws: Workspace) -> None:
    """No folder has to be renamed for want of a Latin letter."""
    ws.mission(name="missions/日本")
    ws.commit()
    ws.plan(default=noop())
    done = ws.launch("--max-iterations", "1", mission="missions/日本")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"mission-[0-9a-f]{8}-\d{8}t\d{6}z", ws.run_id())


def test_a_terminal_without_the_letters_shows_what_it_can(mission: Workspace) -> None:
    """A handoff has arrows and dashes; an ASCII terminal gets the rest of it."""
    mission.environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    mission.plan(i1=candidate(2))
    done = mission.launch("--max-iterations", "1")
    assert done.returncode == 0, done.stderr
    assert "finished: iteration budget used: 1" in done.stdout


def test_a_command_of_the_mission_may_have_letters_that_the_locale_lacks(mission: Workspace) -> None:
    """The contract is UTF-8, whatever the terminal speaks."""
    sandbox = mission.root / "missions/m/sandbox.md"
    text = sandbox.read_text().replace("eval.py\n", "eval.py größer –\n", 1)
    sandbox.write_text(text.replace("  format: json\n", "  format: json\nguard:\n  command: 'true „ü“'\n", 1))
    mission.commit()
    mission.environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    mission.plan(i1=candidate(2))
    done = mission.launch("--max-iterations", "1")
    assert done.returncode == 0, done.stderr
    assert mission.decisions() == ["baseline", "keep"]


def test_a_repository_whose_name_is_no_text_is_refused(mission: Workspace) -> None:
    """With the path, and before anything is made."""
    odd = os.fsdecode(os.fsencode(mission.root.parent) + b"/odd\xff")
    mission.root.rename(odd)
    try:
        refused = mission.omagy("autoresearch", "--foreground", "--agent", mission.agent, "missions/m", cwd=Path(odd))
    finally:
        Path(odd).rename(mission.root)
    assert refused.returncode == 2
    assert "its name is no UTF-8" in refused.stderr
    assert not (mission.root / ".omagy").exists()


def test_options_may_stand_before_check(mission: Workspace) -> None:
    """It is read as it was meant; before another command they are told their place."""
    done = mission.omagy("autoresearch", "--agent", mission.agent, "check", "missions/m")
    assert done.returncode == 0, done.stdout + done.stderr
    misplaced = mission.omagy("autoresearch", "--json", "status")
    assert misplaced.returncode == 2
    assert "omagy autoresearch status" in misplaced.stderr


def test_two_repositories_share_no_tmux_session(tmp_path: Path) -> None:
    """Runs of the same name, started in the same second."""
    assert tmux_session("m-1", tmp_path / "a") != tmux_session("m-1", tmp_path / "b")
    assert re.fullmatch(r"m-1-[0-9a-f]{6}", tmux_session("m-1", tmp_path))
