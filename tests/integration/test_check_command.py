"""``omagy autoresearch check``: what it says of a mission, and that nothing of it is left."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fakes.codex_home import KEY_VARIABLE, codex_for_tests, make_codex_home
from fakes.workspace import EVALUATOR, PATIENCE_S, Workspace, candidate, contents, wait_until, workspace


def check(ws: Workspace, *options: str, agent: str = "command:true") -> subprocess.CompletedProcess[str]:
    return ws.omagy("autoresearch", "check", "--agent", agent, *options, "missions/m")


def everything(ws: Workspace) -> dict[str, str]:
    """All that a check could leave something in: the whole of the repository but git's loose objects."""
    found = contents(ws.root)
    ours = (".git/objects", ".omagy")
    return {path: held for path, held in found.items() if not any(f"{path}/".startswith(f"{own}/") for own in ours)}


def expect_nothing_left(ws: Workspace, before: dict[str, str], lanes: int = 0) -> None:
    """Checkout, refs, worktrees and git's exclude file are as before, and nothing of the check lies anywhere."""
    after = everything(ws)
    ignored = {".git/worktrees", ".git/info", ".git/refs/heads/autoresearch", ".git/logs/refs/heads/autoresearch"}
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert not {path for path in changed if path not in ignored}, changed
    assert len(ws.git("worktree", "list").splitlines()) == 1 + lanes
    assert "-check" not in ws.git("for-each-ref")
    folder = ws.root.with_name(f"{ws.root.name}.omagy-worktrees")
    assert len(list(folder.iterdir()) if folder.exists() else []) == lanes
    assert not list((ws.root / ".omagy/state").glob("check-*"))
    assert len(ws.run_ids()) == lanes
    assert ws.git("status", "--porcelain") == ""


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_a_mission_that_is_ready_is_said_to_be_so(ws: Workspace, isolation: str) -> None:
    """The contract as it is understood, what was measured, and the command that starts the run; exit status 0."""
    ws.write("checks.sh", "exit 0\n")
    ws.mission(
        "protected: [golden]\neditable: [value.txt]\nguard:\n  command: sh checks.sh\n"
        "worktree:\n  setup: touch made\n",
        evaluator_keys=f"  isolation: {isolation}\n  repeats: 3\n  holdout: 'true'\n",
    )
    ws.write(".gitignore", "made\n")
    ws.commit()
    before = everything(ws)
    done = check(ws)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "ready: omagy autoresearch --agent command:true missions/m"
    said = dict(line.split(maxsplit=1) for line in lines[:-1] if line and ": " not in line.split()[0])
    assert said["mission"] == "missions/m"
    assert said["policy"] == f"score_improvement, maximize, measured 3 times in the {isolation} checkout"
    assert said["protected"] == "checks.sh, golden, missions/m/eval.py, missions/m/mission.md, missions/m/sandbox.md"
    assert said["editable"] == "value.txt"
    assert said["guard"] == "sh checks.sh"
    assert said["baseline"].startswith("pass=true, scores 1, 1, 1, 1, 1, 1, 1, 1, ")
    assert said["noise"] == "measured 8 times, the same score each time"
    assert said["agent"] == "command: sessions run without a sandbox"
    assert "at most: iterations without limit" in done.stdout
    expect_nothing_left(ws, before)


