"""Options of every command that hands nothing on: they stand anywhere, as ``--name value`` or ``--name=value``."""

import sys
from collections.abc import Collection
from typing import Any, NamedTuple

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.spelling import nearest

_COMMON = ("--debug", "--help")


class Options(NamedTuple):
    """``words`` are what is no option, in order."""

    flags: frozenset[str]
    values: dict[str, str]
    words: tuple[str, ...]

    def has(self, flag: str) -> bool:
        return flag in self.flags

    def input_object(self, example: str) -> dict[str, Any]:
        """The JSON object of ``--input`` (``-`` reads it from stdin), empty without.

        Raises ContractError with ``example`` for what is none.
        """
        text = self.values.get("--input")
        if text is None:
            return {}
        from omagy_autoresearch.strict_json import JsonProblem, loads_object

        try:
            return loads_object(sys.stdin.buffer.read() if text == "-" else text)
        except JsonProblem as problem:
            raise ContractError(f"--input: {problem}", f"a JSON object, for example --input '{example}'") from None


def read_options(
    argv: list[str], command: str, *, flags: Collection[str] = (), values: Collection[str] = ()
) -> Options:
    """Split ``argv``, what stands behind ``command``. ``--debug`` and ``--help`` (``-h``) are known everywhere.

    Everything after ``--`` is a word. Raises ContractError with the nearest known option for a typo.
    """
    found: set[str] = set()
    given: dict[str, str] = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            words += rest
            break
        if word == "-h":
            word = "--help"
        if word in flags or word in _COMMON:
            found.add(word)
        elif name in values:
            if name in given:
                raise ContractError(f"{name} is given twice", "say it once")
            if not equals and not rest:
                raise ContractError(f"{name} needs a value", f"omagy {command} --help")
            given[name] = value if equals else rest.pop(0)
        elif word.startswith("--") or (word.startswith("-") and len(word) > 1 and not word[1:2].isdigit()):
            near = nearest(name, (*flags, *values))
            raise ContractError(f"{command} has no option {name}{near}", f"omagy {command} --help")
        else:
            words.append(word)
    return Options(frozenset(found), given, tuple(words))
