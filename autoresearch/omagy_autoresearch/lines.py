"""Texts of strangers made fit for a terminal, a table or a message: what is dangerous in them stands here alone.

Nothing that these functions return can move a cursor, change a colour or a title, break a line that is to be one, or
be read in another order than it is written.
"""

import re

_BELOW_A_LINE = r"\x00-\x08\x0a-\x1f\x7f-\x9f"  # every control character but the tab
_SEQUENCES = re.compile(
    # A string for the terminal (title, link, clipboard, device control) with its end on the same line. One without an
    # end loses its beginning alone: what follows may be what the person has to read.
    rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^{_BELOW_A_LINE}]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor movements
    r"|\x1b[ -/]*[0-~]?"  # everything else that starts with an escape
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Marks that reverse the reading direction hide what a line says, as control characters do.
_DANGEROUS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """All of ``text`` that can be seen, with its lines and tabs; half characters (lone surrogates) become ``?``."""
    unified = _LINE_ENDS.sub("\n", _SEQUENCES.sub("", text))
    return _DANGEROUS.sub("", unified).encode("utf-8", "replace").decode()


def plain_text(text: str) -> str:
    """``visible`` without blanks at the ends of its lines and blank lines around them, each tab one blank."""
    lines = visible(text).replace("\t", " ").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def one_line(text: str, limit: int | None = None) -> str:
    """``visible`` on one line with single blanks, cut to ``limit`` characters."""
    return cut(" ".join(visible(text).split()), limit)


def cut(text: str, limit: int | None) -> str:
    """``text``, at most ``limit`` characters of it with a mark where some are missing."""
    return text if limit is None or len(text) <= limit else text[: limit - 1].rstrip() + "…"
