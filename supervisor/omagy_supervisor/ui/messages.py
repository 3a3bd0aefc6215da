"""How errors reach a person: what is wrong, and the way out."""

import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path

from omagy_autoresearch.errors import OmagyError, StorageError
from omagy_supervisor.ui.style import styled

_COMMAND = re.compile(r"(?<!by )\bomagy (?=autoresearch\b|question\b|state\b|stop-conditions\b|hud\b|mcp\b|--)")


def open_closed_streams() -> None:
    """What was closed when this program was started leads nowhere: no file that is opened later takes its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - as long as the program


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
    _answer(as_called(text))


def show_data(text: str) -> None:
    """Print what another program reads, on stdout, as it is; what stdout cannot spell as JSON escapes it."""
    _answer(_spelt(text, sys.stdout.encoding or "utf-8"))


def show_json(value: object) -> None:
    """Print ``value`` on stdout as JSON that a person can read, too."""
    import msgspec

    show_data(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def forget_answer() -> None:
    """What could not be written of an answer is not tried again when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _answer(text: str) -> None:
    """Raises StorageError where there is no room, BrokenPipeError where nobody reads."""
    try:
        print(text, flush=True)  # noqa: T201 - this is where omagy answers
    except BrokenPipeError:
        raise
    except OSError as error:
        forget_answer()
        raise StorageError(f"the answer cannot be written: {error.strerror}") from None


def _spelt(text: str, encoding: str) -> str:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)
    return text


def show_error_data(error: OmagyError) -> None:
    """Print an error for the program that asked for JSON."""
    told = {"message": error.message, "hint": error.hint, "code": error.code}
    with contextlib.suppress(StorageError):  # it stands on stderr already
        show_data(json.dumps({"error": told}, indent=2, ensure_ascii=False))


def say_error(error: OmagyError) -> None:
    say(f"{styled('omagy:', 'red', sys.stderr)} {error.message}")
    for line in error.hint.splitlines():
        say(f"  {line}")
