"""Every way a run ends: outcome, reason, records, exit status, and a lane as the contract says (section 5)."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.dialogue import Dialogue
from fakes.used_time import let_time_be_used
from fakes.workspace import PATIENCE_S, Acts, Workspace, candidate, lives, noop, told, wait_until

SOFTENERS = ("If you want", "if you want", "Would you like", "would you like", "feel free", "Let me know")
PARTS = ["Outcome", "Evidence", "Artifacts / state", "Handoff"]
EXIT = {"finished": 0, "failed": 1, "blocked": 3, "askuserQuestion": 4, "userinterlude": 130}


def launches(ws: Workspace) -> Path:
    """A file outside of the repository that gets a line for each session."""
    return ws.root.parent / "launches"


def counted(ws: Workspace, *acts: dict[str, object]) -> Acts:
    return [{"sh": f"echo $OMAGY_ITERATION >> '{launches(ws)}'"}, *acts]


def prepared(ws: Workspace, frontmatter: str = "", **plan: Acts) -> None:
    ws.mission(frontmatter)
    ws.commit()
    ws.plan(**plan)


def expect_end(
    ws: Workspace, done: subprocess.CompletedProcess[str], outcome: str, *words: str, untouched: bool = False
) -> str:
    """The run ended so: in manifest, ledger, handoff and exit status; nothing runs any more. Returns the handoff."""
    assert done.returncode == EXIT[outcome], done.stderr
    manifest, ledger = ws.manifest(), ws.ledger()
    assert (manifest["lifecycle_outcome"], manifest["status"]) == (outcome, "ended")
    assert ledger["lifecycle_outcome"] == outcome
    for word in words:
        assert word in manifest["stop_reason"]
    assert ledger["stop_reason"] == manifest["stop_reason"]
    assert manifest["completed_at"] >= manifest["created_at"]
    handoff = (ws.folder() / "handoff.md").read_text()
    assert re.findall(r"^## (.*)$", handoff, re.MULTILINE) == PARTS
    assert f"- {outcome}: {manifest['stop_reason']}\n" in handoff
    assert handoff in done.stdout + "\n"
    assert not [words for words in SOFTENERS if words in handoff]
    data = json.loads((ws.folder() / "handoff.json").read_text())
    assert (data["outcome"], data["reason"]) == (outcome, manifest["stop_reason"])
    pointer = json.loads((ws.root / ".omagy/state/autoresearch-state.json").read_text())
    assert (pointer["run_id"], pointer["active"]) == (ws.run_id(), False)
    expect_nothing_runs(ws)
    if not untouched:
        assert ws.git("rev-parse", "HEAD", cwd=ws.lane()) == manifest["last_kept_commit"]
        assert ws.git("status", "--porcelain", cwd=ws.lane()) == ""
    return handoff


def expect_nothing_runs(ws: Workspace) -> None:
    assert ws.wait_for_quiet() == []
    wait_until(lambda: ws.tmux("list-sessions").returncode != 0, "the end of tmux")


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=PATIENCE_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


# -- finished


@pytest.mark.parametrize("way", ["key", "flag", "flag over key"])
def test_a_run_finishes_at_its_target_score(ws: Workspace, way: str) -> None:
    """Once the kept score reaches the target no further session is started; a flag goes over the key."""
    keys = {"key": "budget:\n  target_score: 4\n", "flag over key": "budget:\n  target_score: 9\n"}
    prepared(ws, keys.get(way, ""), i1=candidate(3), i2=candidate(4), i3=candidate(5))
    done = ws.launch(*(() if way == "key" else ("--target-score", "4")))
    handoff = expect_end(ws, done, "finished", "target score reached: 4 (budget.target_score 4)")
    assert ws.decisions() == ["baseline", "keep", "keep"]
    assert "score: 1 → 4 (+300.0%), maximize" in handoff
    assert "git merge --no-ff" in handoff
    subprocess.run(
        ["sh", "-c", re.findall(r"review with `(.*)`", handoff)[0]], cwd=ws.root, env=ws.environment, check=True
    )
    merge = re.findall(r"take it over with `(.*)`", handoff)[0]
    subprocess.run(["sh", "-c", merge], cwd=ws.root, env=ws.environment, check=True, capture_output=True)
    assert (ws.root / "value.txt").read_text() == "4"


def test_a_baseline_at_the_target_needs_no_session(ws: Workspace) -> None:
    """With direction minimize the target is a ceiling; one that is reached already ends the run before a session."""
    ws.mission("budget:\n  target_score: 1.5\n", evaluator_keys="  direction: minimize\n")
    ws.commit()
    ws.plan(default=counted(ws))
    handoff = expect_end(ws, ws.launch(), "finished", "target score reached: 1")
    assert not launches(ws).exists()
    assert "nothing was kept" in handoff


@pytest.mark.parametrize("options", [(), ("--max-iterations", "2"), ("--max-iterations=2",)])
def test_a_run_finishes_after_its_iterations(ws: Workspace, options: tuple[str, ...]) -> None:
    """Every decided iteration counts, whatever was decided."""
    prepared(ws, f"budget:\n  max_iterations: {9 if options else 2}\n", i1=noop(), i2=[{"exit": 1}], i3=candidate(9))
    handoff = expect_end(ws, ws.launch(*options), "finished", "iteration budget used: 2 (budget.max_iterations)")
    assert ws.decisions() == ["baseline", "noop", "error"]
    assert "2 iterations in" in handoff


@pytest.mark.parametrize("way", ["key", "flag"])
def test_the_time_budget_cuts_a_session_short(ws: Workspace, way: str) -> None:
    """When the time is used up the session under way is ended, what it left is saved, and no other is started."""
    session = counted(ws, {"write": {"draft.txt": "half"}}, {"hang": True})
    prepared(ws, "budget:\n  max_wall_time: 1h\n" if way == "key" else "", default=session)
    process = ws.start_launch(*(() if way == "key" else ("--max-wall-time", "1h")))
    ws.wait_for_run()
    ws.wait_for_session()
    process.kill()
    process.wait()
    let_time_be_used(ws, 3599)
    done = ws.resume(ws.run_id())
    expect_end(ws, done, "finished", "time budget used:", "(budget.max_wall_time)")
    assert launches(ws).read_text() == "1\n"
    assert ws.manifest()["elapsed_s"] >= 3600
    assert ws.git("show", f"refs/omagy/{ws.run_id()}/leftovers/1.1:draft.txt") == "half"
    assert "waiting" not in done.stderr


@pytest.mark.parametrize(
    ("key", "acts", "words"),
    [
        ("max_consecutive_noops", noop(), "2 noops in a row (budget.max_consecutive_noops)"),
        ("max_consecutive_discards", candidate(0), "2 discards in a row (budget.max_consecutive_discards)"),
    ],
)
def test_a_run_finishes_when_nothing_comes_any_more(ws: Workspace, key: str, acts: Acts, words: str) -> None:
    """A limit on noops or discards in a row ends the run; anything between them starts the count anew."""
    other = candidate(2)
    prepared(ws, f"budget:\n  {key}: 2\n", i1=acts, i2=other, default=acts)
    expect_end(ws, ws.launch(), "finished", words)
    assert len(ws.decisions()) == 1 + 4


# -- failed


@pytest.mark.parametrize("options", [(), ("--max-consecutive-errors", "2")])
def test_errors_in_a_row_end_a_run_as_failed(ws: Workspace, options: tuple[str, ...]) -> None:
    """The limit is 3 unless said otherwise; a session that does its work in between starts the count anew."""
    prepared(ws, i1=[{"exit": 3}], i2=candidate(2), default=[{"print": "oops"}, {"exit": 3}])
    limit = 2 if options else 3
    handoff = expect_end(
        ws, ws.launch(*options), "failed", f"{limit} errors in a row, the last: the session wrote no"
    )
    assert ws.decisions() == ["baseline", "error", "keep", *["error"] * limit]
    assert "session.log" in handoff
    assert "kept work: `git log --stat" in handoff
    assert "omagy autoresearch missions/m" in handoff
    assert (ws.folder() / "iterations/0003/session.log").read_text() == "oops\n"


def test_a_worktree_that_a_session_removed_does_not_end_the_run(ws: Workspace) -> None:
    """The lane is made again at the last kept commit, and the iteration counts as an error."""
    prepared(
        ws, "budget:\n  max_iterations: 3\n", i2=[{"sh": 'cd /; rm -rf "$OMAGY_WORKTREE"'}], default=candidate(2)
    )
    done = ws.launch()
    expect_end(ws, done, "finished", "iteration budget used: 3")
    assert f"the worktree {ws.lane()} was gone; it is made anew" in " ".join(done.stderr.split())
    assert ws.decisions() == ["baseline", "keep", "error", "discard"]
    assert (ws.lane() / "value.txt").read_text() == "2"


# -- blocked


def test_the_same_evaluator_error_again_and_again_blocks_a_run(ws: Workspace) -> None:
    """Three evaluations that fail alike are the evaluator's trouble, not the candidates': the run asks for it."""
    evaluator = (
        "import sys\nfrom pathlib import Path\nvalue = float(Path('value.txt').read_text())\n"
        "if value > 5: sys.exit('the licence server is down')\nprint('{\"pass\": true, \"score\": %s}' % value)\n"
    )
    ws.mission(evaluator=evaluator)
    ws.commit()
    ws.plan(i1=candidate(6), i2=candidate(2), default=candidate(7))
    handoff = expect_end(ws, ws.launch(), "blocked", "the evaluator failed 3 times in a row in the same way: ")
    assert ws.decisions() == ["baseline", "discard", "keep", "discard", "discard", "discard"]
    assert "remove the blocker: what `" in handoff
    assert f"omagy autoresearch --resume {ws.run_id()}" in handoff
    assert "licence server" in ws.ledger()["entries"][-1]["evaluator"]["stderr_tail"]


def test_sessions_that_fail_at_once_and_alike_block_a_run(ws: Workspace) -> None:
    """Without a limit on errors five quick failures of one kind still end the run: something is missing."""
    prepared(ws, "budget:\n  max_consecutive_errors: off\n", default=[{"exit": 9}])
    expect_end(ws, ws.launch(), "blocked", "5 sessions in a row failed at once and alike", "status 9")


def test_a_broken_baseline_blocks_a_run_before_a_session_is_paid_for(ws: Workspace) -> None:
    """An evaluator that cannot measure the starting point ends the run; the same run goes on once it works."""
    needed = ws.root.parent / "needed"
    ws.mission("budget:\n  max_iterations: 1\n", evaluator=f"print(open({str(needed)!r}).read())")
    ws.commit()
    ws.plan(default=counted(ws, *noop()))
    handoff = expect_end(ws, ws.launch(), "blocked", "the baseline cannot be measured: the evaluator exited with")
    assert not launches(ws).exists()
    assert ws.ledger()["entries"][0]["evaluator"]["fault"] == "exit_status"
    assert "missions/m/eval.py` needs from outside the repository" in handoff
    needed.write_text('{"pass": true, "score": 1}')
    again = ws.resume(ws.run_id())
    expect_end(ws, again, "finished", "iteration budget used: 1")
    assert ws.decisions()[-2:] == ["baseline", "noop"]
    assert ws.manifest()["last_kept_score"] == 1


def test_a_broken_baseline_can_be_allowed(ws: Workspace) -> None:
    """With --allow-broken-baseline the loop starts all the same, and the first candidate that passes is kept."""
    ws.write("value.txt", "not a number")
    prepared(ws, "budget:\n  max_iterations: 2\n", i1=candidate("still none"), i2=candidate(-5))
    expect_end(ws, ws.launch("--allow-broken-baseline"), "finished")
    assert ws.decisions() == ["baseline", "discard", "keep"]
    assert ws.manifest()["last_kept_score"] == -5


def test_a_command_that_no_shell_can_read_blocks_a_run(ws: Workspace) -> None:
    """An agent that cannot work is found out before the first session."""
    prepared(ws)
    done = ws.omagy("autoresearch", "--foreground", "--agent", "command:if", "missions/m")
    assert done.returncode == 3
    assert ws.manifest()["lifecycle_outcome"] == "blocked"
    assert "not a valid shell command" in ws.manifest()["stop_reason"]
    assert "check its quotes" in done.stdout


def lane_as_left(ws: Workspace) -> None:
    """The lane is as the session left it: its commit and its uncommitted change."""
    assert (ws.lane() / "value.txt").read_text() == "7"
    assert (ws.lane() / "kept.txt").read_text() == "half done"
    assert ws.git("log", "-1", "--format=%s", cwd=ws.lane()) == "six"
    assert ws.git("status", "--porcelain", cwd=ws.lane()) == "M value.txt\n?? kept.txt"
    assert ws.git("rev-parse", "HEAD", cwd=ws.lane()) != ws.manifest()["last_kept_commit"]


LEAVE: Acts = [
    {"write": {"value.txt": "6"}},
    {"commit": "six"},
    {"write": {"value.txt": "7", "kept.txt": "half done"}},
]


def test_an_abort_blocks_a_run_and_leaves_the_lane_alone(ws: Workspace) -> None:
    """What the agent saw when it gave up is what the operator finds; its commit is pinned all the same."""
    abort = [*LEAVE, {"artifact": {"status": "abort", "description": "no compiler on this machine"}}]
    prepared(ws, i1=candidate(2), i2=abort)
    handoff = expect_end(ws, ws.launch(), "blocked", "the agent aborted: no compiler on this machine", untouched=True)
    lane_as_left(ws)
    entry = ws.ledger()["entries"][-1]
    assert (entry["decision"], entry["candidate_status"], entry["leftovers_ref"]) == ("abort", "abort", None)
    assert ws.git("rev-parse", f"refs/omagy/{ws.run_id()}/cand/2") == entry["candidate_commit"]
    assert f"git -C {ws.lane()} status" in handoff
    assert ws.manifest()["last_kept_score"] == 2


def test_a_dirty_interrupted_session_blocks_a_run_and_leaves_the_lane_alone(ws: Workspace) -> None:
    """A session that could not finish and left uncommitted work waits for the operator, untouched."""
    prepared(ws, i1=[*LEAVE, {"artifact": {"status": "interrupted"}}])
    expect_end(ws, ws.launch(), "blocked", "interrupted session left uncommitted changes", untouched=True)
    lane_as_left(ws)
    assert ws.ledger()["entries"][-1]["dirty_files"] == ["value.txt", "kept.txt"]


def test_work_that_an_interrupted_session_hid_waits_for_the_operator_as_well(ws: Workspace) -> None:
    """An index that calls a changed file unchanged does not make the session's work go away."""
    hide = {"sh": "git update-index --assume-unchanged value.txt"}
    prepared(ws, i1=[hide, {"write": {"value.txt": "7"}}, {"artifact": {"status": "interrupted"}}])
    expect_end(ws, ws.launch(), "blocked", "interrupted session left uncommitted changes", untouched=True)
    assert (ws.lane() / "value.txt").read_text() == "7"
    assert ws.ledger()["entries"][-1]["dirty_files"] == ["value.txt"]


