"""The ten points that the guided intake has to satisfy, each as one test."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from fakes.dialogue import CTRL_C, Dialogue, Talk
from fakes.workspace import Workspace

HEADINGS = (
    *("Mission draft", "Evaluator draft", "Keep policy", "Slug", "Seed inputs", "Launch readiness"),
    "Confirmation bridge",
)
SCORE = f"{sys.executable} score.py"
SEEDS = ("--topic", "a better number", "--evaluator", SCORE, "--slug", "better", "--keep-policy", "score_improvement")


def document(ws: Workspace, slug: str) -> Path:
    return ws.root / f".omagy/specs/deep-interview-autoresearch-{slug}.md"


def record(ws: Workspace, slug: str) -> dict[str, object]:
    return dict(
        json.loads(document(ws, slug).with_name(f"deep-interview-autoresearch-{slug}.result.json").read_text())
    )


def seeded(talk: Talk, *options: str) -> Dialogue:
    """An interview that was told everything about the measurement but which scores are better."""
    dialogue = talk(*options, *SEEDS)
    dialogue.choose("higher ones")
    return dialogue


def to_the_end(dialogue: Dialogue, agent: str) -> str:
    """Take what is offered from the time limit on, name the agent; returns the review."""
    dialogue.enter("Longest time")
    dialogue.enter("What may change?", "What must keep working?", "What must nobody change?", "When should it stop?")
    dialogue.expect("Who should work on it?")
    dialogue.say(agent)
    return dialogue.expect("Launch it, or refine further?")


def test_01_a_vague_goal_needs_no_raw_evaluator_knowledge(numbers: Workspace, talk: Talk) -> None:
    """From "a better number" and the name of a program to an evaluator that works, without JSON or a script."""
    dialogue = talk()
    dialogue.say("a better number", "")
    dialogue.choose("with a command of my own")
    dialogue.say(f"{sys.executable} number.py")
    dialogue.choose("by the last number that it prints")
    dialogue.choose("higher ones")
    review = to_the_end(dialogue, "command:true")
    assert "score 1" in review
    dialogue.choose("only write the mission")
    assert dialogue.end() == 0
    done = numbers.omagy("autoresearch", "check", "--agent", "command:true", "missions/better-number")
    assert done.returncode == 0, done.stdout + done.stderr


def test_02_the_interview_refines_until_it_is_launched(numbers: Workspace, talk: Talk) -> None:
    """Each answer can be changed at the end; what it changes is tried again, and the rest stays."""
    dialogue = seeded(talk)
    to_the_end(dialogue, "command:true")
    dialogue.choose("refine further")
    dialogue.choose("Longest time")
    dialogue.say("5m")
    dialogue.expect("it works: the current commit passes, score 1")
    assert "20 iterations, 8h" in dialogue.expect("Launch it, or refine further?")
    dialogue.choose("leave")
    assert dialogue.end() == 0
    assert record(numbers, "better")["evaluator"]["timeout"] == "5m"  # type: ignore[index]


def test_a_draft_that_was_left_is_offered_to_the_next_interview(numbers: Workspace, talk: Talk) -> None:
    """One is offered with yes, several by name; a name on the command line needs no question."""
    for name in ("first", "second"):
        dialogue = talk("--topic", f"a better {name}", "--slug", name)
        dialogue.expect("How would you notice?")
        dialogue.kill()
        dialogue.end()
        again = talk()
        again.expect("Go on with the draft first?" if name == "first" else "go on with second: a better second")
        again.say("1")
        again.expect(f"Going on with the draft {name}.")
        again.expect("How would you notice?")
        again.kill()
        again.end()
    dialogue = talk("--slug", "first", "--topic", "something else")
    dialogue.expect("How would you notice?")
    dialogue.say("<", "<")
    dialogue.expect("(Enter: something else)")


def test_what_was_said_after_the_command_line_holds_in_the_next_sitting(numbers: Workspace, talk: Talk) -> None:
    """Options of an earlier sitting do not come back over an answer that was changed since."""
    dialogue = talk("--topic", "a better number", "--slug", "first")
    dialogue.expect("How would you notice?")
    dialogue.say("<", "<", "something else")
    dialogue.expect("How would you notice?")
    dialogue.kill()
    dialogue.end()
    dialogue = talk("--slug", "first")
    dialogue.enter("How would you notice?")
    dialogue.expect("Which command?")
    assert "# Autoresearch draft: something else" in document(numbers, "first").read_text()


@pytest.mark.parametrize("way", ["leave", "only write the mission", "Ctrl-C", "kill"])
def test_an_interview_leaves_no_lock_behind(numbers: Workspace, talk: Talk, way: str) -> None:
    """However it ends; what a killed one left goes with the next interview of that name."""
    dialogue = seeded(talk)
    held = numbers.root / ".omagy/state/interview-better.lock"
    dialogue.expect("Longest time")
    assert held.exists()
    dialogue.say("")
    dialogue.expect("What may change?")
    if way == "kill":
        dialogue.kill()
        dialogue.end()
        dialogue = talk("--slug", "better")
        dialogue.expect("What may change?")
    if way in ("kill", "Ctrl-C"):
        dialogue.press(CTRL_C)
    else:
        dialogue.enter("", "What must keep working?", "What must nobody change?", "When should it stop?")
        dialogue.expect("Who should work on it?")
        dialogue.say("command:true")
        dialogue.expect("Launch it, or refine further?")
        dialogue.choose(way)
    dialogue.end()
    assert not held.exists()


def test_a_name_is_free_again_once_its_mission_is_gone(numbers: Workspace, talk: Talk) -> None:
    """What was written and then deleted by the person does not hold its name for ever."""
    for _ in range(2):
        dialogue = seeded(talk, "--agent", "command:true")
        dialogue.enter("Longest time", "What may change?", "keep working?", "nobody change?", "When should it stop?")
        dialogue.choose("only write the mission")
        assert dialogue.end() == 0
        shutil.rmtree(numbers.root / "missions")


def test_a_limit_of_the_command_line_can_be_refined_like_any_answer(numbers: Workspace, talk: Talk) -> None:
    """The run has the limit that the review showed last."""
    numbers.plan(default=[{"artifact": {"status": "noop"}}])
    dialogue = seeded(talk, "--foreground", "--max-iterations", "3", "--agent", numbers.agent)
    dialogue.enter("Longest time", "What may change?", "What must keep working?", "What must nobody change?")
    dialogue.expect("Launch it, or refine further?")
    dialogue.choose("refine further")
    dialogue.choose("When should it stop?")
    dialogue.say("1 iteration")
    dialogue.choose("write the mission and start a run")
    assert dialogue.end() == 0
    assert numbers.decisions() == ["baseline", "noop"]


def test_03_each_round_writes_the_canonical_draft_artifact(numbers: Workspace, talk: Talk) -> None:
    """With all headings and a record beside it after every answer, and nothing else in the repository."""
    before = numbers.users_side()
    dialogue = talk()
    dialogue.say("a better number", "better")
    dialogue.expect("How would you notice?")
    text = document(numbers, "better").read_text()
    for heading in HEADINGS:
        assert f"\n## {heading}\n" in text
    assert "a better number" in text
    first = record(numbers, "better")
    assert first["launch_ready"] is False
    dialogue.choose("with a command of my own")
    dialogue.expect("Which command?")
    assert str(record(numbers, "better")["updated_at"]) > str(first["updated_at"]), "the newest is offered first"
    dialogue.kill()
    assert numbers.users_side() == before
    assert numbers.git("status", "--porcelain") == ""


def test_04_nothing_is_launched_without_the_explicit_word(numbers: Workspace, talk: Talk) -> None:
    """Refine further and launch are asked side by side; leaving writes no mission and starts no run."""
    dialogue = seeded(talk)
    to_the_end(dialogue, "command:true")
    offered = dialogue.expect("? explain)\n> ")
    assert "refine further" in offered
    assert "launch" in offered
    assert not (numbers.root / "missions").exists()
    assert numbers.run_ids() == []
    dialogue.press(b"4\n")
    assert dialogue.end() == 0
    assert not (numbers.root / "missions").exists()
    assert numbers.run_ids() == []


@pytest.mark.parametrize("command", ["TODO", "<your command>", "REPLACE_ME", "your-command-here", "true", "echo ok"])
def test_05_a_placeholder_evaluator_is_refused_before_launch(numbers: Workspace, talk: Talk, command: str) -> None:
    """In the flags, in the interview, and in a mission's file, each time with the offending text."""
    done = numbers.omagy("autoresearch", "--evaluator", command, "--slug", "x")
    assert done.returncode == 2
    assert "placeholder" in done.stderr
    dialogue = talk()
    dialogue.say("a better number", "better")
    dialogue.choose("with a command of my own")
    dialogue.say(command)
    assert command.split(maxsplit=1)[0] in dialogue.expect("is a placeholder")
    dialogue.expect("Which command?")
    numbers.mission(name="missions/p")
    sandbox = numbers.root / "missions/p/sandbox.md"
    sandbox.write_text(f"---\nevaluator:\n  command: {json.dumps(command)}\n  format: json\n---\n")
    done = numbers.omagy("autoresearch", "--foreground", "--agent", "command:true", "missions/p")
    assert done.returncode == 2
    assert "placeholder" in done.stderr
    assert numbers.run_ids() == []


