"""Text of strangers without anything that a terminal would obey."""

import re

_SEQUENCES = re.compile(
    r"(?:\x1b\]|\x9d).*?(?:\x07|\x1b\\|\x9c|$)"  # operating system commands: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]).*?(?:\x1b\\|\x9c|$)"  # device control and other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor movements
    r"|\x1b[ -/]*[0-~]?",  # everything else that starts with an escape
    re.DOTALL,
)
# Besides the control characters: marks that reverse the reading direction and so hide what a line says.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """``text`` without terminal control sequences; tabs and line ends stay, lone surrogates become ``?``."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    stripped = _CONTROLS.sub("", _SEQUENCES.sub("", unified))
    return stripped.encode("utf-8", "replace").decode("utf-8")
