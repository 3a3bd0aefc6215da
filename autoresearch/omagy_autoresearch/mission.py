"""The mission contract: the settings of ``sandbox.md``'s frontmatter, checked key by key (contract section 2).

The reader of the files hands over plain values and a way to find the line of a key; this module says what they
mean. A key that nobody knows inside a block of ours is an error: a typo that silently falls back costs a night.
"""

import difflib
from collections.abc import Callable, Mapping, Set
from typing import Any, Literal, get_args

from msgspec import Struct, field

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.durations import parse_duration
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.noise import Aggregate

Lines = Callable[[tuple[str, ...]], int | None]
"""The line on which a key path stands in the file, counted from 1."""


Isolation = Literal["lane", "fresh"]
FinalCheck = Literal["kept", "best", "off"]
Tie = Literal["discard", "smaller_diff"]


class Improvement(Struct, frozen=True):
    """The smallest gain that counts: in units of the score, or in percent of what was kept."""

    amount: float
    percent: bool = False


class Constraint(Struct, frozen=True):
    """A metric that a candidate must keep within limits, whatever its score is."""

    metric: str
    max: float | None = None
    min: float | None = None


class Holdout(Struct, frozen=True):
    """A check whose output no agent sees; ``files`` are copied in from the user's checkout for its run only."""

    command: str
    timeout_s: float = 1800.0
    files: tuple[str, ...] = ()


class Prices(Struct, frozen=True):
    """What the user pays for a million tokens of each kind, in a currency of their own."""

    input: float
    output: float
    cached_input: float | None = None


class EvaluatorSettings(Struct, frozen=True):
    command: str
    format: str = "json"
    keep_policy: KeepPolicy = KeepPolicy.SCORE_IMPROVEMENT
    direction: Direction = Direction.MAXIMIZE
    timeout_s: float = 1800.0
    build: str | None = None
    isolation: Isolation = "lane"
    repeats: int = 1
    aggregate: Aggregate = Aggregate.MEDIAN
    baseline_repeats: int = 2
    min_improvement: Improvement | None = None
    retest: int = 5
    final_check: FinalCheck = "kept"
    tie: Tie = "discard"
    constraints: tuple[Constraint, ...] = ()
    holdout: Holdout | None = None


class Guard(Struct, frozen=True):
    """A command that must exit 0 before a candidate is kept: tests, types, lint."""

    command: str
    timeout_s: float = 1800.0


class WorktreeSettings(Struct, frozen=True):
    """What a lane needs before anything runs in it: ``copy`` from the user's checkout, then ``setup``."""

    setup: str | None = None
    setup_timeout_s: float = 1800.0
    copy: tuple[str, ...] = ()


class Budget(Struct, frozen=True):
    """Totals of a run; None means no limit."""

    max_iterations: int | None = None
    max_wall_time_s: float | None = None
    target_score: float | None = None
    max_consecutive_errors: int | None = 3
    max_consecutive_noops: int | None = None
    max_consecutive_discards: int | None = None
    plateau: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None


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
    worktree: WorktreeSettings = field(default_factory=WorktreeSettings)
    guard: Guard | None = None
    protected: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands whose files measure a candidate."""
        evaluator = self.evaluator
        found = (evaluator.command, evaluator.build, self.guard and self.guard.command)
        return tuple(command for command in found if command)


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


def _list_of(parser: "_Parser") -> "_Parser":
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


def _fields(known: "Mapping[str, tuple[str, _Parser]]", *required: str) -> "_Parser":
    """Parses a block inside a value; returns the keyword arguments it stands for."""

    def parse(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(f"must be a block of keys ({', '.join(known)})")
        result = {}
        for key, item in value.items():
            if key not in known:
                raise ValueError(f"unknown key {key}{_nearest(str(key), known)}")
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


def _constraint(value: Any) -> Constraint:
    known = {"metric": ("metric", _text), "max": ("max", _number), "min": ("min", _number)}
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
        "files": ("files", _list_of(_inside)),
    }
    return Holdout(**_fields(known, "command")(value))


def _prices(value: Any) -> Prices:
    known = {name: (name, _positive) for name in ("input", "output", "cached_input")}
    return Prices(**_fields(known, "input", "output")(value))


_Parser = Callable[[Any], Any]

_BLOCKS: dict[str, dict[str, tuple[str, _Parser]]] = {
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
    "agent": {"rehearsal": ("rehearsal", _inside)},
    "guard": {"command": ("command", _text), "timeout": ("timeout_s", _duration)},
    "worktree": {
        "setup": ("setup", _text),
        "setup_timeout": ("setup_timeout_s", _duration),
        "copy": ("copy", _list_of(_inside)),
    },
}
_LISTS: dict[str, _Parser] = {"protected": _list_of(_glob), "editable": _list_of(_glob)}
_KEYS = (*_BLOCKS, *_LISTS)


def parse_contract(data: Mapping[str, Any], lines: Lines, file: str) -> tuple[Contract, tuple[str, ...]]:
    """The contract in frontmatter ``data`` and the notices it deserves.

    Raises ContractError that names ``file``, line and key, and the nearest known key for a typo.
    """
    check = _Check(lines, file)
    own = [key for key in data if key not in _KEYS]
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
        worktree=WorktreeSettings(**values.get("worktree", {})),
        guard=check.guard(values.get("guard")),
        **{name: check.value((name,), parser, data[name]) for name, parser in _LISTS.items() if name in data},
    )
    check.consistent(contract)
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
        near = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.8)
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
            result[attribute] = self.value((name, str(key)), parser, value)
        return result

    def value(self, path: tuple[str, ...], parser: _Parser, value: Any) -> Any:
        try:
            return parser(value)
        except ValueError as error:
            raise self.error(path, f"{error} (it is {_shown(value)})") from None

    def guard(self, values: Mapping[str, Any] | None) -> Guard | None:
        if values is None:
            return None
        if "command" not in values:
            raise self.error(("guard",), "command is missing", "add `command:` below guard")
        return Guard(**values)

    def consistent(self, contract: Contract) -> None:
        """Refuse settings that could not do what they say."""
        budget = contract.budget
        if budget.max_cost is not None and budget.prices is None:
            raise self.error(
                ("budget", "max_cost"),
                "needs budget.prices to know what tokens cost",
                "add below budget, per million tokens: prices: {input: 1.25, cached_input: 0.125, output: 10}",
            )

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
