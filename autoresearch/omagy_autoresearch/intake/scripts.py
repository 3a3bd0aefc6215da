"""The command inside an evaluator script, which is what a person thinks of when they think of the measurement."""

import ast
import re

from omagy_autoresearch.evaluator_scripts import EvaluatorScript

OUT = "{out}"
"""Stands in a script's command for a new temporary folder, one for each measurement."""
_COMMAND = re.compile(r"^COMMAND = (?P<value>.+)$", re.MULTILINE)


def inner_command(script: EvaluatorScript) -> str | None:
    """The command that ``script`` runs; None when it has no such setting."""
    found = _COMMAND.search(script.text)
    if found is None:
        return None
    try:
        value = ast.literal_eval(found["value"].partition("  #")[0])
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


def shown_inner_command(script: EvaluatorScript) -> str | None:
    """``inner_command`` to be read: with a temporary folder where only the script knows which."""
    inner = inner_command(script)
    return inner.replace(OUT, "/tmp/…") if inner is not None else None  # noqa: S108 - to be read, not used


def with_inner_command(script: EvaluatorScript, command: str) -> EvaluatorScript:
    """``script`` with another command in the place of its own."""
    line = f"COMMAND = {command!r}"
    return EvaluatorScript(script.name, _COMMAND.sub(lambda _: line, script.text, count=1))
