"""The drafts of the guided intake on disk: a document and a record for each name (contract section 9)."""

import contextlib
from pathlib import Path

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.intake.document import Saved, decode, encode
from omagy_autoresearch.names import slugify
from omagy_supervisor.files import make_folder, read_regular, write_atomic

_PREFIX = "deep-interview-autoresearch-"
_RECORD = ".result.json"
_LIMIT = 1 << 20


class DraftFiles:
    """``deep-interview-autoresearch-<slug>.md`` and ``….result.json`` beside it, each whole whenever it is read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def document(self, slug: str) -> Path:
        return self._folder / f"{_PREFIX}{slug}.md"

    def record(self, slug: str) -> Path:
        return self._folder / f"{_PREFIX}{slug}{_RECORD}"

    def write(self, record: Saved, document: str) -> None:
        """The record last: it is what a later sitting goes on from. Raises StorageError."""
        make_folder(self._folder)
        write_atomic(self.document(record.slug), document.encode("utf-8", "replace"), durable=False)
        write_atomic(self.record(record.slug), encode(record))

    def read(self, slug: str) -> Saved | None:
        """The record of ``slug``, None without one. Raises ContractError when it cannot be read."""
        path = self.record(slug)
        try:
            raw = read_regular(path, _LIMIT)
            return None if raw is None else _of(slug, raw)
        except ValueError as problem:
            raise ContractError(
                f"the draft {path} cannot be gone on with: {problem}", f"begin anew: mv '{path}' '{path}.old'"
            ) from None

    def all(self) -> list[Saved]:
        """Every draft that can be read, the newest first."""
        found = []
        for path in self._folder.glob(f"{_PREFIX}*{_RECORD}"):
            slug = path.name.removeprefix(_PREFIX).removesuffix(_RECORD)
            with contextlib.suppress(ContractError):
                record = self.read(slug) if slugify(slug) == slug else None
                if record is not None:
                    found.append(record)
        return sorted(found, key=lambda record: record.updated_at, reverse=True)

    def remove(self, slug: str) -> None:
        """Take a draft away that has another name now."""
        for path in (self.record(slug), self.document(slug)):
            with contextlib.suppress(OSError):
                path.unlink()


def _of(slug: str, raw: bytes) -> Saved:
    """The record of ``slug`` in ``raw``. Raises ValueError."""
    if len(raw) > _LIMIT:
        raise ValueError("it is larger than 1 MiB")
    record = decode(raw)
    if record.slug != slug:
        raise ValueError(f"it is the record of {record.slug!r}")
    return record