BROKEN = {
    "an evaluator that fails": (
        "",
        "",
        "import sys\nprint('no such benchmark', file=sys.stderr)\nsys.exit(3)\n",
        ["missing: evaluator: the evaluator exited with status 3", "no such benchmark"],
    ),
    "no score": ("", "", "print('{\"pass\": true}')\n", ["missing: evaluator: it gives no score"]),
    "a set-up that fails": (
        "worktree:\n  setup: echo no network >&2; exit 1\n",
        "",
        EVALUATOR,
        ["missing: set-up: the set-up (worktree.setup) exited with status 1: no network"],
    ),
    "a guard that fails": (
        "guard:\n  command: echo 2 tests failed; exit 1\n",
        "",
        EVALUATOR,
        ["missing: guard: on the current commit it exited with status 1: 2 tests failed; every candidate would fail"],
    ),
    "a held-out check that fails": (
        "",
        "  holdout: echo the secret; exit 1\n",
        EVALUATOR,
        ["missing: held-out check: on the current commit it exited with status 1; every candidate would fail it too"],
    ),
    "a build that fails": (
        "",
        "  build: exit 9\n",
        EVALUATOR,
        ["missing: evaluator: the build (evaluator.build) exited with status 9"],
    ),
    "several at once": (
        "guard:\n  command: exit 1\n",
        "  holdout: exit 1\n",
        EVALUATOR,
        ["missing: guard: ", "missing: held-out check: "],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_missing_is_said_with_its_reason(ws: Workspace, name: str) -> None:
    """Whatever would spoil the night is named, the last line says "not ready", and the exit status is 3."""
    frontmatter, keys, evaluator, complaints = BROKEN[name]
    ws.mission(frontmatter, evaluator, evaluator_keys=keys)
    ws.commit()
    before = everything(ws)
    done = check(ws)
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == "not ready"
    for complaint in complaints:
        assert complaint in done.stdout
    assert "the secret" not in done.stdout
    expect_nothing_left(ws, before)


def test_a_baseline_that_does_not_pass_is_no_obstacle(ws: Workspace) -> None:
    """pass=false is what many missions start from."""
    ws.mission(evaluator=EVALUATOR.replace("True", "False"))
    ws.commit()
    done = check(ws)
    assert done.returncode == 0, done.stdout
    assert "pass=false" in done.stdout


def test_an_agent_that_cannot_work_is_missing(ws: Workspace) -> None:
    """The agent is tried as a run would, and its complaint is told."""
    ws.mission()
    ws.commit()
    before = everything(ws)
    done = check(ws, agent="command:echo 'half")
    assert done.returncode == 3
    assert "missing: agent: the agent's command is not a valid shell command" in done.stdout
    expect_nothing_left(ws, before)


@pytest.mark.parametrize(
    ("frontmatter", "status", "complaint"),
    [
        ("guards:\n  command: x\n", 2, "guards: unknown key, did you mean guard?"),
        ("worktree:\n  copy: [x]\n", 2, "x does"),
    ],
)
def test_a_contract_that_is_wrong_is_refused(ws: Workspace, frontmatter: str, status: int, complaint: str) -> None:
    """What a launch would refuse, a check refuses with the same words, and makes nothing."""
    ws.mission(frontmatter)
    ws.commit()
    done = check(ws)
    assert done.returncode == status
    assert complaint in done.stderr
    assert not (ws.root / ".omagy").exists()


def report(ws: Workspace) -> dict[str, Any]:
    done = check(ws, "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["ready"] == (done.returncode == 0)
    return found


def test_scripts_get_the_same_as_json(ws: Workspace) -> None:
    """--json gives contract, measurements, advice and problems as one object."""
    ws.mission("guard:\n  command: exit 4\n", evaluator_keys="  min_improvement: 2%\n")
    ws.commit()
    found = report(ws)
    assert found["ready"] is False
    assert found["problems"] == [
        "guard: on the current commit it exited with status 4; every candidate would fail it too"
    ]
    assert found["contract"]["evaluator"]["min_improvement"] == {"amount": 2.0, "percent": True}
    assert found["baseline"]["scores"] == [1.0] * 8
    assert found["guard"]["pass"] is False
    assert found["agent"] == {"kind": "command", "sandbox": "sessions run without a sandbox"}
    assert found["protected"] == ["missions/m/eval.py", "missions/m/mission.md", "missions/m/sandbox.md"]
    assert found["limits"].startswith("at most: ")


def test_noise_and_dirt_are_told_as_advice(ws: Workspace) -> None:
    """A mission whose scores vary without any guard against it, or whose evaluator changes files, is ready, but its
    person should know."""
    counter = ws.root.parent / "counter"
    noisy = (
        f"import json, os\ncounter = {str(counter)!r}\nopen(counter, 'a').write('x')\n"
        "score = 100 + os.path.getsize(counter) % 2\n"
        "open('snapshot.txt', 'w')\nprint(json.dumps({'pass': True, 'score': score}))\n"
    )
    ws.mission(evaluator=noisy)
    ws.commit()
    found = report(ws)
    assert found["ready"] is True
    assert any("scores vary by" in line and "set evaluator.repeats" in line for line in found["advice"])
    assert any(line.endswith("is undone each time: snapshot.txt") for line in found["advice"])
    ws.mission(evaluator=noisy, evaluator_keys="  repeats: 3\n")
    ws.commit()
    found = report(ws)
    assert not any("scores vary" in line for line in found["advice"])
    assert found["noise"]["says"].startswith("scores vary by 1")


def test_the_command_at_the_end_starts_what_was_checked(ws: Workspace) -> None:
    """With the options that were given, quoted for a shell; what concerns the check alone is left out."""
    ws.mission()
    ws.commit()
    options = ("--no-wait", "--max-wall-time=8h", "--debug")
    done = check(ws, *options, agent="command:my agent")
    ready = "ready: omagy autoresearch --no-wait --agent 'command:my agent' --max-wall-time 8h missions/m"
    assert done.stdout.splitlines()[-1] == ready


def test_editable_is_named_only_where_it_would_lift_something(ws: Workspace) -> None:
    lifts = "candidates may not change missions/m/eval.py, which a command names (editable lifts that)"
    ws.mission()
    ws.commit()
    assert lifts in report(ws)["advice"]
    ws.mission("protected: [missions/m/**]\n")
    ws.commit()
    assert not any("editable" in line for line in report(ws)["advice"])


def test_a_check_measures_the_mission_as_it_lies_there(ws: Workspace) -> None:
    """Uncommitted changes of the mission's folder are checked, and stay uncommitted."""
    ws.mission()
    ws.commit()
    ws.write("missions/m/eval.py", EVALUATOR.replace("print(json", "print(0); print(json"))
    ws.write("missions/m/more.txt", "more\n")
    status = ws.git("status", "--porcelain")
    done = check(ws)
    assert done.returncode == 0
    assert "is not committed as it lies here" in done.stdout
    assert ws.git("status", "--porcelain") == status


def test_a_check_beside_lanes_of_earlier_runs_leaves_them_alone(ws: Workspace) -> None:
    """Worktree, branch, refs, records and exclude lines of a finished run are as they were."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(i1=candidate(2))
    assert ws.launch().returncode == 0
    before, refs, lane = everything(ws), ws.git("for-each-ref"), contents(ws.lane())
    assert check(ws).returncode == 0
    expect_nothing_left(ws, before, lanes=1)
    assert ws.git("for-each-ref") == refs
    assert contents(ws.lane()) == lane
    assert "/results.tsv" in (ws.root / ".git/info/exclude").read_text()


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_check_that_is_stopped_leaves_nothing(ws: Workspace, isolation: str, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end what is being measured and take the check's lane away; exit status 130."""
    mark = ws.root.parent / "measuring"
    ws.mission(
        evaluator=f"import threading\nopen({str(mark)!r}, 'w')\nthreading.Event().wait()\n",
        evaluator_keys=f"  isolation: {isolation}\n",
    )
    ws.commit()
    before = everything(ws)
    process = ws.start("autoresearch", "check", "--agent", "command:true", "missions/m")
    wait_until(mark.exists, "the measurement")
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    expect_nothing_left(ws, before)
    assert ws.wait_for_quiet() == []


# -- the sandbox of the real Codex


def use_codex(ws: Workspace, tmp_path: Path, executable: Path) -> None:
    home = make_codex_home(tmp_path / "codex", "http://127.0.0.1:1/v1")
    ws.environment |= {
        "OMAGY_CODEX": str(executable),
        "CODEX_HOME": home.environment["CODEX_HOME"],
        "TMPDIR": home.environment["TMPDIR"],
        KEY_VARIABLE: home.environment[KEY_VARIABLE],
    }


def test_the_sandbox_is_probed_with_a_real_commit(ws: Workspace, tmp_path: Path) -> None:
    """A commit is made as a session would, inside Codex's own sandbox and without a request to a model, and is gone
    with the check."""
    use_codex(ws, tmp_path, codex_for_tests())
    ws.mission()
    ws.commit()
    before = everything(ws)
    done = check(ws, agent="codex")
    assert done.returncode == 0, done.stdout
    assert "codex: a session can commit inside Codex's sandbox" in done.stdout
    expect_nothing_left(ws, before)


def test_a_line_break_in_a_path_is_named_where_the_sandbox_fails(tmp_path: Path) -> None:
    """bubblewrap cannot mount such a folder; user namespaces are not what is missing."""
    fake = tmp_path / "codex-that-fails"
    fake.write_text('#!/bin/sh\n[ "$1" = sandbox ] && { echo no mount >&2; exit 1; }\nexit 0\n')
    fake.chmod(0o755)
    with workspace(tmp_path, "two\nlines") as ws:
        use_codex(ws, tmp_path, fake)
        ws.mission()
        ws.commit()
        done = check(ws, agent="codex")
    assert done.returncode == 3
    assert "a line break in its path" in " ".join(done.stdout.split())
    assert "user namespaces" not in done.stdout


def test_a_sandbox_that_forbids_commits_is_missing(ws: Workspace, tmp_path: Path) -> None:
    """Where a session could write but not commit, the check says so, in the words of what failed."""
    fake = tmp_path / "codex-that-forbids"
    fake.write_text(
        "#!/bin/sh\ncase \"$*\" in *'git commit'*)\n"
        "  echo 'Unable to create index.lock: Read-only file system' >&2; exit 128;;\nesac\nexit 0\n"
    )
    fake.chmod(0o755)
    use_codex(ws, tmp_path, fake)
    ws.mission()
    ws.commit()
    before = everything(ws)
    done = check(ws, agent="codex")
    assert done.returncode == 3
    assert "missing: agent: codex's sandbox does not work here: Unable to create index.lock: Read-only" in done.stdout
    expect_nothing_left(ws, before)
