"""``omagy question`` without tmux: recorded, answered, put off, withdrawn, expired; by one person, or two at once."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.workspace import PATIENCE_S, Workspace, contents, wait_until

CHOICE = {"question": "Which one?", "options": ["sqlite", {"label": "Postgres", "value": "pg"}]}
BATCH = {"questions": [{"id": "db", **CHOICE}, {"question": "Why?"}]}


def ask(ws: Workspace, data: dict[str, Any], *options: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Ask as a program does, with ``stdin`` for what a person would type."""
    return subprocess.run(
        [sys.executable, "-m", "omagy_supervisor", "question", "--input", json.dumps(data), "--json", *options],
        cwd=ws.root,
        env=ws.environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def asked(ws: Workspace, data: dict[str, Any]) -> str:
    """The id of a recorded question."""
    done = ask(ws, data)
    assert done.returncode == 4, done.stderr
    return str(json.loads(done.stdout)["question_id"])


def records(ws: Workspace) -> list[dict[str, Any]]:
    return list(json.loads(ws.omagy("question", "list", "--json").stdout)["questions"])


def test_without_a_person_the_pending_record_comes_back_at_once(ws: Workspace) -> None:
    """It lies in the state, which git does not see; the answer is found by its id."""
    ws.commit()
    done = ask(ws, CHOICE)
    result = json.loads(done.stdout)
    assert (done.returncode, result["ok"], result["status"], result["answers"]) == (4, False, "open", [])
    name = result["question_id"]
    assert (ws.root / f".omagy/state/questions/{name}.json").is_file()
    assert ws.git("status", "--porcelain") == ""
    assert f"omagy question answer {name}" in result["error"]["message"]
    assert ws.omagy("question", "answer", name, "2").returncode == 0
    answered = json.loads(ws.omagy("question", "show", name, "--json").stdout)
    assert answered["answers"][0]["answer"]["value"] == "pg"


def test_a_repository_without_commits_has_a_person_to_ask_too(ws: Workspace) -> None:
    """Only a run needs a commit; an interview before the first one does not."""
    name = asked(ws, CHOICE)
    assert ws.omagy("question", "answer", name, "sqlite").returncode == 0
    assert [record["status"] for record in records(ws)] == ["answered"]


def test_what_is_wrong_with_the_input_is_shown_with_a_question(ws: Workspace) -> None:
    ws.commit()
    done = ws.omagy("question", "--input", "{")
    assert done.returncode == 2
    assert '{"question":' in done.stderr
    assert '{"mode":' not in done.stderr


def test_plain_options_ask_the_same(ws: Workspace) -> None:
    """For people, and for shell scripts; what is wrong in them is said as for JSON."""
    ws.commit()
    plain = ("--question", "Which?", "--options", "A|B", "--multi-select", "--allow-other", "--default", "B")
    done = ws.omagy("question", *plain)
    assert done.returncode == 4
    assert "omagy question answer q-" in done.stderr
    (record,) = records(ws)
    assert [option["label"] for option in record["options"]] == ["A", "B"]
    assert (record["multi_select"], record["allow_other"], record["default"]) == (True, True, ["B"])
    twice = ws.omagy("question", "--input", json.dumps(CHOICE), "--question", "Which?")
    assert (twice.returncode, "say it in one way" in twice.stderr) == (2, True)


def test_a_question_of_a_session_lies_in_its_state(ws: Workspace) -> None:
    ws.commit()
    name = json.loads(ask(ws, CHOICE, "--session-id", "s-1").stdout)["question_id"]
    assert (ws.root / f".omagy/state/s-1/questions/{name}.json").is_file()
    assert ws.omagy("question", "answer", name, "1").returncode == 0
    assert records(ws)[0]["session_id"] == "s-1"


@pytest.mark.parametrize("renderer", ["inline"])
def test_typed_lines_answer_where_the_terminal_can_do_no_more(ws: Workspace, renderer: str) -> None:
    """Numbered lines on stderr; a wrong one is asked again, and stdout is the JSON alone."""
    ws.commit()
    done = ask(ws, BATCH, "--renderer", renderer, stdin="3\n2\nbecause\n")
    result = json.loads(done.stdout)
    assert (done.returncode, result["ok"]) == (0, True)
    assert [one["answer"]["value"] for one in result["answers"]] == ["pg", "because"]
    assert [one["question_id"] for one in result["answers"]] == ["db", "q-2"]
    assert "'3' is none of the options: sqlite, Postgres" in done.stderr
    assert "  2) Postgres" in done.stderr


def test_the_end_of_the_input_puts_the_question_off(ws: Workspace) -> None:
    """Half of a batch is no answer; all of it is still open."""
    ws.commit()
    done = ask(ws, BATCH, "--renderer", "inline", stdin="2\n")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (4, "open")
    assert records(ws)[0]["answers"] == []


def test_nobody_answers_in_time(ws: Workspace) -> None:
    """The question is expired for good, and a later answer is refused with that."""
    ws.commit()
    reader, writer = os.pipe()
    done = subprocess.run(
        [sys.executable, "-m", "omagy_supervisor", "question", "--input", json.dumps(CHOICE), "--json",
         "--renderer", "inline", "--timeout", "0.5s"],
        cwd=ws.root, env=ws.environment, stdin=reader, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    os.close(reader)
    os.close(writer)
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"], result["error"]["code"]) == (1, "expired", "question_expired")
    late = ws.omagy("question", "answer", result["question_id"], "1")
    assert (late.returncode, "it is expired" in late.stderr) == (2, True)


def test_a_question_is_withdrawn_while_somebody_waits(ws: Workspace) -> None:
    """The asker is told, and its exit status says that a person did it."""
    ws.commit()
    waiting = waits(ws)
    name = records(ws)[0]["id"]
    assert ws.omagy("question", "cancel", name).returncode == 0
    out, _ = waiting.communicate(timeout=PATIENCE_S)
    assert (waiting.returncode, json.loads(out)["status"]) == (130, "cancelled")


def test_an_answer_given_elsewhere_ends_the_wait(ws: Workspace) -> None:
    ws.commit()
    waiting = waits(ws)
    assert ws.omagy("question", "answer", records(ws)[0]["id"], "Postgres").returncode == 0
    out, _ = waiting.communicate(timeout=PATIENCE_S)
    assert (waiting.returncode, json.loads(out)["answers"][0]["answer"]["value"]) == (0, "pg")


def waits(ws: Workspace) -> "subprocess.Popen[str]":
    """An asker that waits for its answer in a terminal where nobody types."""
    process = subprocess.Popen(
        [sys.executable, "-m", "omagy_supervisor", "question", "--input", json.dumps(CHOICE), "--json",
         "--renderer", "inline"],
        cwd=ws.root, env=ws.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    ws.processes.append(process)
    folder = ws.root / ".omagy/state/questions"
    wait_until(lambda: folder.is_dir() and bool(list(folder.glob("*.json"))), "the question's record")
    return process


def test_a_killed_asker_loses_nothing(ws: Workspace) -> None:
    """Its question stays open; asking the same again is a question of its own, and both can be answered."""
    ws.commit()
    waiting = waits(ws)
    waiting.send_signal(signal.SIGKILL)
    waiting.wait()
    first = records(ws)[0]["id"]
    second = asked(ws, CHOICE)
    assert first != second
    assert ws.omagy("question", "answer", second, "1").returncode == 0
    assert ws.omagy("question", "answer", first, "2").returncode == 0
    assert [one["answers"][0]["answer"]["value"] for one in records(ws)] == ["pg", "sqlite"]


def test_of_two_answers_at_once_one_is_taken(ws: Workspace) -> None:
    """The others are told that it is answered, and with what."""
    ws.commit()
    for _ in range(3):
        name = asked(ws, {"question": "Which?"})
        people = [ws.start("question", "answer", name, f"person {number}") for number in range(4)]
        told = [person.communicate(timeout=PATIENCE_S)[1] for person in people]
        winners = [number for number, person in enumerate(people) if person.returncode == 0]
        assert len(winners) == 1
        record = next(one for one in records(ws) if one["id"] == name)
        assert record["answers"][0]["answer"]["value"] == f"person {winners[0]}"
        for number in set(range(4)) - set(winners):
            assert f"it is answered, with: person {winners[0]}" in told[number]


def test_a_batch_is_answered_word_by_word_or_as_json(ws: Workspace) -> None:
    ws.commit()
    first, second = asked(ws, BATCH), asked(ws, BATCH)
    wrong = ws.omagy("question", "answer", first, "2")
    assert "asks 2 things, and 1 were answered" in wrong.stderr
    assert ws.omagy("question", "answer", first, "2", "it is there").returncode == 0
    answers = json.dumps({"answers": ["pg", {"answer": "it is there"}]})
    done = ws.omagy("question", "answer", second, "--input", answers, "--json")
    assert json.loads(done.stdout)["ok"] is True
    shown = [ws.omagy("question", "show", name).stdout.splitlines()[1:] for name in (first, second)]
    assert shown[0] == shown[1]
    assert "answered: it is there" in shown[0]


def test_the_person_answers_on_a_terminal(ws: Workspace) -> None:
    """``answer <id>`` alone shows the choices there: arrow keys, numbers, Enter."""
    ws.commit()
    name = asked(ws, CHOICE)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "omagy_supervisor", "question", "answer", name],
        cwd=ws.root, env=ws.environment, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    read_until(ours, b"Ctrl-C: later")
    os.write(ours, b"\x1b[B\r")
    seen = read_until(ours, b"is answered: Postgres")
    assert process.wait(PATIENCE_S) == 0
    os.close(ours)
    assert b"1) sqlite" in seen or b"Postgres" in seen
    assert records(ws)[0]["answers"][0]["answer"]["value"] == "pg"


def read_until(fd: int, words: bytes) -> bytes:
    """What the terminal shows, up to ``words``; cursor reports that a program asks for are not answered."""
    seen = b""
    while words not in seen:
        seen += os.read(fd, 1 << 16)
    return seen


def test_wrong_question_commands_name_the_right_ones(ws: Workspace) -> None:
    """An unknown question, an answer without words and a misspelt verb are refused with the way out."""
    ws.commit()
    assert "omagy question list" in ws.omagy("question", "answer", "q-9", "x").stderr
    assert "omagy question list" in ws.omagy("question", "answer", "../q-9", "x").stderr
    assert "did you mean cancel?" in ws.omagy("question", "cancle", "q-9").stderr
    assert "did you mean inline?" in ws.omagy("question", "--question", "?", "--renderer", "inlin").stderr
    assert "did you mean --options?" in ws.omagy("question", "--question", "?", "--optons", "A").stderr
    name = asked(ws, {"question": "?"})
    assert "the answer is missing" in ws.omagy("question", "answer", name).stderr
    assert ws.omagy("question", "answer", name, "yes").returncode == 0
    again = ws.omagy("question", "answer", name, "no")
    assert (again.returncode, "it is answered, with: yes" in again.stderr) == (2, True)
    assert ws.omagy("question").returncode == 2
    assert "--renderer" in ws.omagy("question", "--help").stdout


def test_a_deleted_record_ends_the_wait(ws: Workspace) -> None:
    """The asker says that its question is gone, instead of waiting for ever."""
    ws.commit()
    waiting = waits(ws)
    for path in Path(ws.root / ".omagy/state/questions").glob("*.json"):
        path.unlink()
    _, told = waiting.communicate(timeout=PATIENCE_S)
    assert (waiting.returncode, "there is no question q-" in told) == (2, True)


def test_a_session_asks_but_does_not_answer(ws: Workspace) -> None:
    """Not its own question, and no other."""
    standing = asked(ws, CHOICE)
    outbox = ws.root.parent / "outbox"
    outbox.mkdir()
    inside = {"OMAGY_RUN_ID": "m-1", "OMAGY_CANDIDATE_FILE": str(outbox / "candidate.json"), "OMAGY_ITERATION": "3"}
    ws.environment |= inside
    told = json.loads(ask(ws, CHOICE).stdout)
    assert (told["status"], told["run_id"], told["iteration"]) == ("open", "m-1", 3)
    assert str(outbox / "candidate.json") in told["next"]
    (left,) = (outbox / "questions").iterdir()
    assert left.stem == told["question_id"]
    for verb, *words in (("answer", told["question_id"], "pg"), ("answer", standing, "pg"), ("cancel", standing)):
        done = ws.omagy("question", verb, *words)
        assert done.returncode == 2
        assert f"a session cannot {verb}" in done.stderr
    assert [one["status"] for one in json.loads(ws.omagy("question", "list", "--json").stdout)["questions"]] == [
        "open"
    ]


def test_asking_from_a_session_loads_no_heavy_library(ws: Workspace) -> None:
    """It runs inside an agent's tool call, where every one costs."""
    outbox = ws.root.parent / "outbox"
    outbox.mkdir()
    inside = {"OMAGY_RUN_ID": "m-1", "OMAGY_CANDIDATE_FILE": str(outbox / "candidate.json")}
    program = (
        "import sys; from omagy_supervisor.cli import main; main(['question', '--question', 'Which?']);"
        "heavy = {'git', 'libtmux', 'rich', 'ruamel', 'psutil', 'questionary', 'prompt_toolkit'};"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=ws.environment | inside, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
    assert len(list((outbox / "questions").iterdir())) == 1


def test_a_question_over_its_time_is_not_shown_as_open(ws: Workspace) -> None:
    """Nobody was there when it expired; what is printed says so all the same, and offers no answer to give."""
    asked = json.loads(ws.omagy("question", "--question", "Soon?", "--timeout", "0.001s", "--json").stdout)
    name = asked["question_id"]
    assert ws.omagy("question", "list").stdout.split()[:2] == [name, "expired"]
    assert json.loads(ws.omagy("question", "list", "--json").stdout)["questions"][0]["status"] == "expired"
    assert json.loads(ws.omagy("question", "show", name, "--json").stdout)["status"] == "expired"
    shown = ws.omagy("question", "show", name).stdout
    assert "expired" in shown
    assert "question answer" not in shown


def test_a_folder_that_may_not_be_read_is_no_folder_without_questions(ws: Workspace) -> None:
    """Nobody is told that nothing was asked because omagy could not look."""
    asked(ws, CHOICE)
    (ws.root / ".omagy").chmod(0)
    try:
        listed, told = ws.unprivileged("question", "list"), ws.unprivileged("state", "list")
    finally:
        (ws.root / ".omagy").chmod(0o755)
    assert (listed.returncode, listed.stdout) == (1, "")
    assert "cannot be looked into: Permission denied" in listed.stderr
    assert "cannot be looked into" in told.stderr


def test_a_linked_state_takes_no_question_as_it_takes_no_mode(ws: Workspace, tmp_path: Path) -> None:
    """Asked, answered, withdrawn: nothing is written where the link leads, and all say the same of it."""
    ws.commit()
    open_one = asked(ws, CHOICE)
    elsewhere, state = tmp_path / "elsewhere", ws.root / ".omagy/state"
    state.rename(elsewhere)
    state.symlink_to(elsewhere)
    before = contents(elsewhere)
    mode = ws.omagy("state", "write", "team")
    tries = [["--question", "Which?"], ["answer", open_one, "1"], ["cancel", open_one]]
    for done in [mode, *(ws.omagy("question", *words) for words in tries)]:
        assert (done.returncode, done.stderr) == (1, mode.stderr)
    assert f"{state} is not a folder of its own, but a link" in mode.stderr
    assert contents(elsewhere) == before
