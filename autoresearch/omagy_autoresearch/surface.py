"""Which files a candidate may change: the evaluator it is measured by is not among them.

Judged on what git recorded in the commits, never on the worktree, so nothing of a candidate has to run for it.
"""

import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from omagy_autoresearch.lines import one_line

_SYMLINK = "120000"
_SUBMODULE = "160000"


class Change(Struct, frozen=True):
    """One path that differs between two commits; modes are git's, ``000000`` where there is no file."""

    path: str
    old_mode: str
    new_mode: str


class Surface(Struct, frozen=True):
    """``fixed`` paths are protected whatever else is said, ``named`` ones unless ``editable`` names them."""

    fixed: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()

    @property
    def closed(self) -> tuple[str, ...]:
        """The single files that are protected: those of the mission, and those named that are not editable."""
        return (*self.fixed, *(path for path in self.named if not self._editable(path)))

    @property
    def liftable(self) -> tuple[str, ...]:
        """The files that are protected only because a command names them: ``editable`` lifts that."""
        return tuple(path for path in self.closed if self._only_named(path))

    def protects(self, path: str) -> bool:
        """True when ``path``, or one that some file system takes for the same, is protected."""
        same = _folded(path)
        if same in map(_folded, self.fixed) or any(matches(glob, path) for glob in self.protected):
            return True
        return same in map(_folded, self.named) and not self._editable(path)

    def _editable(self, path: str) -> bool:
        return any(matches(glob, path) for glob in self.editable)

    def violation(self, changes: Iterable[Change]) -> str:
        """Why a candidate with ``changes`` is refused; empty when it is not."""
        for change in changes:
            problem = self._problem(change)
            if problem:
                return f"{_shown(change.path)}: {problem}"
        return ""

    def _problem(self, change: Change) -> str:
        if self.protects(change.path):
            return f"{self._why(change.path)}, and the candidate {_verb(change)}"
        if self.editable and not self._editable(change.path):
            return "it lies outside what this mission lets a candidate change (editable)"
        if self._stands_in_the_way(change.path):
            return "it would stand where a protected file has its folder"
        if _folded(change.path.rsplit("/", 1)[-1]) == ".gitattributes" and not self._editable(change.path):
            return "git attributes can change what other files contain when they are checked out"
        if change.new_mode == _SUBMODULE and not self._editable(change.path):
            return "it links to a repository, whose files would be no part of the commit (editable lifts that)"
        return ""

    def _why(self, path: str) -> str:
        if self._only_named(path):
            return "it is protected because the evaluator or guard names it (editable lifts that)"
        return "it is protected"

    def _only_named(self, path: str) -> bool:
        same = _folded(path)
        explicit = same in map(_folded, self.fixed) or any(matches(glob, path) for glob in self.protected)
        return not explicit and same in map(_folded, self.named)

    def _stands_in_the_way(self, path: str) -> bool:
        """A file or link in place of a folder above a protected file (in any spelling) would replace all below."""
        above = f"{_folded(path)}/"
        return any(_folded(protected).startswith(above) for protected in self.closed)


def _verb(change: Change) -> str:
    if change.new_mode == _SYMLINK:
        return "makes it a link"
    if change.new_mode == _SUBMODULE:
        return "makes it a submodule"
    if set(change.new_mode) == {"0"}:
        return "removes or renames it"
    if set(change.old_mode) == {"0"}:
        return "adds it"
    return "changes its mode" if change.old_mode != change.new_mode else "changes it"


def _folded(path: str) -> str:
    """``path`` as file systems that ignore case or composition see it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _shown(path: str) -> str:
    return one_line(path, 200)


def matches(glob: str, path: str) -> bool:
    """``*`` and ``?`` stay within a folder, ``**`` does not; a folder's name stands for all below it."""
    return re.fullmatch(_pattern(glob.rstrip("/")) + r"(?:/.*)?", path, re.DOTALL) is not None


def _pattern(glob: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob.removeprefix("./"))
    special = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    return "".join(special.get(part, re.escape(part)) for part in parts)


def named_files(commands: Sequence[str], tracked: frozenset[str]) -> tuple[str, ...]:
    """The tracked files that ``commands`` name.

    As a path, a part of a word such as ``--config=path``, a module of ``-m``, a path below a folder they change to,
    or the file that a runner such as make takes its orders from.
    """
    return tuple(sorted({path for command in commands for path in _paths(command) if path in tracked}))


_ORDERS = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile"),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun"), ("package.json",)),
    **dict.fromkeys(("pytest", "tox", "nox"), ("pytest.ini", "tox.ini", "noxfile.py", "conftest.py")),
}
_CHANGES_FOLDER = ("cd", "-C", "--directory", "--prefix")


def _paths(command: str) -> Iterable[str]:
    words = [part.removeprefix("./") for word in _split(command) for part in _parts(word)]
    folders = ["", *(f"{after.rstrip('/')}/" for word, after in pairwise(words) if word in _CHANGES_FOLDER)]
    named = [name for word in words for name in (word, *_module(word), *_ORDERS.get(word, ()))]
    return (f"{folder}{name}" for folder in folders for name in named)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=False)
    except ValueError:  # an open quote: sh will say so, we still look at what is there
        return command.split()


def _parts(word: str) -> Iterable[str]:
    for part in dict.fromkeys((word, *re.split(r"[=:;|&()<>\s]+", word))):
        yield re.sub(r"^\$\{?(?:OMAGY_WORKTREE|PWD)\}?/", "", part)


def _module(word: str) -> tuple[str, ...]:
    """The files that ``python -m word`` runs."""
    if not re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", word):
        return ()
    path = word.replace(".", "/")
    return (f"{path}.py", f"{path}/__main__.py")
