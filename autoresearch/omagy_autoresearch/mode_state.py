"""What stands in ``<mode>-state.json``: how a mode's state begins, goes on and ends (contract section 7).

Every function takes a state as whoever wrote it and returns a new one; what it does not know stays in it.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from omagy_autoresearch.lifecycle import Outcome, normalise
from omagy_autoresearch.workflow import Mode

ModeState = Mapping[str, Any]

_LEFT_BY_AN_END = ("lifecycle_outcome", "run_outcome", "completed_at", "handoff_to", "current_phase")


class Said(Enum):
    """Whether a mode's state says that it is active. One that says neither leaves it to the inventory."""

    ACTIVE = "active"
    ENDED = "ended"
    NOTHING = "nothing"


def said(state: ModeState) -> Said:
    """What ``state`` says: its lifecycle outcome counts before ``active``, and ``active`` before its phase."""
    if normalise(state).ended:
        return Said.ENDED
    return Said.ACTIVE if state.get("active") is True else Said.NOTHING


def begun(state: ModeState, mode: Mode, session_id: str | None, at: str) -> dict[str, Any]:
    """``state`` as that of a mode that is activated ``at``: nothing of its last end remains."""
    kept = {key: value for key, value in state.items() if key not in _LEFT_BY_AN_END}
    return {**kept, **_head(mode, session_id), "active": True, "started_at": at, "updated_at": at}


def restored(entry: ModeState, mode: Mode, session_id: str | None, at: str) -> dict[str, Any]:
    """The state of a mode of which only the inventory knows: its file was lost."""
    since = entry.get("activated_at") or at
    phase = {"current_phase": entry["phase"]} if entry.get("phase") else {}
    return {**_head(mode, session_id), "active": True, **phase, "started_at": since, "updated_at": at}


def ended(state: ModeState, outcome: Outcome | None, at: str, handoff_to: Mode | None = None) -> dict[str, Any]:
    """``state`` as that of a mode that ends ``at``; ``outcome`` is None where nobody says how it ended."""
    how = {"lifecycle_outcome": str(outcome)} if outcome is not None else {}
    to = {"handoff_to": str(handoff_to)} if handoff_to is not None else {}
    kept = {key: value for key, value in state.items() if key != "run_outcome" or outcome is None}
    return {**kept, "active": False, **how, **to, "updated_at": at, "completed_at": at}


def _head(mode: Mode, session_id: str | None) -> dict[str, Any]:
    return {"mode": str(mode), **({"session_id": session_id} if session_id else {})}
