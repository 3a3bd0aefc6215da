"""How errors reach a person: what is wrong, and the way out."""

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import IO

from omagy_autoresearch.errors import OmagyError, StorageError
from omagy_supervisor.ui.calls import as_called
from omagy_supervisor.ui.style import styled


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


def say(text: str, style: str | None = None) -> None:
    """Tell progress or a diagnosis, on stderr; on a terminal its lines break between words."""
    fitted = _fitted(text, sys.stderr)
    _print(styled(fitted, style, sys.stderr) if style else fitted)


def _fitted(text: str, screen: IO[str]) -> str:
    from omagy_supervisor.ui.fitting import columns_of, wrapped

    return wrapped(as_called(text), columns_of(screen), whole_words=True)


def _headed(head: str, style: str, text: str, screen: IO[str]) -> str:
    """``text`` behind ``head``, which alone is in ``style``."""
    return styled(head.rstrip(), style, screen) + _fitted(f"{head} {text}", screen).removeprefix(head.rstrip())


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is where omagy talks


def show(text: str) -> None:
    """Print what a command was asked for, on stdout."""
    _answer(as_called(text))


def show_prose(text: str) -> None:
    """As ``show``; on a terminal the lines break between words."""
    _answer(_fitted(text, sys.stdout))


def show_row(label: str, value: str) -> None:
    """Print a fact behind its name, which is in bold on a terminal."""
    _answer(_headed(label, "bold", value, sys.stdout))


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
    _print(_headed("omagy:", "red", error.message, sys.stderr))
    for line in error.hint.splitlines():
        say(f"  {line}")
