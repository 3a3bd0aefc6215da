"""Questions from inside a run: a session asks, the run ends with it, the person answers, a later session knows."""

import json
import shlex
from typing import Any

import pytest

from fakes.workspace import Acts, Workspace, candidate, noop

CHOICE = {"question": "Which of the two?", "options": ["fast", "small"]}
BATCH = {"questions": [CHOICE, {"question": "Until when?\nA date will do."}]}

# The command exactly as the instructions name it; no path of a test has spaces in it.
OMAGY = """omagy=$(sed -n 's/^ *\\(.*\\) question --input .*/\\1/p' "$OMAGY_INSTRUCTIONS_FILE"); $omagy question"""


def asks(data: dict[str, Any] | str = CHOICE) -> dict[str, str]:
    """The session asks with the command of its instructions, and goes on although nobody answered."""
    text = data if isinstance(data, str) else json.dumps(data)
    return {"sh": f"{OMAGY} --json --input {shlex.quote(text)} > asked.json; echo $? > status"}


def prepared(ws: Workspace, frontmatter: str = "budget:\n  max_iterations: 3\n", **plan: Acts) -> None:
    ws.mission(frontmatter)
    ws.write(".gitignore", "asked.json\nstatus\n")
    ws.commit()
    ws.plan(**plan)


def the_question(ws: Workspace) -> dict[str, Any]:
    (found,) = json.loads(ws.omagy("question", "list", "--json").stdout)["questions"]
    return dict(found)


def instructions(ws: Workspace, iteration: int) -> str:
    return (ws.folder() / f"iterations/{iteration:04d}/instructions.md").read_text()


def test_a_session_asks_and_a_later_one_has_the_answer(ws: Workspace) -> None:
    """The asker is told to end its session, and how its run goes on; the run ends with the question."""
    prepared(ws, i1=[asks(), {"artifact": {"status": "abort"}}], i2=noop(), i3=candidate(2))
    assert ws.launch().returncode == 4
    told = json.loads((ws.lane() / "asked.json").read_text())
    assert (ws.lane() / "status").read_text() == "4\n"
    assert (told["ok"], told["status"], told["iteration"]) == (False, "open", 1)
    assert "End this session now" in told["next"]
    question = the_question(ws)
    assert (question["id"], question["run_id"], question["iteration"]) == (told["question_id"], ws.run_id(), 1)
    assert (ws.root / f".omagy/state/questions/{question['id']}.json").is_file()
    handoff = (ws.folder() / "handoff.md").read_text()
    assert "Which of the two?" in handoff
    assert f"omagy question answer {question['id']}" in handoff
    status = ws.omagy("autoresearch", "status").stdout
    assert f"{question['id']}: Which of the two?" in status
    assert f"omagy question answer {question['id']}" in status
    assert ws.resume(ws.run_id()).returncode == 2
    assert ws.omagy("question", "answer", question["id"], "2").returncode == 0
    assert ws.resume(ws.run_id()).returncode == 0
    assert "> Question: Which of the two?\n> Answer: small" in instructions(ws, 2)
    assert "> Answer: small" in instructions(ws, 3)
    assert ws.decisions() == ["baseline", "abort", "noop", "keep"]


@pytest.mark.parametrize(
    ("acts", "decision"),
    [(candidate(2), "keep"), (candidate(0), "discard"), (noop(), "noop"), ([], "error"), ([{"exit": 3}], "error")],
    ids=["keep", "discard", "noop", "no artifact", "crash"],
)
def test_what_the_session_made_is_decided_on_first(ws: Workspace, acts: Acts, decision: str) -> None:
    """The decision is applied, the lane is clean, and then the run ends with its question."""
    prepared(ws, i1=[asks(), *acts])
    assert ws.launch().returncode == 4
    assert ws.decisions() == ["baseline", decision]
    assert ws.ledger()["entries"][1]["question_id"] == the_question(ws)["id"]
    assert ws.manifest()["lifecycle_outcome"] == "askuserQuestion"
    assert ws.git("rev-parse", "HEAD", cwd=ws.lane()) == ws.manifest()["last_kept_commit"]
    assert ws.git("status", "--porcelain", cwd=ws.lane()) == ""