def test_06_top_level_seed_flags_open_the_interview(numbers: Workspace, talk: Talk) -> None:
    """Both spellings; what was said is not asked again."""
    dialogue = talk("--topic=a better number", f"--evaluator={SCORE}", "--keep-policy=pass_only", "--slug", "better")
    passed = dialogue.expect("Longest time")
    assert passed.count("(from the command line)") == 5
    dialogue.kill()
    assert "`pass_only`" in document(numbers, "better").read_text()
    assert "- `--topic`: a better number" in document(numbers, "better").read_text()


def test_07_expert_flows_are_as_they_were(numbers: Workspace) -> None:
    """A mission folder, a resume and ``init`` with all flags ask nothing."""
    numbers.mission("budget:\n  max_iterations: 1\n")
    numbers.plan(default=[{"artifact": {"status": "noop"}}])
    assert numbers.launch().returncode == 0
    done = numbers.omagy("autoresearch", "--resume", numbers.run_id())
    assert done.returncode == 2
    assert "finished" in done.stderr
    done = numbers.omagy("autoresearch", "init", "--topic", "t", "--evaluator", SCORE, "--slug", "expert")
    assert done.returncode == 0, done.stderr
    assert (numbers.root / "missions/expert/sandbox.md").exists()


def test_08_bare_init_is_the_same_interview_and_says_so(numbers: Workspace, talk: Talk) -> None:
    dialogue = talk("init")
    dialogue.expect("What should get better?")
    dialogue.kill()
    help_text = numbers.omagy("autoresearch", "--help").stdout
    assert "omagy autoresearch init" in help_text
    assert "the same" in help_text


