"""Our lines in git's ``info/exclude``: anchored, in a marked block, and gone again with the last lane.

git shares this file among all worktrees of a repository, the user's checkout included (contract section 3).
"""

import contextlib
from pathlib import Path

from omagy_supervisor.files import write_atomic

_BEGIN = b"# >>> omagy: files of running lanes; this block goes with the last lane"
_END = b"# <<< omagy"
_LINES = (b"/results.tsv", b"/run.log", b"/candidate.json")
_BLOCK = b"\n".join((_BEGIN, *_LINES, _END)) + b"\n"


def add_exclude_block(common_dir: Path) -> None:
    """Make the block stand in the file; everything else in it stays byte for byte."""
    path = _file(common_dir)
    old = _read(path)
    if _BLOCK in old:
        return
    rest = _without_block(old)
    if rest and not rest.endswith(b"\n"):
        rest += b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, rest + _BLOCK)


def remove_exclude_block(common_dir: Path) -> None:
    """Take the block out again; everything else in the file stays byte for byte."""
    path = _file(common_dir)
    old = _read(path)
    rest = _without_block(old)
    if rest != old:
        write_atomic(path, rest)


def _file(common_dir: Path) -> Path:
    # A user may keep this file elsewhere behind a link: the link stays.
    return (common_dir / "info" / "exclude").resolve()


def _read(path: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def _without_block(text: bytes) -> bytes:
    end = text.find(_END, max(text.find(_BEGIN), 0))
    # The nearest beginning: lines between half a block and a whole one are the user's.
    start = text.rfind(_BEGIN, 0, max(end, 0))
    if start < 0 or end < 0:
        return text
    return text[:start] + text[end + len(_END) :].removeprefix(b"\n")
