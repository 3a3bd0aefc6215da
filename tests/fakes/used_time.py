"""A run that has used hours of its time, without a test that takes them: its journal is rewritten to say so."""

from datetime import timedelta

from msgspec.structs import replace

from fakes.workspace import Workspace
from omagy_autoresearch.events import Record
from omagy_supervisor.adapters.journal import decode_line, encode_line


def let_time_be_used(ws: Workspace, seconds: float) -> None:
    """The run, whose supervisor is dead, has been supervised for ``seconds`` by now."""
    records = _journal(ws)
    _rewrite(ws, [*records[:-1], replace(records[-1], elapsed_s=seconds)])


def let_it_be_long_ago(ws: Workspace, hours: float) -> None:
    """All that the run did, whose supervisor is dead, was ``hours`` ago."""
    _rewrite(ws, [replace(record, at=record.at - timedelta(hours=hours)) for record in _journal(ws)])


def _journal(ws: Workspace) -> list[Record]:
    lines = (ws.folder() / "journal.jsonl").read_bytes().splitlines()
    return [decode_line(line) for line in lines]


def _rewrite(ws: Workspace, records: list[Record]) -> None:
    (ws.folder() / "journal.jsonl").write_bytes(b"".join(map(encode_line, records)))
