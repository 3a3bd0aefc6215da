"""When a run can be resumed and when not, and what a resume does after every kind of death (contract section 6)."""

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from fakes.dialogue import Dialogue
from fakes.used_time import let_it_be_long_ago
from fakes.workspace import PATIENCE_S, Acts, Workspace, candidate, contents, lives, noop, wait_until
from omagy_supervisor.adapters.lock import RunLock
from omagy_supervisor.paths import StateRoot


def launches(ws: Workspace) -> Path:
    """A file outside of the repository that gets a line for each session."""
    return ws.root.parent / "launches"


def counted(ws: Workspace, *acts: dict[str, object]) -> Acts:
    return [{"sh": f"echo $OMAGY_ITERATION >> '{launches(ws)}'"}, *acts]


def sessions(ws: Workspace) -> list[str]:
    return launches(ws).read_text().split() if launches(ws).exists() else []


def interrupted(ws: Workspace, frontmatter: str = "budget:\n  max_iterations: 2\n") -> str:
    """A run that kept one candidate and was stopped in its second session."""
    ws.mission(frontmatter)
    ws.commit()
    ws.plan(i1=counted(ws, *candidate(2)), i2=counted(ws, {"hang": True}))
    process = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert ws.manifest()["lifecycle_outcome"] == "userinterlude"
    ws.plan(default=counted(ws, *candidate(3)))
    return run_id


def refused(ws: Workspace, run_id: str, *words: str, status: int = 2) -> str:
    """A resume is refused, says ``words``, and changes no file."""
    before = contents(ws.root.parent)
    done = ws.resume(run_id)
    assert done.returncode == status, done.stderr
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert contents(ws.root.parent) == before
    return done.stderr


def goes_on(ws: Workspace, run_id: str, *options: str) -> str:
    done = ws.resume(run_id, *options)
    assert done.returncode == 0, done.stderr
    return done.stderr


def shell(ws: Workspace, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=ws.root, env=ws.environment, check=True, capture_output=True)