# -- askuserQuestion


@pytest.mark.parametrize("status", ["abort", "noop"])
def test_an_open_question_ends_a_run_as_ask_user_question(ws: Workspace, status: str) -> None:
    """A session that asked something ends the run with the question; after an abort the lane is left alone."""
    question = {"id": "q1", "run_id": "RUN", "status": "open", "question": "Which of the two formats?"}
    ask = (
        f"mkdir -p '{ws.root}/.omagy/state/questions'; echo '{json.dumps(question)}' | "
        f"sed s/RUN/$OMAGY_RUN_ID/ > '{ws.root}/.omagy/state/questions/q1.json'"
    )
    prepared(ws, i1=[{"sh": ask}, {"write": {"kept.txt": "x"}}, {"artifact": {"status": status}}])
    left_alone = status == "abort"
    handoff = expect_end(ws, ws.launch(), "askuserQuestion", "question q1 waits", untouched=left_alone)
    assert (ws.lane() / "kept.txt").exists() is left_alone
    assert ws.ledger()["entries"][-1]["question_id"] == "q1"
    assert "Which of the two formats?" in handoff
    assert "omagy question answer q1 '<your answer>'" in handoff
    assert f"omagy autoresearch --resume {ws.run_id()}" in handoff


# -- userinterlude