@pytest.mark.parametrize("args", [(), ("init",), ("--topic", "t"), ("--infer",)])
def test_09_without_a_terminal_it_is_refused_with_the_alternatives(numbers: Workspace, args: tuple[str, ...]) -> None:
    done = numbers.omagy("autoresearch", *args)
    assert done.returncode == 2
    assert done.stdout == ""
    for alternative in ("omagy autoresearch <mission-dir>", "init --topic", "init --template", "--resume"):
        assert alternative in done.stderr


def test_10_interview_draft_and_confirmation_lead_to_a_run(numbers: Workspace, talk: Talk) -> None:
    """The whole way: answers, trial, draft, launch, and a run that finishes like one of ``<mission-dir>``."""
    numbers.plan(i1=[{"write": {"value.txt": "3"}}, {"commit": "three"}, {"artifact": {}}])
    dialogue = seeded(talk, "--foreground", "--max-iterations", "1", "--agent", numbers.agent)
    dialogue.enter("Longest time", "What may change?", "What must keep working?", "What must nobody change?")
    dialogue.expect("When should it stop? 1 iteration (from the command line)")
    dialogue.choose("write the mission and start a run")
    dialogue.expect("iteration 1: keep")
    assert dialogue.end() == 0
    assert numbers.decisions() == ["baseline", "keep"]
    assert record(numbers, "better")["status"] == "launched"
    assert (numbers.root / "missions/better/mission.md").read_text().startswith("# a better number")