def kill(process: psutil.Process | subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def tmux_server(ws: Workspace) -> psutil.Process:
    return psutil.Process(int(ws.tmux("display-message", "-p", "#{pid}").stdout))


# -- refusals


def test_rebuild_leaves_no_handoff_of_an_end_that_the_journal_has_not(ws: Workspace) -> None:
    """Whoever killed a resume before it took the handoff away is not told that the run has ended."""
    run_id = interrupted(ws)
    journal, handoff = ws.folder() / "journal.jsonl", ws.folder() / "handoff.md"
    assert handoff.exists()
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    assert ws.omagy("autoresearch", "rebuild", run_id).returncode == 0
    assert not handoff.exists()


def test_a_run_that_does_not_exist_is_refused_with_the_runs_there_are(ws: Workspace) -> None:
    """A mistyped id is answered with the known ones."""
    run_id = interrupted(ws)
    refused(ws, f"{run_id}x", f"there is no run {run_id}x", f"known runs: {run_id}")


def test_a_manifest_that_is_missing_or_unreadable_is_written_anew_by_rebuild(ws: Workspace) -> None:
    """The message names the command, which makes manifest and ledger as they were, and the run goes on."""
    run_id = interrupted(ws)
    manifest, ledger = ws.folder() / "manifest.json", ws.folder() / "iteration-ledger.json"
    before = manifest.read_bytes(), json.loads(ledger.read_text())
    manifest.unlink()
    refused(ws, run_id, f"run {run_id} has no manifest", f"omagy autoresearch rebuild {run_id}")
    assert ws.omagy("autoresearch", "rebuild", run_id).returncode == 0
    assert (manifest.read_bytes(), json.loads(ledger.read_text())) == before
    manifest.write_text('{"run_id": ')
    ledger.unlink()
    refused(ws, run_id, "manifest.json cannot be read: ", f"omagy autoresearch rebuild {run_id}")
    listed = ws.omagy("autoresearch", "list")
    assert listed.returncode == 0
    assert ws.omagy("autoresearch", "rebuild", run_id).returncode == 0
    assert (manifest.read_bytes(), json.loads(ledger.read_text())) == before
    goes_on(ws, run_id)


def test_a_missing_worktree_is_refused_with_the_command_that_makes_it(ws: Workspace) -> None:
    """The command of the message works as it stands."""
    run_id = interrupted(ws)
    shutil.rmtree(ws.lane())
    said = refused(ws, run_id, f"the worktree of run {run_id} is missing: {ws.lane()}", "git worktree add")
    shell(ws, said.split("make it again: ")[1].strip())
    goes_on(ws, run_id)
    assert ws.decisions() == ["baseline", "keep", "keep"]


def test_a_dirty_worktree_is_refused_with_its_files_and_can_be_saved(ws: Workspace) -> None:
    """A change that the run did not leave is named; --save-leftovers puts it under the run's refs and goes on."""
    run_id = interrupted(ws)
    for name in ("run.log", "candidate.json"):
        (ws.lane() / name).write_text("a runtime file is no change")
    (ws.lane() / "value.txt").write_text("mine")
    (ws.lane() / "new file.txt").write_text("mine too")
    refused(ws, run_id, "has uncommitted changes: ", "value.txt", "new file.txt", f"{run_id} --save-leftovers")
    said = goes_on(ws, run_id, "--save-leftovers")
    assert "uncommitted changes in the lane are saved as refs/omagy/" in said
    saved = f"refs/omagy/{run_id}/leftovers/resume-1"
    assert ws.git("show", f"{saved}:value.txt") == "mine"
    assert ws.git("show", f"{saved}:new file.txt") == "mine too"
    assert "run.log" not in ws.git("ls-tree", "--name-only", saved)
    assert ws.decisions() == ["baseline", "keep", "keep"]


@pytest.mark.parametrize("outcome", ["finished", "failed"])
def test_a_run_that_ended_for_good_is_refused(ws: Workspace, outcome: str) -> None:
    """Terminal runs stay as they are; the message starts a new one."""
    ws.mission("budget:\n  max_iterations: 1\n  max_consecutive_errors: 1\n")
    ws.commit()
    ws.plan(default=noop() if outcome == "finished" else [{"exit": 1}])
    ws.launch()
    refused(ws, ws.run_id(), f"has ended for good: {outcome}, ", "start a new run: omagy autoresearch missions/m")


def test_a_run_is_refused_until_its_question_is_answered(ws: Workspace) -> None:
    """The message shows the question and how to answer it; the answer stands in the next session's instructions."""
    questions = ws.root / ".omagy/state/questions"
    record = {"id": "q7", "run_id": "RUN", "status": "open", "question": "Which format?\nJSON or TOML?"}
    source = ws.root.parent / "question.json"
    source.write_text(json.dumps(record))
    ask = f"mkdir -p '{questions}'; sed s/RUN/$OMAGY_RUN_ID/ '{source}' > '{questions}/q7.json'"
    ws.mission("budget:\n  max_iterations: 2\n")
    ws.commit()
    ws.plan(i1=[{"sh": ask}, {"artifact": {"status": "abort"}}], i2=counted(ws, *candidate(2)))
    assert ws.launch().returncode == 4
    run_id = ws.run_id()
    refused(ws, run_id, "question q7 of this run is not answered: Which format?", "omagy question answer q7")
    answered = {**record, "run_id": run_id, "status": "answered", "answers": [{"answer": "TOML, please"}]}
    (questions / "q7.json").write_text(json.dumps(answered))
    goes_on(ws, run_id)
    instructions = (ws.folder() / "iterations/0002/instructions.md").read_text()
    assert "Question: Which format? JSON or TOML?" in instructions
    assert "Answer: TOML, please" in instructions
    assert ws.decisions() == ["baseline", "abort", "keep"]


def test_while_a_run_is_active_no_other_goes_on(ws: Workspace) -> None:
    """Launching, resuming and rebuilding are refused with the active run's id, how to watch it and how to stop it."""
    first = interrupted(ws)
    ws.plan(default=[{"hang": True}])
    process = ws.start_launch()
    wait_until(lambda: len(ws.run_ids()) == 2, "the second run")
    second = next(run_id for run_id in ws.run_ids() if run_id != first)
    log = ws.folder(second) / "iterations/0001/session.log"
    wait_until(lambda: log.exists() and "hanging" in log.read_text(), "its session")
    ways = (f"watch it: omagy autoresearch watch {second}", f"stop it:  omagy autoresearch stop {second}")
    refused(ws, first, f"run {second} is active in", "one run at a time", *ways)
    refused(ws, second, f"run {second} is active in", *ways)
    for command in (("rebuild", first), ("rebuild", second)):
        done = ws.omagy("autoresearch", *command)
        assert (done.returncode, second in done.stderr) == (2, True)
    wrong = ws.omagy("autoresearch", "stop", first)
    assert wrong.returncode == 2
    assert f"run {first} is not active; the active run is {second}" in wrong.stderr
    assert ws.omagy("autoresearch", "stop", second).returncode == 0
    process.communicate(timeout=PATIENCE_S)
    ws.plan(default=candidate(3))
    goes_on(ws, first)
    assert ws.decisions(first) == ["baseline", "keep", "keep"]


def test_a_damaged_or_moved_run_is_refused(ws: Workspace) -> None:
    """History is never skipped: a damaged line is named, a torn last one is cut; and a run is bound to its place."""
    run_id = interrupted(ws)
    journal = ws.folder() / "journal.jsonl"
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:2], lines[2].replace(b"e", b"x", 1), *lines[3:]]))
    refused(ws, run_id, "journal.jsonl:3 is damaged", "the kept work is safe on the run's branch", status=1)
    journal.write_bytes(whole)
    moved = ws.root.parent / "moved"
    ws.root.rename(moved)
    before = contents(moved)
    done = ws.omagy("autoresearch", "--foreground", "--resume", run_id, cwd=moved)
    assert done.returncode == 2
    assert f"belongs to {ws.root}" in done.stderr
    assert contents(moved) == before
    moved.rename(ws.root)
    journal.write_bytes(whole + b'0badc0de {"at": "20')
    goes_on(ws, run_id)
    assert ws.decisions() == ["baseline", "keep", "keep"]


