"""Whether a session may stop while workflow modes are active: what Stop hooks ask (contract section 7)."""

from collections.abc import Mapping
from dataclasses import dataclass

from omagy_autoresearch.lifecycle import normalise
from omagy_autoresearch.mode_state import ModeState
from omagy_autoresearch.workflow import Mode, combination, in_order


@dataclass(frozen=True, slots=True)
class MustContinue:
    """``modes`` are those that have not ended; one of them is enough."""

    modes: tuple[Mode, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class MayStop:
    reason: str


def must_continue(active: Mapping[Mode, ModeState]) -> MustContinue | MayStop:
    """``active`` is the active set, each mode with its state (empty where it was lost). All peers count alike.

    Lifecycle metadata counts before phases. A mode that waits for its person's answer, and a run, which has a
    supervisor of its own, never keep a session from stopping.
    """
    readings = {mode: normalise(active[mode]) for mode in in_order(active) if mode is not Mode.AUTORESEARCH}
    waiting = [mode for mode, reading in readings.items() if reading.question is not None and reading.question.open]
    going_on = tuple(mode for mode, reading in readings.items() if not reading.ended and mode not in waiting)
    if going_on:
        return MustContinue(going_on, f"{combination(going_on)} has not ended")
    if waiting:
        return MayStop(f"{combination(waiting)} waits for an answer")
    return MayStop("no active mode needs this session")
