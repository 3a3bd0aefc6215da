"""omagy's offline agent: it plays prepared proposals instead of asking a model (contract section 4).

A program of its own that runs inside a session, in the lane's worktree, as any agent does: iteration N applies
the Nth proposal with git, writes the candidate artifact and exits. The kinds of proposals, by their suffix:

- `.patch`: a description (as a `Subject:` line, or plain), notes, and a diff, which becomes a commit
- `.noop`: a description and notes of why nothing was changed
- `.broken`: written as the artifact byte for byte, to rehearse how a run meets a broken one

It imports the standard library only, so that it can be started by its path in isolated mode, where no file of
the worktree can stand in for a module.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SUFFIXES = (".broken", ".noop", ".patch")
LABEL = "[rehearsal] "
IDENTITY = {
    "GIT_AUTHOR_NAME": "omagy rehearsal",
    "GIT_AUTHOR_EMAIL": "rehearsal@omagy.invalid",
    "GIT_COMMITTER_NAME": "omagy rehearsal",
    "GIT_COMMITTER_EMAIL": "rehearsal@omagy.invalid",
}


class RehearsalError(Exception):
    """The rehearsal cannot play its part; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Session:
    """What the supervisor told this session through its environment."""

    iteration: int
    worktree: Path
    base_commit: str
    candidate_file: Path

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Session":
        """Raises RehearsalError naming the variable that is missing or wrong."""
        try:
            return cls(
                iteration=int(environment["OMAGY_ITERATION"]),
                worktree=Path(environment["OMAGY_WORKTREE"]),
                base_commit=environment["OMAGY_BASE_COMMIT"],
                candidate_file=Path(environment["OMAGY_CANDIDATE_FILE"]),
            )
        except KeyError as missing:
            raise RehearsalError(f"{missing.args[0]} is not set; omagy sets it for each session") from None
        except ValueError:
            raise RehearsalError("OMAGY_ITERATION is not a number") from None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a proposal: a commit, or none and why."""

    commit: str | None
    description: str
    notes: tuple[str, ...] = ()


def list_proposals(folder: Path) -> list[Path]:
    """The proposals in the order in which they are played. Raises OSError when there is no such folder."""
    return sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES)


def read_head(proposal: Path) -> tuple[str, tuple[str, ...]]:
    """The description and the notes of a proposal: the paragraphs that stand before its diff.

    What `git format-patch` writes is understood too.
    """
    text = "\n" + proposal.read_text(encoding="utf-8", errors="replace")
    head = text.partition("\ndiff --git ")[0].partition("\n---\n")[0]
    paragraphs = [" ".join(paragraph.split()) for paragraph in head.split("\n\n") if paragraph.strip()]
    if not paragraphs:
        return proposal.stem, ()
    subject = paragraphs[0].rpartition("Subject: ")[2]
    return re.sub(r"^\[PATCH[^]]*] ", "", subject), tuple(paragraphs[1:])


def say(line: str) -> None:
    sys.stdout.buffer.write(f"rehearsal: {line}\n".encode())  # UTF-8 in any locale
    sys.stdout.flush()


def git(worktree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in the worktree; an identity that is set wins over the rehearsal's own."""
    return subprocess.run(
        ["git", "-C", str(worktree), *arguments],
        env={**IDENTITY, **os.environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def demand(result: subprocess.CompletedProcess[str]) -> str:
    """The output of a git command that has to work. Raises RehearsalError with git's own words."""
    if result.returncode != 0:
        said = " ".join((result.stderr or result.stdout).split())
        raise RehearsalError(f"`{' '.join(result.args[3:])}` failed with status {result.returncode}: {said}")
    return result.stdout.strip()


def play_patch(session: Session, proposal: Path) -> Outcome:
    """Apply a patch and commit it; when it does not fit the worktree, nothing is changed."""
    description, notes = read_head(proposal)
    say(f"idea: {description}")
    applied = git(session.worktree, "apply", "--index", "--whitespace=nowarn", str(proposal))
    if applied.returncode != 0:
        said = " ".join(applied.stderr.split())
        return Outcome(None, f"{proposal.name} does not apply to this state: {said}", notes)
    message = "\n\n".join((LABEL + description, *notes))
    demand(git(session.worktree, "commit", "--quiet", f"--message={message}"))
    commit = demand(git(session.worktree, "rev-parse", "HEAD"))
    say(f"committed as {commit[:10]}")
    return Outcome(commit, description, notes)


def play_noop(proposal: Path) -> Outcome:
    return Outcome(None, *read_head(proposal))


def write_candidate(session: Session, outcome: Outcome) -> None:
    """Write the candidate artifact of contract section 4."""
    now = datetime.now(UTC)  # noqa: TID251 - an agent is outside of omagy and has no clock but the machine's
    artifact = {
        "status": "candidate" if outcome.commit else "noop",
        "candidate_commit": outcome.commit,
        "base_commit": session.base_commit,
        "description": LABEL + outcome.description,
        "notes": list(outcome.notes),
        "created_at": now.isoformat(timespec="seconds"),
    }
    replace(session.candidate_file, json.dumps(artifact, indent=2, ensure_ascii=False).encode() + b"\n")
    say(f"wrote the candidate file: {artifact['status']}")


def replace(file: Path, content: bytes) -> None:
    """Put content under this name so that no reader ever sees a part of it."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(file)


def play(session: Session, folder: Path) -> None:
    """Play the proposal of this iteration."""
    proposals = list_proposals(folder)
    if not 1 <= session.iteration <= len(proposals):
        say("no proposal is left")
        reason = f"The rehearsal has no more proposals: iteration {session.iteration} of {len(proposals)}"
        write_candidate(session, Outcome(None, reason))
        return
    proposal = proposals[session.iteration - 1]
    say(f"iteration {session.iteration} plays proposal {proposal.name}, one of {len(proposals)}")
    match proposal.suffix:
        case ".patch":
            write_candidate(session, play_patch(session, proposal))
        case ".noop":
            write_candidate(session, play_noop(proposal))
        case _:
            replace(session.candidate_file, proposal.read_bytes())
            say("wrote a broken candidate file, on purpose")


def main() -> int:
    parser = argparse.ArgumentParser(prog="omagy rehearsal", description="omagy's offline agent")
    parser.add_argument("--proposals", type=Path, required=True, help="folder, absolute or in the worktree")
    options = parser.parse_args()
    say("this is omagy's offline agent; no model is involved and nothing leaves this machine")
    try:
        session = Session.from_environment(os.environ)
        play(session, session.worktree / options.proposals)
    except (RehearsalError, OSError) as error:
        sys.stderr.write(f"rehearsal: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