# -- going on


def test_a_persons_own_commits_in_the_lane_are_not_lost(ws: Workspace) -> None:
    """The run goes on from its last kept commit; what somebody committed in the lane stays under the run's refs, and
    so does what a session left on the lane's branch when it went elsewhere."""
    ws.mission("budget:\n  max_iterations: 2\n")
    ws.commit()
    stray = "git commit -q --allow-empty -m strayed; git checkout -q --detach HEAD~1; echo hanging"
    ws.plan(i1=[{"sh": stray}, {"hang": True}])
    process = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    shell(ws, f"cd '{ws.lane()}' && echo 50 > value.txt && git commit -q -am 'my own'")
    mine = ws.git("rev-parse", "HEAD", cwd=ws.lane())
    ws.plan(default=candidate(3))
    said = goes_on(ws, run_id)
    assert "the commits at the lane's HEAD are saved as refs/omagy/" in said
    refs = ws.git("for-each-ref", "--format=%(objectname) %(subject)", f"refs/omagy/{run_id}")
    assert f"{mine} my own" in refs
    assert " strayed" in refs
    assert ws.manifest()["last_kept_score"] == 3
    assert ws.git("merge-base", mine, ws.manifest()["branch_name"]) == ws.manifest()["baseline_commit"]


def test_a_resume_may_raise_the_totals(ws: Workspace) -> None:
    """Limits on the command line of a resume are totals of the run and stay with it."""
    run_id = interrupted(ws)
    goes_on(ws, run_id, "--max-iterations", "4", "--target-score", "100")
    assert ws.decisions() == ["baseline", "keep", "keep", "discard", "discard"]
    assert "iteration budget used: 4" in ws.manifest()["stop_reason"]


def test_locks_and_an_empty_index_of_a_dead_machine_are_mended(ws: Workspace) -> None:
    """What a killed git or a power cut leaves in the lane's own git folder does not stop a resume."""
    run_id = interrupted(ws)
    admin = ws.root / ".git/worktrees" / ws.lane().name
    for name in ("index.lock", "HEAD.lock"):
        (admin / name).touch()
    (admin / "index").write_bytes(b"")
    goes_on(ws, run_id)
    assert ws.decisions() == ["baseline", "keep", "keep"]
    assert not (admin / "index.lock").exists()


