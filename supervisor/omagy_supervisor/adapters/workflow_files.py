"""The files of workflow modes: read without trust, changed all together (contract section 7).

A change to several files is first written down whole (``workflow-pending.json``), then made, then struck out. Whoever
was killed in between leaves the note: the next one to hold the lock makes the change once more, and whoever only
reads takes what the note says for done. So no killed command leaves half of a change.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from omagy_autoresearch.errors import ContractError, StorageError
from omagy_autoresearch.mode_scope import KEPT_MODES, Scope, parse_session_id
from omagy_autoresearch.strict_json import JsonProblem, loads_object
from omagy_autoresearch.workflow import Mode
from omagy_supervisor.files import (
    Durability,
    cannot_write,
    fsync_dir,
    is_folder,
    make_own_folder,
    read_regular,
    replace_file,
    sweep_temporary,
    write_atomic,
)

if TYPE_CHECKING:
    from omagy_autoresearch.mode_change import Change

LIMIT = 1 << 20
_PENDING_LIMIT = 16 * LIMIT
INVENTORY = "skill-active-state.json"
_PENDING = "workflow-pending.json"


def state_file(mode: Mode) -> str:
    return f"{mode}-state.json"


_NAMES = frozenset({INVENTORY, *(state_file(mode) for mode in KEPT_MODES)})


class _Write(NamedTuple):
    """``content`` is None where the file goes."""

    session_id: str | None
    name: str
    content: Mapping[str, Any] | None


class WorkflowFiles:
    """The files below one ``.omagy/state``. ``notes`` collects what a person should know of what was found there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.notes: list[str] = []
        self._obstacles: dict[Path, str] = {}
        self._pending = [] if self._is_closed(folder.parent, folder) else self._read_pending()

    # -- reading

    def scope(self, session_id: str | None) -> Scope:
        """What is written of ``session_id``; a file that cannot be read counts as none, and a note says so."""
        known = len(self.notes)
        inventory = self._document(session_id, INVENTORY)
        damaged = len(self.notes) > known
        found = {mode: self._document(session_id, state_file(mode)) for mode in KEPT_MODES}
        states = {mode: state for mode, state in found.items() if state is not None}
        return Scope(session_id, inventory or {}, states, damaged=damaged)

    def sessions(self) -> list[str]:
        """The sessions that have a folder here."""
        found = {write.session_id for write in self._pending if write.session_id}
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            found |= {entry.name for entry in entries if _is_session(entry)}
        return sorted(name for name in found if name)

    @property
    def unfinished(self) -> bool:
        """True when a killed command left a change half made."""
        return bool(self._pending)

    def pointer(self) -> dict[str, Any] | None:
        """The state file of autoresearch: the pointer to its run, which supervisors write."""
        return self._document(None, state_file(Mode.AUTORESEARCH))

    def kept(self, session_id: str | None) -> frozenset[Mode]:
        """The modes that have a file here, whether or not it can be read."""
        return frozenset(mode for mode in KEPT_MODES if os.path.lexists(self.path(session_id, state_file(mode))))

    def path(self, session_id: str | None, name: str) -> Path:
        return (self._folder / session_id if session_id else self._folder) / name

    def _document(self, session_id: str | None, name: str) -> dict[str, Any] | None:
        for write in self._pending:
            if (write.session_id, write.name) == (session_id, name):
                return None if write.content is None else dict(write.content)
        path = self.path(session_id, name)
        if self._is_closed(self._folder.parent, self._folder, path.parent):
            return None
        try:
            return self._read(path, LIMIT)
        except ValueError as problem:
            self.notes.append(f"{path} is left out: {problem}")
            return None

    def _is_closed(self, *places: Path) -> bool:
        """Whether nothing can be read below the last of ``places``, because of one of them; a note says so once."""
        for place in places:
            if place not in self._obstacles:
                link = place.parent == self._folder and _is_link(place)
                why = self._obstacles[place] = "is a link" if link else _obstacle(place)
                self.notes += [f"{place} {why}: nothing is read from it"] if why else []
            if self._obstacles[place]:
                return True
        return False

    def _read(self, path: Path, limit: int) -> dict[str, Any] | None:
        """The object in ``path``, None when nothing is there. Raises ValueError."""
        data = read_regular(path, limit)
        if data is None:
            return None
        if len(data) > limit:
            raise ValueError(f"it is larger than {limit >> 20} MiB")
        try:
            return loads_object(data)
        except JsonProblem as problem:
            raise ValueError(str(problem)) from None

    # -- changing, for whoever holds the lock

    def finish(self) -> None:
        """Make the change that a killed command left half made. Raises StorageError."""
        sweep_temporary(self._folder, _PENDING)
        if self._pending:
            self._make(self._pending)
        elif os.path.lexists(self._folder / _PENDING):
            self._keep_aside(self._folder / _PENDING)

    def commit(self, change: "Change", session_id: str | None) -> None:
        """Make ``change`` in the scope of ``session_id``, all of it or nothing. Raises StorageError."""
        writes = _writes_of(change, session_id)
        self._make_folder(session_id)
        note = _encode({"version": 1, "writes": [write._asdict() for write in writes]})
        _refuse_what_cannot_be_read_back(note)
        write_atomic(self._folder / _PENDING, note)
        self._pending = writes
        try:
            self._put(writes[0], Durability.FULL)
        except StorageError:
            self._give_up(writes[0])
            raise
        self._make(writes[1:])

    def _give_up(self, first: _Write) -> None:
        """Strike the note out while nothing of it is made: what was refused is not made by whoever comes next."""
        made = False
        with contextlib.suppress(ValueError):
            made = self._read(self.path(first.session_id, first.name), LIMIT) == first.content
        if not made:
            with contextlib.suppress(StorageError):
                _remove(self._folder / _PENDING)
                self._pending = []

    def mend(self, change: "Change", session_id: str | None) -> None:
        """Make ``change``, a repair.

        Any part of one leaves the set that it was, and what a power cut takes back is repaired again: so it needs no
        note, and its files are whole rather than there to stay. Raises StorageError, ContractError.
        """
        for write in _writes_of(change, session_id):
            self._put(write, Durability.WHOLE)

    def _make(self, writes: list[_Write]) -> None:
        for write in writes:
            self._put(write, Durability.FULL)
        _remove(self._folder / _PENDING)
        self._pending = []

    def _put(self, write: _Write, durability: Durability) -> None:
        path = self.path(write.session_id, write.name)
        self._make_folder(write.session_id)
        sweep_temporary(path.parent, path.name)
        self._keep_unreadable(path)
        if write.content is not None:
            replace_file(path, _encode(write.content), durability)
        else:
            _remove(path)

    def _make_folder(self, session_id: str | None) -> None:
        for folder in (self._folder, *([self._folder / session_id] if session_id else [])):
            make_own_folder(folder)

    def _keep_unreadable(self, path: Path) -> None:
        """Nobody's work is overwritten because omagy cannot read it."""
        try:
            self._read(path, LIMIT)
        except ValueError:
            self._keep_aside(path)

    def _keep_aside(self, path: Path) -> None:
        aside = next(
            place
            for number in count(1)
            if not os.path.lexists(place := path.with_name(f"{path.name}.corrupt-{number}"))
        )
        try:
            path.rename(aside)
        except OSError as error:
            raise cannot_write(path, error) from error
        self.notes.append(f"{path.name} could not be read; it is kept as {aside}")

    def _read_pending(self) -> list[_Write]:
        path = self._folder / _PENDING
        try:
            note = self._read(path, _PENDING_LIMIT)
            return [] if note is None else list(_writes(note))
        except (ValueError, ContractError) as problem:
            self.notes.append(f"{path} is left out: {problem}")
            return []


