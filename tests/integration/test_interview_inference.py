"""``--infer``: the real Codex looks at a copy of the repository and proposes, against a scripted model server."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.codex_home import KEY_VARIABLE, codex_for_tests, make_codex_home
from fakes.dialogue import CTRL_C, Dialogue
from fakes.responses_server import Hang, HttpError, Message, ResponsesServer, Shell, Step, responses_server
from fakes.workspace import Workspace, contents, wait_until

SCORE = f"{sys.executable} score.py"
ANSWER = {"command": SCORE, "direction": "maximize", "why": "score.py prints a score", "confidence": 0.85}


@pytest.fixture
def server() -> Iterator[ResponsesServer]:
    with responses_server() as running:
        yield running


def talk(ws: Workspace, tmp_path: Path, server: ResponsesServer, *steps: Step) -> Dialogue:
    """The interview with a Codex whose model does ``steps``."""
    home = make_codex_home(tmp_path / "codex", server.play(*steps))
    ws.environment |= {
        "OMAGY_CODEX": str(codex_for_tests()),
        "CODEX_HOME": home.environment["CODEX_HOME"],
        "TMPDIR": home.environment["TMPDIR"],
        KEY_VARIABLE: home.environment[KEY_VARIABLE],
    }
    return Dialogue(ws, "autoresearch", "--infer", "--topic", "a better number", "--slug", "better")


def test_what_codex_proposes_is_marked_tried_and_written(
    numbers: Workspace, tmp_path: Path, server: ResponsesServer
) -> None:
    """It passes the same trial as any other, and prompts, draft and mission say where it is from."""
    look = Shell("cat score.py; touch nothing-of-mine; ls")
    dialogue = talk(numbers, tmp_path, server, look, Message(json.dumps(ANSWER)))
    dialogue.expect("Inferred by Codex, with confidence 0.85")
    dialogue.enter("confidence 0.85]", "Longest time")
    dialogue.expect("it works: the current commit passes, score 1")
    dialogue.enter("may change?", "keep working?", "nobody change?", "stop?", "work on it?")
    dialogue.expect("confidence 0.85")
    dialogue.expect("only write the mission")
    dialogue.say("3")
    assert dialogue.end() == 0
    assert "inferred the evaluator's command" in (numbers.root / "missions/better/sandbox.md").read_text()
    draft = (numbers.root / ".omagy/specs/deep-interview-autoresearch-better.md").read_text()
    assert "**Inferred by Codex** with confidence 0.85" in draft
    outputs = server.requests[-1].tool_outputs()
    assert any("value.txt" in output for output in outputs), "it sees the repository"
    assert not any("nothing-of-mine\n" in output for output in outputs), "it cannot write"
    assert "a better number" in str(server.requests[0].body["input"])


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Message("I would run the tests."), "Codex's answer is no proposal: it is not JSON"),
        (Message(json.dumps({**ANSWER, "confidence": 3})), "confidence is not a number from 0 to 1"),
        (Message(json.dumps({**ANSWER, "command": "TODO"})), "command is a placeholder: TODO"),
        (HttpError(401, {"message": "unauthorized"}), "codex login"),
        (HttpError(429, {"type": "usage_limit_reached", "message": "limit"}), "--infer again after the limit"),
    ],
)
def test_when_codex_cannot_answer_the_interview_goes_on(
    numbers: Workspace, tmp_path: Path, server: ResponsesServer, step: Step, words: str
) -> None:
    dialogue = talk(numbers, tmp_path, server, step)
    dialogue.expect(words)
    passed = dialogue.expect("How would you notice?")
    assert "inferred" not in passed
    dialogue.kill()
    dialogue.end()


def test_ctrl_c_ends_the_look_and_not_the_interview(
    numbers: Workspace, tmp_path: Path, server: ResponsesServer
) -> None:
    """Nothing of Codex runs on, and the copy is gone."""
    before = contents(numbers.root)
    dialogue = talk(numbers, tmp_path, server, Hang())
    server.wait_for_requests(1)
    dialogue.press(CTRL_C)
    dialogue.expect("Stopped; the interview goes on without it.")
    dialogue.expect("How would you notice?")
    assert [line for line in numbers.running() if "codex" in line and "omagy_supervisor" not in line] == []
    dialogue.expect("? explain)\n> ")
    dialogue.press(CTRL_C)
    assert dialogue.end() == 130
    after = {path: held for path, held in contents(numbers.root).items() if not path.startswith(".omagy")}
    assert after == before
    wait_until(lambda: not list(numbers.root.parent.glob("repo.omagy-worktrees/*")), "the end of the copy")


def test_without_codex_it_says_so_and_goes_on(numbers: Workspace) -> None:
    numbers.environment["OMAGY_CODEX"] = "/nowhere/codex"
    dialogue = Dialogue(numbers, "autoresearch", "--infer", "--topic", "better", "--slug", "better")
    dialogue.expect("Codex is not installed, so it cannot look")
    dialogue.expect("How would you notice?")
    dialogue.kill()
    dialogue.end()
