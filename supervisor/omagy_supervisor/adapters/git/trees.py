"""Reads what git says of trees: ``diff-tree --raw -z`` and ``ls-tree -r -z``."""

import hashlib
import os
import re

from omagy_autoresearch.surface import Change

_PINS = re.compile(
    rb"(package(-lock)?\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock"
    rb"|requirements[^/]*\.(txt|in)|constraints[^/]*\.txt|pyproject\.toml|setup\.(py|cfg)|Pipfile(\.lock)?|poetry\.lock"
    rb"|uv\.lock|pdm\.lock|environment\.ya?ml|Cargo\.(toml|lock)|go\.(mod|sum)|Gemfile(\.lock)?|composer\.(json|lock)"
    rb"|pom\.xml|build\.gradle(\.kts)?|gradle\.lockfile|CMakeLists\.txt|conanfile\.(txt|py)|vcpkg\.json)"
)


def read_changes(out: bytes) -> tuple[Change, ...]:
    """The changes in ``diff-tree --raw -z --no-renames`` output: a row of modes, then a path, in turn."""
    fields = out.split(b"\0")
    rows = zip(fields[::2], fields[1::2], strict=False)
    return tuple(Change(os.fsdecode(path), *_modes(row)) for row, path in rows if row.startswith(b":"))


def _modes(row: bytes) -> tuple[str, str]:
    old, new, *_ = row.removeprefix(b":").split(b" ")
    return old.decode(), new.decode()


def dependency_key(listing: bytes) -> str:
    """A digest of the files in ``ls-tree -r -z`` output that say which dependencies a project has."""
    rows = [row for row in listing.split(b"\0") if _PINS.fullmatch(row.rpartition(b"\t")[2].rpartition(b"/")[2])]
    return hashlib.sha256(b"\0".join(rows)).hexdigest()
