"""From the command line to a command. Heavy modules are imported by the command that needs them."""

import importlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from omagy_autoresearch import __version__
from omagy_autoresearch.errors import ContractError, ExitStatus, OmagyError
from omagy_autoresearch.spelling import nearest
from omagy_supervisor.commands.help import AUTORESEARCH, OMAGY
from omagy_supervisor.settings import Settings, read_settings, scrub_process_environment
from omagy_supervisor.ui.messages import (
    forget_answer,
    open_closed_streams,
    say,
    say_error,
    show,
    show_error_data,
    speak_in_any_locale,
)

if TYPE_CHECKING:
    from omagy_supervisor.arguments import Arguments

_COMMANDS = {
    "mcp": "omagy_supervisor.tools.command:mcp",
    "question": "omagy_supervisor.commands.question:question",
    "stop-conditions": "omagy_supervisor.commands.stop_conditions:stop_conditions",
    "hud": "omagy_supervisor.commands.hud:hud",
    "state": "omagy_supervisor.commands.state:state",
}
"""Which function runs a command: it gets the words behind it and the settings, and returns the exit status."""

_VERBS = ("check", "init", "list", "status", "watch", "attach", "stop", "rebuild")


def main(argv: list[str]) -> int:
    """Run one command line; returns its exit status. No traceback reaches a person without ``--debug``."""
    open_closed_streams()
    speak_in_any_locale()
    try:
        return _run(argv, debug="--debug" in argv)
    except BrokenPipeError:
        forget_answer()
        return int(ExitStatus.FAILED)


def _run(argv: list[str], *, debug: bool) -> int:
    """As ``main``. Raises BrokenPipeError where nobody reads the answer, an error's as well."""
    try:
        settings = read_settings(os.environ)
        scrub_process_environment()
        return _dispatch(argv, settings)
    except OmagyError as error:
        if debug:
            import traceback

            traceback.print_exc()
        say_error(error)
        if argv[0] in _COMMANDS and "--json" in argv:
            show_error_data(error)
        return int(error.exit_status)
    except KeyboardInterrupt:
        say("interrupted; nothing was changed by this command")
        return int(ExitStatus.INTERLUDE)
    except BrokenPipeError:
        raise
    except Exception as error:
        if debug:
            raise
        say(f"omagy: a fault of omagy's own: {type(error).__name__}: {error}")
        say("  runs can be resumed; add --debug to see where, and report it please")
        return int(ExitStatus.FAILED)


def _dispatch(argv: list[str], settings: Settings) -> int:
    match argv:
        case ["--version" | "-V", *_]:
            show(f"omagy {__version__}")
            return 0
        case [] | ["--help" | "-h" | "help", *_]:
            show(OMAGY)
            return 0 if argv else int(ExitStatus.USAGE)
        case ["autoresearch", *rest]:
            return _autoresearch(rest, settings)
        case ["supervise", pipe]:
            from omagy_supervisor.commands.start import supervise_from_pipe

            return supervise_from_pipe(pipe)
        case [word, *rest] if word in _COMMANDS:
            return _command(word)(rest, settings)
        case [word, *_]:
            raise ContractError(
                f"there is no command {word}{nearest(word, ('autoresearch', *_COMMANDS))}", "omagy --help"
            )
        case _:
            raise AssertionError(argv)


def _command(name: str) -> Callable[[list[str], Settings], int]:
    module, _, function = _COMMANDS[name].partition(":")
    found: Callable[[list[str], Settings], int] = getattr(importlib.import_module(module), function)
    return found


