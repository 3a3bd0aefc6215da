"""``omagy question``: ask the person, where the person is, and wait for the answer (contract section 8)."""

import secrets
import sys
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from omagy_autoresearch.asking import QuestionRequest
from omagy_autoresearch.errors import ContractError, OmagyError
from omagy_autoresearch.questions import Question, Status
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.persons_tmux import Pane, PersonsTmux, persons_tmux
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.launching import question_pane_argv
from omagy_supervisor.outbox import leave_question
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.ports import Wake
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import say
from omagy_supervisor.ui.prompts import forget_typed_ahead
from omagy_supervisor.ui.question_prompt import ask_person
from omagy_supervisor.ui.question_text import height_of

_TICK_S = 0.3


class Renderer(StrEnum):
    """Where a question is shown; ``none`` only records it."""

    AUTO = "auto"
    TMUX = "tmux"
    INLINE = "inline"
    NONE = "none"


def ask(request: QuestionRequest, settings: Settings, renderer: Renderer) -> Question:
    """Record ``request``, show it, and wait; returns the question as it then stands: still open when it was put off.

    From inside a session it is handed to the session's supervisor, and nobody waits. Raises OmagyError.
    """
    if settings.inside_session is not None:
        return _hand_over(request, settings)
    from omagy_supervisor.commands.chosen import nearest_root

    root = nearest_root()
    files = QuestionFiles(root.state)
    root.prepare()
    question = _record(files, request)
    if renderer is Renderer.AUTO:
        renderer = _where_a_person_is(settings)
    match renderer:
        case Renderer.TMUX:
            return _in_a_pane(files, question, settings)
        case Renderer.INLINE:
            return answer_here(files, question)
        case _:
            return question


def put(request: QuestionRequest, settings: Settings, root: StateRoot) -> tuple[Question, bool]:
    """Record ``request`` and wait for nobody; says whether it is shown in a pane, which stays until it is closed.

    From inside a session it is handed to the session's supervisor. Raises OmagyError.
    """
    if settings.inside_session is not None:
        return _hand_over(request, settings), False
    root.prepare()
    files = QuestionFiles(root.state)
    question = _record(files, request)
    tmux = persons_tmux(settings.tmux, settings.environment)
    if tmux is None:
        return question, False
    try:
        _open_pane(tmux, files, question, settings, zoomed=tmux.zoomed)
    except OmagyError as error:
        say(f"omagy: the question is recorded, but cannot be shown: {error.message}")
        return question, False
    return question, True


def _hand_over(request: QuestionRequest, settings: Settings) -> Question:
    candidate = settings.environment.get("OMAGY_CANDIDATE_FILE")
    if not candidate:
        raise ContractError(
            "only a session of a run can ask from inside it: OMAGY_CANDIDATE_FILE is not set",
            "evaluators and guards have nobody to ask",
        )
    iteration = settings.environment.get("OMAGY_ITERATION", "")
    return Question(
        id=leave_question(Path(candidate), request),
        prompts=request.prompts,
        header=request.header,
        run_id=settings.inside_session,
        iteration=int(iteration) if iteration.isascii() and iteration.isdigit() else None,
    )


def _record(files: QuestionFiles, request: QuestionRequest) -> Question:
    now = SystemClock().now()
    until = None if request.timeout_s is None else now + timedelta(seconds=request.timeout_s)
    while True:
        question = Question(
            id=f"q-{secrets.token_hex(4)}",
            prompts=request.prompts,
            header=request.header,
            source=request.source or "command line",
            session_id=request.session_id,
            created_at=now.isoformat(timespec="milliseconds"),
            expires_at=None if until is None else until.isoformat(timespec="milliseconds"),
        )
        if files.add(question) is question:
            return question


def _where_a_person_is(settings: Settings) -> Renderer:
    if persons_tmux(settings.tmux, settings.environment) is not None:
        return Renderer.TMUX
    # Agents run commands in terminals of their own, where nobody looks.
    agents = "CODEX_CI" in settings.environment
    return Renderer.INLINE if sys.stdin.isatty() and sys.stderr.isatty() and not agents else Renderer.NONE


# -- in this terminal


def answer_here(files: QuestionFiles, question: Question) -> Question:
    """Let the person at this terminal answer; returns the question as it then stands. Ctrl-C puts it off."""
    clock = SystemClock()

    def still_open() -> bool:
        try:
            return current(files, question.id, clock).status is Status.OPEN
        except OmagyError:  # its record is gone; whoever asks for it next says so
            return False

    try:
        answers = ask_person(question, still_open)
    except KeyboardInterrupt:
        answers = None
    if answers is not None:
        try:
            return files.answer(question.id, answers, clock.now())
        except ContractError as error:
            say(f"your answer came too late: {error.message}")
    return current(files, question.id, clock)


def current(files: QuestionFiles, question_id: str, clock: SystemClock) -> Question:
    """The question as it stands now; one whose time is over is closed on the way. Raises OmagyError."""
    question = files.find(question_id)
    return files.expire(question_id, clock.now()) if question.overdue(clock.now()) else question


# -- in a pane beside the asker's


def _in_a_pane(files: QuestionFiles, question: Question, settings: Settings) -> Question:
    tmux = persons_tmux(settings.tmux, settings.environment)
    if tmux is None:
        say("omagy: this is no pane of a tmux; the question is recorded and not shown")
        return question
    try:
        zoomed = tmux.zoomed
        pane = _open_pane(tmux, files, question, settings, zoomed=zoomed)
    except OmagyError as error:
        say(f"omagy: the question is recorded, but cannot be shown: {error.message}")
        return question
    try:
        return _wait(files, question.id, tmux, pane)
    finally:
        tmux.close(pane, zoomed=zoomed)


def _open_pane(
    tmux: PersonsTmux, files: QuestionFiles, question: Question, settings: Settings, *, zoomed: bool
) -> Pane:
    columns, _ = tmux.size()
    carried = ("OMAGY_COMMAND", "NO_COLOR")
    environment = {name: value for name in carried if (value := settings.environment.get(name)) is not None}
    argv = question_pane_argv(files.folder, question.id, tmux.pane, zoomed=zoomed)
    return tmux.open(argv, height_of(question, columns), environment)


def _wait(files: QuestionFiles, question_id: str, tmux: PersonsTmux, pane: Pane) -> Question:
    """Until it is closed, here or anywhere; an open one comes back when the pane was closed without an answer."""
    from omagy_supervisor.commands.follow import leaving

    clock = SystemClock()
    with leaving() as stops:
        while True:
            shown = tmux.shows(pane)
            question = current(files, question_id, clock)  # looked at last: its answer closes the pane
            if question.status is not Status.OPEN or not shown or stops.wait(_TICK_S) is Wake.STOP:
                return question


def show_in_pane(state_folder: Path, question_id: str, settings: Settings, *, asker: str, zoomed: bool) -> int:
    """What runs in the pane: one question, then the pane is closed. The asker may be gone meanwhile."""
    files = QuestionFiles(state_folder)
    try:
        forget_typed_ahead(sys.stdin.fileno())
        answer_here(files, current(files, question_id, SystemClock()))
    finally:
        tmux = persons_tmux(settings.tmux, settings.environment)
        if tmux is not None:
            PersonsTmux(tmux.executable, tmux.socket, asker).close_own(tmux.pane, zoomed=zoomed)
    return 0