def ctrl_c(ws: Workspace, process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)


def impatient_ctrl_c(ws: Workspace, process: subprocess.Popen[str]) -> None:
    for _ in range(3):
        process.send_signal(signal.SIGINT)


def terminate(ws: Workspace, process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)


def hang_up(ws: Workspace, process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGHUP)


def stop(ws: Workspace, process: subprocess.Popen[str]) -> None:
    done = ws.omagy("autoresearch", "stop", ws.run_id())
    assert done.returncode == 0, done.stderr
    assert f"omagy autoresearch --resume {ws.run_id()}" in done.stderr
    assert ws.manifest()["lifecycle_outcome"] == "userinterlude", "stop returns when the run has stopped"


@pytest.mark.parametrize(
    ("way", "by"),
    [
        (ctrl_c, "Ctrl-C"),
        (impatient_ctrl_c, "Ctrl-C"),
        (terminate, "SIGTERM"),
        (hang_up, "SIGHUP"),
        (stop, "omagy autoresearch stop"),
    ],
)
def test_a_run_that_is_stopped_in_a_session_can_be_resumed(
    ws: Workspace, way: Callable[[Workspace, subprocess.Popen[str]], None], by: str
) -> None:
    """However a run is stopped, its session ends, its leftovers are saved, and it says how to go on."""
    prepared(ws, i1=candidate(2), i2=[{"write": {"draft.txt": "half"}}, {"hang": True}])
    process = ws.start_launch()
    ws.wait_for_run()
    ws.wait_for_session(2)
    way(ws, process)
    handoff = expect_end(ws, ended(process), "userinterlude", f"stopped by {by}")
    assert ws.decisions() == ["baseline", "keep"]
    assert ws.git("show", f"refs/omagy/{ws.run_id()}/leftovers/2.1:draft.txt") == "half"
    assert f"omagy autoresearch --resume {ws.run_id()}" in handoff
    shown = (ws.folder() / "iterations/0002/session.log").read_text().splitlines()
    assert "omagy ends this session: the run was asked to stop" in shown


