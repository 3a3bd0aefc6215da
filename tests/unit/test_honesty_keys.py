"""The settings of honest evaluation and of budgets, as a frontmatter's plain values give them."""

import math
from typing import Any

import pytest

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.mission import (
    Constraint,
    Contract,
    EvaluatorSettings,
    Guard,
    Holdout,
    Improvement,
    Prices,
    WorktreeSettings,
)
from omagy_autoresearch.mission_contract import parse_contract
from omagy_autoresearch.noise import Aggregate

MINIMAL = {"command": "./measure", "format": "json"}


def _parse(data: dict[str, Any]) -> Contract:
    return parse_contract({"evaluator": MINIMAL, **data}, lambda path: 10 * len(path), "m/sandbox.md")[0]


def _refused(data: dict[str, Any]) -> str:
    with pytest.raises(ContractError) as caught:
        _parse(data)
    return caught.value.message


def test_the_defaults_measure_the_baseline_twice_and_a_candidate_once() -> None:
    """A mission that says nothing is measured in the lane, with the check at the end, and pays for nothing more."""
    found = _parse({})
    assert found.evaluator == EvaluatorSettings("./measure")
    assert (found.evaluator.isolation, found.evaluator.repeats, found.evaluator.baseline_repeats) == ("lane", 1, 2)
    assert (found.evaluator.final_check, found.evaluator.retest, found.evaluator.tie) == ("kept", 5, "discard")
    assert (found.guard, found.evaluator.holdout, found.worktree) == (None, None, WorktreeSettings())
    assert (found.protected, found.editable, found.evaluator.constraints) == ((), (), ())
    assert not found.evaluator.guarded_from_noise


@pytest.mark.parametrize(
    ("key", "value", "attribute", "parsed"),
    [
        ("build", " make ", "build", "make"),
        ("isolation", "fresh", "isolation", "fresh"),
        ("repeats", 3, "repeats", 3),
        ("aggregate", "min", "aggregate", Aggregate.MIN),
        ("baseline_repeats", 1, "baseline_repeats", 1),
        ("min_improvement", 2, "min_improvement", Improvement(2.0)),
        ("min_improvement", 0.5, "min_improvement", Improvement(0.5)),
        ("min_improvement", "1.5 %", "min_improvement", Improvement(1.5, percent=True)),
        ("min_improvement", "2%", "min_improvement", Improvement(2.0, percent=True)),
        ("retest", 0, "retest", 0),
        ("retest", "off", "retest", 0),
        ("retest", False, "retest", 0),
        ("retest", 9, "retest", 9),
        ("final_check", "off", "final_check", "off"),
        ("tie", "smaller_diff", "tie", "smaller_diff"),
        ("constraints", [{"metric": "mb", "max": 5}], "constraints", (Constraint("mb", max=5.0),)),
        ("constraints", [{"metric": "a", "min": 0, "max": 1}], "constraints", (Constraint("a", max=1.0, min=0.0),)),
        (
            "constraints",
            [{"metric": "n", "min": "baseline", "max": 9}],
            "constraints",
            (Constraint("n", 9.0, "baseline"),),
        ),
        ("holdout", "sh check", "holdout", Holdout("sh check")),
        (
            "holdout",
            {"command": "sh check", "timeout": "2m", "files": ["a/b"]},
            "holdout",
            Holdout("sh check", 120.0, ("a/b",)),
        ),
        ("holdout", {"command": "c", "files": "a"}, "holdout", Holdout("c", files=("a",))),
    ],
)
def test_every_key_of_the_evaluator_is_read(key: str, value: Any, attribute: str, parsed: Any) -> None:
    """Each key sets its own setting."""
    found = _parse({"evaluator": {**MINIMAL, key: value}}).evaluator
    assert getattr(found, attribute) == parsed


@pytest.mark.parametrize(
    ("data", "attribute", "parsed"),
    [
        ({"guard": {"command": "make test", "timeout": "5m"}}, "guard", Guard("make test", 300.0)),
        ({"protected": "tests"}, "protected", ("tests",)),
        ({"protected": ["tests/**", "*.lock"]}, "protected", ("tests/**", "*.lock")),
        ({"editable": ["src"]}, "editable", ("src",)),
        (
            {"worktree": {"setup": "npm ci", "setup_timeout": "1m", "copy": [".env", "a/b"]}},
            "worktree",
            WorktreeSettings("npm ci", 60.0, (".env", "a/b")),
        ),
    ],
)
def test_every_other_block_is_read(data: dict[str, Any], attribute: str, parsed: Any) -> None:
    """Guard, surface and worktree stand beside the evaluator."""
    assert getattr(_parse(data), attribute) == parsed


def test_budgets_of_tokens_money_and_patience_are_read() -> None:
    """Prices are per million tokens; cached input may have one of its own."""
    prices = {"input": 1.25, "cached_input": 0.125, "output": 10}
    found = _parse({"budget": {"max_tokens": 5, "max_cost": 2, "plateau": 9, "prices": prices}}).budget
    assert (found.max_tokens, found.max_cost, found.plateau) == (5, 2.0, 9)
    assert found.prices == Prices(1.25, 10.0, 0.125)
    assert _parse({"budget": {"plateau": "off"}}).budget.plateau is None


def test_the_commands_whose_files_measure_a_candidate_are_evaluator_build_and_guard() -> None:
    """The held-out check's command is not among them: its files are no candidate's."""
    data = {"evaluator": {**MINIMAL, "build": "make", "holdout": "h"}, "guard": {"command": "g"}}
    assert _parse(data).commands == ("./measure", "make", "g")


