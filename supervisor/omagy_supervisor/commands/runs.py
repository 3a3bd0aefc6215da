"""What is known of runs, as data: the command line prints it, MCP tools hand it on."""

import msgspec

from omagy_autoresearch.events import StopMode
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.manifest import Manifest
from omagy_supervisor.active import active_pointer, active_run
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.adapters.records import read_handoff
from omagy_supervisor.adapters.stops import requested_stop
from omagy_supervisor.commands.chosen import all_manifests, chosen_run
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.quiet import last_output


class OpenQuestion(msgspec.Struct, frozen=True):
    """The question of a run that waits for the person's answer."""

    id: str
    question: str

    @property
    def answering_command(self) -> str:
        return f"omagy question answer {self.id} '<your answer>'"


class RunFacts(Manifest, frozen=True, kw_only=True):
    """A run's manifest, with what only its repository can tell. ``records`` is its folder.

    ``quiet_s`` is how long the session under way has said nothing; an observation, never a reason to stop.
    ``stop_requested`` is what an active run was asked and has not come to yet. ``first_step`` is what a person does
    before ``next_command`` where a run is blocked or failed.
    """

    active: bool
    state: str
    records: str
    next_command: str
    quiet_s: float | None
    stop_requested: StopMode | None = None
    open_question: OpenQuestion | None = None
    first_step: str | None = None


class Elsewhere(msgspec.Struct, frozen=True):
    """The active run of another worktree of the same repository."""

    run_id: str
    repo_root: str


class Overview(msgspec.Struct, frozen=True):
    """All runs of a worktree, oldest first; those in ``unreadable`` have no manifest that can be read."""

    active: str | None
    runs: list[RunFacts]
    unreadable: list[str]
    active_elsewhere: Elsewhere | None


def overview(root: StateRoot) -> Overview:
    """What there is in the repository of ``root``."""
    pointer, active, manifests = active_pointer(root), active_run(root), all_manifests(root)
    return Overview(
        active,
        [_facts(root, manifest, active) for manifest in manifests],
        sorted(set(root.known_runs()) - {manifest.run_id for manifest in manifests}),
        Elsewhere(pointer.run_id, pointer.repo_root) if pointer is not None and active is None else None,
    )


def run_facts(root: StateRoot, run_id: str | None) -> RunFacts:
    """The run ``run_id``, else the active one, else the newest. Raises ContractError when there is none."""
    return _facts(root, chosen_run(root, run_id), active_run(root))


def _facts(root: StateRoot, manifest: Manifest, active: str | None) -> RunFacts:
    asked = _open_question(root, manifest.run_id)
    return RunFacts(
        **msgspec.structs.asdict(manifest),
        active=manifest.run_id == active,
        state=_state(manifest, active),
        records=str(root.run(manifest.run_id).root),
        next_command=_next_command(manifest, active) if asked is None else asked.answering_command,
        quiet_s=_quiet_s(root, manifest) if manifest.run_id == active else None,
        stop_requested=requested_stop(root.run(manifest.run_id).stop_request) if manifest.run_id == active else None,
        open_question=asked,
        first_step=_first_step(root, manifest),
    )


def _first_step(root: StateRoot, manifest: Manifest) -> str | None:
    """The remedy that the handoff names; without it the next command would come to the same end."""
    if manifest.outcome not in (Outcome.BLOCKED, Outcome.FAILED):
        return None
    found = read_handoff(root.run(manifest.run_id))
    return found.handoff[0].removeprefix("you: ") if found is not None and found.handoff else None


def _quiet_s(root: StateRoot, manifest: Manifest) -> float | None:
    if manifest.status != "in_session":
        return None
    last = last_output(root.run(manifest.run_id).attempt(manifest.iteration, manifest.attempt))
    return None if last is None else round(max(SystemClock().now().timestamp() - last, 0.0), 3)


def _open_question(root: StateRoot, run_id: str) -> OpenQuestion | None:
    questions = QuestionFiles(root.state)
    asked = questions.open_question(run_id)
    return None if asked is None else OpenQuestion(asked, one_line(questions.text(asked), 300))


def _state(manifest: Manifest, active: str | None) -> str:
    if manifest.outcome is not None:
        return manifest.outcome
    if manifest.run_id == active:
        return manifest.status.replace("_", " ")
    return "over, it is not known how" if manifest.over else "interrupted"


def _next_command(manifest: Manifest, active: str | None) -> str:
    """What a person does next with this run."""
    if manifest.run_id == active:
        return f"omagy autoresearch watch {manifest.run_id}"
    outcome = manifest.outcome
    if not manifest.over or (outcome is not None and not outcome.terminal):
        return f"omagy autoresearch --resume {manifest.run_id}"
    if outcome is Outcome.FINISHED and manifest.tally.get("keep"):
        return f"git log --stat {(manifest.baseline_commit or '')[:12]}..{manifest.branch_name}"
    return f"omagy autoresearch {manifest.mission_dir}"
