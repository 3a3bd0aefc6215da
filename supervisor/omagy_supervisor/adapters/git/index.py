"""The lane's index: only one that omagy wrote is believed."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from omagy_autoresearch.errors import RepositoryError
from omagy_supervisor.adapters.git.lane_git import LaneGit
from omagy_supervisor.files import remove

_LEFT_OUT = (b"S ", b"s ")
_INVALID_PATH = re.compile(r"invalid path '(.*)'")


class LaneIndex:
    def __init__(self, git: LaneGit, worktree: Path, git_dir: Path) -> None:
        self._git = git
        self._worktree = worktree
        self._path = git_dir / "index"
        self._written: tuple[int, ...] = ()  # what the file looked like when we had written it

    @property
    def ours(self) -> bool:
        """True while nobody wrote to it since we did."""
        return self._written != () and self._written == self._state()

    def was_written(self) -> None:
        """It is as omagy's own git commands left it."""
        self._written = self._state()

    def _state(self) -> tuple[int, ...]:
        """Different whenever the index was written since: nobody can set a change time."""
        with contextlib.suppress(OSError):
            found = self._path.stat()
            return (found.st_ino, found.st_ctime_ns, found.st_size)
        return ()

    def mend(self) -> None:
        """A power cut can leave an index that is empty or holds something else: it is made anew from HEAD."""
        with contextlib.suppress(OSError), self._path.open("rb") as file:
            if file.read(4) == b"DIRC":
                return
        self.make_anew()

    def make_anew(self) -> None:
        """As HEAD says, whatever was in it."""
        for damaged in (self._path, self._path.with_name("index.lock")):
            remove(damaged)
        self._git.status("read-tree", "HEAD")

    def renew(self, commit: str) -> bool:
        """An index that we did not write is not believed: it can call a file unchanged whatever the file holds.

        True when it was made anew from ``commit``, and the next git status should note in it what it finds unchanged:
        so every file is read once, and those that are as in the commit keep their times.
        """
        if self.ours and not (self._git.sparse and self._hides_changes()):
            return False
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        if self._git.sparse:
            return False  # the reset that follows makes it, with the part that is checked out
        self._git.run("read-tree", commit)
        return True

    def renew_from_head(self) -> bool:
        """As ``renew``; False, with the index as it was, where what HEAD names cannot be read.

        So it is where a part is checked out, unless entries are marked: all that is left out is then seen as missing.
        """
        if self.ours or (self._git.sparse and not self._hides_changes()):
            return False
        with self._another() as new:
            if self._git.status("read-tree", "HEAD", env={"GIT_INDEX_FILE": str(new)})[0] != 0:
                return False
            self._path.unlink(missing_ok=True)  # a file system writes out at once what takes another's place
            new.rename(self._path)
            return True

    @contextlib.contextmanager
    def _another(self) -> Iterator[Path]:
        """The path of an index that is gone afterwards."""
        index = self._path.with_name("omagy-check.index")
        try:
            yield index
        finally:
            for path in (index, index.with_name(index.name + ".lock")):
                path.unlink(missing_ok=True)

    def _hides_changes(self) -> bool:
        """True when entries are marked to look unchanged whatever the files hold: not even a reset looks at them.

        So may be those of an index that git cannot read.
        """
        try:
            rows = self._marked()
        except RepositoryError:
            return True
        return any(row[:1].islower() for row in rows) or bool(_present(self._worktree, rows))

    def remove_left_out(self) -> None:
        """Remove files of the part that is not checked out: a reset leaves them as they are, whatever they hold."""
        for path in _present(self._worktree, self._marked()):
            remove(path)
            with contextlib.suppress(OSError):
                for folder in path.relative_to(self._worktree).parents[:-1]:
                    (self._worktree / folder).rmdir()

    def _marked(self) -> list[bytes]:
        """What ``ls-files`` says of each entry, those that are left out told as such also where they are present."""
        setting = ("-c", "sparse.expectFilesOutsideOfPatterns=true")
        return [row for row in self._git.run(*setting, "ls-files", "-v", "-z").split(b"\0") if row]

    def refused_path(self, commit: str) -> str:
        """The path of ``commit`` that no index can hold; empty when there is none."""
        with self._another() as index:
            status, _, err = self._git.status("read-tree", commit, env={"GIT_INDEX_FILE": str(index)})
        found = _INVALID_PATH.search(err)
        return found[1] if status != 0 and found else ""


def _present(worktree: Path, rows: list[bytes]) -> list[Path]:
    """What stands in the place of entries that are left out; nothing that a link leads to."""
    paths = (Path(os.fsdecode(row[2:])) for row in rows if row.startswith(_LEFT_OUT))
    return [
        worktree / path
        for path in paths
        if os.path.lexists(worktree / path) and not any((worktree / above).is_symlink() for above in path.parents)
    ]