@pytest.mark.parametrize("terminal", ["tmux", "children"])
def test_a_session_that_outlives_its_supervisor_is_adopted(ws: Workspace, terminal: str) -> None:
    """After kill -9 of the supervisor a resume goes on with the living session: it is started only once."""
    if terminal == "children":
        without_tmux(ws)
    go = ws.root.parent / "go"
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(default=counted(ws, {"print": "working"}, {"wait_for": str(go)}, *candidate(2)))
    first = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(1, "working")
    kill(first)
    second = ws.start("autoresearch", "--foreground", "--resume", run_id)
    log = ws.folder() / "supervisor.log"
    wait_until(lambda: "found the session of iteration 1 alive" in log.read_text(), "the adoption")
    kill(second)
    third = ws.start("autoresearch", "--foreground", "--resume", run_id)
    wait_until(lambda: log.read_text().count("found the session of iteration 1 alive") == 2, "the second adoption")
    go.touch()
    _, err = third.communicate(timeout=PATIENCE_S)
    assert third.returncode == 0, err
    assert sessions(ws) == ["1"]
    assert ws.decisions() == ["baseline", "keep"]
    assert ws.ledger()["entries"][1]["session"].get("attempt", 1) == 1


def without_tmux(ws: Workspace) -> None:
    """A PATH on which everything that the tests need is found, but no tmux."""
    tools = ws.root.parent / "tools"
    tools.mkdir()
    for name in ("git", "sh", "env", "python3", "sed", "mkdir", "sleep", "setsid"):
        (tools / name).symlink_to(shutil.which(name) or "")
    ws.environment["PATH"] = str(tools)


def test_time_without_a_supervisor_does_not_use_up_the_time_budget(ws: Workspace) -> None:
    """A session that worked through five hours without one is adopted, and has what was left of the run's hour."""
    go = ws.root.parent / "go"
    ws.mission("budget:\n  max_iterations: 1\n  max_wall_time: 1h\n")
    ws.commit()
    ws.plan(default=counted(ws, {"print": "working"}, {"wait_for": str(go)}, *candidate(2)))
    first = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(1, "working")
    kill(first)
    let_it_be_long_ago(ws, hours=5)
    second = ws.start("autoresearch", "--foreground", "--resume", run_id)
    log = ws.folder() / "supervisor.log"
    wait_until(lambda: "found the session of iteration 1 alive" in log.read_text(), "the adoption")
    go.touch()
    _, err = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 0, err
    assert sessions(ws) == ["1"]
    assert ws.decisions() == ["baseline", "keep"]
    assert ws.manifest()["elapsed_s"] < 3600


def test_a_session_that_ended_without_a_supervisor_is_collected(ws: Workspace) -> None:
    """A session that finished its work while nobody supervised it is judged by the next resume, not run again."""
    go = ws.root.parent / "go"
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(default=counted(ws, {"print": "working"}, {"wait_for": str(go)}, *candidate(2)))
    first = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(1, "working")
    kill(first)
    go.touch()
    wait_until((ws.folder() / "iterations/0001/exit.json").exists, "the session's end")
    goes_on(ws, run_id)
    assert sessions(ws) == ["1"]
    assert ws.decisions() == ["baseline", "keep"]


def test_after_a_reboot_a_session_is_tried_again(ws: Workspace) -> None:
    """When everything died with the machine the iteration gets another attempt, what the session left is saved, and
    an attempt that is lost again and again is an error, not a loop without end."""
    ws.mission("budget:\n  max_iterations: 2\n")
    ws.commit()
    ws.plan(default=counted(ws, {"write": {"draft.txt": "half"}}, {"hang": True}))
    process = ws.start_launch()
    run_id = ws.wait_for_run()
    for attempt in (1, 2, 3):
        folder = ws.folder() / "iterations/0001" / ("" if attempt == 1 else f"attempt-{attempt}")
        log = folder / "session.log"
        wait_until(lambda log=log: log.exists() and "hanging" in log.read_text(), f"attempt {attempt}")  # type: ignore[misc]
        ws.kill_all()
        process.communicate(timeout=PATIENCE_S)
        if attempt == 3:
            ws.plan(default=counted(ws, *candidate(2)))
        process = ws.start("autoresearch", "--foreground", "--resume", run_id)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert sessions(ws) == ["1", "1", "1", "2"]
    assert ws.decisions() == ["baseline", "error", "keep"]
    assert "without a trace" in ws.ledger()["entries"][1]["decision_reason"]
    for attempt in (1, 2, 3):
        assert ws.git("show", f"refs/omagy/{run_id}/leftovers/1.{attempt}:draft.txt") == "half"


