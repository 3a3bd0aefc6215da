"""The settings of a mission, key by key, as its frontmatter's plain values give them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import asdict

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.errors import ContractError, ExitStatus
from omagy_autoresearch.mission import (
    AgentSettings,
    Budget,
    Contract,
    EvaluatorSettings,
    SessionSettings,
)
from omagy_autoresearch.mission_contract import parse_contract

MINIMAL = {"command": "./measure", "format": "json"}


def _line(path: tuple[str, ...]) -> int:
    """A line for every key: two for each level, so that a wrong path shows."""
    return 10 * len(path)


def _parse(data: Any) -> Contract:
    return parse_contract(data, _line, "m/sandbox.md")[0]


def _refused(data: Any) -> ContractError:
    with pytest.raises(ContractError) as caught:
        _parse(data)
    assert caught.value.exit_status is ExitStatus.USAGE
    return caught.value


def _with(block: str, key: str, value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"evaluator": dict(MINIMAL)}
    data.setdefault(block, {})[key] = value
    return data


def test_defaults_are_those_of_the_contract() -> None:
    """A mission that says nothing but its command gets the documented defaults."""
    assert _parse({"evaluator": MINIMAL}) == Contract(
        EvaluatorSettings("./measure", "json", KeepPolicy.SCORE_IMPROVEMENT, Direction.MAXIMIZE, 1800.0),
        Budget(None, None, None, 3, None, None),
        SessionSettings(3600.0),
        AgentSettings(None),
    )


@pytest.mark.parametrize(
    ("block", "key", "value", "attribute", "parsed"),
    [
        ("evaluator", "command", "  make bench  ", "command", "make bench"),
        ("evaluator", "command", "a\nb", "command", "a\nb"),
        ("evaluator", "format", "json", "format", "json"),
        ("evaluator", "keep_policy", "pass_only", "keep_policy", KeepPolicy.PASS_ONLY),
        ("evaluator", "keep_policy", "score_improvement", "keep_policy", KeepPolicy.SCORE_IMPROVEMENT),
        ("evaluator", "direction", "minimize", "direction", Direction.MINIMIZE),
        ("evaluator", "direction", "maximize", "direction", Direction.MAXIMIZE),
        ("evaluator", "timeout", "90s", "timeout_s", 90.0),
        ("budget", "max_iterations", 1, "max_iterations", 1),
        ("budget", "max_iterations", "off", "max_iterations", None),
        ("budget", "max_wall_time", "8h", "max_wall_time_s", 28800.0),
        ("budget", "target_score", 1, "target_score", 1.0),
        ("budget", "target_score", -0.5, "target_score", -0.5),
        ("budget", "target_score", 0, "target_score", 0.0),
        ("budget", "max_consecutive_errors", 5, "max_consecutive_errors", 5),
        ("budget", "max_consecutive_errors", "off", "max_consecutive_errors", None),
        ("budget", "max_consecutive_errors", None, "max_consecutive_errors", None),
        ("budget", "max_consecutive_errors", False, "max_consecutive_errors", None),
        ("budget", "max_consecutive_noops", 2, "max_consecutive_noops", 2),
        ("budget", "max_consecutive_discards", 9, "max_consecutive_discards", 9),
        ("session", "timeout", "2h", "timeout_s", 7200.0),
        ("agent", "rehearsal", "rehearsal/day-1", "rehearsal", "rehearsal/day-1"),
    ],
)
def test_every_key_is_read(block: str, key: str, value: Any, attribute: str, parsed: Any) -> None:
    """Each key of the contract sets its own setting and leaves every other at its default."""
    contract = _parse(_with(block, key, value))
    found = asdict(getattr(contract, block))
    assert found[attribute] == parsed
    assert type(found[attribute]) is type(parsed)
    default = asdict(getattr(_parse({"evaluator": MINIMAL}), block))
    assert {**found, attribute: UNSET} == {**default, attribute: UNSET}


_NOT_COUNTS: list[Any] = [0, -1, 1.5, 0.0, True, "3", "never", [], {}, math.inf, math.nan]
_NOT_TEXTS: list[Any] = ["", "  ", "\n", None, 5, True, ["a"], {"a": 1}, "a\0b", "a\ud800"]
_NOT_DURATIONS: list[Any] = [None, 90, 0, 1.5, True, "90", "0s", "soon", "", ["1h"], {"h": 1}]
_NOT_NUMBERS: list[Any] = [None, True, "1", math.nan, math.inf, -math.inf, [], {}, 10**400]
_COUNTS = ("max_iterations", "max_consecutive_errors", "max_consecutive_noops", "max_consecutive_discards")


def _each(block: str, keys: tuple[str, ...], values: list[Any]) -> list[tuple[str, str, Any]]:
    return [(block, key, value) for key in keys for value in values]


_WRONG = [
    *_each("evaluator", ("command",), _NOT_TEXTS),
    *_each("evaluator", ("format",), ["yaml", "JSON", None, 1, ["json"], {"json": 1}]),
    *_each("evaluator", ("keep_policy",), ["best", "Pass_Only", None, 0, True, [], {}]),
    *_each("evaluator", ("direction",), ["up", "MAXIMIZE", None, 1, []]),
    *_each("evaluator", ("timeout",), _NOT_DURATIONS),
    *_each("budget", _COUNTS, _NOT_COUNTS),
    *_each("budget", ("max_wall_time",), _NOT_DURATIONS),
    *_each("budget", ("target_score",), _NOT_NUMBERS),
    *_each("session", ("timeout",), _NOT_DURATIONS),
    *_each("agent", ("rehearsal",), [*_NOT_TEXTS, "/etc", "~/x", "../x", "a/../../x", ".."]),
]


@pytest.mark.parametrize(("block", "key", "value"), _WRONG, ids=repr)
def test_every_wrong_value_is_refused_with_its_place(block: str, key: str, value: Any) -> None:
    """A value of the wrong kind is an error that names file, line and key, and says what was expected."""
    error = _refused(_with(block, key, value))
    assert error.message.startswith(f"m/sandbox.md:20: {block}.{key}: ")
    assert len(error.message) < 300


@pytest.mark.parametrize(
    ("block", "typo", "meant"),
    [
        ("evaluator", "keep_polcy", "keep_policy"),
        ("evaluator", "comand", "command"),
        ("evaluator", "time_out", "timeout"),
        ("budget", "max_iteration", "max_iterations"),
        ("budget", "max-wall-time", "max_wall_time"),
        ("session", "timeouts", "timeout"),
        ("agent", "rehersal", "rehearsal"),
    ],
)
def test_a_typo_in_a_block_names_the_key_that_was_meant(block: str, typo: str, meant: str) -> None:
    """A misspelt key is an error with its line and the nearest known key: a silent fall-back costs a night."""
    error = _refused(_with(block, typo, 1))
    assert error.message == f"m/sandbox.md:20: {block}.{typo}: unknown key, did you mean {meant}?"
    assert meant in error.hint


def test_an_unknown_key_that_resembles_none_lists_what_is_known() -> None:
    """Where no key is near, the message does not guess, and the hint lists all of them."""
    error = _refused(_with("session", "colour", "red"))
    assert error.message == "m/sandbox.md:20: session.colour: unknown key"
    assert error.hint == "known keys: timeout"


@pytest.mark.parametrize(
    ("value", "meant"), [("score_improvment", "score_improvement"), ("passonly", "pass_only"), ("unrelated", "")]
)
def test_a_typo_in_a_choice_names_the_choice_that_was_meant(value: str, meant: str) -> None:
    """A misspelt choice is answered with the nearest one."""
    message = _refused(_with("evaluator", "keep_policy", value)).message
    assert (f"did you mean {meant}?" in message) if meant else ("did you mean" not in message)


@pytest.mark.parametrize("typo", ["evaluators", "Evaluator", "budgets", "sesion", "agents"])
def test_a_typo_of_a_block_is_an_error(typo: str) -> None:
    """A misspelt block would switch off everything in it, so it is refused with the nearest name."""
    error = _refused({"evaluator": MINIMAL, typo: {}})
    assert error.message.startswith(f"m/sandbox.md:10: {typo}: unknown key, did you mean ")


def test_other_top_level_keys_are_the_users_own() -> None:
    """Keys that nobody could mean for ours are kept with one notice that names them all."""
    contract, notices = parse_contract({"title": "x", "evaluator": MINIMAL, "owner": 1}, _line, "s")
    assert contract == _parse({"evaluator": MINIMAL})
    assert notices == ("sandbox.md has keys that omagy does not read (kept as yours): title, owner",)
    assert parse_contract({"evaluator": MINIMAL}, _line, "s")[1] == ()


@pytest.mark.parametrize("block", ["evaluator", "budget", "session", "agent"])
@pytest.mark.parametrize("value", [None, [], "text", 1, True], ids=repr)
def test_a_block_that_is_no_block_is_refused(block: str, value: Any) -> None:
    """A block without keys in it is an error that lists the keys it may have."""
    message = _refused({"evaluator": MINIMAL, block: value}).message
    assert message.startswith(f"m/sandbox.md:10: {block}: must be a block of keys (")


def test_a_mission_without_an_evaluator_is_told_how_to_write_one() -> None:
    """The error shows the lines that are missing."""
    error = _refused({"budget": {"max_iterations": 1}})
    assert error.message == "m/sandbox.md: the frontmatter has no evaluator block"
    assert "command: <shell command>" in error.hint


@pytest.mark.parametrize("key", ["command", "format"])
def test_required_keys_are_required(key: str) -> None:
    """command and format have no default."""
    block = {name: value for name, value in MINIMAL.items() if name != key}
    error = _refused({"evaluator": block})
    assert error.message == f"m/sandbox.md:10: evaluator: {key} is missing"
    assert error.hint == f"add `{key}:` below evaluator"


def test_a_place_without_a_line_names_the_file_alone() -> None:
    """Where a line is not known, the message has the file and the key."""
    with pytest.raises(ContractError, match=r"^s: evaluator.timeout: "):
        parse_contract({"evaluator": {**MINIMAL, "timeout": 1}}, lambda _path: None, "s")


_plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_values = _plain | st.lists(_plain, max_size=2) | st.dictionaries(st.text(max_size=4) | st.none(), _plain, max_size=2)
_keys = st.sampled_from([*MINIMAL, "timeout", "keep_policy", "max_iterations", "rehearsal"]) | st.integers()
_blocks = st.sampled_from(["evaluator", "budget", "session", "agent", "mine"]) | st.text(max_size=8)


@given(st.dictionaries(_blocks, st.dictionaries(_keys, _values, max_size=4) | _values, max_size=5))
def test_any_values_are_a_contract_or_a_contract_error(data: dict[str, Any]) -> None:
    """Whatever YAML can hold leads to a contract or to an error that names the file."""
    try:
        contract = _parse(data)
    except ContractError as error:
        assert error.message.startswith("m/sandbox.md")  # noqa: PT017 - either outcome is right
    else:
        assert contract.evaluator.command.strip()
