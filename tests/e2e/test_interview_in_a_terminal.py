"""The interview with real keys in a real terminal: arrow keys, a step back, Ctrl-C, a kill, a tiny window."""

import json
import os
import signal
import sys

import psutil

from fakes.screen import OpenScreen, Screen
from fakes.workspace import Workspace, wait_until

NUMBER = f"{sys.executable} number.py"


def begin(screen: Screen, *args: str) -> None:
    screen.omagy(*args)
    screen.wait("What should get better?")


def wait_below(screen: Screen, told: str, question: str) -> None:
    """Wait until ``question`` is asked again after ``told``: what is typed in between is no answer to it."""
    wait_until(lambda: question in screen.text().partition(told)[2], f"{question!r} below {told!r}")


def up_to_the_trial(screen: Screen) -> None:
    """A goal, a name, a command of one's own whose last number counts."""
    screen.type("a better number")
    screen.wait("A short name for it?")
    screen.press("Enter")
    screen.wait("How would you notice?")
    screen.choose("with a command of my own")
    screen.wait("Which command?")
    screen.type(NUMBER)
    screen.wait("How does it tell how good it was?")
    screen.choose("by the last number that it prints")
    screen.wait("Which scores are better?")
    screen.press("Enter")
    screen.wait("Longest time for one measurement?")


REST = ("What may change?", "What must keep working?", "What must nobody change?", "When should it stop?")


def test_from_an_empty_idea_to_a_finished_run(numbers: Workspace, open_screen: OpenScreen) -> None:
    """Every answer with real keys; the run is followed like one of a mission folder, and the user's side is whole."""
    numbers.plan(i1=[{"write": {"value.txt": "7"}}, {"commit": "seven"}, {"artifact": {}}])
    before = numbers.users_side()
    screen = open_screen()
    begin(screen, "--agent", numbers.agent, "--max-iterations", "1")
    up_to_the_trial(screen)
    screen.press("Enter")
    screen.wait("it works: the current commit passes, score 1, 1, 1, 1, 1")
    screen.wait("the same score each time")
    screen.enter(*REST[:-1])
    screen.choose("launch")
    screen.wait("iteration 1: keep, score improved: 1 → 7")
    screen.wait("status 0")
    assert numbers.decisions() == ["baseline", "keep"]
    mission = {path for path in numbers.users_side() if path.split("/")[0] == "missions"}
    assert {path: held for path, held in numbers.users_side().items() if path not in mission} == before
    assert mission == {"missions", "missions/better-number"} | {
        f"missions/better-number/{name}" for name in ("mission.md", "sandbox.md", "evaluate.py")
    }


def test_back_and_explain_are_one_key(numbers: Workspace, open_screen: OpenScreen) -> None:
    screen = open_screen()
    begin(screen)
    screen.type("?")
    wait_below(screen, "Every session of the agent reads it.", "What should get better?")
    screen.type("a better number")
    screen.wait("A short name for it?")
    screen.press("Enter")
    screen.wait("How would you notice?")
    screen.press("?")
    wait_below(screen, "After every change a command is run", "How would you notice?")
    screen.press("<")
    wait_until(lambda: screen.text().count("A short name for it?") == 2, "the question before")
    screen.type("<")
    wait_until(lambda: screen.text().count("What should get better?") == 2, "the first question")
    screen.press("C-c")
    screen.wait("status 130")


def test_tab_takes_what_is_offered_to_edit_it(numbers: Workspace, open_screen: OpenScreen) -> None:
    screen = open_screen()
    begin(screen)
    screen.press("Tab")
    screen.type(" and calmer")
    screen.wait("A short name for it?")
    screen.press("Enter")
    screen.wait("How would you notice?")
    screen.press("C-c")
    screen.wait("status 130")
    (record,) = (numbers.root / ".omagy/specs").glob("*.result.json")
    assert json.loads(record.read_text())["answers"][0]["answer"] == "make repo faster and calmer"


