"""Colour and layout for a terminal; plain text everywhere else."""

import os
from typing import IO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def styled(text: str, style: str, stream: IO[str]) -> str:
    """``text`` in ``style`` when ``stream`` is a terminal and NO_COLOR is not set."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return f"\033[{_CODES[style]}m{text}\033[0m"
