"""How errors reach a person: what is wrong, and the way out."""

import sys

from omagy_autoresearch.errors import OmagyError
from omagy_supervisor.ui.style import styled


def say(text: str) -> None:
    """Tell progress or a diagnosis, on stderr."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is where omagy talks


def show(text: str) -> None:
    """Print what a command was asked for, on stdout."""
    print(text, flush=True)  # noqa: T201 - this is where omagy answers


def say_error(error: OmagyError) -> None:
    say(f"{styled('omagy:', 'red', sys.stderr)} {error.message}")
    for line in error.hint.splitlines():
        say(f"  {line}")