def test_several_questions_are_answered_together(ws: Workspace) -> None:
    """Each part of the batch stands in the next instructions with its answer."""
    prepared(ws, i1=[asks(BATCH), {"artifact": {"status": "abort"}}])
    assert ws.launch().returncode == 4
    assert ws.omagy("question", "answer", the_question(ws)["id"], "fast", "the 3rd of May").returncode == 0
    assert ws.resume(ws.run_id()).returncode == 0
    text = instructions(ws, 2)
    assert "> Question: Which of the two?\n> Answer: fast\n" in text
    assert "> Question: Until when? A date will do.\n> Answer: the 3rd of May" in text


def test_a_withdrawn_question_lets_the_run_go_on(ws: Workspace) -> None:
    """The next session is told that no answer will come."""
    prepared(ws, i1=[asks(), {"artifact": {"status": "abort"}}])
    assert ws.launch().returncode == 4
    done = ws.omagy("question", "cancel", the_question(ws)["id"])
    assert (done.returncode, f"--resume {ws.run_id()}" in done.stderr) == (0, True)
    assert ws.resume(ws.run_id()).returncode == 0
    assert "> Question: Which of the two?\n> Withdrawn" in instructions(ws, 2)


def test_the_same_question_twice_is_asked_once(ws: Workspace) -> None:
    prepared(ws, i1=[asks(), asks(), noop()[0]])
    assert ws.launch().returncode == 4
    assert the_question(ws)["status"] == "open"


@pytest.mark.parametrize("data", ['{"question": "?", "optons": []}', '{"question": ', "[]"])
def test_a_session_is_told_what_is_wrong_with_its_question(ws: Workspace, data: str) -> None:
    """Nothing is recorded, and the run goes on."""
    prepared(ws, "budget:\n  max_iterations: 1\n", i1=[asks(data), noop()[0]])
    assert ws.launch().returncode == 0
    assert (ws.lane() / "status").read_text() == "2\n"
    assert json.loads(ws.omagy("question", "list", "--json").stdout)["questions"] == []


def test_a_session_cannot_answer_or_withdraw_what_it_asked(ws: Workspace) -> None:
    """Neither by the command, nor through its outbox."""
    name = 'id=$(sed -n "s/.*question_id.: .\\(q-[0-9a-f]\\{8\\}\\).*/\\1/p" asked.json)'
    outbox = '"${OMAGY_CANDIDATE_FILE%/*}"'
    forged = '{"id": "%s", "status": "answered", "question": "Which?", "answers": [{"answer": "mine"}]}'
    acts: Acts = [
        asks(),
        {"sh": f"{name}; {OMAGY} answer $id fast 2> {outbox}/told && exit 1; true"},
        {"sh": f"{name}; {OMAGY} cancel $id 2>> {outbox}/told && exit 1; true"},
        {"sh": f"{name}; printf '{forged}' $id > {outbox}/questions/zzz.json"},
        noop()[0],
    ]
    prepared(ws, i1=acts)
    assert ws.launch().returncode == 4
    assert the_question(ws)["status"] == "open"
    told = (ws.folder() / "iterations/0001/outbox/told").read_text()
    assert "a session cannot answer questions" in told
    assert "a session cannot cancel questions" in told
    assert "cannot be asked (zzz.json)" in (ws.folder() / "supervisor.log").read_text()


def test_an_evaluator_has_nobody_to_ask(ws: Workspace) -> None:
    """What runs without a session is told so, and fails as it likes."""
    evaluator = (
        "import json, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'omagy_supervisor', 'question', '--question', '?'],"
        " capture_output=True, text=True)\n"
        "print(json.dumps({'pass': 'only a session of a run can ask' in done.stderr, 'score': 1}))\n"
    )
    ws.mission("budget:\n  max_iterations: 1\n", evaluator)
    ws.commit()
    ws.plan(i1=noop())
    assert ws.launch().returncode == 0
    assert ws.ledger()["entries"][0]["evaluator"]["pass"] is True
    assert json.loads(ws.omagy("question", "list", "--json").stdout)["questions"] == []
