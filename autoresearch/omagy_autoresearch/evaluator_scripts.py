"""The evaluator scripts that omagy writes into a mission folder, and how their settings are filled in.

Each is a whole program in ``scripts/`` beside this module, with its settings as plain assignments at the top. They
are never imported: their text is part of omagy like its messages, and reading it is no I/O that anything depends on.
"""

import re
from functools import cache
from importlib import resources
from typing import Any

from msgspec import Struct


class EvaluatorScript(Struct, frozen=True):
    """A file to be written into the mission folder."""

    name: str
    text: str


def script(template: str, **settings: Any) -> EvaluatorScript:
    """The script ``template`` as ``evaluate.py``, with ``settings`` (texts, numbers, tuples of texts) filled in."""
    text = template_text(template)
    for name, value in settings.items():
        found = re.search(rf"^{name} = (.*?)(  # .*)?$", text, re.MULTILINE)
        assert found is not None, f"{template} has no setting {name}"
        start, end = found.span(1)
        text = f"{text[:start]}{_literal(value)}{text[end:]}"
    return EvaluatorScript("evaluate.py", text)


@cache
def template_text(template: str) -> str:
    """The text of ``scripts/<template>.py``."""
    return resources.files("omagy_autoresearch").joinpath("scripts", f"{template}.py").read_text(encoding="utf-8")


def _literal(value: Any) -> str:
    """``value`` as a person would write it in Python."""
    if isinstance(value, tuple):
        items = ", ".join(_literal(item) for item in value)
        return f"({items},)" if len(value) == 1 else f"({items})"
    if not isinstance(value, str):
        return repr(value)
    raw = "\\" in value and not value.endswith("\\")
    plain = value.isprintable() and '"' not in value and ("\\" not in value or raw)
    return f'{"r" if raw else ""}"{value}"' if plain else repr(value)
