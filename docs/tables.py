"""Writes the tables of the documents from the code's own data: ``python docs/tables.py [--check]``.

A table stands between two markers, ``<!-- table: NAME -->`` and ``<!-- end: NAME -->``; what is between them belongs
to this program. To add a table, add a function to ``TABLES`` and its markers to a document.
"""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.errors import ExitStatus
from omagy_autoresearch.lifecycle import BLOCKED_ON_USER, LEGACY, Outcome, Source
from omagy_autoresearch.observation import KEYS
from omagy_autoresearch.stop_conditions import PRECEDENCE, RULES, TERMS, Effect
from omagy_autoresearch.workflow import Denied, Mode, transition

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)

_MEANING = {
    Outcome.FINISHED: ("The work is complete.", "no: it is for good", "completion evidence, and what came of it"),
    Outcome.BLOCKED: (
        "Something that is no person's answer is missing.",
        "once the blocker is gone",
        "the blocker, why it matters, what removes it",
    ),
    Outcome.FAILED: (
        "The work, or proving it, failed.",
        "no: it is for good; what failed is mended, then it starts anew",
        "the failure, its consequence, the way back",
    ),
    Outcome.USERINTERLUDE: (
        "A person interrupted or stopped it.",
        "when a person says so",
        "that the stop was a person's, not the model's",
    ),
    Outcome.ASK_USER_QUESTION: (
        "A question has to be answered before it is safe to go on.",
        "once it is answered",
        "one concrete question, with its recorded id",
    ),
}
_STATUS = {
    ExitStatus.OK: "or the command did its work",
    ExitStatus.FAILED: "or omagy itself could not do what was asked",
    ExitStatus.USAGE: "wrong usage, a wrong mission, or a state that does not allow it; nothing was started",
    ExitStatus.BLOCKED: "",
    ExitStatus.QUESTION: "",
    ExitStatus.INTERLUDE: "",
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; a ``|`` in a cell stays in it."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def outcomes() -> str:
    head = ("outcome", "means", "goes on", "the handoff tells", "exit status")
    return table(head, ((f"`{one}`", *_MEANING[one], str(int(one.exit_status))) for one in Outcome))


def exit_statuses() -> str:
    by_status = {one.exit_status: f"`{one}`" for one in Outcome}
    return table(
        ("exit status", "means"),
        ((str(int(one)), ", ".join(filter(None, (by_status.get(one, ""), _STATUS[one])))) for one in ExitStatus),
    )


def legacy_words() -> str:
    rows = [(f"`{word}`", f"`{outcome}`") for word, outcome in LEGACY.items()]
    asked = f"`{Outcome.ASK_USER_QUESTION}` when a record proves that a question was asked, else `{Outcome.BLOCKED}`"
    return table(("word in an older record", "read as"), [*rows, (f"`{BLOCKED_ON_USER}`", asked)])


def lifecycle_sources() -> str:
    said = {
        Source.LIFECYCLE_OUTCOME: "a canonical or legacy word",
        Source.RUN_OUTCOME: "the same; `continue` and `progress` say that it has not ended",
        Source.CURRENT_PHASE: "the same; any other name of a phase says nothing about an end",
        Source.QUESTION: f"a question that is open: `{Outcome.ASK_USER_QUESTION}`",
        Source.CONTEXT: "`status`, or an `error` of something that is over: `failed`",
    }
    return table(
        ("", "source", "what it may say"), ((str(n), f"`{s}`", t) for n, (s, t) in enumerate(said.items(), 1))
    )


def _rules(effect: Effect) -> str:
    return table(
        ("rule", "condition", "strategy", "what happens", "watch"),
        (
            (
                f"`{rule.id}`",
                rule.condition,
                f"`{rule.strategy}`" if rule.strategy else "all",
                rule.behaviour,
                format_duration(rule.watch_s) if rule.watch_s else "–",
            )
            for rule in RULES
            if rule.effect is effect
        ),
    )


def stop_terms() -> str:
    return table(("term", "meaning"), ((f"`{term.word}`", term.meaning) for term in TERMS))


def stop_precedence() -> str:
    return "".join(f"{place}. `{rule_id}`\n" for place, rule_id in enumerate(PRECEDENCE, 1))


def observation_keys() -> str:
    return table(("key", "says"), ((f"`{key}`", meaning) for key, meaning in KEYS.items()))


def mode_transitions() -> str:
    head = ("active", *(f"`{target}`" for target in Mode))
    return table(head, ((f"`{source}`", *(_transition(source, target) for target in Mode)) for source in Mode))


def _transition(source: Mode, target: Mode) -> str:
    found = transition(frozenset({source}), target)
    if source is target:
        return "update"
    if isinstance(found, Denied):
        return "–"
    return "hands over" if found.completes else "peer"


TABLES: dict[str, Callable[[], str]] = {
    "outcomes": outcomes,
    "exit-statuses": exit_statuses,
    "legacy-words": legacy_words,
    "lifecycle-sources": lifecycle_sources,
    "stop-rules": lambda: _rules(Effect.STOP),
    "go-on-rules": lambda: _rules(Effect.GO_ON),
    "stop-terms": stop_terms,
    "stop-precedence": stop_precedence,
    "observation-keys": observation_keys,
    "mode-transitions": mode_transitions,
}


def written(text: str) -> str:
    """``text`` of a document with every table in it as the code has it now. Raises KeyError for an unknown table."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[3]}", text)


def main(argv: list[str]) -> int:
    stale = [
        path for path in DOCUMENTS if path.read_text(encoding="utf-8") != written(path.read_text(encoding="utf-8"))
    ]
    for path in stale:
        name = path.relative_to(ROOT)
        if "--check" in argv:
            print(f"{name}: a table is not as the code has it; bin/dev fix writes it")
        else:
            path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
            print(f"{name}: tables written")
    return 1 if stale and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