def _is_link(place: Path) -> bool:
    return os.path.islink(place)  # noqa: PTH114 - a Path raises where it may not look


def _obstacle(place: Path) -> str:
    """Why nothing can be read from ``place``; empty where that can be done, or where nothing is."""
    if not os.path.lexists(place):
        return ""
    if not is_folder(place):
        return "is not a folder"
    return "" if os.access(place, os.X_OK) else "cannot be looked into (Permission denied)"


def _writes_of(change: "Change", session_id: str | None) -> list[_Write]:
    """The files that ``change`` means. Raises ContractError for one that could not be read back."""
    writes = [_Write(session_id, state_file(mode), state) for mode, state in change.states.items()]
    inventory = [] if change.inventory is None else [_Write(session_id, INVENTORY, change.inventory)]
    for write in (*writes, *inventory):
        data = b"{}" if write.content is None else _encode(write.content)
        if len(data) > LIMIT:
            raise ContractError(f"{write.name} would be larger than 1 MiB", "keep large things in files")
        _refuse_what_cannot_be_read_back(data)
    return [*writes, *inventory]


def _writes(note: Mapping[str, Any]) -> Iterator[_Write]:
    """The writes that ``note`` lists. Raises ValueError, ContractError: it could be anybody's."""
    rows = note.get("writes")
    for row in rows if isinstance(rows, list) else ():
        row = row if isinstance(row, dict) else {}
        name, content = row.get("name"), row.get("content")
        if not isinstance(name, str) or name not in _NAMES or not isinstance(content, dict | None):
            raise ValueError("it is no list of changes to modes")
        yield _Write(parse_session_id(row.get("session_id")), name, content)


def _is_session(entry: "os.DirEntry[str]") -> bool:
    with contextlib.suppress(ContractError):
        return parse_session_id(entry.name) is not None and entry.is_dir(follow_symlinks=False)
    return False


def _encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def _refuse_what_cannot_be_read_back(data: bytes) -> None:
    try:
        loads_object(data)
    except JsonProblem as problem:
        raise ContractError(f"the state cannot be kept: {problem}") from None


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
        fsync_dir(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
