"""Blocks of keys as YAML that people like to read and every reader takes for the same."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "str | int | float | Sequence[Value] | Mapping[str, Value] | None"
Block: TypeAlias = "dict[str, Value]"

# Words that no reader takes for a number, a truth value or a comment, in any version of YAML.
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.{1,2}/)[A-Za-z0-9_./+=@%-]*(?: [A-Za-z0-9_./+=@%-]+)*")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", ".nan", ".inf"))
_WIDTH = 100
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def render(block: Mapping[str, Value]) -> str:
    """``block`` as YAML: a line for each key, lists on one line where they fit."""
    lines: list[str] = []
    for key, value in block.items():
        if isinstance(value, Mapping):
            lines.append(f"{key}:")
            lines += [f"  {line}" for line in render(value).splitlines()]
        elif not isinstance(value, str) and isinstance(value, Sequence) and _is_long(value):
            lines.append(f"{key}:")
            lines += [f"  - {_flow(item)}" for item in value]
        else:
            lines.append(f"{key}: {_flow(value)}")
    return "".join(f"{line}\n" for line in lines)


def _is_long(values: "Sequence[Value]") -> bool:
    return any(isinstance(value, Mapping) for value in values) or len(_flow(values)) > _WIDTH


def _flow(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return _scalar(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return repr(value)


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if re.fullmatch(r"\d+(?:ms|s|m|h|d|%)", text):
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable() and character != "\ufeff":
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
