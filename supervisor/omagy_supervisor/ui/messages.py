"""How errors reach a person: what is wrong, and the way out."""

import io
import json
import os
import re
import sys

from omagy_autoresearch.errors import OmagyError
from omagy_supervisor.ui.style import styled

_COMMAND = re.compile(r"(?<!by )\bomagy (?=autoresearch\b|question\b|state\b|hud\b|mcp\b|--)")


def speak_in_any_locale() -> None:
    """What the locale's encoding lacks is shown as ``?``: nothing a person is told may end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def as_called(text: str) -> str:
    """``text`` with its commands as this person calls omagy: bin/omagy says how in OMAGY_COMMAND."""
    command = os.environ.get("OMAGY_COMMAND")
    if not command:
        return text
    import shlex

    return _COMMAND.sub(lambda _: f"{shlex.quote(command)} ", text)


def say(text: str) -> None:
    """Tell progress or a diagnosis, on stderr."""
    print(as_called(text), file=sys.stderr, flush=True)  # noqa: T201 - this is where omagy talks


def show(text: str) -> None:
    """Print what a command was asked for, on stdout."""
    print(as_called(text), flush=True)  # noqa: T201 - this is where omagy answers


def show_data(text: str) -> None:
    """Print what another program reads, on stdout, as it is."""
    print(text, flush=True)  # noqa: T201


def show_error_data(error: OmagyError) -> None:
    """Print an error for the program that asked for JSON."""
    told = {"message": error.message, "hint": error.hint, "code": error.code}
    show_data(json.dumps({"error": told}, indent=2, ensure_ascii=False))


def say_error(error: OmagyError) -> None:
    say(f"{styled('omagy:', 'red', sys.stderr)} {error.message}")
    for line in error.hint.splitlines():
        say(f"  {line}")
