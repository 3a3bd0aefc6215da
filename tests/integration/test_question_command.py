"""Questions of sessions: they end the run, the person answers, and the answer reaches the next session."""

import json

from fakes.workspace import Workspace, noop


def test_a_question_is_answered_and_the_run_goes_on_with_the_answer(ws: Workspace) -> None:
    """The command that the refusal names answers the question, and the next session gets the answer."""
    ws.mission("budget:\n  max_iterations: 2\n")
    ws.commit()
    folder = ws.root / ".omagy/state/questions"
    asks = (
        f'mkdir -p \'{folder}\' && printf \'{{"id": "q-1", "run_id": "%s", "status": "open",'
        f' "question": "Which of the two?"}}\' "$OMAGY_RUN_ID" > \'{folder}/q-1.json\''
    )
    ws.plan(i1=[{"sh": asks}, {"artifact": {"status": "abort"}}], i2=noop())
    assert ws.launch().returncode == 4
    run_id = ws.run_id()
    refused = ws.resume(run_id)
    assert refused.returncode == 2
    assert "Which of the two?" in refused.stderr
    assert "omagy question answer q-1" in refused.stderr
    assert "Which of the two?" in ws.omagy("question", "list").stdout
    assert ws.omagy("question", "answer", "q-1", "the", "second").returncode == 0
    assert "answered: the second" in ws.omagy("question", "show", "q-1").stdout
    assert ws.resume(run_id).returncode == 0
    assert "Answer: the second" in (ws.folder() / "iterations/0002/instructions.md").read_text()
    listed = json.loads(ws.omagy("question", "list", "--json").stdout)
    assert listed["questions"][0]["answers"] == [{"question": "Which of the two?", "answer": "the second"}]


def test_wrong_question_commands_name_the_right_ones(ws: Workspace) -> None:
    """An unknown question, an answer without words and a question answered twice are refused with the way out."""
    ws.commit()
    assert "omagy question list" in ws.omagy("question", "answer", "q-9", "x").stderr
    assert "the answer is missing" in ws.omagy("question", "answer", "q-9").stderr
    assert ws.omagy("question", "frobnicate").returncode == 2
    record = {"id": "q-1", "status": "open", "question": "?"}
    ws.write(".omagy/state/questions/q-1.json", json.dumps(record))
    assert ws.omagy("question", "answer", "q-1", "yes").returncode == 0
    again = ws.omagy("question", "answer", "q-1", "no")
    assert (again.returncode, "it is answered" in again.stderr) == (2, True)
