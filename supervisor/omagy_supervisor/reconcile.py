"""Refuses to go on from records that contradict each other: a person looks first (``STOP-RECONCILE-001``)."""

import msgspec

from omagy_autoresearch.contradictions import Ledger, contradictions
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.manifest import Manifest
from omagy_autoresearch.stop_conditions import RECONCILE
from omagy_supervisor.files import read_regular
from omagy_supervisor.paths import RunFolder
from omagy_supervisor.recover import LoadedRun

_LEDGER_LIMIT = 1 << 28


def refuse_contradictions(folder: RunFolder, run: LoadedRun, found: Manifest) -> None:
    """Raises ContractError for records that no crash can have left; nothing is changed.

    A ledger that is missing or cannot be read says nothing, so it contradicts nothing: it is written anew.
    """
    own = run.state.plan.run_id
    if own != folder.root.name:
        raise ContractError(
            f"the journal in {folder.root} is that of run {own} ({RECONCILE})",
            f"go on with that run: omagy autoresearch --resume {own}",
        )
    doubts = contradictions(run.state, run.entries, run.ends, found, _ledger(folder))
    if doubts:
        raise ContractError(
            f"the records of run {own} contradict each other ({RECONCILE}): {'; '.join(doubts)}",
            f"look at {folder.root}; the journal counts, and the others are written anew from it with:"
            f" omagy autoresearch rebuild {own}",
        )


def _ledger(folder: RunFolder) -> Ledger | None:
    try:
        data = read_regular(folder.ledger, _LEDGER_LIMIT)
        return None if data is None else msgspec.json.decode(data, type=Ledger)
    except (ValueError, RecursionError):  # msgspec's own errors are ValueErrors
        return None
