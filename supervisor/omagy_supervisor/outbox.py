"""Questions of a session, through its outbox: written there by the asker, taken up by the supervisor (section 8).

A session's sandbox lets it write nowhere else. What lies in the outbox is a request and no more: whose question it
is, its id and its status are the supervisor's to say, so that no session can answer itself, or speak for another.
"""

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path

from omagy_autoresearch.asking import QuestionRequest, parse_request, request_record, session_question_id
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.questions import Question
from omagy_autoresearch.strict_json import JsonProblem, loads_object
from omagy_supervisor.agents import SessionSpec
from omagy_supervisor.files import make_folder, read_regular, shown_path, write_atomic
from omagy_supervisor.world import World

_FOLDER = "questions"
_SIZE_LIMIT = 256 * 1024
_NAMES_LIMIT = 1000
_LOOKED_AT = 20
_TAKEN = 5
"""How many questions of one session reach the person; an agent that asks more has not thought."""


def leave_question(candidate_file: Path, request: QuestionRequest) -> str:
    """Leave ``request`` for the supervisor of the session; returns the id it will have. Raises StorageError."""
    question_id = session_question_id(str(candidate_file), request)
    folder = candidate_file.parent / _FOLDER
    make_folder(folder)
    data = json.dumps(request_record(request), indent=2, ensure_ascii=False).encode()
    write_atomic(folder / f"{question_id}.json", data + b"\n")
    return question_id


def take_up_questions(world: World, spec: SessionSpec) -> None:
    """Record what the session asks, before it counts as ended. Done again it finds what it did. Raises OmagyError."""
    taken = 0
    for name, request in _requests(world, spec.outbox / _FOLDER):
        if taken == _TAKEN:
            world.reporter.note(f"the session asks more than {_TAKEN} questions; the others are left out")
            return
        question = _question(world, spec, request)
        standing = world.questions.add(question)
        if (standing.run_id, standing.iteration, standing.attempt) != (spec.run_id, spec.iteration, spec.attempt):
            world.reporter.note(f"a question of the session is left out: {name} has the id of another, {standing.id}")
            continue
        taken += 1
        world.reporter.note(f"the session asks: {question.words} (omagy question show {question.id})")


def _question(world: World, spec: SessionSpec, request: QuestionRequest) -> Question:
    """Without a time limit: a run waits for its person."""
    return Question(
        id=session_question_id(str(spec.candidate_file), request),
        prompts=request.prompts,
        header=request.header,
        source=request.source or "session",
        run_id=spec.run_id,
        iteration=spec.iteration,
        attempt=spec.attempt,
        created_at=world.clock.now().isoformat(timespec="seconds"),
    )


def _requests(world: World, folder: Path) -> Iterator[tuple[str, QuestionRequest]]:
    """What can be asked of all that lies in ``folder``, in the order of the names."""
    for name in _names(world, folder):
        shown = shown_path(name)
        try:
            yield shown, parse_request(loads_object(read_regular(folder / name, _SIZE_LIMIT) or b""))
        except (ValueError, JsonProblem) as problem:
            world.reporter.note(f"a question of the session cannot be read ({shown}): {problem}")
        except ContractError as error:
            world.reporter.note(f"a question of the session cannot be asked ({shown}): {error.message}")


def _names(world: World, folder: Path) -> list[str]:
    if not os.path.lexists(folder):
        return []
    try:
        found = _listed(folder)
    except OSError as error:
        world.reporter.note(f"the session's folder of questions is not read: {error.strerror}")
        return []
    names = sorted(name for name in found if name.endswith(".json") and not name.startswith("."))
    if len(names) > _LOOKED_AT or len(found) == _NAMES_LIMIT:
        world.reporter.note(f"the session left too many questions: only the first {_LOOKED_AT} are looked at")
    return names[:_LOOKED_AT]


def _listed(folder: Path) -> list[str]:
    """The names in ``folder``, within bounds. A link in its place is not followed. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with os.scandir(fd) as found:
            return [entry.name for entry in itertools.islice(found, _NAMES_LIMIT)]
    finally:
        os.close(fd)
