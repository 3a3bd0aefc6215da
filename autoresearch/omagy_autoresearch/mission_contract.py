"""From ``sandbox.md``'s frontmatter to a mission's settings, checked key by key (contract section 2).

The reader of the files hands over plain values and a way to find the line of a key. A key that nobody knows inside
a block of ours is an error: a typo that silently falls back costs a night.
"""

import difflib
from collections.abc import Callable, Mapping, Set
from typing import Any

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.mission import (
    AgentSettings,
    Budget,
    Contract,
    EvaluatorSettings,
    Guard,
    SessionSettings,
    WorktreeSettings,
)
from omagy_autoresearch.mission_keys import BLOCKS, KEYS, LISTS, Parser
from omagy_autoresearch.placeholder import placeholder, unfinished
from omagy_autoresearch.spelling import nearest

Lines = Callable[[tuple[str, ...]], int | None]
"""The line on which a key path stands in the file, counted from 1."""


def parse_contract(data: Mapping[str, Any], lines: Lines, file: str) -> tuple[Contract, tuple[str, ...]]:
    """The contract in frontmatter ``data`` and the notices it deserves.

    Raises ContractError that names ``file``, line and key, and the nearest known key for a typo.
    """
    check = _Check(lines, file)
    own = [key for key in data if key not in KEYS]
    for key in own:
        check.top_level(str(key))
    if "evaluator" not in data:
        raise ContractError(
            f"{file}: the frontmatter has no evaluator block",
            "say how a candidate is measured:\n  evaluator:\n    command: <shell command>\n    format: json",
        )
    values = {name: check.block(name, data[name]) for name in BLOCKS if name in data}
    check.required(values["evaluator"], "command", "format")
    contract = Contract(
        evaluator=EvaluatorSettings(**values["evaluator"]),
        budget=Budget(**values.get("budget", {})),
        session=SessionSettings(**values.get("session", {})),
        agent=AgentSettings(**values.get("agent", {})),
        worktree=WorktreeSettings(**values.get("worktree", {})),
        guard=check.guard(values.get("guard")),
        **{name: check.value((name,), parser, data[name]) for name, parser in LISTS.items() if name in data},
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
        near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.8)
        if near:
            raise self.error((key,), f"unknown key, did you mean {near[0]}?")

    def block(self, name: str, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise self.error((name,), f"must be a block of keys ({', '.join(BLOCKS[name])})")
        known = BLOCKS[name]
        result = {}
        for key, value in data.items():
            if key not in known:
                raise self.error((name, str(key)), f"unknown key{nearest(str(key), known)}", _known(known))
            attribute, parser = known[key]
            result[attribute] = self.value((name, str(key)), parser, value)
        return result

    def value(self, path: tuple[str, ...], parser: Parser, value: Any) -> Any:
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
        self.written(contract)

    def written(self, contract: Contract) -> None:
        """Refuse commands that somebody still has to write (contract section 9)."""
        evaluator, holdout, guard = contract.evaluator, contract.evaluator.holdout, contract.guard
        said = placeholder(evaluator.command)
        if said:
            raise self.error(("evaluator", "command"), f"{said} is a placeholder, not a measurement", _PROPOSED)
        others = (
            (("evaluator", "build"), evaluator.build),
            (("evaluator", "holdout"), holdout and holdout.command),
            (("guard", "command"), guard and guard.command),
            (("worktree", "setup"), contract.worktree.setup),
        )
        for path, command in others:
            said = unfinished(command) if command else ""
            if said:
                raise self.error(path, f"{said} is a placeholder", "write the command, or remove the key")

    def required(self, values: Mapping[str, Any], *keys: str) -> None:
        for key in keys:
            if key not in values:
                raise self.error(("evaluator",), f"{key} is missing", f"add `{key}:` below evaluator")


_PROPOSED = (
    "write the command that measures a candidate; `omagy autoresearch init` on a terminal proposes some\n"
    "(if it is meant as it stands, put it into a script)"
)


def _shown(value: Any) -> str:
    """``value`` as a message shows it. Blocks and lists are only named: anchors can make them endless."""
    if isinstance(value, Mapping):
        return "a block"
    if isinstance(value, list | tuple | Set):
        return "a list"
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _known(keys: Any) -> str:
    return f"known keys: {', '.join(keys)}"
