"""The names a run gives to things: its id, branch, worktree, refs and windows (contract section 3)."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

BRANCH_ROOT = "autoresearch"
RESULTS = "results.tsv"
_SLUG_LIMIT = 48


def slugify(name: str) -> str:
    """``name`` as lower-case words joined by dashes, safe in a branch, a path and a tmux session name.

    Empty when nothing of the name survives.
    """
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return words[:_SLUG_LIMIT].rstrip("-")


def plain_letters(text: str) -> str:
    """``text`` in lower case, its Latin letters without their marks: a name that people still know as theirs."""
    import unicodedata

    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in parts if not unicodedata.combining(character))


def run_tag(now: "datetime") -> str:
    """The tag of a run started at ``now``: UTC ``YYYYMMDDTHHMMSSZ``."""
    from datetime import UTC  # the HUD knows names, and has no time for more

    return now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def numbered(tag: str, number: int) -> str:
    """``tag`` itself for number 1, ``tag-2``, ``tag-3``… after that."""
    return tag if number == 1 else f"{tag}-{number}"


def run_id(slug: str, tag: str) -> str:
    return f"{slug}-{tag}".lower()


def is_run_id(text: str) -> bool:
    """Whether a run can be called so: one name in a path, one word in a shell."""
    bare = text.replace("-", "").replace("_", "").replace(".", "")
    return 0 < len(text) <= 200 and text[0] not in "-." and bare.isascii() and bare.isalnum()


def by_start(run_id: str) -> tuple[str, int, str]:
    """Orders run ids by their tags: the time of their start, then their number within that second."""
    tag = re.search(r"(\d{8}t\d{6}z)(?:-(\d+))?$", run_id)
    return (tag[1], int(tag[2] or 1), run_id) if tag else ("", 0, run_id)


def branch_name(slug: str, tag: str) -> str:
    return f"{BRANCH_ROOT}/{slug}/{tag}"


def worktree_name(slug: str, tag: str) -> str:
    return f"{BRANCH_ROOT}-{slug}-{tag}"


def ref_root(run: str) -> str:
    """Everything a run must not lose hangs below this ref."""
    return f"refs/omagy/{run}"


def kept_ref(run: str) -> str:
    """The second witness of the last kept commit, beside the journal."""
    return f"{ref_root(run)}/kept"


def candidate_ref(run: str, iteration: int, attempt: int) -> str:
    """Where the commits that an attempt left stay reachable."""
    return f"{ref_root(run)}/cand/{iteration}" + ("" if attempt == 1 else f".{attempt}")


def strayed_ref(run: str, iteration: int, attempt: int) -> str:
    """Where the lane branch pointed when a session ended with HEAD elsewhere."""
    return f"{ref_root(run)}/strayed/{iteration}.{attempt}"


def quarantine_ref(run: str, commit: str) -> str:
    """Where a commit is kept that turned up after its session was over."""
    return f"{ref_root(run)}/quarantine/{commit[:16]}"


def own_commits_ref(run: str, life: int) -> str:
    """Where the lane's HEAD pointed when the supervisor of ``life`` ended, if somebody committed there since."""
    return f"{ref_root(run)}/strayed/resume-{life}"


def leftovers_ref(run: str, label: str) -> str:
    """Where uncommitted work is saved as a commit before it is cleaned away."""
    return f"{ref_root(run)}/leftovers/{label}"


def window_name(iteration: int, attempt: int) -> str:
    """The tmux window of one session; the same on every start, so that a session is found again."""
    return f"i{iteration:04d}" + ("" if attempt == 1 else f"-{attempt}")


def evaluator_cookie(worktree: str) -> str:
    """What the processes of a run's evaluator are known by.

    Runs of two repositories can share an id (a mission of the same name, started in the same second); the path
    of the lane is theirs alone.
    """
    return f"{worktree}/evaluator"


def sessions_cookie(worktree: str) -> str:
    """What the processes of all sessions of a run are known by."""
    return f"{worktree}/session"


def session_cookie(worktree: str, iteration: int, attempt: int) -> str:
    """What the processes of one session are known by."""
    return f"{sessions_cookie(worktree)}/{iteration}.{attempt}"


def iteration_folder(iteration: int) -> str:
    return f"iterations/{iteration:04d}"