def test_an_agent_whose_runner_and_supervisor_were_killed_does_not_go_on_beside_its_successor(ws: Workspace) -> None:
    """An orphaned agent is ended before its iteration gets another attempt."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(
        default=counted(ws, {"print": "working"}, {"sh": 'echo $PPID > "$OMAGY_CANDIDATE_FILE.pid"'}, {"hang": True})
    )
    process = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(1)
    agent = int((ws.folder() / "iterations/0001/outbox/candidate.json.pid").read_text())
    runner = psutil.Process(json.loads((ws.folder() / "iterations/0001/runner.json").read_text())["pid"])
    kill(process)
    runner.kill()
    wait_until(lambda: not runner.is_running(), "the runner's death")
    assert lives(agent)
    ws.plan(default=counted(ws, *candidate(2)))
    goes_on(ws, run_id)
    assert not lives(agent)
    assert sessions(ws) == ["1", "1"]
    assert ws.decisions() == ["baseline", "keep"]


def test_a_session_whose_window_was_closed_after_its_supervisor_died_is_tried_again(ws: Workspace) -> None:
    """Whoever ends what is left of a dead run before the resume, or a machine that goes down, makes no error."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(default=counted(ws, {"hang": True}))
    process = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(1)
    runner = psutil.Process(json.loads((ws.folder() / "iterations/0001/runner.json").read_text())["pid"])
    kill(process)
    kill(tmux_server(ws))
    wait_until(lambda: not lives(runner.pid), "the runner's end")
    assert (ws.folder() / "iterations/0001/exit.json").exists()
    ws.plan(default=counted(ws, *candidate(2)))
    goes_on(ws, run_id)
    assert sessions(ws) == ["1", "1"]
    assert ws.decisions() == ["baseline", "keep"]


def test_an_evaluation_whose_supervisor_was_killed_is_repeated(ws: Workspace) -> None:
    """After kill -9 in an evaluation a resume ends the old evaluator with what it started, and measures again."""
    evaluator = (
        "import os, subprocess, sys, time\nvalue = float(open('value.txt').read())\n"
        "mark = os.environ['OMAGY_RESULT_FILE'] + '.pids'\n"
        "if value > 1 and not os.path.exists(mark):\n"
        "    child = subprocess.Popen(['setsid', 'sleep', '600'])\n"
        "    open(mark, 'w').write(f'{os.getpid()} {child.pid}.')\n    time.sleep(600)\n"
        'print(\'{"pass": true, "score": %s}\' % value)\n'
    )
    ws.mission("budget:\n  max_iterations: 1\n", evaluator=evaluator)
    ws.commit()
    ws.plan(default=counted(ws, *candidate(2)))
    process = ws.start_launch()
    run_id = ws.wait_for_run()
    mark = ws.folder() / "iterations/0001/evaluator-result.json.pids"
    wait_until(lambda: mark.exists() and mark.read_text().endswith("."), "the evaluation")
    kill(process)
    pids = [int(pid) for pid in mark.read_text().rstrip(".").split()]
    assert all(lives(pid) for pid in pids)
    goes_on(ws, run_id)
    assert not any(lives(pid) for pid in pids)
    assert ws.decisions() == ["baseline", "keep"]
    assert sessions(ws) == ["1"]


def test_a_tmux_server_that_dies_ends_the_session_but_not_the_run(ws: Workspace) -> None:
    """After kill -9 of the tmux server the session counts as broken, and the next one gets a new server."""
    ws.mission("budget:\n  max_iterations: 2\n")
    ws.commit()
    ws.plan(i1=counted(ws, {"hang": True}), i2=counted(ws, *candidate(2)))
    process = ws.start_launch()
    ws.wait_for_run()
    ws.wait_for_session(1)
    kill(tmux_server(ws))
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert ws.decisions() == ["baseline", "error", "keep"]
    assert "its window was closed" in ws.ledger()["entries"][1]["decision_reason"]
    assert sessions(ws) == ["1", "2"]


