"""What somebody asks of a workflow mode, checked (contract section 7). The command line and MCP ask alike."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from omagy_autoresearch.asked import question_of
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.lifecycle import GOING_ON, Outcome, meaning
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.mode_scope import parse_session_id
from omagy_autoresearch.spelling import nearest
from omagy_autoresearch.workflow import Mode, parse_mode

_PHASE_LIMIT = 200

_WHERE = ("mode", "session_id")
_WORDS = ("active", "current_phase", "lifecycle_outcome", "run_outcome")
_DETAILS = ("iteration", "max_iterations", "task_description", "error", "question", "question_id")
WRITE_KEYS = (*_WHERE, *_WORDS, *_DETAILS, "state")
READ_KEYS = _WHERE
CLEAR_KEYS = (*_WHERE, "all")
_OURS = ("mode", "session_id", "started_at", "updated_at", "completed_at", "handoff_to")


@dataclass(frozen=True, slots=True)
class StateRequest:
    """``mode`` is None where all modes of the scope are meant. ``fields`` are merged into the mode's state.

    ``outcome`` is how the mode ended, ``active`` is None where the request says neither.
    """

    mode: Mode | None = None
    session_id: str | None = None
    active: bool | None = None
    outcome: Outcome | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


def parse_write(raw: Mapping[str, Any]) -> StateRequest:
    """A request to write. Raises ContractError that names the key."""
    _refuse_unknown(raw, WRITE_KEYS)
    fields = {**_state(raw), **{key: raw[key] for key in (*_WORDS, *_DETAILS) if key in raw}}
    for key in _WORDS:
        if key in raw and key in _state(raw) and raw[key] != _state(raw)[key]:
            raise ContractError(f"{key} stands in the request twice, and differs", "say it once")
    active, outcome = _active(fields), _outcome(fields)
    if active and outcome is not None:
        raise ContractError(f"a mode whose outcome is {outcome} is not active", "leave out active, or the outcome")
    kept = {key: value for key, value in fields.items() if key not in ("active", "lifecycle_outcome")}
    if outcome is not None:
        kept.pop("run_outcome", None)
    return StateRequest(parse_mode(raw.get("mode")), _scope(raw), active, outcome, kept)


def parse_read(raw: Mapping[str, Any]) -> StateRequest:
    """A request to read one mode, or the whole scope. Raises ContractError."""
    _refuse_unknown(raw, READ_KEYS)
    return StateRequest(parse_mode(raw["mode"]) if "mode" in raw else None, _scope(raw))


def parse_clear(raw: Mapping[str, Any]) -> StateRequest:
    """A request to clear or cancel one mode, or with ``all`` the whole scope. Raises ContractError."""
    _refuse_unknown(raw, CLEAR_KEYS)
    everything = raw.get("all", False)
    if not isinstance(everything, bool):
        raise ContractError("all is neither true nor false")
    if everything and "mode" in raw:
        raise ContractError("mode and all exclude each other", "name the mode, or say all")
    if not everything and "mode" not in raw:
        raise ContractError("mode is missing", f"one of: {', '.join(Mode)}; or all of the scope: --all")
    return StateRequest(None if everything else parse_mode(raw.get("mode")), _scope(raw))


def _scope(raw: Mapping[str, Any]) -> str | None:
    """A run belongs to its repository, so the mode autoresearch has no session."""
    session_id = parse_session_id(raw.get("session_id"))
    return None if raw.get("mode") == Mode.AUTORESEARCH else session_id


def _state(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    state = raw.get("state", {})
    if not isinstance(state, Mapping):
        raise ContractError("state is not a JSON object", """for example "state": {"iteration": 3}""")
    for key in _OURS:
        if key in state:
            told = "say it beside state, not in it" if key in _WHERE else "omagy writes it"
            raise ContractError(f"state.{key} cannot be set", told)
    return state


def _active(fields: Mapping[str, Any]) -> bool | None:
    active = fields.get("active")
    if active is not None and not isinstance(active, bool):
        raise ContractError(f"active is {_shown(active)}, neither true nor false")
    return active


def _outcome(fields: Mapping[str, Any]) -> Outcome | None:
    """The outcome that the request tells: by its name, by the older one, or by a phase that is an end."""
    question = question_of(fields)
    for key in ("lifecycle_outcome", "run_outcome"):
        word = fields.get(key)
        if word is None or (key == "run_outcome" and word in GOING_ON):
            continue
        found = meaning(word, question) if isinstance(word, str) else None
        if found is None:
            near = nearest(word, Outcome) if isinstance(word, str) else ""
            raise ContractError(f"{key} {_shown(word)} is no outcome{near}", f"one of: {', '.join(Outcome)}")
        return found
    return meaning(_phase(fields), question)


def _phase(fields: Mapping[str, Any]) -> str:
    phase = fields.get("current_phase")
    if phase is None:
        return ""
    if not isinstance(phase, str) or len(phase) > _PHASE_LIMIT or not phase.isprintable():
        raise ContractError("current_phase is not a word", f"printable text of at most {_PHASE_LIMIT} characters")
    return phase


def _refuse_unknown(raw: Mapping[str, Any], known: Iterable[str]) -> None:
    for key in raw:
        if key not in known:
            hint = "a field of your own belongs into state" if "state" in known else f"known: {', '.join(known)}"
            raise ContractError(f"the request has an unknown key {_shown(key)}{nearest(str(key), known)}", hint)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    return repr(one_line(text, 40))
