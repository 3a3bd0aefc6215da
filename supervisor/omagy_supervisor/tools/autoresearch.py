"""``omagy_autoresearch_status``, ``_list`` and ``_stop`` (contract section 10)."""

from typing import Annotated

import msgspec
from msgspec import Meta

from omagy_autoresearch.events import StopMode
from omagy_supervisor.commands.runs import Overview, RunFacts, overview, run_facts
from omagy_supervisor.stopping import INSTEAD_IN_A_SESSION, ask_to_stop
from omagy_supervisor.tools.call import Call
from omagy_supervisor.tools.catalog import Effect, Tool
from omagy_supervisor.tools.schemas import Input

_END_S = 45.0  # Codex gives a tool 60 s, unless it is told otherwise

_RunId = Annotated[str | None, Meta(description="The run's id. Default: the active run, else the newest.")]


class StatusInput(Input, frozen=True, kw_only=True):
    run_id: _RunId = None


class ListInput(Input, frozen=True, kw_only=True):
    newest: Annotated[int, Meta(description="How many runs to tell of at most, counted from the newest.", ge=1)] = 20


class StopInput(Input, frozen=True, kw_only=True):
    run_id: Annotated[
        str | None, Meta(description="The run's id, to be sure which run is stopped. Default: the active run.")
    ] = None
    after_iteration: Annotated[
        bool, Meta(description="True: let the iteration that is under way end first, and return at once.")
    ] = False


class ListOutput(Overview, frozen=True, kw_only=True):
    """The newest runs of a worktree, oldest first; ``left_out`` counts older ones that were not asked for."""

    left_out: int


class Stopped(msgspec.Struct, frozen=True):
    """``stopped`` is false while the run is still ending, or finishes its iteration first."""

    run_id: str
    mode: StopMode
    stopped: bool
    can_go_on: bool
    next_command: str


def _status(call: Call, given: StatusInput) -> RunFacts:
    own = call.caller.run_id if given.working_directory is None else None
    return run_facts(call.root(given), given.run_id or own)


def _list(call: Call, given: ListInput) -> ListOutput:
    found = overview(call.root(given))
    shown = found.runs[-given.newest :]
    return ListOutput(
        active=found.active,
        runs=shown,
        unreadable=found.unreadable,
        active_elsewhere=found.active_elsewhere,
        left_out=len(found.runs) - len(shown),
    )


def _stop(call: Call, given: StopInput) -> Stopped:
    call.refuse_in_session("stop a run", INSTEAD_IN_A_SESSION)
    mode = StopMode.AFTER_ITERATION if given.after_iteration else StopMode.NOW
    stopping = ask_to_stop(call.root(given), given.run_id, mode)
    stopped = mode is StopMode.NOW and call.wait_until(lambda: stopping.ended, _END_S)
    able, run = stopping.can_go_on, stopping.run_id
    command = f"--resume {run}" if stopped and able else f"status {run}"
    return Stopped(run, mode, stopped, able, f"omagy autoresearch {command}")


TOOLS = (
    Tool(
        name="omagy_autoresearch_status",
        title="Status of an autoresearch run",
        description="How one run of the autonomous experiment loop stands: state, iteration, scores, kept commit, "
        "branch, lifecycle outcome and stop reason, and the next command for a person. "
        "Inside a run's session it is that run by default.",
        effect=Effect.READ,
        input=StatusInput,
        output=RunFacts,
        run=_status,
    ),
    Tool(
        name="omagy_autoresearch_list",
        title="List autoresearch runs",
        description="Runs of the autonomous experiment loop in a repository, the newest last, and which is active.",
        effect=Effect.READ,
        input=ListInput,
        output=ListOutput,
        run=_list,
    ),
    Tool(
        name="omagy_autoresearch_stop",
        title="Stop the active autoresearch run",
        description="Stop the active run of the autonomous experiment loop, now or after its iteration. Its commits "
        "and records stay, and it can be resumed. Waits until an immediate stop is done. "
        "Refused inside a run's session.",
        effect=Effect.DESTRUCTIVE,
        input=StopInput,
        output=Stopped,
        run=_stop,
        waits=True,
    ),
)