# -- looking


def test_list_and_status_show_every_state_and_the_next_command(ws: Workspace) -> None:
    """Running, interrupted, stopped and finished runs are told apart, for people and for programs."""
    ws.mission("budget:\n  max_iterations: 2\n  max_wall_time: 2h\n")
    ws.commit()
    listed = ws.omagy("autoresearch", "list").stdout
    assert "No runs in this repository yet" in listed
    assert "git branch" not in listed
    assert json.loads(ws.omagy("autoresearch", "list", "--json").stdout) == {
        "active": None,
        "runs": [],
        "unreadable": [],
        "active_elsewhere": None,
    }
    ws.plan(default=[{"hang": True}])

    process = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session()
    expect_state(ws, run_id, "in session", f"omagy autoresearch watch {run_id}", active=True)
    kill(process)
    expect_state(ws, run_id, "interrupted", f"omagy autoresearch --resume {run_id}", active=False)
    assert re.fullmatch(rf"{_MOMENT} at the earliest, {_DURATION} ago", status_rows(ws, run_id)["since"])

    ws.plan(default=candidate(2))
    launched = ws.launch()
    assert f"run {run_id} was interrupted; resume it with: omagy autoresearch --resume {run_id}" in launched.stderr
    (other,) = (found for found in ws.run_ids() if found != run_id)
    assert re.fullmatch(rf"{_MOMENT}, {_DURATION} ago", status_rows(ws, other)["ended"])
    assert status_rows(ws, other)["iteration"] == "2 of 2 (1 keep, 1 discard)"
    assert " at work of at most 2h 00m" in status_rows(ws, other)["started"]
    review = f"git log --stat {ws.manifest(other)['baseline_commit'][:12]}..{ws.manifest(other)['branch_name']}"
    expect_state(ws, other, "finished", review, active=False)

    ws.plan(default=[{"print": "again"}, {"hang": True}])
    second = ws.start("autoresearch", "--foreground", "--resume", run_id)
    logs = ws.folder(run_id) / "iterations"
    wait_until(lambda: any("again" in log.read_text() for log in logs.rglob("session.log")), "the next session")
    second.send_signal(signal.SIGTERM)
    second.communicate(timeout=PATIENCE_S)
    expect_state(ws, run_id, "userinterlude", f"omagy autoresearch --resume {run_id}", active=False)
    ws.plan(default=candidate(2))
    goes_on(ws, run_id)
    listed = json.loads(ws.omagy("autoresearch", "list", "--json").stdout)
    assert {run["run_id"]: run["state"] for run in listed["runs"]} == {run_id: "finished", other: "finished"}
    table = ws.omagy("autoresearch", "list", cwd=ws.root / "missions").stdout.splitlines()
    assert table[0].split() == ["RUN", "STATE", "KEPT", "SCORE", "UPDATED"]
    assert len(table) == 3
    assert "  1 of 2  1 → 2  " in next(line for line in table if line.startswith(run_id))
    narrow = Dialogue(ws, "autoresearch", "list", columns=len(table[1]) - 1)
    assert narrow.end() == 0
    lines = narrow.shown.splitlines()
    assert all(len(line) < len(table[1]) for line in lines)
    assert [line.split() for line in lines if not line.startswith(" ")] == [
        ["RUN"],
        *([run["run_id"]] for run in listed["runs"]),
    ]
    assert " ".join(narrow.shown.split()) == " ".join(" ".join(table).split())
    assert "\033" not in "".join(table)


_MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_DURATION = r"\d\S*(?: \d+s)?"


def status_rows(ws: Workspace, run_id: str) -> dict[str, str]:
    text = ws.omagy("autoresearch", "status", run_id).stdout
    return dict(line.split(maxsplit=1) for line in text.splitlines())


