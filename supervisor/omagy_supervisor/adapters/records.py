"""The files of a run that the world reads: complete projections of the journal (contract section 3).

Each is whole whenever it can be read. The manifest is written last, so what it says is already true everywhere.
"""

import contextlib
import os
import stat
from itertools import count
from pathlib import Path

import msgspec

from omagy_autoresearch.decision import Decision
from omagy_autoresearch.handoff import Handoff, handoff_markdown
from omagy_autoresearch.ledger import TSV_HEADER, Entry, tsv_row
from omagy_autoresearch.manifest import manifest_json
from omagy_autoresearch.run import RunState
from omagy_supervisor.files import (
    Durability,
    cannot_write,
    read_regular,
    replace_file,
    sweep_temporary,
    write_all,
    write_atomic,
)
from omagy_supervisor.paths import RunFolder
from omagy_supervisor.ports import LedgerWriter

_KEPT_LIMIT = 20
_HANDOFF_LIMIT = 1 << 20


class FileRecords:
    """Implements ports.Records; ``results`` is the table of all iterations.

    ``entries`` are all that the journal holds; projections are brought up to them.
    """

    def __init__(self, folder: RunFolder, results: Path, ledger: LedgerWriter, entries: list[Entry]) -> None:
        self._folder = folder
        self._results = _ResultsFile(results, entries)
        self._ledger = ledger
        self._kept = [entry for entry in entries if entry.decision is Decision.KEEP][-_KEPT_LIMIT:]
        sweep_temporary(folder.root)
        measured = next((entry for entry in reversed(entries) if entry.evaluator is not None), None)
        if measured is not None:
            self._write_evaluation(measured)

    def kept(self) -> tuple[Entry, ...]:
        return tuple(self._kept)

    def iteration_recorded(self, entry: Entry, state: RunState) -> None:
        self._ledger.append(entry)
        if entry.decision is Decision.KEEP:
            self._kept = [*self._kept, entry][-_KEPT_LIMIT:]
        if entry.evaluator is not None:
            self._write_evaluation(entry)
        self._results.append(entry)
        self.write_manifest(state)

    def _write_evaluation(self, entry: Entry) -> None:
        record = {
            "iteration": entry.iteration,
            "commit": entry.candidate_commit or entry.base_commit,
            "decision": entry.decision,
            **msgspec.to_builtins(entry.evaluator),
        }
        data = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
        write_atomic(self._folder.latest_evaluation, data, durable=False)
        own = self._folder.iteration(entry.iteration)
        own.mkdir(parents=True, exist_ok=True)
        write_atomic(own / "evaluation.json", data, durable=False)

    def write_manifest(self, state: RunState, *, lasting: bool = True) -> None:
        durability = Durability.FULL if lasting else Durability.WHOLE
        replace_file(self._folder.manifest, manifest_json(state), durability)

    def reopen(self, state: RunState) -> None:
        for handoff in (self._folder.handoff_markdown, self._folder.handoff_json):
            try:
                handoff.unlink(missing_ok=True)
            except OSError as error:
                raise cannot_write(handoff, error) from error
        self.write_manifest(state)

    def write_end(self, state: RunState, handoff: Handoff) -> None:
        write_atomic(self._folder.handoff_markdown, handoff_markdown(handoff).encode())
        data = msgspec.json.format(msgspec.json.encode(handoff), indent=2) + b"\n"
        write_atomic(self._folder.handoff_json, data)
        self._ledger.close_with(handoff.outcome, state.stop_reason or handoff.reason)
        self.write_manifest(state)


def read_handoff(folder: RunFolder) -> Handoff | None:
    """The handoff of the run that ended in ``folder``; None without one that can be read."""
    try:
        return msgspec.json.decode(read_regular(folder.handoff_json, _HANDOFF_LIMIT) or b"", type=Handoff)
    except ValueError:  # what msgspec raises is one
        return None


class _ResultsFile:
    """``results.tsv``, as a rule in the worktree: ours, but an agent can touch it, so nothing of it is trusted.

    When it is not the plain file of the length we left, it is written anew; a link in its place is replaced.
    """

    def __init__(self, path: Path, entries: list[Entry]) -> None:
        self._path = path
        self._rows = [TSV_HEADER, *(tsv_row(entry) for entry in entries)]
        self._length = 0
        if path.parent.is_dir():
            self._rewrite()

    def append(self, entry: Entry) -> None:
        row = tsv_row(entry)
        self._rows.append(row)
        if not self._append(row.encode()):
            self._rewrite()

    def _append(self, data: bytes) -> bool:
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_size != self._length:
                return False
            write_all(fd, data)
        except OSError as error:
            raise cannot_write(self._path, error) from error
        finally:
            os.close(fd)
        self._length += len(data)
        return True

    def _rewrite(self) -> None:
        data = "".join(self._rows).encode()
        with contextlib.suppress(OSError):
            if self._path.is_dir() and not self._path.is_symlink():
                self._path.rename(self._free_name())
        write_atomic(self._path, data, durable=False)
        self._length = len(data)

    def _free_name(self) -> Path:
        """Where a folder in the file's place can go: what was moved before stays."""
        names = (self._path.with_name(f"{self._path.name}.moved-aside{number or ''}") for number in count())
        return next(path for path in names if not os.path.lexists(path))
