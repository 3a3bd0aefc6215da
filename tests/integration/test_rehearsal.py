"""The rehearsal plays the quickstart's proposals on real git, one session each, as a run would."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from fakes.workspace import PATIENCE_S
from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.sessions import EndingKind
from omagy_supervisor.adapters.command import CommandAgent
from omagy_supervisor.adapters.rehearsal import RehearsalAgent
from omagy_supervisor.agents import Agent, SessionExit, SessionSpec

QUICKSTART = Path(__file__).parents[2] / "missions" / "quickstart"
PROPOSALS = Path("missions/quickstart/rehearsal")
PROGRAM = Path("missions/quickstart/logstats.py")


class Lane:
    """A git repository with the quickstart mission, and the sessions that run in it."""

    def __init__(self, folder: Path) -> None:
        self.worktree = folder / "lane"
        self.folder = folder / "session"
        self.outbox = folder / "outbox"
        for needed in (self.worktree / "missions", self.folder, self.outbox, folder / "home"):
            needed.mkdir(parents=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        self.copy_mission()
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("the mission")

    def copy_mission(self) -> None:
        for source in QUICKSTART.rglob("*"):
            if source.is_file() and "__pycache__" not in source.parts:
                target = self.worktree / "missions" / "quickstart" / source.relative_to(QUICKSTART)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.worktree), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "--quiet", "-m", message)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def spec(self, iteration: int = 1, **more: str) -> SessionSpec:
        candidate_file = self.outbox / f"candidate-{iteration}.json"
        instructions = self.folder / "instructions.md"
        instructions.write_text("make it faster\n", encoding="utf-8")
        told = {
            "OMAGY_RUN_ID": "quickstart-20250101T000000Z",
            "OMAGY_ITERATION": str(iteration),
            "OMAGY_WORKTREE": str(self.worktree),
            "OMAGY_BASE_COMMIT": self.head,
            "OMAGY_CANDIDATE_FILE": str(candidate_file),
            "OMAGY_INSTRUCTIONS_FILE": str(instructions),
        }
        return SessionSpec(
            run_id=told["OMAGY_RUN_ID"],
            iteration=iteration,
            attempt=1,
            worktree=self.worktree,
            git_dir=self.worktree / ".git",
            common_dir=self.worktree / ".git",
            branch="main",
            base_commit=told["OMAGY_BASE_COMMIT"],
            folder=self.folder,
            outbox=self.outbox,
            candidate_file=candidate_file,
            instructions_file=instructions,
            environment={**self.environment, **told, **more},
        )

    def run(self, agent: Agent, spec: SessionSpec) -> tuple[SessionExit, str]:
        """Run one session to its end: how it ended, and what it printed."""
        command = agent.command(spec)
        with Path(command.stdin_file or os.devnull).open("rb") as stdin, spec.stderr_file.open("wb") as stderr:
            done = subprocess.run(
                command.argv,
                cwd=spec.worktree,
                env=command.environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                timeout=PATIENCE_S,
            )
        status, signal = (done.returncode, None) if done.returncode >= 0 else (None, -done.returncode)
        return SessionExit(status=status, signal=signal, duration_s=0.0), done.stdout.decode()

    def play(self, iteration: int, **more: str) -> dict[str, Any]:
        """The candidate artifact of a session of the rehearsal that has to complete."""
        spec = self.spec(iteration, **more)
        agent = RehearsalAgent(PROPOSALS)
        agent.preflight(spec)
        ended, _ = self.run(agent, spec)
        diagnosis = agent.diagnose(spec, ended)
        assert diagnosis.ending.kind is EndingKind.COMPLETED, diagnosis.ending.detail
        return read_artifact(spec)

    def program(self) -> str:
        return (self.worktree / PROGRAM).read_text(encoding="utf-8")


def read_artifact(spec: SessionSpec) -> dict[str, Any]:
    """The artifact, checked against contract section 4."""
    assert [file.name for file in spec.outbox.iterdir()] == [spec.candidate_file.name]
    artifact: dict[str, Any] = json.loads(spec.candidate_file.read_text(encoding="utf-8"))
    spec.candidate_file.unlink()
    assert artifact["status"] in {"candidate", "noop"}
    assert (artifact["candidate_commit"] is not None) == (artifact["status"] == "candidate")
    assert artifact["base_commit"] == spec.base_commit
    assert artifact["description"].startswith("[rehearsal] ")
    assert all(isinstance(note, str) for note in artifact["notes"])
    assert datetime.fromisoformat(artifact["created_at"]).tzinfo is not None
    return artifact


@pytest.fixture
def lane(tmp_path: Path) -> Lane:
    return Lane(tmp_path)


def test_the_whole_quickstart_is_played_in_the_order_of_a_run(lane: Lane) -> None:
    """Improvements are kept, everything else is reset away, and each patch fits what was kept before it."""
    kept = []
    for iteration, keep in ((1, True), (2, False), (3, True), (4, False), (7, True)):
        base = lane.head
        artifact = lane.play(iteration)
        assert artifact["status"] == "candidate", artifact
        assert artifact["candidate_commit"] == lane.head
        assert lane.git("rev-parse", "HEAD^") == base
        assert lane.git("diff", "--name-only", base, "HEAD") == str(PROGRAM)
        assert lane.git("status", "--porcelain") == ""
        assert artifact["notes"]
        if keep:
            kept.append(artifact["description"])
        else:
            lane.git("reset", "--quiet", "--hard", base)
    assert lane.git("log", "--reverse", "--format=%s", "HEAD~3..").splitlines() == kept
    assert lane.git("log", "-1", "--format=%an <%ae>") == "omagy rehearsal <rehearsal@omagy.invalid>"


def test_a_proposal_without_an_idea_is_a_noop_that_changes_nothing(lane: Lane) -> None:
    base = lane.head
    artifact = lane.play(5)
    assert artifact["status"] == "noop"
    assert "gains nothing" in artifact["description"]
    assert (lane.head, lane.git("status", "--porcelain")) == (base, "")


def test_a_broken_artifact_is_not_json_and_comes_without_a_commit(lane: Lane) -> None:
    base, spec = lane.head, lane.spec(6)
    ended, said = lane.run(RehearsalAgent(PROPOSALS), spec)
    assert ended.status == 0
    assert "broken candidate file, on purpose" in said
    with pytest.raises(json.JSONDecodeError):
        json.loads(spec.candidate_file.read_text(encoding="utf-8"))
    assert (lane.head, lane.git("status", "--porcelain")) == (base, "")


@pytest.mark.parametrize("iteration", [9, 1000])
def test_after_the_last_proposal_there_is_only_a_noop_that_says_so(lane: Lane, iteration: int) -> None:
    artifact = lane.play(iteration)
    assert artifact["status"] == "noop"
    assert f"no more proposals: iteration {iteration} of 8" in artifact["description"]


def test_a_patch_that_meets_other_text_is_a_noop_with_gits_reason(lane: Lane) -> None:
    """The third proposal needs the first one; without it nothing is changed."""
    lane.play(1)
    lane.git("reset", "--quiet", "--hard", "HEAD^")
    base = lane.head
    artifact = lane.play(3)
    assert artifact["status"] == "noop"
    assert "03-count-in-one-pass.patch does not apply" in artifact["description"]
    assert "logstats.py" in artifact["description"]
    assert (lane.head, lane.git("status", "--porcelain")) == (base, "")


def test_a_patch_that_meets_uncommitted_work_leaves_it_alone(lane: Lane) -> None:
    (lane.worktree / PROGRAM).write_text(lane.program() + "\n# work of somebody\n", encoding="utf-8")
    before = lane.program()
    artifact = lane.play(1)
    assert artifact["status"] == "noop"
    assert "does not apply" in artifact["description"]
    assert lane.program() == before


def test_an_identity_of_the_session_wins_over_the_rehearsals(lane: Lane) -> None:
    lane.play(1, GIT_AUTHOR_NAME="Ada", GIT_AUTHOR_EMAIL="ada@localhost")
    assert lane.git("log", "-1", "--format=%an, %cn") == "Ada, omagy rehearsal"


def test_a_patch_made_by_git_format_patch_is_understood(lane: Lane) -> None:
    lane.play(1)
    made = lane.git("format-patch", "--stdout", "-1")
    lane.git("reset", "--quiet", "--hard", "HEAD^")
    for proposal in (lane.worktree / PROPOSALS).iterdir():
        proposal.unlink()
    (lane.worktree / PROPOSALS / "01-made.patch").write_text(made.replace("[rehearsal] ", ""), encoding="utf-8")
    lane.commit("another proposal")
    artifact = lane.play(1)
    assert artifact["description"] == "[rehearsal] Cut the minute out of the text instead of parsing the date"
    assert artifact["status"] == "candidate"
    assert artifact["notes"][0].startswith("The profile shows")


def test_it_says_that_no_model_is_involved(lane: Lane) -> None:
    _, said = lane.run(RehearsalAgent(PROPOSALS), lane.spec(1))
    lines = said.splitlines()
    assert all(line.startswith("rehearsal: ") for line in lines)
    assert "no model is involved" in lines[0]
    assert any(re.search(r"committed as [0-9a-f]{10}$", line) for line in lines)


def test_files_of_the_lane_cannot_stand_in_for_modules(lane: Lane) -> None:
    """A worktree full of traps, as its own PYTHONPATH too, still runs the rehearsal that belongs to omagy."""
    trap = "raise SystemExit('the trap was imported')\n"
    for name in ("json.py", "argparse.py", "subprocess.py", "sitecustomize.py"):
        (lane.worktree / name).write_text(trap, encoding="utf-8")
    (lane.worktree / "omagy_supervisor").mkdir()
    (lane.worktree / "omagy_supervisor" / "__init__.py").write_text(trap, encoding="utf-8")
    assert lane.play(5, PYTHONPATH=str(lane.worktree))["status"] == "noop"


def test_proposals_may_lie_outside_of_the_worktree(lane: Lane, tmp_path: Path) -> None:
    folder = tmp_path / "proposals"
    folder.mkdir()
    (folder / "1.noop").write_text("Nothing to do\n", encoding="utf-8")
    spec, agent = lane.spec(1), RehearsalAgent(folder)
    agent.preflight(spec)
    lane.run(agent, spec)
    assert read_artifact(spec)["description"] == "[rehearsal] Nothing to do"


def test_preflight_names_the_folder_that_is_missing_or_empty(lane: Lane) -> None:
    with pytest.raises(BlockedError, match="nowhere") as missing:
        RehearsalAgent(Path("nowhere")).preflight(lane.spec())
    assert "agent.rehearsal" in missing.value.hint
    with pytest.raises(BlockedError, match=r"no proposals in .*missions"):
        RehearsalAgent(Path("missions")).preflight(lane.spec())


def test_a_rehearsal_that_cannot_commit_crashes_with_gits_words(lane: Lane) -> None:
    hook = lane.worktree / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'no commits at night' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    spec, agent = lane.spec(1), RehearsalAgent(PROPOSALS)
    ended, _ = lane.run(agent, spec)
    ending = agent.diagnose(spec, ended).ending
    assert ending.kind is EndingKind.CRASHED
    assert ending.detail.startswith("the rehearsal ended with status 1: ")
    assert "no commits at night" in ending.detail
    assert not spec.candidate_file.exists()


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [({}, "OMAGY_ITERATION is not set"), ({"OMAGY_ITERATION": "one"}, "OMAGY_ITERATION is not a number")],
)
def test_outside_of_a_session_it_says_what_is_missing(environment: Mapping[str, str], complaint: str) -> None:
    others = dict.fromkeys(("OMAGY_WORKTREE", "OMAGY_BASE_COMMIT", "OMAGY_CANDIDATE_FILE"), "/nowhere")
    done = subprocess.run(
        [sys.executable, "-m", "omagy_supervisor.rehearsal", "--proposals", "x"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **others, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert complaint in done.stderr


def test_a_users_command_gets_the_instructions_and_the_environment(lane: Lane) -> None:
    agent = CommandAgent('cat; printf "%s\\n" "$OMAGY_ITERATION" "$PWD"')
    spec = lane.spec(3)
    agent.preflight(spec)
    ended, said = lane.run(agent, spec)
    assert said.splitlines() == ["make it faster", "3", str(lane.worktree)]
    assert agent.diagnose(spec, ended).ending.kind is EndingKind.COMPLETED


@pytest.mark.parametrize(
    ("command", "detail"),
    [
        ("exit 3", "the command ended with status 3"),
        ("echo first >&2; printf 'no \\033[31mquota\\n\\n' >&2; exit 7", "status 7: no quota"),
        ("kill -KILL $$", "the command was killed by SIGKILL"),
    ],
)
def test_a_users_command_that_fails_crashes_with_its_last_words(lane: Lane, command: str, detail: str) -> None:
    spec, agent = lane.spec(), CommandAgent(command)
    ended, _ = lane.run(agent, spec)
    ending = agent.diagnose(spec, ended).ending
    assert ending.kind is EndingKind.CRASHED
    assert ending.detail.endswith(detail)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [(" ", "empty"), ("echo 'half", "not a valid shell command"), ("echo \0", "cannot be run")],
)
def test_a_users_command_that_no_shell_can_read_is_refused(lane: Lane, command: str, complaint: str) -> None:
    with pytest.raises(BlockedError, match=complaint):
        CommandAgent(command).preflight(lane.spec())


def test_the_records_of_a_session_may_be_missing(lane: Lane) -> None:
    lost = SessionExit(status=None, signal=200, duration_s=1.0)
    for agent in (CommandAgent("true"), RehearsalAgent(PROPOSALS)):
        assert agent.diagnose(lane.spec(), lost).ending.detail.endswith("was killed by signal 200")
