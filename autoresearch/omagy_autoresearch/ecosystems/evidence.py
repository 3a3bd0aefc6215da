"""What a repository's files say, for all ecosystems: where something lies, what it says, what is missing."""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from omagy_autoresearch.mission import BASELINE, Constraint
from omagy_autoresearch.proposal import MISSION, RepositoryFacts

EVALUATE = f"python3 -I {MISSION}/evaluate.py"
OUTPUT_STAYS = Constraint("output", min=BASELINE, max=BASELINE)
SAME_BENCHMARKS = (
    Constraint("benchmarks", min=BASELINE, max=BASELINE),
    Constraint("names", min=BASELINE, max=BASELINE),
)
NO_FEWER_TESTS = (Constraint("tests", min=BASELINE),)
SAME_TESTS = (Constraint("tests", min=BASELINE, max=BASELINE),)
NO_MORE_SUPPRESSIONS = (Constraint("suppressions", max=BASELINE),)
NO_FEWER_LINES = (Constraint("lines", min=BASELINE),)


class Part(Struct, frozen=True):
    """A folder of the repository with a project in it; the root is ``""``."""

    folder: str

    def command(self, text: str) -> str:
        """``text``, run in the folder. The evaluator itself stays in the root."""
        return f"cd {shlex.quote(self.folder)} && {text}" if self.folder else text

    def path(self, text: str) -> str:
        """A path or pattern below the folder, seen from the root."""
        return f"{self.folder}/{text}" if self.folder else text

    def paths(self, *texts: str) -> tuple[str, ...]:
        return tuple(self.path(text) for text in texts)

    def within(self, facts: RepositoryFacts) -> list[str]:
        """The tracked files of the folder, seen from it, in order."""
        start = f"{self.folder}/" if self.folder else ""
        return sorted(path[len(start) :] for path in facts.paths if path.startswith(start))

    def text(self, facts: RepositoryFacts, *names: str) -> str:
        """What the marker files of these names say, one after the other; empty without any."""
        return "\n".join(facts.texts.get(self.path(name), "") for name in names)


def parts(facts: RepositoryFacts, *markers: str) -> list[Part]:
    """The folders with one of the marker files: the root alone when it has one, else the three nearest to it."""
    folders = {path.rpartition("/")[0] for path in facts.paths if path.rpartition("/")[2] in markers}
    if "" in folders:
        return [Part("")]
    near = sorted(folders, key=lambda folder: (folder.count("/"), folder))
    return [Part(folder) for folder in near if folder.count("/") < 2 and _SAFE.fullmatch(folder)][:3]


_SAFE = re.compile(r"[\w./+@ -]+")


def says(text: str, word: str) -> bool:
    """True when ``word`` stands in ``text`` as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in ``text``; empty when it is none, whatever else it may be."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def words_of(data: Any, key: str) -> dict[str, str]:
    """The texts in the block ``key`` of ``data``, by name."""
    block = data.get(key) if isinstance(data, dict) else None
    return {name: text for name, text in block.items() if isinstance(text, str)} if isinstance(block, dict) else {}


def missing(facts: RepositoryFacts, *tools: str) -> tuple[str, ...]:
    """Those of ``tools`` that this machine does not have."""
    return tuple(tool for tool in tools if tool not in facts.tools)


def several(things: Sequence[str], what: str) -> str:
    """How many there are, as a person says it."""
    return f"{len(things)} {what}" + ("" if len(things) == 1 else "s")


def listed(names: Iterable[str], most: int = 3) -> str:
    """The first of ``names`` as part of a sentence."""
    found = list(names)
    return ", ".join(found[:most]) + (" …" if len(found) > most else "")
