"""``omagy_state_read``, ``_write``, ``_list`` and ``_clear``: what ``omagy state`` does (contract section 7)."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mode_request import parse_clear, parse_read, parse_write
from omagy_autoresearch.workflow import Mode
from omagy_supervisor.tools.call import Call
from omagy_supervisor.tools.catalog import Effect, Tool
from omagy_supervisor.tools.schemas import Input, given_values
from omagy_supervisor.workflow_state import clear, list_scopes, read, write

_MODES = {"enum": list(Mode)}
_SessionId = Annotated[
    str | None,
    Meta(description="The session in whose scope the modes are. Default: the repository's own scope."),
]


class ReadInput(Input, frozen=True, kw_only=True):
    mode: Annotated[
        str | None,
        Meta(
            description="The workflow mode. Default: all of the scope, its active set first.",
            extra_json_schema=_MODES,
        ),
    ] = None
    session_id: _SessionId = None


class ListInput(Input, frozen=True, kw_only=True):
    pass


class WriteInput(Input, frozen=True, kw_only=True):
    mode: Annotated[
        str, Meta(description="The workflow mode to activate, bring up to date or end.", extra_json_schema=_MODES)
    ]
    session_id: _SessionId = None
    active: Annotated[
        bool | None,
        Meta(description="False ends the mode. Default: it is, or becomes, active unless an outcome is given."),
    ] = None
    current_phase: Annotated[str | None, Meta(description="How far the mode is, in a word of its own.")] = None
    lifecycle_outcome: Annotated[
        str | None,
        Meta(description="How the mode ended; it is not active any more.", extra_json_schema={"enum": list(Outcome)}),
    ] = None
    run_outcome: Annotated[
        str | None, Meta(description="The older name of lifecycle_outcome; legacy words are understood.")
    ] = None
    iteration: Annotated[int | None, Meta(description="Which round of its work the mode is in.")] = None
    max_iterations: Annotated[int | None, Meta(description="After how many rounds it ends.")] = None
    task_description: Annotated[str | None, Meta(description="What the mode works on.")] = None
    error: Annotated[str | None, Meta(description="What went wrong.")] = None
    question: Annotated[str | None, Meta(description="What the person was asked.")] = None
    question_id: Annotated[str | None, Meta(description="The id of that question (omagy_question_ask).")] = None
    state: Annotated[
        dict[str, Any] | None, Meta(description="Fields of the mode's own; they are merged into its state.")
    ] = None


class ClearInput(Input, frozen=True, kw_only=True):
    mode: Annotated[
        str | None,
        Meta(
            description="The mode to clear; autoresearch asks its run to stop first, and waits for its end.",
            extra_json_schema=_MODES,
        ),
    ] = None
    session_id: _SessionId = None
    all: Annotated[  # the name that the command has
        bool, Meta(description="True clears every mode of the scope; a run is cleared by name alone.")
    ] = False


class _Set(msgspec.Struct, frozen=True, kw_only=True):
    """``combination`` shows the active modes as one word, as in team+ralph."""

    session_id: str | None
    notes: list[str]
    active_modes: list[Mode] | UnsetType = UNSET
    combination: str | UnsetType = UNSET


class ReadOutput(_Set, frozen=True, kw_only=True):
    """With a mode: its state, and its handoff once it has ended. Without: the active set, and all states by name."""

    mode: Mode | UnsetType = UNSET
    exists: bool | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    lifecycle_outcome: Outcome | UnsetType | None = UNSET
    handoff: dict[str, Any] | UnsetType | None = UNSET
    state: dict[str, Any] | UnsetType = UNSET
    path: str | UnsetType = UNSET
    states: dict[str, dict[str, Any]] | UnsetType = UNSET
    must_continue: list[Mode] | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ListOutput(msgspec.Struct, frozen=True):
    """Every scope that knows a mode, and the active run of the repository."""

    scopes: list[dict[str, Any]]
    run: dict[str, Any] | None
    notes: list[str]


class WriteOutput(_Set, frozen=True, kw_only=True):
    """``completed`` are the modes that handed over to this one; ``handoff`` is what there is to tell of its end.

    ``handoffs`` has that of every mode that ended by this write.
    """

    mode: Mode
    active: bool
    completed: list[Mode]
    handoff: dict[str, Any] | None
    handoffs: dict[Mode, dict[str, Any]]
    state: dict[str, Any]
    path: str


class ClearOutput(_Set, frozen=True, kw_only=True):
    """``handoffs`` has what there is to tell of each end.

    ``elsewhere`` are other scopes in which the mode is active, when it was not in this one.
    """

    mode: Mode | None
    ended: list[Mode]
    handoffs: dict[Mode, dict[str, Any]]
    run: dict[str, Any] | None
    elsewhere: list[str | None]


def _read(call: Call, given: ReadInput) -> object:
    return read(call.root(given), parse_read(given_values(given)))


def _list(call: Call, given: ListInput) -> object:
    return list_scopes(call.root(given))


def _write(call: Call, given: WriteInput) -> object:
    return write(call.root(given), parse_write(given_values(given)), call.caller.settings)


def _clear(call: Call, given: ClearInput) -> object:
    return clear(call.root(given), parse_clear(given_values(given)), call.caller.settings)


_WHAT = "Workflow modes (deep-interview, plan, review, team, ralph, ultrawork, ultragoal, ultraqa, autoresearch)"

TOOLS = (
    Tool(
        name="omagy_state_read",
        title="Read workflow state",
        description=f"{_WHAT}: the state of one mode, or the active set of a scope with the states of its modes.",
        effect=Effect.READ,
        input=ReadInput,
        output=ReadOutput,
        run=_read,
    ),
    Tool(
        name="omagy_state_list",
        title="List workflow state",
        description=f"{_WHAT}: every scope of the repository with its active modes, and the active autoresearch run.",
        effect=Effect.READ,
        input=ListInput,
        output=ListOutput,
        run=_list,
    ),
    Tool(
        name="omagy_state_write",
        title="Write workflow state",
        description=f"{_WHAT}: activate a mode, say how far it is, or how it ended. A mode that hands over to it is "
        "completed; a combination that is not supported is denied, with what to clear, and nothing is changed. "
        "Refused inside a run's session.",
        effect=Effect.ADDING,
        input=WriteInput,
        output=WriteOutput,
        run=_write,
    ),
    Tool(
        name="omagy_state_clear",
        title="Clear workflow state",
        description=f"{_WHAT}: take one mode, or all of a scope, out of the active set and its state away. "
        "Clearing autoresearch stops its run first. Refused inside a run's session.",
        effect=Effect.DESTRUCTIVE,
        input=ClearInput,
        output=ClearOutput,
        run=_clear,
        waits=True,
    ),
)
