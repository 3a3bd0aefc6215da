"""Reads what git says of trees: ``diff-tree -z --raw --numstat`` and ``ls-tree -r -z``."""

import hashlib
import os
import re
from typing import NamedTuple

from omagy_autoresearch.ledger import DiffStat
from omagy_autoresearch.surface import Change
from omagy_supervisor.ports import Difference

_PINS = re.compile(
    rb"(package(-lock)?\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock"
    rb"|requirements[^/]*\.(txt|in)|constraints[^/]*\.txt|pyproject\.toml|setup\.(py|cfg)|Pipfile(\.lock)?|poetry\.lock"
    rb"|uv\.lock|pdm\.lock|environment\.ya?ml|Cargo\.(toml|lock)|go\.(mod|sum)|Gemfile(\.lock)?|composer\.(json|lock)"
    rb"|pom\.xml|build\.gradle(\.kts)?|gradle\.lockfile|CMakeLists\.txt|conanfile\.(txt|py)|vcpkg\.json)"
)

_PLAIN_NAME = "[A-Za-z0-9_+@=,%-][A-Za-z0-9_+@=,%. -]*"
_PLAIN = re.compile(f"{_PLAIN_NAME}(?:/{_PLAIN_NAME})*")

_LONGEST_NAME, _LONGEST_PATH = 255, 3800  # a path of 4096 counts the lane's own folder

_NOTHING, _FOLDER, _COMMIT = "000000", "040000", "160000"


def is_plain(path: str) -> bool:
    """True when git takes ``path`` on every file system, without asking it.

    All names that it refuses begin with a dot (``..``, ``.git``), or stand for one that does: with a tilde or colon
    (``git~1``), a backslash, or a character beyond ASCII that some file system drops.
    """
    return _PLAIN.fullmatch(path) is not None


def is_too_long(path: str) -> bool:
    """True when no file system that git is used on takes ``path``: git itself would call such a file unchanged."""
    raw = os.fsencode(path)
    return len(raw) > _LONGEST_PATH or any(len(part) > _LONGEST_NAME for part in raw.split(b"/"))


def read_difference(out: bytes) -> Difference:
    """What ``diff-tree -z --raw --numstat --no-renames`` says of files and links to commits."""
    rows, numbers = _read_rows(out)
    changes = [Change(path, row.old_mode, row.new_mode) for row, path in rows if not row.is_folder]
    stat = DiffStat(len(numbers), sum(added for added, _ in numbers), sum(removed for _, removed in numbers))
    return Difference(tuple(changes), stat)


def new_objects(out: bytes) -> list[bytes]:
    """The ids of trees and files on the new side of what ``diff-tree -t -z --raw --no-abbrev`` shows."""
    return [row.new_id for row, _ in _read_rows(out)[0] if row.new_mode not in (_NOTHING, _COMMIT)]


class _Row(NamedTuple):
    old_mode: str
    new_mode: str
    new_id: bytes

    @property
    def is_folder(self) -> bool:
        return _FOLDER in (self.old_mode, self.new_mode)


def _read_rows(out: bytes) -> tuple[list[tuple[_Row, str]], list[tuple[int, int]]]:
    """A row and its path in turn, then rows of numbers: lines added and removed.

    A path can look like a row of either kind, so it is known by its place.
    """
    fields = iter(out.split(b"\0"))
    rows, numbers = [], []
    for field in fields:
        if field.startswith(b":"):
            rows.append((_row(field), os.fsdecode(next(fields))))
        elif field:
            added, removed, _ = field.split(b"\t", 2)
            numbers.append((_number(added), _number(removed)))
    return rows, numbers


def _number(field: bytes) -> int:
    """Binary files have a dash in place of a number."""
    return int(field) if field.isdigit() else 0


def _row(field: bytes) -> _Row:
    old_mode, new_mode, _, new_id, _ = field.removeprefix(b":").split(b" ")
    return _Row(old_mode.decode(), new_mode.decode(), new_id)


def dependency_key(listing: bytes) -> str:
    """A digest of the files in ``ls-tree -r -z`` output that say which dependencies a project has."""
    rows = [row for row in listing.split(b"\0") if _PINS.fullmatch(row.rpartition(b"\t")[2].rpartition(b"/")[2])]
    return hashlib.sha256(b"\0".join(rows)).hexdigest()
