"""``omagy question``: ask the person, and the person's side: list, show, answer, cancel (contract section 8)."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omagy_autoresearch.answering import answers_from_data, answers_from_words
from omagy_autoresearch.asking import QuestionRequest, parse_request
from omagy_autoresearch.errors import ContractError, ExitStatus
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.question_record import record_of
from omagy_autoresearch.questions import Answer, Question, Status
from omagy_autoresearch.spelling import nearest
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.commands.ask import Renderer, answer_here, ask, show_in_pane
from omagy_supervisor.commands.help import QUESTION
from omagy_supervisor.commands.questions import answering_command, end_session, refuse_in_session, told
from omagy_supervisor.options import Options, read_options
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import say, show, show_json
from omagy_supervisor.ui.question_text import question_lines

_USAGE = "omagy question --help"
_EXAMPLE = '{"question":"Which one?","options":["A","B"]}'
_FLAGS = ("--json", "--multi-select", "--allow-other", "--zoomed")
_ASKED = ("--question", "--options", "--header", "--default", "--source")
_VALUES = (*_ASKED, "--input", "--timeout", "--renderer", "--session-id")
_EXIT = {
    Status.ANSWERED: ExitStatus.OK,
    Status.OPEN: ExitStatus.QUESTION,
    Status.EXPIRED: ExitStatus.FAILED,
    Status.CANCELLED: ExitStatus.INTERLUDE,
}


def question(words: list[str], settings: Settings) -> int:
    """Run one question command; returns its exit status. Raises OmagyError."""
    options = read_options(words, "question", flags=_FLAGS, values=_VALUES)
    if options.has("--help") or not words:
        show(QUESTION)
        return int(ExitStatus.OK if words else ExitStatus.USAGE)
    match options.words:
        case ():
            return _ask(options, settings)
        case ("show-ui", folder, question_id, asker):
            return show_in_pane(Path(folder), question_id, settings, asker=asker, zoomed=options.has("--zoomed"))
        case (verb, *rest) if verb in _VERBS:
            return _VERBS[verb](rest, options, settings)
        case (verb, *_):
            near = nearest(verb, _VERBS)
            raise ContractError(f"{one_line(verb, 60)} is no question command{near}", _USAGE)
        case _:
            raise AssertionError(options.words)


# -- asking


def _ask(options: Options, settings: Settings) -> int:
    named = options.values.get("--renderer", Renderer.AUTO.value)
    if named not in list(Renderer):
        raise ContractError(
            f"--renderer {named} is not known{nearest(named, Renderer)}", f"one of {', '.join(Renderer)}"
        )
    asked = ask(_request(options), settings, Renderer(named))
    if options.has("--json"):
        show_json(told(asked, settings))
    else:
        _tell(asked, settings)
    return int(_EXIT[asked.status])


def _request(options: Options) -> QuestionRequest:
    data = options.input_object(_EXAMPLE)
    plain = _plain(options)
    if data and plain:
        raise ContractError(f"--input already says what to ask, and {_ASKED[0]} or its like too", "say it in one way")
    names = {"timeout": "--timeout", "session_id": "--session-id"}
    above = {key: options.values[name] for key, name in names.items() if name in options.values}
    return parse_request({**(data or plain), **above})


def _plain(options: Options) -> dict[str, Any]:
    """What the plain options ask; the options to choose from stand in one value, with bars between them."""
    given: dict[str, Any] = {
        name.removeprefix("--"): options.values[name] for name in _ASKED if name in options.values
    }
    listed = given.pop("options", None)
    if listed is not None:
        given["options"] = [part.strip() for part in listed.split("|") if part.strip()]
    flags = {name: True for name in ("--multi-select", "--allow-other") if options.has(name)}
    return {**given, **{name.removeprefix("--").replace("-", "_"): value for name, value in flags.items()}}


def _tell(asked: Question, settings: Settings) -> None:
    if asked.status is Status.ANSWERED:
        for answer in asked.answers:
            show(answer.text)
        return
    say(f"question {asked.id} is {asked.status}")
    if asked.status is Status.OPEN:
        say(f"  answer it: {answering_command(asked)}")
        if settings.inside_session is not None:
            say(f"  {end_session(settings)}")


# -- the person's side


def _list(words: list[str], options: Options, settings: Settings) -> int:  # noqa: ARG001 - verbs have one signature
    if words:
        raise ContractError("list takes no words", _USAGE)
    now = SystemClock().now()
    found = [one.as_of(now) for one in _files().all()]
    if options.has("--json"):
        show_json({"questions": [record_of(one) for one in found]})
        return 0
    if not found:
        show("No questions in this repository.")
    for one in found:
        show(f"{one.id}  {one.status:<9} {one_line(one.words, 100)}")
    return 0


def _show(words: list[str], options: Options, settings: Settings) -> int:  # noqa: ARG001 - verbs have one signature
    found = _files().find(_one_id(words, "show")).as_of(SystemClock().now())
    if options.has("--json"):
        show_json(record_of(found))
        return 0
    of_run = f", run {found.run_id}" if found.run_id else ""
    show(f"{found.id} ({found.status}{of_run})")
    for line in question_lines(found):
        show(line)
    if found.status is Status.OPEN:
        show(f"answer it: {answering_command(found)}")
    return 0


def _answer(words: list[str], options: Options, settings: Settings) -> int:
    refuse_in_session(settings, "answer")
    if not words:
        raise ContractError("whose answer? the question's id is missing", "see what there is: omagy question list")
    files, data = _files(), options.input_object('{"answers":["yes"]}')
    asked = files.find(words[0])
    if asked.status is not Status.OPEN:
        answers: tuple[Answer, ...] = ()  # refused with what it is, whatever the answer would have been
    elif data:
        answers = answers_from_data(asked, data)
    elif " ".join(words[1:]).strip():
        answers = answers_from_words(asked, words[1:])
    elif sys.stdin.isatty() and sys.stderr.isatty():
        return _answer_here(files, asked, options, settings)
    else:
        raise ContractError("the answer is missing", answering_command(asked))
    return _answered(files.answer(asked.id, answers, SystemClock().now()), options, settings)


def _answer_here(files: QuestionFiles, asked: Question, options: Options, settings: Settings) -> int:
    asked = answer_here(files, asked)
    if asked.status is Status.ANSWERED:
        return _answered(asked, options, settings)
    say(f"question {asked.id} is {asked.status}")
    return int(_EXIT[asked.status])


def _answered(asked: Question, options: Options, settings: Settings) -> int:
    if options.has("--json"):
        show_json(told(asked, settings))
        return 0
    say(f"question {asked.id} is answered: {one_line('; '.join(answer.text for answer in asked.answers), 200)}")
    _tell_run(asked)
    return 0


def _cancel(words: list[str], options: Options, settings: Settings) -> int:
    refuse_in_session(settings, "cancel")
    asked = _files().cancel(_one_id(words, "cancel"), SystemClock().now())
    if options.has("--json"):
        show_json(told(asked, settings))
        return 0
    say(f"question {asked.id} is cancelled; nobody waits for its answer any more")
    _tell_run(asked)
    return 0


def _tell_run(asked: Question) -> None:
    if asked.run_id:
        say(f"  go on with its run: omagy autoresearch --resume {asked.run_id}")


def _files() -> QuestionFiles:
    from omagy_supervisor.commands.chosen import nearest_root

    return QuestionFiles(nearest_root().state)


def _one_id(words: list[str], verb: str) -> str:
    if len(words) != 1:
        raise ContractError(f"{verb} takes the id of one question", "see what there is: omagy question list")
    return words[0]


_VERBS: dict[str, Callable[[list[str], Options, Settings], int]] = {
    "list": _list,
    "show": _show,
    "answer": _answer,
    "cancel": _cancel,
}