def _autoresearch(rest: list[str], settings: Settings) -> int:
    if rest and rest[0] == "check":
        return _check(rest[1:], settings)
    if rest and rest[0] == "init":
        return _init(rest[1:], settings)
    if rest and rest[0] in _VERBS:
        return _verb(rest[0], rest[1:], settings)
    from omagy_supervisor.arguments import refuse_idle_options, refuse_seeds_beside_a_mission, split_arguments

    arguments = split_arguments(rest)
    if arguments.has("--help"):
        show(AUTORESEARCH)
        return 0
    refuse_seeds_beside_a_mission(arguments)
    if "--resume" in arguments.values:
        from omagy_supervisor.commands.resume import resume

        refuse_idle_options(arguments)
        return resume(arguments, settings)
    if arguments.mission is None:
        return _interview(arguments, settings)
    if arguments.mission == "check" and arguments.codex_args and not os.path.lexists("check"):
        at = next(i for i, word in enumerate(rest) if word == "check" and split_arguments(rest[: i + 1]).mission)
        return _check([*rest[:at], *rest[at + 1 :]], settings)
    refuse_idle_options(arguments)
    return _launch(arguments, settings)


def _interview(arguments: "Arguments", settings: Settings) -> int:
    from omagy_supervisor.commands.interview import interview

    return interview(arguments, settings)


def _check(rest: list[str], settings: Settings) -> int:
    from omagy_supervisor.arguments import split_arguments
    from omagy_supervisor.commands.check import check

    # The options may stand on either side here: nothing goes to Codex.
    flags = [word for word in rest if word in ("--json", "--debug", "--help", "-h")]
    arguments = split_arguments([*flags, *(word for word in rest if word not in flags)])
    if arguments.has("--help"):
        show(AUTORESEARCH)
        return 0
    if arguments.mission is None:
        raise ContractError("a mission folder is missing", "omagy autoresearch check <mission-dir>")
    return check(arguments, settings)


def _init(rest: list[str], settings: Settings) -> int:
    """With a goal and an evaluator, or an option of the writer's own, a mission is written; else it is asked for."""
    from omagy_supervisor.arguments import SEEDS, split_arguments
    from omagy_supervisor.commands import init
    from omagy_supervisor.options import read_options

    names = {word.partition("=")[0] for word in rest}
    complete = {"--topic", "--evaluator"} <= names or names & (set(init.VALUES) - set(SEEDS))
    if complete or any(not word.startswith("-") for word in rest[:1]):
        options = read_options(rest, "autoresearch init", flags=init.FLAGS, values=init.VALUES)
        if not options.has("--help"):
            return init.init(options, settings)
    arguments = split_arguments(["--help"] if complete else rest)
    if arguments.has("--help"):
        show(AUTORESEARCH)
        return 0
    return _interview(arguments, settings)


def _launch(arguments: "Arguments", settings: Settings) -> int:
    from omagy_supervisor.commands.launch import launch

    try:
        return launch(arguments, settings)
    except ContractError as error:
        mission = arguments.mission or ""
        if "does not exist" in error.message and mission in _VERBS:
            error.hint = f"{mission} as a command comes first, its options after it: omagy autoresearch {mission} …"
        elif "does not exist" in error.message:
            error.message += nearest(mission, _VERBS)
        raise


def _verb(verb: str, words: list[str], settings: Settings) -> int:
    from omagy_supervisor.commands import look, steer

    if "--help" in words or "-h" in words:
        show(AUTORESEARCH)
        return 0
    flags = {word for word in words if word.startswith("-") and word != "--debug"}
    names = [word for word in words if not word.startswith("-")]
    allowed = {"list": {"--json"}, "status": {"--json"}, "stop": {"--after-iteration"}}.get(verb, set())
    for flag in sorted(flags - allowed):
        near = nearest(flag, tuple(allowed))
        raise ContractError(f"{verb} has no option {flag}{near}", "omagy autoresearch --help")
    if len(names) > (0 if verb == "list" else 1):
        raise ContractError(f"{verb} takes one run at most, not {' '.join(names)}")
    run_id = names[0] if names else None
    match verb:
        case "list":
            return look.list_runs(settings, as_json="--json" in flags)
        case "status":
            return look.status(settings, run_id, as_json="--json" in flags)
        case "watch":
            return look.watch(settings, run_id)
        case "attach":
            return steer.attach(settings, run_id)
        case "stop":
            return steer.stop(settings, run_id, after_iteration="--after-iteration" in flags)
        case _:
            if run_id is None:
                raise ContractError("rebuild needs a run id", "see what there is: omagy autoresearch list")
            return steer.rebuild(settings, run_id)
