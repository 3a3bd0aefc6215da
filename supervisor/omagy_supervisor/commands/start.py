"""Starts a supervisor: detached in tmux, or in this process (contract section 1)."""

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from omagy_autoresearch.errors import ExitStatus, OmagyError, StorageError
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.run import RunState
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.adapters.tmux import Tmux, require_tmux, tmux_version
from omagy_supervisor.arguments import Arguments
from omagy_supervisor.commands.follow import follow, until_baseline
from omagy_supervisor.daemon import supervise
from omagy_supervisor.files import write_atomic
from omagy_supervisor.handover import HandoverError, make_pipe, offer, receive
from omagy_supervisor.launching import supervisor_argv, tmux_session
from omagy_supervisor.paths import RunFolder, StateRoot
from omagy_supervisor.requests import Fresh, Reply, Request, decode_request, encode_request
from omagy_supervisor.settings import Settings, read_settings
from omagy_supervisor.ui.messages import say, show_prose
from omagy_supervisor.ui.text import TextReporter

_START_S = 60.0


def start(request: Request, arguments: Arguments, settings: Settings) -> int:
    """Start the supervisor of ``request`` and return the exit status. Raises OmagyError."""
    if arguments.has("--foreground"):
        return _in_foreground(request, settings)
    tmux = Tmux(settings.tmux_socket, require_tmux(settings.tmux, tmux_version(settings.tmux)))
    folder = StateRoot(Path(request.repo_root)).run(request.run_id)
    told = folder.log.stat().st_size if folder.log.exists() else 0
    _in_tmux(request, settings, tmux)
    say(f"run {request.run_id} is under way in tmux (attach: omagy autoresearch attach {request.run_id})")
    if arguments.has("--detach"):
        under_way = "the baseline is recorded" if isinstance(request, Fresh) else "it goes on"
        return until_baseline(folder, request.run_id, under_way)
    return follow(StateRoot(Path(request.repo_root)), request.run_id, told=told)


# -- in this process


def _in_foreground(request: Request, settings: Settings) -> int:
    if settings.tmux is None:
        say("note: tmux is not installed; sessions run as plain child processes (their output: session.log)")
    state = supervise(request, settings, lambda folder: TextReporter(folder.log), lambda: None)
    return finish(state, StateRoot(Path(request.repo_root)).run(request.run_id))


def finish(state: RunState, folder: RunFolder) -> int:
    """Print the handoff of an ended run and return its exit status."""
    say("")
    show_prose(folder.handoff_markdown.read_text(encoding="utf-8"))
    outcome = state.outcome
    return int(outcome.exit_status if outcome else ExitStatus.FAILED)


# -- in tmux


def _in_tmux(request: Request, settings: Settings, tmux: Tmux) -> None:
    """Start the supervisor in a detached tmux session named after the run. Raises OmagyError."""
    root = StateRoot(Path(request.repo_root))
    session = tmux_session(request.run_id, root.repo_root)
    root.prepare()
    pipe, reply = root.state / f"start-{os.getpid()}", root.state / f"start-{os.getpid()}.reply.json"
    reply.unlink(missing_ok=True)
    make_pipe(pipe)
    try:
        tmux.new_window(session, "supervisor", supervisor_argv(pipe), root.folder)
        alive = _waiting(lambda: tmux.find(session, "supervisor") is not None)
        payload = {"request": encode_request(request), "environment": dict(settings.environment), "reply": str(reply)}
        try:
            offer(pipe, payload, alive)
        except HandoverError as error:
            raise OmagyError(f"the supervisor did not start: {error}", _where_to_look(request)) from None
        _await_reply(reply, alive, request)
    finally:
        pipe.unlink(missing_ok=True)
        reply.unlink(missing_ok=True)


def _waiting(alive: Callable[[], bool]) -> Callable[[float], bool]:
    """Waits a little, and says whether there is still something to wait for; asks tmux now and then only."""
    clock = SystemClock()
    stops = SignalStops(Path(os.devnull), clock)
    deadline = clock.monotonic_s() + _START_S
    looked = clock.monotonic_s()

    def go_on(seconds: float) -> bool:
        nonlocal looked
        stops.wait(seconds)
        now = clock.monotonic_s()
        if now - looked < 0.5:
            return now < deadline
        looked = now
        return now < deadline and alive()

    return go_on


def _await_reply(reply: Path, alive: Callable[[float], bool], request: Request) -> None:
    while not reply.exists():
        if not alive(0.02) and not reply.exists():
            raise OmagyError("the supervisor ended before it said anything", _where_to_look(request))
    answer = msgspec.json.decode(reply.read_bytes(), type=Reply)
    if answer.error:
        error = OmagyError(answer.error, answer.hint)
        error.exit_status = ExitStatus(answer.exit_status)
        raise error


def _where_to_look(request: Request) -> str:
    if isinstance(request, Fresh):
        agent = request.plan.agent
        named = f"command:{agent.command}" if agent.command else agent.kind
        words = ["--agent", named, request.plan.mission_dir, *agent.codex_args]
    else:
        words = ["--resume", request.run_id]
    return f"run it in this terminal to see why: omagy autoresearch --foreground {shlex.join(words)}"


def supervise_from_pipe(pipe: str) -> int:
    """The supervisor's own process in tmux: takes its orders and its environment from ``pipe``."""
    try:
        orders = receive(Path(pipe))
    except HandoverError as error:
        say(f"omagy: no orders came: {error}")
        return int(ExitStatus.FAILED)
    reply = Path(orders["reply"])
    request = decode_request(orders["request"])
    try:
        settings = read_settings(orders["environment"])
        os.environ.clear()
        os.environ.update({k: v for k, v in settings.environment.items() if not k.startswith("GIT_")})
        state = supervise(request, settings, lambda f: TextReporter(f.log), lambda: _answer(reply, Reply()))
    except OmagyError as error:
        say(f"omagy: {error.message}")
        with_status = Reply(error.message, error.hint, int(error.exit_status))
        _answer(reply, with_status)
        return int(error.exit_status)
    assert isinstance(state.outcome, Outcome)
    return int(state.outcome.exit_status)


def _answer(reply: Path, answer: Reply) -> None:
    """Tell the command that started us; once it has gone on, nobody reads this any more."""
    try:
        write_atomic(reply, msgspec.json.encode(answer), durable=False)
    except StorageError as error:
        say(f"omagy: {error.message}")
        sys.exit(int(ExitStatus.FAILED))
