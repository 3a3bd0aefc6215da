"""The plan of a run: everything that is settled at launch and never changes after it."""

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from omagy_autoresearch.mission import Budget, Contract

CodexSandbox = Literal["workspace", "off", "user"]


class AgentKind(StrEnum):
    CODEX = "codex"
    REHEARSAL = "rehearsal"
    COMMAND = "command"


class AgentChoice(Struct, frozen=True):
    """Which agent works on the run, and with what arguments of the user's."""

    kind: AgentKind
    command: str = ""  # of a command agent
    codex_args: tuple[str, ...] = ()
    codex_sandbox: CodexSandbox = "workspace"


class RunPlan(Struct, frozen=True):
    """``start_commit`` is the user's HEAD at launch; paths are absolute but ``mission_dir``, which is relative."""

    run_id: str
    run_tag: str
    mission_slug: str
    mission_dir: str
    repo_root: str
    common_dir: str
    worktree_path: str
    branch_name: str
    start_commit: str
    created_at: str
    mission_text: str
    sandbox_text: str
    contract: Contract
    agent: AgentChoice
    wait_for_limits: bool = True
    allow_broken_baseline: bool = False
    pause_scale: float = 1.0
    # What the repository said at launch of what its files hold, as git's key=value; runs of older versions ask git.
    git_settings: tuple[bytes, ...] = ()
    sparse: bool | None = None  # whether it checks out a part of itself; runs of older versions ask git
    sparse_patterns: bytes | None = None  # which part
    results_in_lane: bool = True  # false where the repository tracks a results.tsv of its own


class Overrides(Struct, frozen=True, omit_defaults=True):
    """What a resume may change: limits (None keeps the run's own) and the agent's arguments."""

    budget: Budget | None = None
    agent: AgentChoice | None = None
    wait_for_limits: bool | None = None
    allow_broken_baseline: bool | None = None