_NOT_COUNTS: list[Any] = [0, -1, 1.5, True, "3", None, [], math.nan]
_NOT_AMOUNTS: list[Any] = [-1, "-2%", "%", "2 percent", "nan%", "inf%", True, None, [], math.inf, math.nan]
_NOT_GLOBS: list[Any] = ["", "/abs", "../up", "a/../b", "~/x", "!not", None, 5, ["ok", ""], [["a"]], {"a": 1}]
_NOT_PATHS: list[Any] = ["", "/etc/passwd", "~/x", "../x", "a/../../b", None, 5, [None]]
_NOT_CHOICES: list[Any] = ["average", "MEDIAN", "none", True, None, 1, [], ["fresh"]]
_WRONG: list[tuple[str, str, Any]] = [
    *(("evaluator", key, value) for key in ("repeats", "baseline_repeats") for value in _NOT_COUNTS),
    *(("evaluator", "min_improvement", value) for value in _NOT_AMOUNTS),
    *(("evaluator", "retest", value) for value in _NOT_COUNTS[1:]),
    *(("evaluator", "aggregate", value) for value in _NOT_CHOICES),
    *(("evaluator", "isolation", value) for value in _NOT_CHOICES),
    *(("evaluator", "final_check", value) for value in _NOT_CHOICES),
    *(("evaluator", "tie", value) for value in _NOT_CHOICES),
    *(("evaluator", "build", value) for value in _NOT_CHOICES[3:]),
    *(
        ("evaluator", "constraints", value)
        for value in (
            "mb < 5",
            {"metric": "mb", "max": 1},
            [{"metric": "mb"}],
            [{"max": 1}],
            [{"metric": "mb", "max": "5"}],
            [{"metric": "mb", "max": "basline"}],
            [{"metric": "mb", "maximum": 5}],
            [{"metric": "", "max": 5}],
            [None],
        )
    ),
    *(("evaluator", "holdout", value) for value in ("", {}, {"files": ["a"]}, {"command": "c", "timeot": "1m"}, 5)),
    *(("evaluator", "holdout", {"command": "c", "files": value}) for value in _NOT_PATHS[:-3]),
    *(("budget", "max_tokens", value) for value in [*_NOT_COUNTS, "off"]),
    *(("budget", "max_cost", value) for value in (-1, "5", None, True, math.inf)),
    *(("budget", "plateau", value) for value in (0, -1, 1.5, True, "never")),
    *(("budget", "prices", value) for value in (5, {}, {"input": 1}, {"input": 1, "output": -1}, {"in": 1})),
    *(("worktree", "copy", value) for value in _NOT_PATHS),
    *(("worktree", "setup", value) for value in ("", None, ["npm ci"])),
    *(("worktree", "setup_timeout", value) for value in (5, "soon", None)),
    *(("guard", "timeout", value) for value in (5, "soon", None)),
    *(("guard", "command", value) for value in ("", None, ["make"])),
]


@pytest.mark.parametrize(("block", "key", "value"), _WRONG, ids=repr)
def test_every_wrong_value_is_refused_with_its_place(block: str, key: str, value: Any) -> None:
    """A value of the wrong kind is an error that names file, line and key."""
    base = MINIMAL if block == "evaluator" else {"command": "g"} if block == "guard" else {}
    message = _refused({block: {**base, key: value}})
    assert message.startswith(f"m/sandbox.md:20: {block}.{key}: ")
    assert len(message) < 300


@pytest.mark.parametrize("key", ["protected", "editable"])
@pytest.mark.parametrize("value", _NOT_GLOBS, ids=repr)
def test_a_pattern_that_cannot_match_is_refused(key: str, value: Any) -> None:
    """Patterns start at the root of the repository and cannot lead out of it."""
    assert _refused({key: value}).startswith(f"m/sandbox.md:10: {key}: ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"evaluator": {**MINIMAL, "repeat": 3}},
            "m/sandbox.md:20: evaluator.repeat: unknown key, did you mean repeats?",
        ),
        ({"evaluator": {**MINIMAL, "isolation": "frsh"}}, "must be lane or fresh, did you mean fresh?"),
        ({"guard": {"comand": "x"}}, "m/sandbox.md:20: guard.comand: unknown key, did you mean command?"),
        ({"guard": {"timeout": "1m"}}, "m/sandbox.md:10: guard: command is missing"),
        ({"guard": "make test"}, "m/sandbox.md:10: guard: must be a block of keys (command, timeout)"),
        ({"protect": ["a"]}, "m/sandbox.md:10: protect: unknown key, did you mean protected?"),
        ({"editables": ["a"]}, "m/sandbox.md:10: editables: unknown key, did you mean editable?"),
        ({"worktree": {"copies": []}}, "m/sandbox.md:20: worktree.copies: unknown key, did you mean copy?"),
        ({"worktrees": {}}, "m/sandbox.md:10: worktrees: unknown key, did you mean worktree?"),
        (
            {"budget": {"max_cost": 5}},
            "m/sandbox.md:20: budget.max_cost: needs budget.prices to know what tokens cost",
        ),
        (
            {"evaluator": {**MINIMAL, "constraints": [{"metrc": "a", "max": 1}]}},
            "unknown key metrc, did you mean metric?",
        ),
    ],
)
def test_a_mistake_is_told_with_what_was_meant(data: dict[str, Any], message: str) -> None:
    """A typo, a missing part and a setting that needs another are told in words that mend them."""
    assert message in _refused(data)