def test_a_run_that_is_stopped_in_an_evaluation_measures_again(ws: Workspace) -> None:
    """A stop ends the evaluator with everything it started; the candidate waits, and a resume measures it anew.

    Evaluator and child hang for longer than the test may take: only the stop can end them in time.
    """
    slow = (
        "import os, subprocess, sys, time\nvalue = float(open('value.txt').read())\n"
        "mark = os.environ['OMAGY_RESULT_FILE'] + '.pid'\n"
        "if value > 1 and not os.path.exists(mark):\n"
        "    child = subprocess.Popen(['setsid', 'sleep', '600'])\n"
        "    open(mark, 'w').write(f'{child.pid}\\n')\n    time.sleep(600)\n"
        'print(\'{"pass": true, "score": %s}\' % value)\n'
    )
    ws.mission("budget:\n  max_iterations: 1\n", evaluator=slow)
    ws.commit()
    ws.plan(i1=counted(ws, *candidate(2)))
    process = ws.start_launch()
    ws.wait_for_run()
    mark = ws.folder() / "iterations/0001/evaluator-result.json.pid"
    child = int(told(mark))
    process.send_signal(signal.SIGTERM)
    expect_end(ws, ended(process), "userinterlude", "stopped by SIGTERM")
    assert not lives(child)
    assert ws.decisions() == ["baseline"]
    expect_end(ws, ws.resume(ws.run_id()), "finished")
    assert ws.decisions() == ["baseline", "keep"]
    assert launches(ws).read_text() == "1\n"


