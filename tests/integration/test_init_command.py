"""``omagy autoresearch init``: a mission folder without a question, and the gate before every launch."""

import json
import os
from pathlib import Path

import pytest

from fakes.sample_repositories import PYTEST, TRAINING, write_files
from fakes.workspace import Acts, Workspace, contents
from omagy_supervisor.adapters.missions import read_mission


def init(ws: Workspace, *options: str, cwd: Path | None = None) -> str:
    """Run it to its success; returns what it said."""
    done = ws.omagy("autoresearch", "init", *options, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(ws: Workspace, *options: str, cwd: Path | None = None) -> str:
    """Run it to its refusal, which leaves everything as it was."""
    before = contents(ws.root)
    done = ws.omagy("autoresearch", "init", *options, cwd=cwd)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert contents(ws.root) == before
    return done.stderr


def test_a_scaffold_becomes_a_run(ws: Workspace) -> None:
    """Topic, evaluator and slug are enough: the folder that is named can be launched as the last line says."""
    ws.write("score.py", 'import json\nprint(json.dumps({"pass": True, "score": float(open("value.txt").read())}))\n')
    ws.commit()
    options = ("--topic", "Raise the value", "--evaluator=python3 score.py", "--slug", "raise")
    said = init(ws, *options, "--keep-policy=pass_only", "--guard", "test -e score.py", "--timeout", "20s")
    assert "wrote missions/raise: mission.md, sandbox.md" in said
    assert said.splitlines()[-1] == "then:    omagy autoresearch missions/raise"
    contract = read_mission(ws.root / "missions/raise", "m").contract
    assert (contract.evaluator.command, contract.evaluator.timeout_s) == ("python3 score.py", 20.0)
    ws.plan(default=[{"write": {"value.txt": "2"}}, {"commit": "two"}, {"artifact": {}}])
    ran = ws.launch("--max-iterations", "1", mission="missions/raise")
    assert ran.returncode == 0, ran.stderr
    assert ws.decisions() == ["baseline", "keep"]


def test_the_users_checkout_is_only_added_to(ws: Workspace) -> None:
    """Nothing but the mission folder is new: not in the index, not in git's folder, and no state of omagy's."""
    ws.commit()
    before = contents(ws.root)
    init(ws, "--topic", "t", "--evaluator", "./score", "--slug", "s")
    after = contents(ws.root)
    assert {path for path in after if path not in before} == {
        "missions",
        "missions/s",
        "missions/s/mission.md",
        "missions/s/sandbox.md",
    }
    assert {path: held for path, held in after.items() if path in before} == before


def test_a_template_is_made_for_the_repository(ws: Workspace) -> None:
    """The best evaluator of that measure, its script beside the mission, and JSON for scripts."""
    write_files(ws.root, PYTEST)
    ws.commit()
    answer = json.loads(init(ws, "--template", "tests", "--json"))
    assert answer["mission_dir"] == "missions/tests"
    assert answer["files"] == ["mission.md", "sandbox.md", "evaluate.py"]
    assert answer["proposal"]["key"] == "python.pytest.tests"
    assert answer["next"] == ["omagy autoresearch check missions/tests", "omagy autoresearch missions/tests"]
    text = (ws.root / "missions/tests/mission.md").read_text()
    assert text.startswith("# Make more tests pass\n")
    assert "python3 -I missions/tests/evaluate.py" in text
    contract = read_mission(ws.root / "missions/tests", "m").contract
    assert "tests/**" in contract.protected
    assert contract.evaluator.isolation == "fresh"
    said = init(ws, "--template", "python.mypy.types", "--slug", "types", "--topic", "Types that are right")
    assert "score:   number of type errors (mypy); minimize" in said
    assert (ws.root / "missions/types/mission.md").read_text().startswith("# Types that are right\n")


def test_a_sketch_says_what_is_to_be_done_first_and_is_no_score_until_then(ws: Workspace) -> None:
    """Where nothing can be found, there is a script to fill in; until then check says what is missing."""
    ws.commit()
    said = init(ws, "--template", "speed")
    assert "first:   write the command into COMMAND, at the top of evaluate.py" in said
    checked = ws.omagy("autoresearch", "check", "--agent", "command:true", "missions/speed")
    assert checked.returncode == 3
    assert "say at the top of this script what is timed" in checked.stdout


def test_a_trainings_metric_is_measured_end_to_end(ws: Workspace) -> None:
    """A template that needs no editing is ready as it is."""
    write_files(ws.root, TRAINING)
    ws.commit()
    init(ws, "--template", "training")
    checked = ws.omagy("autoresearch", "check", "--agent", "command:true", "missions/training")
    assert checked.returncode == 0, checked.stdout
    assert "scores 0.667" in checked.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "nobody can be asked"),
        (("--topic", "x"), "init --topic"),
        (("--dir", "m"), "needs --topic and --evaluator"),
        (("--topic", "x", "--dir", "m"), "needs --evaluator"),
        (("--topic", " ", "--evaluator", "./m"), "needs --topic"),
        (("--topic", "x", "--evaluator", "TODO"), "--evaluator: TODO is a placeholder"),
        (("--topic", "x", "--evaluator", "echo '{}'"), "is a placeholder, not a measurement"),
        (("--topic", "x", "--evaluator", "./m", "--guard", "<tests>"), "--guard: <tests> is a placeholder"),
        (("--topic", "x", "--evaluator", "./m", "--slug", "Not A Slug"), "such as --slug not-a-slug"),
        (("--topic", "x", "--evaluator", "./m", "--slug", "../../x"), "such as --slug x"),
        (("--topic", "…", "--evaluator", "./m"), "--slug <name>"),
        (("--topic", "x", "--evaluator", "./m", "--direction", "maximise"), "did you mean maximize?"),
        (("--topic", "x", "--evaluator", "./m", "--keep-policy", "pass"), "choose score_improvement or pass_only"),
        (("--topic", "x", "--evaluator", "./m", "--timeout", "30"), "--timeout: '30' is not a duration"),
        (("--topic", "x", "--evalutor", "./m"), "did you mean --evaluator?"),
        (("--template", "spede"), "did you mean speed?"),
        (("--template", "coverage"), "what can be measured here"),
        (("--template", "speed", "--evaluator", "./m"), "exclude each other"),
        (("--topic", "x", "--evaluator", "./m", "--dir", ".."), "inside the repository"),
        (("--topic", "x", "--evaluator", "./m", "--dir", "."), "inside the repository"),
        (("--topic", "x", "--evaluator", "./m", "--dir", ".git/m"), "inside the repository"),
        (("--topic", "x", "--evaluator", "./m", "--dir", "ignored/m"), "git ignores ignored/m"),
        (("--topic", "x", "--evaluator", "./m", "--dir", "link/m"), "inside the repository"),
        (("--topic", "x", "--evaluator", "./m", "--dir", "value.txt"), "exists already"),
        (("missions/m",), "takes options only"),
    ],
)
def test_what_cannot_be_is_refused(ws: Workspace, options: tuple[str, ...], said: str) -> None:
    """Each refusal names the option and the way out, and writes nothing."""
    ws.write(".gitignore", "ignored/\n")
    (ws.root / "link").symlink_to(ws.root.parent)
    ws.commit()
    assert said in refused(ws, *options)


