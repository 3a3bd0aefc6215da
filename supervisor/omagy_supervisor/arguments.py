"""The command line of ``omagy autoresearch``, split once and tested (contract section 1).

omagy's own options stand before the mission folder; what stands after it belongs to Codex. Neither is ever guessed:
a misspelt option of ours is an error, and so is one of ours that stands where Codex would get it.
"""

from dataclasses import dataclass, field

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.spelling import nearest

FLAGS = (
    "--detach",
    "--foreground",
    "--no-wait",
    "--allow-broken-baseline",
    "--save-leftovers",
    "--json",
    "--debug",
    "--help",
    "--infer",
)
SEEDS = ("--topic", "--evaluator", "--keep-policy", "--slug")
"""What a person says to the guided interview beforehand."""
VALUES = (
    *SEEDS,
    "--resume",
    "--agent",
    "--codex-sandbox",
    "--max-iterations",
    "--max-wall-time",
    "--target-score",
    "--max-consecutive-errors",
)
_CODEX_HAS_TOO = ("--json", "--help")
_ALL = (*FLAGS, *VALUES)


@dataclass(frozen=True, slots=True)
class Arguments:
    """``mission`` is None for a resume and for no arguments at all; ``codex_args`` are untouched.

    ``tells_codex_args`` is whether the line says what they are; a lone ``--`` says that there are none.
    """

    flags: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict)
    mission: str | None = None
    codex_args: tuple[str, ...] = ()
    tells_codex_args: bool = False

    def has(self, flag: str) -> bool:
        return flag in self.flags


def split_arguments(argv: list[str]) -> Arguments:
    """Split ``argv`` (without ``omagy autoresearch``). Raises ContractError with a suggestion."""
    found = _split(argv)
    for name, value in (*found.values.items(), *(("an argument for Codex", word) for word in found.codex_args)):
        _refuse_what_cannot_be_recorded(name, value)
    return found


def _refuse_what_cannot_be_recorded(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        shown = value.encode("utf-8", "replace").decode()
        raise ContractError(
            f"{name}: {shown!r} is no UTF-8, and omagy's records are",
            "say it in UTF-8, in a locale that has it (such as LC_ALL=C.UTF-8)",
        ) from None


def _split(argv: list[str]) -> Arguments:
    flags: set[str] = set()
    values: dict[str, str] = {}
    rest = list(argv)
    while rest:
        word = rest[0]
        if word == "-h":
            word = "--help"
        name, equals, value = word.partition("=")
        if word in FLAGS:
            flags.add(word)
            del rest[0]
        elif name in values:
            raise ContractError(f"{name} is given twice", "say it once")
        elif name in VALUES:
            values[name] = value if equals else _next_value(name, rest)
            del rest[: 1 if equals else 2]
        elif "--resume" in values:
            return Arguments(frozenset(flags), values, None, _for_codex(rest), tells_codex_args=True)
        elif word == "--":
            raise ContractError("a mission folder is expected before --", "omagy autoresearch <mission-dir> -- …")
        elif word.startswith("-"):
            raise _unknown(word)
        else:
            return Arguments(frozenset(flags), values, word, _for_codex(rest[1:]))
    return Arguments(frozenset(flags), values)


def _next_value(name: str, rest: list[str]) -> str:
    if len(rest) < 2 or rest[1].partition("=")[0] in _ALL:
        raise ContractError(f"{name} needs a value", f"for example {name} {_EXAMPLES[name]}")
    return rest[1]


_EXAMPLES = {
    "--topic": "'make the parser faster'",
    "--evaluator": "'sh bench/score.sh'",
    "--keep-policy": "score_improvement",
    "--slug": "faster-parser",
    "--resume": "<run-id> (omagy autoresearch list shows them)",
    "--agent": "codex",
    "--codex-sandbox": "workspace",
    "--max-iterations": "20",
    "--max-wall-time": "8h",
    "--target-score": "0.95",
    "--max-consecutive-errors": "3",
}


def _for_codex(words: list[str]) -> tuple[str, ...]:
    if words[:1] == ["--"]:
        return tuple(words[1:])
    for word in words:
        if word == "--":
            break
        name = word.partition("=")[0]
        if name in _CODEX_HAS_TOO:
            continue
        if name in _ALL:
            raise ContractError(
                f"{name} is an option of omagy's, but stands where everything goes to Codex",
                f"put it before the mission folder; if Codex is meant: -- {word}",
            )
        near = _near(name) if name.startswith("--") else None
        if near is not None:
            raise ContractError(
                f"unknown option {name}, did you mean {near}?",
                f"omagy's options stand before the mission folder; if Codex is meant: -- {word}",
            )
    return tuple(words)


def _unknown(word: str) -> ContractError:
    return ContractError(
        f"unknown option {word}{nearest(word.partition('=')[0], _ALL)}",
        "options for Codex stand after the mission folder; omagy's own: omagy autoresearch --help",
    )


def _near(name: str) -> str | None:
    import difflib

    near = difflib.get_close_matches(name, _ALL, n=1, cutoff=0.8)
    return near[0] if near else None


def refuse_idle_options(arguments: Arguments) -> None:
    """Raises ContractError for options of a start that would change nothing, or that exclude each other."""
    if arguments.has("--detach") and arguments.has("--foreground"):
        raise ContractError("--detach and --foreground exclude each other", "leave one of them out")
    if arguments.has("--json"):
        raise ContractError(
            "--json means nothing to a start: its answer is how the run ended",
            "as JSON: omagy autoresearch status --json\nif Codex is meant, put it last",
        )
    if arguments.has("--save-leftovers") and arguments.mission is not None:
        raise ContractError(
            "--save-leftovers means nothing to a new run: its lane is new, too",
            "go on with a run: omagy autoresearch --save-leftovers --resume <run-id>",
        )


def refuse_seeds_beside_a_mission(arguments: Arguments) -> None:
    """Raises ContractError when what the interview is told stands beside a mission that is there already."""
    given = [name for name in (*SEEDS, "--infer") if name in arguments.values or arguments.has(name)]
    other = "--resume" if "--resume" in arguments.values else arguments.mission
    if given and other is not None:
        raise ContractError(
            f"{given[0]} belongs to the interview that makes a mission, and {other} says that there is one",
            f"leave one of them out: {given[0]} or {other}",
        )
