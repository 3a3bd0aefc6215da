"""The terminal handoff of every workflow (contract section 5): outcome, evidence, artifacts, and who is next.

What omagy says here it says firmly: it reports and names the next owner, it never asks for leave. Words that come
from outside (an agent, a tool, a person, a record) stand in the evidence, in quotes, and nowhere else.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.lines import one_line

SOFTENERS = (
    "if you want",
    "if you wish",
    "if you like",
    "if you'd like",
    "if you would like",
    "if you prefer",
    "would you like",
    "do you want",
    "let me know",
    "feel free",
    "happy to",
    "shall i",
    "should i",
    "shall we",
    "you may want",
    "you might want",
)
"""What an ended workflow never says: each asks for leave instead of naming what comes next."""

_ANY = "|".join(re.escape(phrase).replace("'", "['’]") for phrase in SOFTENERS)
_SOFT = re.compile(rf"\b(?:{_ANY})\b", re.IGNORECASE)
_QUOTE_LIMIT = 400
_STRAIGHT = str.maketrans("“”", '""')

_PLAIN = {
    Outcome.FINISHED: "the workflow is complete",
    Outcome.BLOCKED: "something that it needs is missing; the evidence says what",
    Outcome.FAILED: "it could not be completed; the evidence says why",
    Outcome.USERINTERLUDE: "a person stopped it",
    Outcome.ASK_USER_QUESTION: "a question waits for an answer",
}


class Handoff(Struct, frozen=True):
    """Four parts, each a list of lines without markup; ``outcome`` and ``reason`` are the first.

    ``run_id`` is empty for a workflow that is no run.
    """

    run_id: str
    outcome: Outcome
    reason: str
    evidence: tuple[str, ...]
    artifacts: tuple[str, ...]
    handoff: tuple[str, ...]
    workflow: str = "autoresearch"


def compose(
    outcome: Outcome,
    reason: str,
    *,
    evidence: Iterable[str],
    artifacts: Iterable[str],
    handoff: Iterable[str],
    run_id: str = "",
    workflow: str = "autoresearch",
) -> Handoff:
    """The handoff of these parts. A ``reason`` that is soft, as only words from outside are, becomes evidence."""
    if is_soft(reason) or not reason:
        evidence = (*((f"the reason, as recorded: {quoted(reason)}",) if reason else ()), *evidence)
        reason = _PLAIN[outcome]
    return Handoff(run_id, outcome, one_line(reason), tuple(evidence), tuple(artifacts), tuple(handoff), workflow)


def is_soft(text: str) -> bool:
    """True for text that asks for leave."""
    return _SOFT.search(" ".join(text.split())) is not None


def quoted(text: str) -> str:
    """``text`` from outside as one line of data: it cannot end its own quotes, nor go on for pages."""
    return f"“{one_line(text, _QUOTE_LIMIT).translate(_STRAIGHT)}”"


def handoff_markdown(value: Handoff) -> str:
    """The handoff as ``handoff.md`` holds it and as a terminal shows it."""
    parts = (
        ("Outcome", (f"{value.outcome}: {value.reason}",)),
        ("Evidence", value.evidence),
        ("Artifacts / state", value.artifacts),
        ("Handoff", value.handoff),
    )
    sections = [f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts]
    title = f"Run {value.run_id}" if value.run_id else f"Workflow {value.workflow}"
    return f"# {title}\n\n" + "\n\n".join(sections) + "\n"