def test_a_mission_that_is_there_is_never_overwritten(ws: Workspace) -> None:
    """The second of two equal commands finds the first one's folder."""
    ws.commit()
    options = ("--topic", "Make it faster", "--evaluator", "./m")
    init(ws, *options)
    assert "missions/make-it-faster exists already" in refused(ws, *options)


def test_from_a_folder_below_the_root_paths_are_seen_from_there(ws: Workspace) -> None:
    """Missions go to the root's folder unless --dir names another; what is shown can be typed where one stands."""
    below = ws.root / "docs"
    below.mkdir()
    ws.commit()
    said = init(ws, "--topic", "t", "--evaluator", "./m", "--slug", "a", cwd=below)
    assert "then:    omagy autoresearch ../missions/a" in said
    said = init(ws, "--topic", "t", "--evaluator", "./m", "--slug", "b", "--dir", "my mission", cwd=below)
    assert "then:    omagy autoresearch 'my mission'" in said
    assert (below / "my mission/sandbox.md").exists()


def test_a_mission_folder_called_init_can_be_named(ws: Workspace) -> None:
    """As with check: the command comes first, a path says that it is a folder."""
    ws.mission("budget:\n  max_iterations: 1\n", name="init")
    ws.commit()
    ws.plan(default=[{"artifact": {"status": "noop"}}])
    assert ws.launch(mission="./init").returncode == 0


