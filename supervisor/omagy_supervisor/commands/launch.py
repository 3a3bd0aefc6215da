"""``omagy autoresearch <mission-dir>``: every refusal comes before anything is created (contract sections 1 to 3)."""

import hashlib
import os
import shlex
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from omagy_autoresearch.durations import parse_duration
from omagy_autoresearch.errors import BlockedError, ContractError
from omagy_autoresearch.mission import Budget, Contract, Mission
from omagy_autoresearch.names import RESULTS, branch_name, numbered, run_id, run_tag, slugify, worktree_name
from omagy_autoresearch.plan import AgentChoice, AgentKind, CodexSandbox, RunPlan
from omagy_autoresearch.spending import most_it_can_cost
from omagy_supervisor.active import supervisor_lives
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.codex.install import find_codex, looks_logged_in
from omagy_supervisor.adapters.git.commands import Git, settled_settings
from omagy_supervisor.adapters.git.facts import (
    RepositoryFacts,
    branch_exists,
    check_branch_room,
    find_repository,
    is_ignored,
    is_lane,
    is_tracked,
    sparse_patterns,
    submodules,
    uncommitted,
)
from omagy_supervisor.adapters.lock import read_pointer
from omagy_supervisor.adapters.missions import read_mission
from omagy_supervisor.arguments import Arguments
from omagy_supervisor.bootstrap import users_git
from omagy_supervisor.commands.chosen import refuse_unwritable_name
from omagy_supervisor.commands.start import start
from omagy_supervisor.daemon import another_run_active
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.requests import Fresh
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import say
from omagy_supervisor.workflow_run import refuse_beside_modes


def launch(arguments: Arguments, settings: Settings) -> int:
    """Start a fresh run; returns the exit status. Raises OmagyError."""
    refuse_inside_session(settings)
    assert arguments.mission is not None
    plan, notes = plan_run(arguments, arguments.mission, settings)
    refuse_beside_modes(StateRoot(Path(plan.repo_root)))
    for note in notes:
        say(f"note: {note}")
    say(most_it_can_cost(plan.contract, plan.contract.budget))
    return start(Fresh(plan), arguments, settings)


def refuse_inside_session(settings: Settings) -> None:
    """Raises ContractError when an agent's session tries to start a run of its own."""
    if settings.inside_session:
        raise ContractError(
            f"this is a session of run {settings.inside_session}: runs do not start runs",
            "start omagy from a shell of your own",
        )


def plan_run(arguments: Arguments, mission_dir: str, settings: Settings) -> tuple[RunPlan, list[str]]:
    """The plan of a fresh run, and what its person should know before it starts. Raises OmagyError."""
    folder = Path(mission_dir).absolute()
    if not folder.exists():
        raise ContractError(f"{mission_dir} does not exist", "name a folder with mission.md and sandbox.md")
    start = _repository_starts_at(folder)
    git = users_git(settings, start)
    facts = find_repository(git, start)
    refuse_unwritable_name(facts.root)
    inside = _inside(facts, folder, mission_dir)
    refuse_unwritable_name(Path(inside))
    mission = read_mission(folder, mission_dir)
    _refuse_place(git, facts, inside)
    contract = _with_flags(mission.contract, arguments)
    lock_notes = _lock_notes(StateRoot(facts.root))
    agent, agent_notes = choose_agent(arguments, contract, settings)
    refuse_paths(git, facts, contract)
    notes = [*mission.notices, *agent_notes, *lock_notes, *_checkout_notes(git, facts, inside)]
    plan = _plan(git, facts, mission, contract, inside, agent)
    plan = replace(
        plan,
        wait_for_limits=not arguments.has("--no-wait"),
        allow_broken_baseline=arguments.has("--allow-broken-baseline"),
        git_settings=settled_settings(settings.environment, facts.root),
        pause_scale=settings.pause_scale,
    )
    return plan, notes


def _repository_starts_at(folder: Path) -> Path:
    """Where to look for the mission's repository: a link inside one belongs to it, wherever the link leads."""
    for place in (*reversed(folder.parents), folder):
        if place.is_symlink() and any((above / ".git").exists() for above in place.parents):
            return place.parent
    return folder if folder.is_dir() else folder.parent


def _inside(facts: RepositoryFacts, folder: Path, shown: str) -> str:
    """The mission folder relative to the repository's root. Raises ContractError when it lies outside."""
    try:
        inside = folder.resolve().relative_to(facts.root.resolve())
    except ValueError:
        raise ContractError(
            f"{shown} points outside the repository {facts.root}", "put the mission folder into the repository"
        ) from None
    if str(inside) == ".":
        raise ContractError(
            f"{shown} is the root of the repository: a mission is a folder of its own inside it",
            "move mission.md and sandbox.md into a folder such as missions/<name>",
        )
    return inside.as_posix()


