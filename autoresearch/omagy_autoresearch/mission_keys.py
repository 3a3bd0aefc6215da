"""The keys of ``sandbox.md``'s frontmatter, and what their values may be (contract section 2).

A parser takes a plain value and returns what it means, or raises ValueError with what was expected.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.durations import parse_duration
from omagy_autoresearch.mission import BASELINE, Constraint, FinalCheck, Holdout, Improvement, Isolation, Prices, Tie
from omagy_autoresearch.noise import Aggregate
from omagy_autoresearch.spelling import nearest

Parser = Callable[[Any], Any]


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a whole number of at least 1")
    return value


def _limit(value: Any) -> int | None:
    off = value is None or value is False or value == "off"  # 0 equals False, and is a mistake
    return None if off else _count(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        raise ValueError("must be a finite number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("must be a finite number") from None


def _duration(value: Any) -> float:
    if not isinstance(value, str):
        raise ValueError("must be a duration such as 90s, 10m or 2h (a unit is required)")
    return parse_duration(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text that is not empty")
    if "\0" in value:
        raise ValueError("must not hold a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must not hold half a character (a lone surrogate)")
    return value.strip()


def _inside(folder: str) -> "Parser":
    def parse(value: Any) -> str:
        path = _text(value)
        if path.startswith(("/", "~")) or ".." in path.split("/"):
            raise ValueError(f"must be a path inside {folder}")
        return path

    return parse


def _one_of(*choices: str) -> Callable[[Any], str]:
    def choose(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            near = nearest(value, choices) if isinstance(value, str) and len(choices) > 1 else ""
            raise ValueError(f"must be {' or '.join(choices)}{near}")
        return str(value)

    return choose


def _improvement(value: Any) -> Improvement:
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            return Improvement(_positive(float(value.strip()[:-1])), percent=True)
        except ValueError:
            raise ValueError("must be a number, or a percentage such as 2%") from None
    return Improvement(_positive(value))


def _positive(value: Any) -> float:
    number = _number(value)
    if number < 0:
        raise ValueError("must not be negative")
    return number


def _rounds(value: Any) -> int:
    return 0 if value in (0, "off", False) and value is not None else _count(value)


def _list_of(parser: "Parser") -> "Parser":
    def parse(value: Any) -> tuple[Any, ...]:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list):
            raise ValueError("must be a list")
        return tuple(parser(item) for item in values)

    return parse


def _glob(value: Any) -> str:
    text = _text(value)
    if text.startswith(("/", "!", "~")) or ".." in text.split("/"):
        raise ValueError(f"{text!r} must be a path pattern from the root of the repository, such as src/**")
    return text


def _fields(known: "Mapping[str, tuple[str, Parser]]", *required: str) -> "Parser":
    """Parses a block inside a value; returns the keyword arguments it stands for."""

    def parse(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(f"must be a block of keys ({', '.join(known)})")
        result = {}
        for key, item in value.items():
            if key not in known:
                raise ValueError(f"unknown key {key}{nearest(str(key), known)}")
            attribute, parser = known[key]
            try:
                result[attribute] = parser(item)
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
        for key in required:
            if key not in value:
                raise ValueError(f"{key} is missing")
        return result

    return parse


def _limit_of_metric(value: Any) -> Any:
    if isinstance(value, str) and value != BASELINE:
        raise ValueError(f"must be a finite number or {BASELINE}{nearest(value, (BASELINE,))}")
    return value if value == BASELINE else _number(value)


def _constraint(value: Any) -> Constraint:
    known = {
        "metric": ("metric", _text),
        "max": ("max", _limit_of_metric),
        "min": ("min", _limit_of_metric),
    }
    found = Constraint(**_fields(known, "metric")(value))
    if found.max is None and found.min is None:
        raise ValueError("needs max or min")
    return found


def _holdout(value: Any) -> Holdout:
    if isinstance(value, str):
        return Holdout(_text(value))
    known = {
        "command": ("command", _text),
        "timeout": ("timeout_s", _duration),
        "files": ("files", _list_of(_inside("the repository"))),
    }
    return Holdout(**_fields(known, "command")(value))


def _prices(value: Any) -> Prices:
    known = {name: (name, _positive) for name in ("input", "output", "cached_input")}
    return Prices(**_fields(known, "input", "output")(value))


BLOCKS: dict[str, dict[str, tuple[str, Parser]]] = {
    "evaluator": {
        "command": ("command", _text),
        "format": ("format", _one_of("json")),
        "keep_policy": ("keep_policy", lambda value: KeepPolicy(_one_of(*KeepPolicy)(value))),
        "direction": ("direction", lambda value: Direction(_one_of(*Direction)(value))),
        "timeout": ("timeout_s", _duration),
        "build": ("build", _text),
        "isolation": ("isolation", _one_of(*get_args(Isolation))),
        "repeats": ("repeats", _count),
        "aggregate": ("aggregate", lambda value: Aggregate(_one_of(*Aggregate)(value))),
        "baseline_repeats": ("baseline_repeats", _count),
        "min_improvement": ("min_improvement", _improvement),
        "retest": ("retest", _rounds),
        "final_check": ("final_check", _one_of(*get_args(FinalCheck))),
        "tie": ("tie", _one_of(*get_args(Tie))),
        "constraints": ("constraints", _list_of(_constraint)),
        "holdout": ("holdout", _holdout),
    },
    "budget": {
        "max_iterations": ("max_iterations", _limit),
        "max_wall_time": ("max_wall_time_s", _duration),
        "target_score": ("target_score", _number),
        "max_consecutive_errors": ("max_consecutive_errors", _limit),
        "max_consecutive_noops": ("max_consecutive_noops", _limit),
        "max_consecutive_discards": ("max_consecutive_discards", _limit),
        "plateau": ("plateau", _limit),
        "max_tokens": ("max_tokens", _count),
        "max_cost": ("max_cost", _positive),
        "prices": ("prices", _prices),
    },
    "session": {"timeout": ("timeout_s", _duration)},
    "agent": {"rehearsal": ("rehearsal", _inside("the mission folder"))},
    "guard": {"command": ("command", _text), "timeout": ("timeout_s", _duration)},
    "worktree": {
        "setup": ("setup", _text),
        "setup_timeout": ("setup_timeout_s", _duration),
        "copy": ("copy", _list_of(_inside("the repository"))),
    },
}
LISTS: dict[str, Parser] = {"protected": _list_of(_glob), "editable": _list_of(_glob)}
KEYS = (*BLOCKS, *LISTS)