def test_outside_of_a_repository_it_says_so(ws: Workspace) -> None:
    """A mission lies in a repository; nothing is made elsewhere."""
    assert "is not inside a git repository" in refused(ws, "--template", "tests", cwd=ws.root.parent / "home")


@pytest.mark.parametrize("command", [("check",), ("--foreground", "--agent", "command:true")])
def test_a_placeholder_is_refused_before_anything_is_started(ws: Workspace, command: tuple[str, ...]) -> None:
    """Launch and check name file, line, key and text, and leave everything as it was."""
    ws.mission()
    ws.write("missions/m/sandbox.md", "---\nevaluator:\n  format: json\n  command: python3 <script>\n---\n")
    ws.commit()
    before = contents(ws.root.parent)
    done = ws.omagy("autoresearch", *command, "missions/m")
    assert done.returncode == 2
    assert "missions/m/sandbox.md:4: evaluator.command: <script> is a placeholder" in done.stderr
    assert contents(ws.root.parent) == before


def _answers(answer: dict[str, int]) -> Acts:
    """A session after which the evaluator answers so."""
    return [{"write": {"answer.json": json.dumps(answer)}}, {"commit": "x"}, {"artifact": {}}]


def test_a_limit_can_be_what_the_baseline_had(ws: Workspace) -> None:
    """A better score with fewer tests than there were is discarded; with as many it is kept."""
    ws.mission(
        "budget:\n  max_iterations: 2\n",
        evaluator='import json\nprint(json.dumps({"pass": True, **json.load(open("answer.json"))}))\n',
        evaluator_keys="  constraints: [{metric: tests, min: baseline}]\n",
    )
    ws.write("answer.json", '{"score": 1, "tests": 10}')
    ws.commit()
    answers = [{"score": 5, "tests": 9}, {"score": 2, "tests": 10}]
    first, second = (_answers(answer) for answer in answers)
    ws.plan(i1=first, i2=second)
    assert ws.launch().returncode == 0
    assert ws.decisions() == ["baseline", "discard", "keep"]
    assert ws.ledger()["entries"][1]["decision_reason"] == "tests is 9, below its limit of 10 (the baseline's)"


# -- repositories that mean no good


def test_a_hostile_repository_is_surveyed_all_the_same(ws: Workspace) -> None:
    """Binary marker files, links out of the repository, pipes, odd names, deep folders: proposals, and no crash."""
    files = {f"{'d/' * 60}package.json": "{}", "pyproject.toml": "x", "Cargo.toml": "x", "tests/test_a.py": ""}
    write_files(ws.root, files)
    (ws.root / "package.json").write_bytes(b"\0\xff" * 1000)
    (ws.root / "go.mod").symlink_to("/etc/passwd")
    (ws.root / os.fsdecode(b"caf\xe9.py")).write_text("")
    (ws.root / "a\nb.py").write_text("")
    ws.write("$(touch evil)/pom.xml", "<project/>")
    ws.write(".venv/bin/python", f"#!/bin/sh\ntouch {ws.root}/evil\n").chmod(0o755)
    ws.write(".venv/pyvenv.cfg", "")
    ws.commit()
    (ws.root / "pyproject.toml").unlink()
    os.mkfifo(ws.root / "pyproject.toml")
    (ws.root / "Cargo.toml").unlink()
    (ws.root / "Cargo.toml").mkdir()
    assert json.loads(init(ws, "--template", "tests", "--json"))["proposal"]["measure"] == "tests"
    assert not (ws.root / "evil").exists()
