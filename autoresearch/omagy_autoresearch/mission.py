"""The mission contract: the settings of ``sandbox.md``'s frontmatter, checked key by key (contract section 2).

The reader of the files hands over plain values and a way to find the line of a key; this module says what they
mean. A key that nobody knows inside a block of ours is an error: a typo that silently falls back costs a night.
"""

import difflib
from collections.abc import Callable, Mapping, Set
from typing import Any

from msgspec import Struct, field

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.durations import parse_duration
from omagy_autoresearch.errors import ContractError

Lines = Callable[[tuple[str, ...]], int | None]
"""The line on which a key path stands in the file, counted from 1."""


class EvaluatorSettings(Struct, frozen=True):
    command: str
    format: str = "json"
    keep_policy: KeepPolicy = KeepPolicy.SCORE_IMPROVEMENT
    direction: Direction = Direction.MAXIMIZE
    timeout_s: float = 1800.0


class Budget(Struct, frozen=True):
    """Totals of a run; None means no limit."""

    max_iterations: int | None = None
    max_wall_time_s: float | None = None
    target_score: float | None = None
    max_consecutive_errors: int | None = 3
    max_consecutive_noops: int | None = None
    max_consecutive_discards: int | None = None


class SessionSettings(Struct, frozen=True):
    timeout_s: float = 3600.0


class AgentSettings(Struct, frozen=True):
    """``rehearsal`` names the folder, inside the mission's, with the offline agent's proposals."""

    rehearsal: str | None = None


class Contract(Struct, frozen=True):
    """A mission's settings, complete with defaults."""

    evaluator: EvaluatorSettings
    budget: Budget = field(default_factory=Budget)
    session: SessionSettings = field(default_factory=SessionSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)


class Mission(Struct, frozen=True):
    """A mission as its files say it. ``notices`` are the warnings a launch shows."""

    text: str
    sandbox_text: str
    contract: Contract
    notices: tuple[str, ...] = ()


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


def _inside(value: Any) -> str:
    path = _text(value)
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        raise ValueError("must be a path inside the mission folder")
    return path


def _one_of(*choices: str) -> Callable[[Any], str]:
    def choose(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            near = _nearest(value, choices) if isinstance(value, str) else ""
            raise ValueError(f"must be {' or '.join(choices)}{near}")
        return str(value)

    return choose


_Parser = Callable[[Any], Any]

_BLOCKS: dict[str, dict[str, tuple[str, _Parser]]] = {
    "evaluator": {
        "command": ("command", _text),
        "format": ("format", _one_of("json")),
        "keep_policy": ("keep_policy", lambda value: KeepPolicy(_one_of(*KeepPolicy)(value))),
        "direction": ("direction", lambda value: Direction(_one_of(*Direction)(value))),
        "timeout": ("timeout_s", _duration),
    },
    "budget": {
        "max_iterations": ("max_iterations", _limit),
        "max_wall_time": ("max_wall_time_s", _duration),
        "target_score": ("target_score", _number),
        "max_consecutive_errors": ("max_consecutive_errors", _limit),
        "max_consecutive_noops": ("max_consecutive_noops", _limit),
        "max_consecutive_discards": ("max_consecutive_discards", _limit),
    },
    "session": {"timeout": ("timeout_s", _duration)},
    "agent": {"rehearsal": ("rehearsal", _inside)},
}
_RESERVED = ("guard", "protected", "editable", "worktree")


def parse_contract(data: Mapping[str, Any], lines: Lines, file: str) -> tuple[Contract, tuple[str, ...]]:
    """The contract in frontmatter ``data`` and the notices it deserves.

    Raises ContractError that names ``file``, line and key, and the nearest known key for a typo.
    """
    check = _Check(lines, file)
    own = [key for key in data if key not in _BLOCKS]
    for key in own:
        check.top_level(str(key))
    if "evaluator" not in data:
        raise ContractError(
            f"{file}: the frontmatter has no evaluator block",
            "say how a candidate is measured:\n  evaluator:\n    command: <shell command>\n    format: json",
        )
    values = {name: check.block(name, data[name]) for name in _BLOCKS if name in data}
    check.required(values["evaluator"], "command", "format")
    contract = Contract(
        evaluator=EvaluatorSettings(**values["evaluator"]),
        budget=Budget(**values.get("budget", {})),
        session=SessionSettings(**values.get("session", {})),
        agent=AgentSettings(**values.get("agent", {})),
    )
    return contract, _notices(own)


def _notices(own: list[Any]) -> tuple[str, ...]:
    if not own:
        return ()
    names = ", ".join(str(key) for key in own)
    return (f"sandbox.md has keys that omagy does not read (kept as yours): {names}",)


class _Check:
    """Turns findings about a key into errors with file, line and key."""

    def __init__(self, lines: Lines, file: str) -> None:
        self._lines = lines
        self._file = file

    def error(self, path: tuple[str, ...], problem: str, hint: str = "") -> ContractError:
        line = self._lines(path)
        place = f"{self._file}:{line}" if line else self._file
        return ContractError(f"{place}: {'.'.join(path)}: {problem}", hint)

    def top_level(self, key: str) -> None:
        if key in _RESERVED:
            raise self.error((key,), "this version of omagy does not know this block yet", "remove it")
        near = difflib.get_close_matches(key, _BLOCKS, n=1, cutoff=0.8)
        if near:
            raise self.error((key,), f"unknown key, did you mean {near[0]}?")

    def block(self, name: str, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise self.error((name,), f"must be a block of keys ({', '.join(_BLOCKS[name])})")
        known = _BLOCKS[name]
        result = {}
        for key, value in data.items():
            if key not in known:
                raise self.error((name, str(key)), f"unknown key{_nearest(str(key), known)}", _known(known))
            attribute, parser = known[key]
            try:
                result[attribute] = parser(value)
            except ValueError as error:
                raise self.error((name, str(key)), f"{error} (it is {_shown(value)})") from None
        return result

    def required(self, values: Mapping[str, Any], *keys: str) -> None:
        for key in keys:
            if key not in values:
                raise self.error(("evaluator",), f"{key} is missing", f"add `{key}:` below evaluator")


def _shown(value: Any) -> str:
    """``value`` as a message shows it. Blocks and lists are only named: anchors can make them endless."""
    if isinstance(value, Mapping):
        return "a block"
    if isinstance(value, list | tuple | Set):
        return "a list"
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _nearest(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f", did you mean {near[0]}?" if near else ""


def _known(keys: Any) -> str:
    return f"known keys: {', '.join(keys)}"