def test_stop_after_iteration_lets_the_iteration_be_decided(ws: Workspace) -> None:
    """The session under way ends by itself, its candidate is decided on, and no other session is started."""
    go = ws.root.parent / "go"
    prepared(ws, i1=[{"print": "working"}, {"wait_for": str(go)}, *candidate(2)], default=[{"hang": True}])
    process = ws.start_launch()
    ws.wait_for_run()
    ws.wait_for_session(1, "working")
    asked = ws.omagy("autoresearch", "stop", "--after-iteration")
    assert asked.returncode == 0
    assert "stops after the iteration it is in" in asked.stderr
    assert process.poll() is None
    assert "stopping  after the iteration it is in" in ws.omagy("autoresearch", "status").stdout
    go.touch()
    done = ended(process)
    expect_end(ws, done, "userinterlude", "stopped by omagy autoresearch stop")
    assert ws.decisions() == ["baseline", "keep"]
    assert "asked to stop after this iteration" in done.stderr
    assert "stopping" not in ws.omagy("autoresearch", "status").stdout


def test_a_stop_now_overtakes_a_stop_after_the_iteration(ws: Workspace) -> None:
    """Who cannot wait for the end of the iteration asks again, without --after-iteration."""
    prepared(ws, default=[{"hang": True}])
    process = ws.start_launch()
    ws.wait_for_run()
    ws.wait_for_session()
    assert ws.omagy("autoresearch", "stop", "--after-iteration").returncode == 0
    assert ws.omagy("autoresearch", "stop").returncode == 0
    expect_end(ws, ended(process), "userinterlude", "stopped by omagy autoresearch stop")


