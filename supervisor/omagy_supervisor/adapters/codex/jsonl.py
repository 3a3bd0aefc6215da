"""Lines of JSON from a source that is not to be trusted, read without ever raising."""

import json

Json = dict[str, object]


def parse_object(line: str) -> Json | None:
    """The JSON object that ``line`` holds, None when it holds anything else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def child(parent: Json, key: str) -> Json:
    """The object under ``key``, an empty one when there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def children(parent: Json, key: str) -> list[Json]:
    """The objects in the list under ``key``; anything else in it is left out."""
    value = parent.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def string(parent: Json, key: str) -> str:
    """The string under ``key``, an empty one when there is none."""
    value = parent.get(key)
    return value if isinstance(value, str) else ""


def count(parent: Json, key: str) -> int:
    """The whole number under ``key``, 0 when there is none or it cannot be a count."""
    value = parent.get(key)
    plausible = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if plausible and isinstance(value, int) else 0
