"""JSON as strangers write it, read strictly.

Python's reader accepts ``NaN``, ``Infinity``, numbers that overflow to infinity and repeated keys; in a score
or a commit id each of these is a way to be wrong silently, so each is refused with its reason. So is half a
character (``"\\ud800"``), which no record could be written with.
"""

import json
import math
from typing import Any

_DEEPEST = 50


class JsonProblem(Exception):  # noqa: N818 - it is a finding about somebody's data, not a fault of ours
    """Why some bytes are not the JSON object that was expected."""


class NotJson(JsonProblem):
    """They are no JSON at all, in contrast to JSON that says what it must not."""


def loads_object(raw: bytes | str) -> dict[str, Any]:
    """The JSON object in ``raw``. Raises JsonProblem."""
    value = loads(raw)
    if not isinstance(value, dict):
        raise JsonProblem(f"it is {_kind(value)}, not a JSON object")
    return value


def loads(raw: bytes | str) -> Any:
    """The JSON value in ``raw``. Raises JsonProblem."""
    try:
        text = raw.decode("utf-8-sig") if isinstance(raw, bytes) else raw
    except UnicodeDecodeError as error:
        raise NotJson(f"it is not UTF-8 (byte {error.start})") from None
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_int
        )
    except json.JSONDecodeError as error:
        raise NotJson(f"it is not JSON (line {error.lineno}: {error.msg})") from None
    except RecursionError:
        raise JsonProblem("it is nested too deeply") from None
    if _depth_exceeds(value, _DEEPEST):
        raise JsonProblem("it is nested too deeply")
    if "\\u" in text and _has_half_characters(value):
        raise JsonProblem("it holds half a character (a lone surrogate)")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise JsonProblem(f"the key {_cut(twice)!r} stands in it twice")
    return result


def _no_constant(name: str) -> Any:
    raise JsonProblem(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonProblem(f"{_cut(text)} is too large for a number")
    return number


def _int(text: str) -> int | float:
    return int(text) if len(text) < 300 else _finite(text)


def _depth_exceeds(value: Any, left: int) -> bool:
    if left == 0:
        return True
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_depth_exceeds(child, left - 1) for child in children)


def _has_half_characters(value: Any) -> bool:
    """True for text that JSON can spell with escapes, and no file of ours can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
