"""Calls of omagy in texts: as this person calls it, and never broken by the end of a line."""

import os
import re

_WORDS = r"(?:autoresearch|question|state|stop-conditions|hud|mcp)\b|--"
_CALL = re.compile(rf"(?<!by )\bomagy (?={_WORDS})")
# Up to what ends it in a sentence. A command in backticks need not be omagy's.
# It begins where a word or a quote does: looked for from every letter, long words would take for ever.
_PLACE = r"\bcd (?:'[^'\n]*'|\S+) && "
_NAME = r"(?:'[^'\n]*\bomagy'|(?<!\S)\S*\bomagy)"
_COMMAND = re.compile(rf"`[^`\n]+`|(?:{_PLACE})?{_NAME} (?:{_WORDS})[^\n,;)]*")
_BLANK = "\0"  # stands in no text that was made fit for a terminal


def as_called(text: str) -> str:
    """``text`` with its commands as this person calls omagy: bin/omagy says how in OMAGY_COMMAND."""
    command = os.environ.get("OMAGY_COMMAND")
    if not command:
        return text
    import shlex

    return _CALL.sub(lambda _: f"{shlex.quote(command)} ", text)


def tied(text: str) -> str:
    """``text`` with each command in one piece, which ``untied`` undoes: a broken one cannot be copied."""
    return _COMMAND.sub(lambda found: found[0].replace(" ", _BLANK), text)


def untied(text: str) -> str:
    return text.replace(_BLANK, " ")
