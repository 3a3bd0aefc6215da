"""The active set of one scope: its inventory, reconciled with the states of its modes (contract section 7).

The inventory (``skill-active-state.json``) is canonical. Where it and a mode's own state contradict each other,
nothing is lost: a mode that only its state calls active joins the set, one whose state was lost stays in it, and only
a state that says that its mode has ended takes it out.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.mode_state import ModeState, Said, restored, said
from omagy_autoresearch.workflow import ActiveSet, Mode, in_order

VERSION = 1
KEPT_MODES: tuple[Mode, ...] = tuple(mode for mode in Mode if mode is not Mode.AUTORESEARCH)
"""The modes whose states are files of the scope. autoresearch is active while its run lives, whatever a file says."""

_SESSION_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
_RESERVED = re.compile(r"questions|sessions|start-\d+", re.IGNORECASE)  # they have other meanings in that folder

Entry = Mapping[str, Any]
Entries = dict[Mode, Entry]

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Scope(NamedTuple):
    """What the files of one scope hold. ``session_id`` is None for the root; ``states`` are those that can be read.

    ``run_lives`` while a run of the repository is active; ``run`` is its entry where the inventory should list it.
    """

    session_id: str | None
    inventory: Mapping[str, Any] = _NOTHING
    states: Mapping[Mode, ModeState] = _NOTHING
    run_lives: bool = False
    run: Entry | None = None
    damaged: bool = False  # the inventory cannot be read: it is made anew from the states

    def entries(self) -> Entries:
        """The active modes with their entries, in the canonical order; without autoresearch."""
        listed = self.listed()
        found: Entries = {}
        for mode in KEPT_MODES:
            state = self.states.get(mode, {})
            told = said(state) if state else Said.NOTHING
            if mode in listed and told is not Said.ENDED:
                found[mode] = listed[mode]
            elif told is Said.ACTIVE:
                found[mode] = entry_of(state, mode, self.session_id)
        return found

    def rows(self) -> Entries:
        """What the inventory has to list."""
        return {**self.entries(), **({Mode.AUTORESEARCH: self.run} if self.run is not None else {})}

    def active(self) -> ActiveSet:
        """What counts for a transition in this scope: a run counts in all of them."""
        return frozenset(self.entries()) | (frozenset({Mode.AUTORESEARCH}) if self.run_lives else frozenset())

    def state(self, mode: Mode, at: str) -> dict[str, Any] | None:
        """The state of ``mode``, restored from the inventory where its file was lost; None for one never written."""
        if mode in self.states:
            return dict(self.states[mode])
        entry = self.entries().get(mode)
        return None if entry is None else restored(entry, mode, self.session_id, at)

    def listed(self) -> Entries:
        """What the inventory alone says, autoresearch included."""
        rows = [row for row in _rows(self.inventory) if self._is_ours(row) and row.get("active") is not False]
        return {Mode(row["skill"]): row for row in rows}

    def _is_ours(self, row: object) -> bool:
        if not isinstance(row, Mapping) or not isinstance(row.get("skill"), str) or row["skill"] not in _NAMES:
            return False
        return row.get("session_id") in (None, "", self.session_id)

    def foreign_rows(self) -> list[Any]:
        """What else stands in the inventory: modes of other tools and sessions. It is kept."""
        rows = self.inventory.get("active_skills")
        return [row for row in rows if not self._is_ours(row)] if isinstance(rows, list) else []


_NAMES = frozenset(str(mode) for mode in Mode)


def _rows(inventory: Mapping[str, Any]) -> list[Any]:
    """The rows of ``active_skills``; an inventory from before there were several has its one mode at the top."""
    rows = inventory.get("active_skills")
    if isinstance(rows, list):
        return [row for row in rows if isinstance(row, Mapping)]
    return [inventory] if inventory.get("active") is True else []


def entry_of(state: ModeState, mode: Mode, session_id: str | None) -> dict[str, Any]:
    """The inventory's entry for an active mode, as its ``state`` tells it."""
    return {
        "skill": str(mode),
        "phase": _text(state.get("current_phase")),
        "active": True,
        "activated_at": _text(state.get("started_at")) or _text(state.get("updated_at")),
        "updated_at": _text(state.get("updated_at")),
        **({"session_id": session_id} if session_id else {}),
    }


def run_entry(run_id: str, since: str, at: str) -> dict[str, Any]:
    """The inventory's entry while a run lives."""
    return {
        "skill": str(Mode.AUTORESEARCH),
        "phase": "running",
        "active": True,
        "activated_at": since,
        "updated_at": at,
        "run_id": run_id,
    }


def inventory_of(scope: Scope, entries: Entries, at: str) -> dict[str, Any]:
    """The inventory of ``scope`` with ``entries`` as its active set. Fields that are not ours stay."""
    ordered = [dict(entries[mode]) for mode in in_order(entries)]
    first = ordered[0] if ordered else {"skill": "", "phase": ""}
    kept = {key: value for key, value in scope.inventory.items() if key not in ("activated_at", "session_id")}
    return {
        **kept,
        "version": VERSION,
        "active": bool(ordered),
        "skill": first["skill"],
        "phase": first.get("phase", ""),
        **({"activated_at": first.get("activated_at", "")} if ordered else {}),
        "updated_at": at,
        **({"session_id": scope.session_id} if scope.session_id else {}),
        "active_skills": [*ordered, *scope.foreign_rows()],
    }


def parse_session_id(value: object) -> str | None:
    """The session whose scope is meant, None for the repository's own. Raises ContractError."""
    if value is None:
        return None
    if not isinstance(value, str) or not _SESSION_ID.fullmatch(value):
        raise ContractError(
            f"session_id {str(value)[:40]!r} cannot name a scope",
            "up to 128 letters, digits, dashes and underscores; without it the repository's own scope is meant",
        )
    if _RESERVED.fullmatch(value):
        raise ContractError(f"session_id {value} is a reserved name", "choose another")
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
