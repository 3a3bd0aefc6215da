"""Workflow modes: which may be active together, which hand over to which, and why not (contract section 7).

The tables are the whole policy. What stands in neither of them is denied.
"""

import json
import shlex
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.spelling import nearest

CLEAR_TOOL = "omagy_state_clear"


class Mode(StrEnum):
    """The workflow modes, in the one order in which combinations of them are shown."""

    DEEP_INTERVIEW = "deep-interview"
    PLAN = "plan"
    REVIEW = "review"
    TEAM = "team"
    RALPH = "ralph"
    ULTRAWORK = "ultrawork"
    ULTRAGOAL = "ultragoal"
    ULTRAQA = "ultraqa"
    AUTORESEARCH = "autoresearch"


ActiveSet = frozenset[Mode]

PEERS: frozenset[ActiveSet] = frozenset(
    frozenset({Mode.TEAM, partner}) for partner in (Mode.RALPH, Mode.ULTRAWORK, Mode.ULTRAGOAL)
)
"""The pairs that may be active together. Neither mode of a pair is primary."""

HANDOFFS: Mapping[Mode, tuple[Mode, ...]] = MappingProxyType(
    {
        Mode.DEEP_INTERVIEW: (Mode.PLAN, Mode.REVIEW, Mode.TEAM, Mode.RALPH, Mode.ULTRAWORK, Mode.ULTRAGOAL),
        Mode.PLAN: (Mode.TEAM, Mode.RALPH, Mode.ULTRAGOAL),
        Mode.REVIEW: (Mode.ULTRAQA,),
        Mode.ULTRAGOAL: (Mode.ULTRAQA,),
        Mode.RALPH: (Mode.ULTRAQA,),
    }
)
"""Source to targets: activating a target completes the source first."""


class Allowed(NamedTuple):
    """``completes`` are the active modes that hand over to the target, ``active_after`` is the set to record."""

    completes: tuple[Mode, ...]
    active_after: ActiveSet


class Denied(NamedTuple):
    """Nothing may be changed. ``in_the_way`` are the active modes that have to be cleared first."""

    active: ActiveSet
    target: Mode
    in_the_way: tuple[Mode, ...]
    unsupported: tuple[str, ...]

    def error(self, session_id: str | None = None, place: str = "") -> "DeniedError":
        """The refusal, told to whoever asked. The set is that of ``session_id``, in the worktree at ``place``."""
        pairs = " and ".join(self.unsupported)
        verb = "are not supported combinations" if len(self.unsupported) > 1 else "is not a supported combination"
        in_session = session_id and self.active != {Mode.AUTORESEARCH}  # a run belongs to no session
        where = (f" in session {session_id}" if in_session else "") + (f" in {place}" if place else "")
        lines = [line for mode in self.in_the_way for line in recovery(mode, session_id, place)]
        return DeniedError(
            f"{self.target} was not activated: {combination(self.active)} is active{where}, and {pairs} {verb}",
            "\n".join(lines),
        )


class DeniedError(ContractError):
    """A transition that the tables do not allow. Nothing was changed."""

    code = "denied"


def recovery(mode: Mode, session_id: str | None = None, place: str = "") -> tuple[str, str, str]:
    """How a person, a program and an agent clear ``mode``. The mode autoresearch belongs to no session."""
    there = f"cd {shlex.quote(place)} && " if place else ""
    return (
        f"clear it: {there}{clear_command(mode, session_id)}",
        f"in a script: {there}omagy state clear --input {shlex.quote(_clear_request(mode, session_id))} --json",
        f"over MCP: {CLEAR_TOOL} with {_clear_request(mode, session_id, place)}",
    )


def clear_command(mode: str, session_id: str | None = None) -> str:
    """The command with which a person clears ``mode`` in the scope of ``session_id``."""
    return f"omagy state clear {mode}" + "".join(
        f" --session-id {name}" for name in _scope(mode, session_id).values()
    )


def _clear_request(mode: str, session_id: str | None, place: str = "") -> str:
    there = {"working_directory": place} if place else {}
    request = {"mode": mode, **_scope(mode, session_id), **there}
    return json.dumps(request, separators=(",", ":"), ensure_ascii=False)


def _scope(mode: str, session_id: str | None) -> dict[str, str]:
    return {"session_id": session_id} if session_id and mode != Mode.AUTORESEARCH else {}


def transition(active: ActiveSet, target: Mode) -> Allowed | Denied:
    """Whether ``target`` may be activated while ``active`` is active, and what becomes of the set.

    Writing a mode that is active already is an update: it changes nothing about the set, whatever the set is.
    """
    if target in active:
        return Allowed((), active)
    broken = unsupported_pairs(active)
    if broken:
        return Denied(active, target, in_order({mode for pair in broken for mode in pair}), _shown(broken))
    completes = in_order(mode for mode in active if target in HANDOFFS.get(mode, ()))
    clashing = in_order(mode for mode in active if mode not in completes and not _are_peers(mode, target))
    if clashing:
        return Denied(active, target, clashing, _shown(frozenset({mode, target}) for mode in clashing))
    return Allowed(completes, active - frozenset(completes) | {target})


def unsupported_pairs(active: ActiveSet) -> list[ActiveSet]:
    """The pairs within ``active`` that must not be active together: what an older or foreign writer left."""
    return [frozenset(pair) for pair in combinations(in_order(active), 2) if frozenset(pair) not in PEERS]


def combination(active: Iterable[Mode]) -> str:
    """``active`` as everything shows it: ``team+ralph``, however it came about; empty for nothing."""
    return "+".join(in_order(active))


def in_order(modes: Iterable[Mode]) -> tuple[Mode, ...]:
    """``modes`` in the canonical order."""
    return tuple(sorted(modes, key=_RANK.__getitem__))


def parse_mode(name: object) -> Mode:
    """The mode called ``name``. Raises ContractError with the nearest one there is."""
    if isinstance(name, str) and name in _BY_NAME:
        return _BY_NAME[name]
    if not isinstance(name, str) or not name:
        problem = "mode is missing" if name in (None, "") else "mode is not a name"
        raise ContractError(problem, f"one of: {', '.join(Mode)}")
    raise ContractError(f"there is no mode {one_line(name, 40)}{nearest(name, Mode)}", f"one of: {', '.join(Mode)}")


_BY_NAME = {str(mode): mode for mode in Mode}
_RANK = {mode: rank for rank, mode in enumerate(Mode)}


def _shown(pairs: Iterable[ActiveSet]) -> tuple[str, ...]:
    return tuple(combination(pair) for pair in pairs)


def _are_peers(one: Mode, other: Mode) -> bool:
    return frozenset({one, other}) in PEERS
