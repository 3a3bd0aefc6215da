"""Ctrl-C while an interview waits for git: between two questions, not at one."""

import shutil
from pathlib import Path

import pytest

from fakes.dialogue import CTRL_C, Talk
from fakes.workspace import Workspace, wait_until
from integration.test_interview_checklist import record, seeded


def slow_git(ws: Workspace, verb: str, first: str = "") -> Path:
    """A git whose ``verb`` does not end once the returned file is gone; ``first`` is what it does before that."""
    tools = ws.root.parent / "tools"
    tools.mkdir()
    fast, waits = tools / "fast", tools / "waits"
    fast.touch()
    program = tools / "git"
    program.write_text(
        f"#!/bin/sh\ncase \" $* \" in *' {verb} '*) if ! [ -e {fast} ]; then\n"
        f"{first}echo $$ > {waits}.new; mv {waits}.new {waits}; exec sleep 600; fi;; esac\n"
        f'exec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    ws.environment["PATH"] = f"{tools}:{ws.environment['PATH']}"
    return fast


def test_ctrl_c_between_two_questions_ends_a_git_that_hangs_and_keeps_the_draft(
    numbers: Workspace, talk: Talk
) -> None:
    """One on a disk that does not answer, or that waits for a filter."""
    fast = slow_git(numbers, "check-ignore")
    dialogue = seeded(talk)
    dialogue.enter("Longest time", "What may change?", "What must keep working?", "What must nobody change?")
    dialogue.enter("When should it stop?")
    dialogue.expect("Who should work on it?")
    fast.unlink()
    dialogue.say("command:true")
    wait_until(fast.with_name("waits").exists, "git")
    dialogue.press(CTRL_C)
    dialogue.expect("omagy autoresearch --slug better")
    assert dialogue.end() == 130
    assert record(numbers, "better")["slug"] == "better"
    wait_until(lambda: not numbers.own_processes(), "the end of git")


@pytest.mark.parametrize("first", ["", "trap '' INT\n"])
def test_ctrl_c_before_the_first_question_ends_a_git_that_hangs(numbers: Workspace, talk: Talk, first: str) -> None:
    """omagy looks at the repository then, and nothing was said that could be lost."""
    fast = slow_git(numbers, "ls-files", first)
    fast.unlink()
    dialogue = talk()
    wait_until(fast.with_name("waits").exists, "git")
    dialogue.press(CTRL_C)
    dialogue.expect("Nothing was said yet")
    assert dialogue.end() == 130
    wait_until(lambda: not numbers.own_processes(), "the end of git")
