"""Where things lie (contract section 3)."""

import os
from pathlib import Path
from typing import NamedTuple

from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.names import by_start, iteration_folder
from omagy_supervisor.files import is_file, is_folder, make_folder, make_own_folder, read_regular, write_atomic

_LINK_LIMIT = 1 << 16


class StateRoot(NamedTuple):
    """The ``.omagy`` folder of a repository. It ignores itself, so the user's git status stays as it was."""

    repo_root: Path

    @property
    def folder(self) -> Path:
        return self.repo_root / ".omagy"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def pointer(self) -> Path:
        return self.state / "autoresearch-state.json"

    @property
    def is_lane(self) -> bool:
        """True for the worktree of a run."""
        return self.repo_root.parent.name.endswith(".omagy-worktrees")

    def way_from(self, here: "StateRoot") -> str:
        """What a command for this checkout begins with where it is given in ``here``: the way there, or nothing."""
        import shlex

        return "" if here.repo_root == self.repo_root else f"cd {shlex.quote(str(self.repo_root))} && "

    @property
    def shared(self) -> Path:
        """Ours in git's own folder, which all worktrees of the repository share and no ``git clean`` looks into."""
        common = git_common_dir(self.repo_root)
        return common / "omagy" if common is not None else self.state

    @property
    def lock(self) -> Path:
        return self.shared / "autoresearch.lock"

    @property
    def workflow_lock(self) -> Path:
        """Held for a moment by whoever changes which modes are active, in any worktree."""
        return self.shared / "workflow.lock"

    @property
    def shared_pointer(self) -> Path:
        """The pointer once more, beside the lock: found from every worktree, whatever became of ``.omagy``."""
        return self.shared / "autoresearch-state.json"

    @property
    def runs(self) -> Path:
        return self.folder / "logs" / "autoresearch"

    @property
    def specs(self) -> Path:
        """Drafts of missions."""
        return self.folder / "specs"

    def interview_lock(self, slug: str) -> Path:
        """Held by the interview whose draft has the name ``slug``."""
        return self.state / f"interview-{slug}.lock"

    def lessons(self, mission_slug: str) -> Path:
        return self.folder / "autoresearch" / mission_slug / "lessons.md"

    def run(self, run_id: str) -> "RunFolder":
        return RunFolder(self.runs / run_id)

    def known_runs(self) -> list[str]:
        """The ids of all runs that have a journal or a manifest, oldest first. Raises StorageError."""
        try:
            names = [entry.name for entry in self.runs.iterdir()] if is_folder(self.runs) else []
        except OSError as error:
            raise StorageError(
                f"{self.runs} cannot be looked into: {error.strerror}", "make it a folder that you can read"
            ) from None
        return sorted((name for name in names if self.run(name).known), key=by_start)

    @property
    def is_gone(self) -> bool:
        """True when the work tree is not there any more: a person moved it, or deleted it."""
        return not is_folder(self.repo_root)

    def prepare(self) -> None:
        """Make the folders. Raises StorageError, also for a link in their place, and where the work tree is gone.

        Somebody who renamed it would find another in its place, and could not rename it back.
        """
        if self.is_gone:
            raise StorageError(f"the repository {self.repo_root} was moved or deleted", "move it back")
        make_own_folder(self.state)
        make_folder(self.runs)
        ignore = self.folder / ".gitignore"
        if not os.path.lexists(ignore):
            write_atomic(ignore, b"*\n", durable=False)


def find_root(folder: Path) -> StateRoot | None:
    """The state of the work tree around ``folder``, found without asking git; None outside of one."""
    for place in (folder, *folder.parents):
        common = git_common_dir(place)
        if common is not None and is_file(common / "HEAD"):
            return StateRoot(place)
    return None


def worktrees(root: StateRoot) -> list[StateRoot]:
    """The work trees of the repository that are there, the one of ``root`` first."""
    common = git_common_dir(root.repo_root)
    found = [root.repo_root]
    if common is not None:
        found += [common.parent] if common.name == ".git" else []
        found += [place.parent for link in sorted(common.glob("worktrees/*/gitdir")) if (place := _named_in(link))]
    return [StateRoot(place) for place in dict.fromkeys(found) if is_folder(place)]