def _refuse_place(git: Git, facts: RepositoryFacts, inside: str) -> None:
    if is_lane(facts):
        raise ContractError(f"{facts.root} is the lane of a run", "start new runs from your own checkout")
    rule = is_ignored(git, facts, f"{inside}/mission.md")
    if rule and not is_tracked(git, facts, f"{inside}/mission.md"):
        raise ContractError(
            f"git ignores the mission folder {inside} ({rule})",
            "take it out of the ignore rule: a run records its mission in its first commit",
        )
    for place, what in ((facts.root, "the repository"), (facts.root.parent, "the folder for the run's worktree")):
        _refuse_unwritable(place, what)
    _refuse_unwritable(facts.common_dir, "git's folder")


def _refuse_unwritable(place: Path, what: str) -> None:
    if os.access(place, os.W_OK | os.X_OK):
        return
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        raise ContractError(
            f"{place} ({what}) is on a file system that is mounted read-only",
            "mount it writable, or clone the repository to one that is",
        )
    raise ContractError(f"{place} ({what}) is not writable for you", f"chmod u+w {shlex.quote(str(place))}")


def refuse_paths(git: Git, facts: RepositoryFacts, contract: Contract) -> None:
    """Files that a run copies must be there, and copies must not end in a candidate. Raises ContractError."""
    for name in contract.worktree.copy:
        if not os.path.lexists(facts.root / name):
            raise ContractError(f"worktree.copy: {name} does not exist in {facts.root}", "mend or remove the path")
        if not is_ignored(git, facts, name):
            raise ContractError(
                f"worktree.copy: git does not ignore {name}, so an agent would commit it with its candidate",
                f"ignore it: echo '/{name}' >> .gitignore (or commit it: then it needs no copy)",
            )
    held_out = contract.evaluator.holdout
    for name in held_out.files if held_out is not None else ():
        if not os.path.lexists(facts.root / name):
            raise ContractError(f"evaluator.holdout.files: {name} does not exist in {facts.root}")
        if is_tracked(git, facts, name):
            raise ContractError(
                f"evaluator.holdout.files: {name} is in the repository, where every agent can read it",
                f"take it out: git rm --cached '{name}', ignore it and commit that",
            )


def _lock_notes(root: StateRoot) -> list[str]:
    """Refuses while a run is active; a run whose supervisor died is only mentioned."""
    pointer = read_pointer(root.pointer)
    if supervisor_lives(root):
        raise another_run_active(root)
    if pointer is not None and pointer.active and root.run(pointer.run_id).journal.exists():
        resume = f"omagy autoresearch --resume {pointer.run_id}"
        return [f"run {pointer.run_id} was interrupted; resume it with: {resume}"]
    return []


def _checkout_notes(git: Git, facts: RepositoryFacts, inside: str) -> list[str]:
    notes = []
    changed = uncommitted(git, facts)
    others = [path for path in changed if not (path == inside or path.startswith((f"{inside}/", ".omagy/")))]
    others = [path for path in others if not f"{inside}/".startswith(path)]
    if len(others) < len(changed):
        notes.append(f"{inside} is not committed as it lies here; the lane's first commit records it")
    if others:
        what = (
            "1 uncommitted path outside the mission is"
            if len(others) == 1
            else (f"{len(others)} uncommitted paths outside the mission are")
        )
        notes.append(f"{what} not part of the run")
    missing = submodules(git, facts)
    if missing:
        notes.append(f"submodules are not checked out in the lane: {', '.join(missing[:5])}")
    if is_tracked(git, facts, RESULTS):
        notes.append(f"the repository has a {RESULTS} of its own: the run's table is kept with its records instead")
    return notes


def _plan(
    git: Git, facts: RepositoryFacts, mission: Mission, contract: Contract, inside: str, agent: AgentChoice
) -> RunPlan:
    slug = _slug(Path(inside).name)
    check_branch_room(git, facts, branch_name(slug, "x"))
    now = SystemClock().now()
    tag, patterns = _free_tag(git, facts, slug, run_tag(now)), sparse_patterns(git, facts)
    return RunPlan(
        run_id=run_id(slug, tag),
        run_tag=tag,
        mission_slug=slug,
        mission_dir=inside,
        repo_root=str(facts.root),
        common_dir=str(facts.common_dir),
        worktree_path=str(_worktree(facts, slug, tag)),
        branch_name=branch_name(slug, tag),
        start_commit=facts.head,
        created_at=now.isoformat(timespec="seconds"),
        mission_text=mission.text,
        sandbox_text=mission.sandbox_text,
        contract=contract,
        agent=agent,
        sparse=patterns is not None,
        sparse_patterns=patterns,
        results_in_lane=not is_tracked(git, facts, RESULTS),
    )


