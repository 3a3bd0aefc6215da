"""Texts of strangers made fit for a terminal: nothing in them steers it, and lines break between words."""

import os
import re
import sys
import textwrap
from typing import IO

from omagy_autoresearch.lines import visible
from omagy_supervisor.ui.calls import tied, untied

_NARROWEST = 20
# A number, a dash, whose a message is, the time of a line in a log, or the name of a row.
_BEFORE = re.compile(r"[ -]*\d+\) |[ >-]+|(?:note|omagy|missing|at most): |(?:\d\d:){2}\d\d  |\w+(?: \w+)?:?  +")


def fit(text: str) -> str:
    """``text`` without anything a terminal would obey."""
    return visible(text).expandtabs(4)


def wrapped(text: str, columns: int, *, whole_words: bool = False) -> str:
    """``text`` with its lines broken between words; what belongs to an item or a column stays below it.

    With ``whole_words`` a path or a command stays in one piece, to be copied; the terminal breaks one too wide.
    """
    fitted = tied(fit(text)) if whole_words else fit(text)
    return untied("\n".join(_broken(line, columns, whole_words) for line in fitted.split("\n")))


def _broken(line: str, columns: int, whole_words: bool) -> str:
    if len(line) < columns or line.lstrip().startswith("|"):
        return line
    found = _BEFORE.match(line)
    before = len(found[0]) if found else 0
    if whole_words and " " not in line[before:].strip():
        return line  # a path that the terminal breaks in any case
    indent = " " * min(before, columns // 2)
    return textwrap.fill(
        line,
        columns - 1,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=not whole_words,
        replace_whitespace=False,
    )


def columns_of(screen: IO[str]) -> int:
    """How wide ``screen`` is; what is no terminal has no end."""
    try:
        columns = os.get_terminal_size(screen.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return sys.maxsize
    return max(columns, _NARROWEST) if columns else sys.maxsize  # 0 says that it does not know
