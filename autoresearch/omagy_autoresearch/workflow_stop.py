"""Whether a session may stop while workflow modes are active: what Stop hooks ask (contract section 7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from omagy_autoresearch.asked import Asked, questions_of
from omagy_autoresearch.lifecycle import normalise
from omagy_autoresearch.mode_state import ModeState
from omagy_autoresearch.questions import Status
from omagy_autoresearch.workflow import Mode, combination, in_order

_NONE: Mapping[str, Status] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class MustContinue:
    """``modes`` are those that have not ended; one of them is enough."""

    modes: tuple[Mode, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class MayStop:
    reason: str


def must_continue(active: Mapping[Mode, ModeState], recorded: Mapping[str, Status] = _NONE) -> MustContinue | MayStop:
    """``active`` is the active set, each mode with its state (empty where it was lost). All peers count alike.

    Lifecycle metadata counts before phases. A mode that waits for its person's answer, and a run, which has a
    supervisor of its own, never keep a session from stopping. ``recorded`` says how questions stand now, by their
    ids: a mode waits no longer than its question is open, whatever its state said when it asked.
    """
    states = {mode: active[mode] for mode in in_order(active) if mode is not Mode.AUTORESEARCH}
    waiting = [mode for mode, state in states.items() if any(_is_open(one, recorded) for one in questions_of(state))]
    going_on = tuple(mode for mode in states if mode not in waiting and not normalise(states[mode]).ended)
    if going_on:
        answered = [told for mode in going_on for told in _answers(states[mode], recorded)]
        return MustContinue(going_on, "; ".join([f"{combination(going_on)} has not ended", *dict.fromkeys(answered)]))
    if waiting:
        return MayStop(f"{combination(waiting)} waits for an answer")
    return MayStop("no active mode needs this session")


def _is_open(asked: Asked, recorded: Mapping[str, Status]) -> bool:
    return recorded[asked.id] is Status.OPEN if asked.id in recorded else asked.open


def _answers(state: ModeState, recorded: Mapping[str, Status]) -> list[str]:
    """What is news to a mode: the state of its question says nothing of it."""
    closed = [one.id for one in questions_of(state) if recorded.get(one.id, Status.OPEN) is not Status.OPEN]
    return [f"question {name} is {recorded[name]}: omagy question show {name}" for name in closed]
