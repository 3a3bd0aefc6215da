"""What the records of a run say against each other, as no crash can leave it (contract section 6).

The journal is written first, everything else from it afterwards. So after a crash the others can lag behind it, and
never know of anything that it does not. What does was changed by somebody, or the journal is an older copy.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.manifest import Manifest
from omagy_autoresearch.run import RunState


class Row(Struct, frozen=True):
    """What an entry of the ledger has decided."""

    iteration: int
    decision: str
    kept_commit: str


class Ledger(Struct, frozen=True):
    """The part of a ledger's file that can contradict the journal."""

    run_id: str
    entries: tuple[Row, ...] = ()


_SETTLED = ("run_id", "run_tag", "mission_slug", "branch_name", "worktree_path", "repo_root")


def contradictions(
    state: RunState,
    entries: Sequence[Entry],
    ends: frozenset[Outcome],
    manifest: Manifest,
    ledger: Ledger | None,
) -> tuple[str, ...]:
    """One sentence for each; empty when all of it can be what a crash left behind.

    ``state``, ``entries`` and ``ends`` (every outcome that the run ever ended with) are the journal's.
    """
    found = [*_of_manifest(state, entries, ends, manifest)]
    if ledger is not None:
        found += _of_ledger(state, entries, ledger)
    return tuple(found)


def _of_manifest(
    state: RunState, entries: Sequence[Entry], ends: frozenset[Outcome], manifest: Manifest
) -> Iterator[str]:
    for name in _SETTLED:
        said, settled = getattr(manifest, name), getattr(state.plan, name)
        if said != settled:
            yield f"the manifest's {name} is {said}, the journal's {settled}"
    if manifest.outcome is not None and manifest.outcome not in ends:
        yield f"the manifest says {manifest.outcome}, and the journal has no such end"
    if manifest.outcome is not None and manifest.outcome.terminal and not state.ended:
        yield f"the manifest says {manifest.outcome}, which is for good, and the journal goes on"
    if manifest.iteration > state.iteration:
        yield f"the manifest is at iteration {manifest.iteration}, the journal at {state.iteration}"
    stood_on = {None, state.baseline_commit, *(entry.kept_commit for entry in entries)}
    if manifest.last_kept_commit not in stood_on:
        yield f"the manifest's last kept commit {manifest.last_kept_commit} was never kept by the journal"


def _of_ledger(state: RunState, entries: Sequence[Entry], ledger: Ledger) -> Iterator[str]:
    if ledger.run_id != state.plan.run_id:
        yield f"the ledger is that of run {ledger.run_id}"
        return
    if len(ledger.entries) > len(entries):
        yield f"the ledger has {len(ledger.entries)} entries, the journal decided {len(entries)}"
        return
    for said, entry in zip(ledger.entries, entries, strict=False):
        decided = Row(entry.iteration, entry.decision, entry.kept_commit)
        if said != decided:
            yield f"the ledger says {_told(said)}, the journal {_told(decided)}"
            return


def _told(row: Row) -> str:
    return f"iteration {row.iteration}: {row.decision}, kept {row.kept_commit[:12]}"
