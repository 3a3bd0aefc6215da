"""Texts of strangers made fit for a terminal: nothing in them steers it, and lines break between words."""

import os
import re
import sys
import textwrap
from typing import IO

from omagy_autoresearch.lines import visible

_NARROWEST = 20
# A number, a dash, the time of a line in a log, or the name of a row.
_BEFORE = re.compile(r"[ -]*\d+\) |[ >-]+|(?:\d\d:){2}\d\d  |\w+(?: \w+)?  +")


def fit(text: str) -> str:
    """``text`` without anything a terminal would obey."""
    return visible(text).expandtabs(4)


def wrapped(text: str, columns: int, *, whole_words: bool = False) -> str:
    """``text`` with its lines broken between words; what belongs to an item or a column stays below it.

    With ``whole_words`` one wider than the screen, such as a path, is left to the terminal, from which it is copied.
    """
    return "\n".join(_broken(line, columns, whole_words) for line in fit(text).split("\n"))


def _broken(line: str, columns: int, whole_words: bool) -> str:
    if len(line) < columns or line.lstrip().startswith("|"):
        return line
    found = _BEFORE.match(line)
    indent = " " * min(len(found[0]) if found else 0, columns // 2)
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