def test_an_agent_that_ignores_signals_is_ended_all_the_same(ws: Workspace) -> None:
    """A session that traps INT and TERM is killed after its grace, and the stop holds."""
    prepared(ws)
    trap = "trap '' INT TERM HUP; echo hanging; while :; do sleep 600; done"
    process = ws.start("autoresearch", "--foreground", "--agent", f"command:{trap}", "missions/m")
    ws.wait_for_run()
    ws.wait_for_session()
    process.send_signal(signal.SIGINT)
    expect_end(ws, ended(process), "userinterlude", "stopped by Ctrl-C")


def test_a_stop_before_the_baseline_is_measured_leaves_a_run_to_resume(ws: Workspace) -> None:
    """Even a run that was stopped in its first evaluation has its records, and goes on from there."""
    go = ws.root.parent / "go"
    slow = (
        f"import os, time\nopen({str(go)!r} + '.started', 'w')\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.02)\n"
        'print(\'{"pass": true, "score": 1}\')\n'
    )
    ws.mission("budget:\n  max_iterations: 1\n", evaluator=slow)
    ws.commit()
    ws.plan(default=noop())
    process = ws.start_launch()
    wait_until(lambda: Path(f"{go}.started").exists(), "the evaluation")
    process.send_signal(signal.SIGINT)
    expect_end(ws, ended(process), "userinterlude", "stopped by Ctrl-C")
    assert ws.decisions() == []
    go.touch()
    expect_end(ws, ws.resume(ws.run_id()), "finished")
    assert ws.decisions() == ["baseline", "noop"]


def test_on_a_narrow_terminal_the_view_breaks_between_words(ws: Workspace) -> None:
    """And leaves paths and commands whole, which a person copies."""
    prepared(ws, "budget:\n  max_iterations: 1\n", i1=candidate(2))
    ws.launch()
    view = Dialogue(ws, "autoresearch", "watch", columns=60)
    assert view.end() == 0
    shown = view.shown.partition("# Run")[0].splitlines()
    worktree = str(ws.manifest()["worktree_path"])
    assert all(len(line) < 60 for line in shown if worktree not in line), shown
    assert [line for line in shown if line.strip() == worktree]
    clock = re.compile(r"\d\d:\d\d:\d\d  \S|\d{4}-\d\d-\d\d$|          \S|$")
    assert all(clock.match(line) for line in shown), shown
    handoff = (ws.folder() / "handoff.md").read_text().splitlines()
    commands = [re.findall("`.*`", line)[0] for line in handoff if "`" in line]
    assert len(commands) == 3
    assert all(any(command in line for line in view.shown.splitlines()) for command in commands)
    assert not [line for line in handoff if line.startswith("- measured again") and line in view.shown]


def test_on_a_narrow_terminal_the_notes_of_a_launch_break_between_words(ws: Workspace) -> None:
    """As all that a launch tells before the run's own lines, and an error with the way out."""
    prepared(ws, "budget:\n  max_iterations: 1\n", i1=noop())
    for number in range(3):
        ws.write(f"uncommitted-{number}", "")
    told = Dialogue(ws, "autoresearch", "--agent", ws.agent, "missions/m", columns=60)
    notes = told.expect("lane ready").splitlines()
    assert told.end() == 0
    assert [line for line in notes if line.startswith("note: ")]
    run = f"omagy autoresearch attach {ws.run_id()}"
    assert [line for line in notes if run in line]
    assert all(len(line) < 60 for line in notes if run not in line), notes
    refused = Dialogue(ws, "autoresearch", "--resume", ws.run_id(), columns=60)
    assert refused.end() == 2
    assert all(len(line) < 60 for line in refused.shown.splitlines()), refused.shown
