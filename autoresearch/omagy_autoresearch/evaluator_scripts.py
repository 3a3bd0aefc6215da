"""The evaluator scripts that omagy writes into a mission folder, and how their settings are filled in.

Each is a program in ``scripts/`` beside this module, with its settings as plain assignments at the top, and becomes
whole by the text of ``scripts/shared.py``: it has to stand alone in somebody's repository. They are never imported:
their text is part of omagy like its messages, and reading it is no I/O that anything depends on.
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


_IMPORT = re.compile(r"^(?:import|from) .*\n", re.MULTILINE)
_SHARED_IMPORT = re.compile(r"\nfrom shared import .*\n")
_PLACE = "# -- here comes the text of shared.py\n"
_SHARED_TITLE = "# -- the same in all evaluator scripts that omagy writes\n"


@cache
def template_text(template: str) -> str:
    """The text of ``scripts/<template>.py`` with that of ``scripts/shared.py`` in its place."""
    own, shared = _SHARED_IMPORT.sub("", _source(template), count=1), _source("shared")
    docstring, _, code = own.partition('"""\n\n')
    imports = sorted({*_IMPORT.findall(code), *_IMPORT.findall(shared)}, key=_import_order)
    common = _IMPORT.sub("", shared.partition('"""\n\n')[2]).strip("\n")
    code = _IMPORT.sub("", code).replace(_PLACE, f"{_SHARED_TITLE}{common}\n\n\n# --\n").lstrip("\n")
    return f'{docstring}"""\n\n{"".join(imports)}\n{code}'


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split()[1].lower()


def _source(name: str) -> str:
    return resources.files("omagy_autoresearch").joinpath("scripts", f"{name}.py").read_text(encoding="utf-8")


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