def _slug(name: str) -> str:
    """The mission's name as runs carry it; one without a Latin letter or digit is named by its hash."""
    return slugify(name) or f"mission-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _worktree(facts: RepositoryFacts, slug: str, tag: str) -> Path:
    return facts.root.with_name(f"{facts.root.name}.omagy-worktrees") / worktree_name(slug, tag)


def _free_tag(git: Git, facts: RepositoryFacts, slug: str, tag: str) -> str:
    """``tag``, or the first of its numbered forms that names nothing that exists."""
    root = StateRoot(facts.root)
    for number in range(1, 1000):
        candidate = numbered(tag, number)
        worktree = _worktree(facts, slug, candidate)
        folders = (root.run(run_id(slug, candidate)).root, worktree, facts.common_dir / "worktrees" / worktree.name)
        if not any(os.path.lexists(path) for path in folders) and not branch_exists(
            git, facts, branch_name(slug, candidate)
        ):
            return candidate
    raise ContractError(f"a thousand runs of {slug} were started in this second", "wait a moment")


# -- options


def _with_flags(contract: Contract, arguments: Arguments) -> Contract:
    return replace(contract, budget=budget_with_flags(contract.budget, arguments))


def budget_with_flags(budget: Budget, arguments: Arguments) -> Budget:
    """``budget`` with the limits that the command line gives. Raises ContractError."""
    readers = {
        "--max-iterations": ("max_iterations", _count),
        "--max-wall-time": ("max_wall_time_s", parse_duration),
        "--target-score": ("target_score", _finite),
        "--max-consecutive-errors": ("max_consecutive_errors", _count),
    }
    changes = {}
    for option, (name, reader) in readers.items():
        if option in arguments.values:
            try:
                changes[name] = reader(arguments.values[option])
            except ValueError as error:
                raise ContractError(f"{option}: {error}") from None
    return replace(budget, **changes)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value or abs(value) == float("inf"):
        raise ValueError(f"{text!r} is not a number")
    return value


def choose_agent(arguments: Arguments, contract: Contract, settings: Settings) -> tuple[AgentChoice, list[str]]:
    """The agent that works on the run, and a note when it is not the one a person would expect."""
    named = arguments.values.get("--agent")
    if named is None:
        return _default_agent(arguments, contract, settings)
    kind, _, command = named.partition(":")
    if kind == AgentKind.COMMAND and command.strip():
        return AgentChoice(AgentKind.COMMAND, command=command), []
    if named == AgentKind.REHEARSAL:
        if contract.agent.rehearsal is None:
            raise ContractError(
                "this mission has nothing to rehearse: sandbox.md names no agent.rehearsal",
                "use --agent codex, or try omagy's own mission: missions/quickstart",
            )
        return AgentChoice(AgentKind.REHEARSAL), []
    if named == AgentKind.CODEX:
        return _codex(arguments, settings), []
    raise ContractError(
        f"--agent {named}: there is no such agent", "choose codex, rehearsal or command:<shell command>"
    )


def _default_agent(arguments: Arguments, contract: Contract, settings: Settings) -> tuple[AgentChoice, list[str]]:
    """Codex when it can work; the offline rehearsal when it cannot and the mission offers one."""
    executable = find_codex(settings.environment)
    if contract.agent.rehearsal is None:
        return _codex(arguments, settings), []
    if executable is None:
        why, then = "Codex is not installed", "`npm install -g @openai/codex && codex login`"
    elif not looks_logged_in(executable, settings.environment, arguments.codex_args):
        why, then = "Codex is not logged in", "`codex login`"
    else:
        return _codex(arguments, settings), []
    note = f"{why}, so the offline rehearsal agent works on this run: no model takes part. For the real thing: {then}"
    return AgentChoice(AgentKind.REHEARSAL), [note]


def _codex(arguments: Arguments, settings: Settings) -> AgentChoice:
    asked = arguments.values.get("--codex-sandbox", "workspace")
    sandbox = next((choice for choice in get_args(CodexSandbox) if choice == asked), None)
    if sandbox is None:
        raise ContractError(f"--codex-sandbox {asked}: choose workspace, off or user")
    if find_codex(settings.environment) is None:
        named = settings.environment.get("OMAGY_CODEX")
        where = f"OMAGY_CODEX names {named}, which cannot be run" if named else "codex is not on PATH"
        raise BlockedError(
            f"Codex is not installed: {where}",
            "install it: npm install -g @openai/codex && codex login\nor use another agent: --agent command:<cmd>",
        )
    return AgentChoice(AgentKind.CODEX, codex_args=arguments.codex_args, codex_sandbox=sandbox)
