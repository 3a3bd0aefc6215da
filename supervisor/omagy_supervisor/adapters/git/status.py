"""Reads ``git status --porcelain=v2 -z --branch``."""

import os

from omagy_supervisor.ports import LaneStatus


def parse_status(out: bytes) -> LaneStatus:
    """The status that ``out`` tells. Paths are decoded as file names."""
    head, branch, dirty = "", None, []
    for row in out.split(b"\0"):
        kind, _, rest = row.partition(b" ")
        if kind == b"#":
            key, _, value = rest.partition(b" ")
            if key == b"branch.oid" and value != b"(initial)":
                head = value.decode()
            elif key == b"branch.head" and value != b"(detached)":
                branch = os.fsdecode(value)
        elif kind in (b"1", b"u", b"?"):
            dirty.append(os.fsdecode(_path(kind, rest)) + ("/" if _is_repository(kind, rest) else ""))
    return LaneStatus(head, branch, tuple(dirty))


def _is_repository(kind: bytes, rest: bytes) -> bool:
    """True for the row of a submodule; an untracked repository's path ends in a slash anyway."""
    return kind == b"1" and rest.split(b" ", 2)[1].startswith(b"S")


def _path(kind: bytes, rest: bytes) -> bytes:
    """The path of a row: after seven fields of a changed one, nine of an unmerged one, none of an untracked one."""
    fields = {b"1": 7, b"u": 9, b"?": 0}[kind]
    return rest.split(b" ", fields)[-1]


def differing_from_index(out: bytes) -> list[str]:
    """The paths that the worktree holds in another form than the index, or that the index lacks."""
    rows = [row.partition(b" ")[::2] for row in out.split(b"\0")]
    return [
        os.fsdecode(_path(kind, rest))
        for kind, rest in rows
        if kind in (b"u", b"?") or (kind == b"1" and rest[1:2] != b".")
    ]
