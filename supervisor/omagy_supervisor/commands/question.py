"""``omagy question list | show | answer``: what sessions asked, and the person's answers (contract section 8)."""

from typing import Any

import msgspec

from omagy_autoresearch.errors import ContractError
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.commands.chosen import state_root
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import say, show, show_data

_USAGE = "omagy question list | show <id> | answer <id> <your answer>"


def question(words: list[str], settings: Settings) -> int:
    """Run one question command; returns its exit status. Raises ContractError."""
    as_json = "--json" in words
    words = [word for word in words if word != "--json"]
    files = QuestionFiles(state_root(settings).state)
    match words:
        case ["list"]:
            return _list(files.records(), as_json=as_json)
        case ["show", question_id]:
            return _show(files.records(), question_id, as_json=as_json)
        case ["answer", question_id, *text] if " ".join(text).strip():
            return _answer(files, question_id, " ".join(text).strip(), as_json=as_json)
        case ["answer", _]:
            raise ContractError("the answer is missing", _USAGE)
        case _:
            raise ContractError("that is not a question command", _USAGE)


def _list(records: list[dict[str, Any]], *, as_json: bool) -> int:
    if as_json:
        _show_json({"questions": records})
        return 0
    if not records:
        show("No questions in this repository.")
    for record in records:
        show(f"{record['id']}  {record.get('status', '?'):<9} {_one_line(record.get('question'))}")
    return 0


def _show(records: list[dict[str, Any]], question_id: str, *, as_json: bool) -> int:
    record = next((one for one in records if one["id"] == question_id), None)
    if record is None:
        raise ContractError(f"there is no question {question_id}", "see what there is: omagy question list")
    if as_json:
        _show_json(record)
        return 0
    show(f"{record['id']} ({record.get('status', '?')}, run {record.get('run_id', '–')})")
    show(_one_line(record.get("question")))
    for option in record.get("options") or ():
        show(f"  - {_one_line(option.get('label') if isinstance(option, dict) else option)}")
    for answer in record.get("answers") or ():
        show(f"answered: {_one_line(answer.get('answer') if isinstance(answer, dict) else answer)}")
    return 0


def _answer(files: QuestionFiles, question_id: str, text: str, *, as_json: bool) -> int:
    at = SystemClock().now().isoformat(timespec="seconds")
    record = files.answer(question_id, text, at)
    if as_json:
        _show_json(record)
        return 0
    say(f"question {question_id} is answered")
    if record.get("run_id"):
        say(f"  go on with its run: omagy autoresearch --resume {record['run_id']}")
    return 0


def _one_line(text: object) -> str:
    return " ".join(str(text or "").split())


def _show_json(value: Any) -> None:
    show_data(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