def test_ctrl_c_keeps_the_draft_and_says_how_to_go_on(numbers: Workspace, open_screen: OpenScreen) -> None:
    """The name alone brings the interview back to the question that was open, with the trial that was made."""
    screen = open_screen()
    begin(screen)
    up_to_the_trial(screen)
    screen.press("Enter")
    screen.wait("What may change?")
    screen.press("C-c")
    screen.wait("omagy autoresearch --slug better-number")
    screen.wait("status 130")
    assert numbers.git("status", "--porcelain") == ""
    screen.omagy("--slug", "better-number")
    screen.wait("What may change?")
    assert "Trying:" not in screen.text()
    screen.press("C-c")
    screen.wait("status 130")


def test_ctrl_c_ends_a_trial_and_not_the_interview(numbers: Workspace, open_screen: OpenScreen) -> None:
    """What was tried is gone with all it started; another command can be named at once."""
    mark = numbers.root.parent / "measuring"
    numbers.write("number.py", f"import threading\nopen({str(mark)!r}, 'w')\nthreading.Event().wait()\n")
    numbers.commit()
    screen = open_screen()
    begin(screen)
    up_to_the_trial(screen)
    screen.press("Enter")
    wait_until(mark.exists, "the trial")
    screen.press("C-c")
    screen.wait("it was stopped before it answered")
    wait_until(lambda: not tried(numbers), "the end of what was tried")
    assert not list(numbers.root.parent.glob("repo.omagy-worktrees/*"))
    screen.choose("change the command")
    wait_until(lambda: screen.text().count("Which command?") == 2, "the question again")
    screen.type("cat value.txt")
    screen.wait("it works: the current commit passes, score 1")
    screen.press("C-c")
    screen.wait("status 130")


def test_a_trial_that_fails_says_what_was_expected_and_offers_a_way_on(
    numbers: Workspace, open_screen: OpenScreen
) -> None:
    numbers.write("number.py", "import sys\nprint('line one of the reason')\nsys.exit(3)\n")
    numbers.commit()
    screen = open_screen()
    begin(screen)
    up_to_the_trial(screen)
    screen.press("Enter")
    screen.wait("it did not work")
    screen.wait("expected:")
    screen.choose("look at all that it printed")
    screen.wait("line one of the reason")
    wait_until(lambda: screen.text().count("What now?") >= 2, "the question again")
    screen.choose("go on, and mend it later")
    screen.enter(*REST)
    screen.wait("Who should work on it?")
    screen.press("C-c")
    screen.wait("status 130")
    document = (numbers.root / ".omagy/specs/deep-interview-autoresearch-better-number.md").read_text()
    assert "the evaluator did not work when it was tried" in document


def test_two_interviews_of_one_name_do_not_write_over_each_other(numbers: Workspace, open_screen: OpenScreen) -> None:
    """The second is told who has the name and offered another; with that name on its command line it is refused."""
    first, second = open_screen(), open_screen()
    begin(first, "--slug", "better")
    first.type("a better number")
    first.wait("How would you notice?")
    second.omagy("--slug", "better")
    second.wait("the interview better is open already, in process")
    second.wait("choose another name: --slug better-2")
    second.wait("status 2")
    begin(second)
    second.type("make it better")
    second.wait("A short name for it?")
    second.type("better")
    second.wait("better is open already, in process")
    second.enter("[better-2]")
    second.wait("How would you notice?")
    second.press("C-c")
    second.wait("omagy autoresearch --slug better-2")
    first.press("C-c")
    first.wait("omagy autoresearch --slug better")
    documents = sorted((numbers.root / ".omagy/specs").glob("*.md"))
    assert [document.read_text().splitlines()[0] for document in documents] == [
        "# Autoresearch draft: make it better",
        "# Autoresearch draft: a better number",
    ]


def test_keys_pressed_during_a_trial_answer_nothing(numbers: Workspace, open_screen: OpenScreen) -> None:
    """Somebody impatient presses Enter while it measures: the next question still waits for them."""
    go_on = numbers.root.parent / "go on"
    waiting = numbers.root.parent / "waiting"
    numbers.write(
        "number.py",
        f"import os, pathlib\npathlib.Path({str(waiting)!r}).touch()\n"
        f"while not os.path.exists({str(go_on)!r}):\n    __import__('select').select([], [], [], 0.01)\nprint(5)\n",
    )
    numbers.commit()
    screen = open_screen()
    begin(screen)
    up_to_the_trial(screen)
    screen.press("Enter")
    wait_until(waiting.exists, "the trial")
    screen.press("Enter", "Enter", "Enter", "Enter")
    go_on.touch()
    screen.wait("What may change?")
    screen.press("Down")
    screen.wait("> 2)")
    assert "What must keep working?" not in screen.text()
    screen.press("C-c")
    screen.wait("status 130")