def _named_in(link: Path) -> Path | None:
    try:
        data = read_regular(link, _LINK_LIMIT)
    except ValueError:
        return None
    return None if data is None else link.parent / os.fsdecode(data.strip())


def git_common_dir(repo_root: Path) -> Path | None:
    """git's folder of the repository at ``repo_root``, shared by its worktrees; None when there is none."""
    place = repo_root / ".git"
    if not is_file(place):
        return place if is_folder(place) else None
    try:
        git_dir = repo_root / os.fsdecode(place.read_bytes().removeprefix(b"gitdir:").strip())
        common = git_dir / "commondir"
        if is_file(common):
            git_dir = git_dir / os.fsdecode(common.read_bytes().strip())
    except OSError:
        return None
    return Path(os.path.normpath(git_dir)) if is_folder(git_dir) else None


class RunFolder(NamedTuple):
    """The records of one run."""

    root: Path

    @property
    def known(self) -> bool:
        """Whether there is a run: it has a journal, or a manifest."""
        return os.path.lexists(self.journal) or os.path.lexists(self.manifest)

    @property
    def journal(self) -> Path:
        return self.root / "journal.jsonl"

    @property
    def manifest(self) -> Path:
        return self.root / "manifest.json"

    @property
    def ledger(self) -> Path:
        return self.root / "iteration-ledger.json"

    @property
    def latest_evaluation(self) -> Path:
        return self.root / "latest-evaluator-result.json"

    @property
    def candidate(self) -> Path:
        return self.root / "candidate.json"

    @property
    def handoff_markdown(self) -> Path:
        return self.root / "handoff.md"

    @property
    def handoff_json(self) -> Path:
        return self.root / "handoff.json"

    @property
    def log(self) -> Path:
        return self.root / "supervisor.log"

    @property
    def stop_request(self) -> Path:
        return self.root / "stop-request.json"

    @property
    def held_out(self) -> Path:
        """The output of held-out checks: for the person, hidden from agents where it can be helped."""
        return self.root / "held-out"

    @property
    def setup_key(self) -> Path:
        return self.root / "set-up"

    @property
    def obeyed(self) -> Path:
        """What the files that git obeys in any case were like when the run's first session was started."""
        return self.root / "obeyed.json"

    def iteration(self, number: int) -> Path:
        return self.root / iteration_folder(number)

    def attempt(self, number: int, attempt: int) -> "AttemptFolder":
        folder = self.iteration(number)
        return AttemptFolder(folder if attempt == 1 else folder / f"attempt-{attempt}")


ENDING = "ending.txt"


class AttemptFolder(NamedTuple):
    """The records of one attempt at a session; ``outbox`` is all of it that the agent may write."""

    root: Path

    @property
    def instructions(self) -> Path:
        return self.root / "instructions.md"

    @property
    def outbox(self) -> Path:
        return self.root / "outbox"

    @property
    def candidate(self) -> Path:
        return self.outbox / "candidate.json"

    @property
    def runner(self) -> Path:
        """Written by the session's runner as its first act."""
        return self.root / "runner.json"

    @property
    def exit(self) -> Path:
        """Written by the session's runner as its last act."""
        return self.root / "exit.json"

    @property
    def ending(self) -> Path:
        """What a person is to read in the window when the supervisor, not the agent, ends the session."""
        return self.root / ENDING

    @property
    def session_log(self) -> Path:
        return self.root / "session.log"

    @property
    def output(self) -> tuple[Path, ...]:
        """All that the session's runner writes of what the agent says."""
        return self.session_log, self.root / "events.jsonl", self.root / "stderr.log"

    def handover(self) -> Path:
        """A pipe for what must not lie on disk; unique to each supervisor, so an old one is never answered."""
        return self.root / f"handover-{os.getpid()}"

    def remove_handovers(self) -> None:
        """Remove the pipes of supervisors that died before anybody came to read them."""
        for pipe in self.root.glob("handover-*"):
            pipe.unlink(missing_ok=True)