def expect_state(ws: Workspace, run_id: str, state: str, command: str, *, active: bool) -> None:
    """status, status --json and list agree on the state of ``run_id``."""
    facts = json.loads(ws.omagy("autoresearch", "status", run_id, "--json").stdout)
    assert (facts["state"], facts["active"], facts["next_command"]) == (state, active, command)
    assert facts["records"] == str(ws.folder(run_id))
    assert facts["last_kept_commit"] == ws.manifest(run_id)["last_kept_commit"]
    rows = status_rows(ws, run_id)
    assert rows["state"].startswith(state)
    assert rows["next"] == command
    listed = ws.omagy("autoresearch", "list")
    rows_of_run = [line for line in listed.stdout.splitlines() if line.startswith(f"{run_id} ")]
    assert [state in row for row in rows_of_run] == [True], listed


def looks_at(process: subprocess.Popen[str], file: Path) -> bool:
    return str(file) in [opened.path for opened in psutil.Process(process.pid).open_files()]


def test_watch_shows_a_run_to_its_end(ws: Workspace) -> None:
    """A second terminal follows the run with its own exit status; an ended run shows its handoff at once."""
    go = ws.root.parent / "go"
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(default=[{"print": "working"}, {"wait_for": str(go)}, *candidate(2)])
    process = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(1, "working")
    watch = ws.start("autoresearch", "watch")
    wait_until(lambda: looks_at(watch, ws.folder() / "supervisor.log"), "the watching")
    go.touch()
    out, err = watch.communicate(timeout=PATIENCE_S)
    assert watch.returncode == 0
    assert "iteration 1: keep, score improved: 1 → 2" in err
    assert "## Outcome" in out
    process.communicate(timeout=PATIENCE_S)
    again = ws.omagy("autoresearch", "watch", run_id)
    assert (again.returncode, again.stdout) == (0, out)
    ws.plan(default=[{"hang": True}])
    died = ws.start_launch()
    wait_until(lambda: len(ws.run_ids()) == 2, "another run")
    (other,) = (found for found in ws.run_ids() if found != run_id)
    wait_until((ws.folder(other) / "manifest.json").exists, "its manifest")
    watch = ws.start("autoresearch", "watch", other)
    wait_until(lambda: looks_at(watch, ws.folder(other) / "supervisor.log"), "the watching")
    kill(died)
    _, err = watch.communicate(timeout=PATIENCE_S)
    assert watch.returncode == 1
    assert f"the supervisor of run {other} is gone without ending the run" in err
    assert f"omagy autoresearch --resume {other}" in err
    ws.kill_all()


def test_a_view_of_an_ended_run_ends_once_its_supervisor_has_let_go(ws: Workspace) -> None:
    """Its last words are shown, and what is typed next is not refused for its sake."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(default=noop())
    assert ws.launch().returncode == 0
    supervisor = RunLock(StateRoot(ws.root).lock)
    assert supervisor.acquire()
    watch = ws.start("autoresearch", "watch")
    log = ws.folder() / "supervisor.log"
    wait_until(lambda: looks_at(watch, log), "the watching")
    with log.open("a") as file:
        file.write("its last words\n")
    supervisor.release()
    out, err = watch.communicate(timeout=PATIENCE_S)
    assert (watch.returncode, "## Outcome" in out) == (0, True)
    assert err.endswith("its last words\n")


# -- contradictions


def test_records_that_know_more_than_the_journal_are_refused_until_they_are_rebuilt(ws: Workspace) -> None:
    """An older copy of the journal would lose history: the resume says what does not fit, and the way out."""
    run_id = interrupted(ws)
    journal = ws.folder() / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:6]))
    said = refused(ws, run_id, "STOP-RECONCILE-001", f"omagy autoresearch rebuild {run_id}")
    assert "the manifest says userinterlude, and the journal has no such end" in said
    journal.write_bytes(b"".join(lines))
    manifest = ws.folder() / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"userinterlude"', '"finished"'))
    refused(ws, run_id, "STOP-RECONCILE-001", "the manifest says finished, and the journal has no such end")
    assert ws.omagy("autoresearch", "rebuild", run_id).returncode == 0
    goes_on(ws, run_id)
    assert ws.decisions() == ["baseline", "keep", "keep"]
