"""What can happen to a run. The journal is a list of these; a run's state is their fold.

Events record facts. Repeating what they led to is always harmless, so after a crash the last one is acted on
again, and nothing that was decided is decided twice.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from omagy_autoresearch.candidate import Candidate
from omagy_autoresearch.evaluation import Evaluation
from omagy_autoresearch.ledger import DiffStat, Entry
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.plan import Overrides, RunPlan
from omagy_autoresearch.probes import Probe
from omagy_autoresearch.sessions import Diagnosis
from omagy_autoresearch.surface import Surface


class Collected(Struct, frozen=True, omit_defaults=True):
    """What a session left behind, after everything of it was saved under the run's refs.

    ``problem`` says why the artifact cannot be used; ``candidate_commit`` is HEAD when it moved off the base.
    """

    head: str
    candidate: Candidate | None = None
    problem: str = ""
    candidate_commit: str | None = None
    dirty_files: tuple[str, ...] = ()
    leftovers_ref: str | None = None
    diff: DiffStat | None = None
    question_id: str | None = None
    violation: str = ""  # what the candidate changed that it must not


class RunCreated(Struct, frozen=True, tag=True):
    plan: RunPlan


class LaneReady(Struct, frozen=True, tag=True):
    """Branch and worktree stand at ``baseline_commit``; ``surface`` is what candidates may change."""

    baseline_commit: str
    surface: Surface = field(default_factory=Surface)


class SessionBegun(Struct, frozen=True, tag=True):
    """Written before a session is launched: whatever is found of it afterwards is this attempt's."""

    iteration: int
    attempt: int


class SessionEnded(Struct, frozen=True, tag=True):
    diagnosis: Diagnosis
    collected: Collected
    duration_s: float


class Evaluated(Struct, frozen=True, tag=True):
    """One measurement of what the run has to decide on."""

    evaluation: Evaluation
    probe: Probe = field(default_factory=Probe)


class Remeasured(Struct, frozen=True, tag=True):
    """One measurement of the check at the end of a run: of the baseline, or of a commit that was kept."""

    commit: str
    evaluation: Evaluation


class Decided(Struct, frozen=True, tag=True):
    """The commit point of an iteration: from here on it is only ever applied, never decided again."""

    entry: Entry


class Applied(Struct, frozen=True, tag=True):
    """git and the records are as the last decision says."""


class PauseOver(Struct, frozen=True, tag=True):
    pass


class StopMode(StrEnum):
    NOW = "now"
    AFTER_ITERATION = "after_iteration"


class StopRequested(Struct, frozen=True, tag=True):
    """``by`` says how: Ctrl-C, SIGTERM, or the stop command."""

    mode: StopMode
    by: str


class RunEnded(Struct, frozen=True, tag=True):
    """``remedy`` is what mends it, in omagy's own words; empty when that follows from how the run stands."""

    outcome: Outcome
    reason: str
    remedy: str = ""


class RunResumed(Struct, frozen=True, tag=True):
    overrides: Overrides


Event = (
    RunCreated
    | LaneReady
    | SessionBegun
    | SessionEnded
    | Evaluated
    | Remeasured
    | Decided
    | Applied
    | PauseOver
    | StopRequested
    | RunEnded
    | RunResumed
)


class Record(Struct, frozen=True):
    """An event with its time: ``at`` on the wall (UTC), ``elapsed_s`` of supervised time since the run began."""

    at: datetime
    elapsed_s: float
    event: Event