def test_of_a_paste_of_many_lines_only_the_first_is_an_answer(numbers: Workspace, open_screen: OpenScreen) -> None:
    screen = open_screen()
    begin(screen)
    screen.press("-l", "a better number\rjunk\rmore junk\r")
    screen.wait("[better-number]")
    screen.press("C-c")
    screen.wait("status 130")


def test_a_kill_in_the_middle_loses_no_answer(numbers: Workspace, open_screen: OpenScreen) -> None:
    """Even while something is being tried: the next sitting sweeps what was left and asks the next question."""
    mark = numbers.root.parent / "measuring"
    numbers.write("number.py", f"import threading\nopen({str(mark)!r}, 'w')\nthreading.Event().wait()\n")
    numbers.commit()
    screen = open_screen()
    begin(screen)
    up_to_the_trial(screen)
    screen.press("Enter")
    wait_until(mark.exists, "the trial")
    (omagy,) = [each for each in numbers.own_processes() if "omagy_supervisor" in cmdline(each)]
    os.kill(omagy.pid, signal.SIGKILL)
    screen.wait("status 137")
    numbers.write("number.py", "print(5)\n")
    numbers.commit()
    screen.omagy("--slug", "better-number")
    screen.wait("it works: the current commit passes, score 5")
    wait_until(lambda: not tried(numbers), "the end of the orphans")
    assert not list(numbers.root.parent.glob("repo.omagy-worktrees/trial-*"))
    screen.press("C-c")
    screen.wait("status 130")


def tried(repo: Workspace) -> list[str]:
    """What runs of the command that was tried, the interview itself left out."""
    return [line for line in repo.running() if "number.py" in line and "omagy_supervisor" not in line]


def cmdline(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def test_a_tiny_window_shows_every_question(numbers: Workspace, open_screen: OpenScreen) -> None:
    """Forty columns and twelve lines are enough for the question and all that can be chosen."""
    screen = open_screen(40, 12)
    begin(screen)
    screen.type("a better number")
    screen.wait("A short name for it?")
    screen.press("Enter")
    screen.wait("How would you notice?")
    screen.choose("with a command of my own")
    screen.wait("Which command?")
    screen.type(NUMBER)
    screen.wait("How does it tell how good it was?")
    for label in ("by the time", "by the last number", "by its exit status", "it prints JSON"):
        wait_until(lambda label=label: label in screen.visible(), f"the choice {label!r}")  # type: ignore[misc]
    assert "too small" not in screen.whole()
    screen.choose("by the last number")
    screen.enter("Which scores are better?", "Longest time", "What may change?")
    screen.press("C-c")
    screen.wait("status 130")


def test_texts_of_the_repository_cannot_steer_the_terminal(numbers: Workspace, open_screen: OpenScreen) -> None:
    """Escapes in names, scripts and output are shown without their power; the title of the window stays."""
    evil = "\x1b]2;owned\x07\x1b[2J"
    scripts = {f"bench{evil}": "node x", "bench": f"node bench.js # {evil}", "test": "node --test"}
    numbers.write("package.json", json.dumps({"name": evil, "scripts": scripts}))
    numbers.write(f"tests/{evil.replace('/', '')}.test.js", "")
    numbers.write("number.py", f"print({evil!r})\nprint(3)\n")
    numbers.commit()
    screen = open_screen()
    begin(screen)
    up_to_the_trial(screen)
    screen.press("Enter")
    screen.wait("score 3")
    screen.wait("it printed:")
    screen.wait("What may change?")
    screen.press("C-c")
    screen.wait("status 130")
    assert "What should get better?" in screen.whole(), "nothing was cleared"
    assert screen.title() != "owned"
    document = (numbers.root / ".omagy/specs/deep-interview-autoresearch-better-number.md").read_text()
    assert "\x1b" not in document
