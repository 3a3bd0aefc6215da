"""What a model is asked when it shall propose an evaluator, and what of its answer is believed (section 9)."""

from typing import Any

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.intake.background import Inferred
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.placeholder import placeholder
from omagy_autoresearch.proposal import Confidence, Measure, Proposal
from omagy_autoresearch.strict_json import JsonProblem, loads_object

KEY = "inferred.codex"
_KEYS = ("command", "direction", "why", "confidence")
_LONGEST_COMMAND = 4000
_LONGEST_WHY = 300


def instructions(goal: str) -> str:
    """The task of the session, for a goal in a person's words (which may be empty)."""
    wanted = f"Their goal, in their own words: {goal}" if goal else "They have not said yet what should get better."
    return f"""\
A person wants to improve the repository in the current folder step by step, and needs one command that measures it.
{wanted}

Look at the repository (read only; run nothing that changes it) and propose that command.

- It is run by sh in the root of a fresh checkout, without what git ignores, and without a person.
- It exits with status 0 and prints one JSON object as its last line: {{"pass": true or false, "score": a number}}.
- `pass` says that the result is correct, `score` how good it is. A measurement that cannot be made exits otherwise.
- It takes well below ten minutes, gives the same score for the same commit as nearly as possible, and uses only what
  the repository and this machine have.

Answer with one JSON object and nothing else:
{{"command": "…", "direction": "maximize" or "minimize", "why": "one sentence", "confidence": 0 to 1}}
"""


def read_inferred(text: str) -> Inferred:
    """The proposal in a model's answer. Raises ValueError with what is wrong with it."""
    try:
        data = loads_object(_unfenced(text))
    except JsonProblem as problem:
        raise ValueError(str(problem)) from None
    for key in _KEYS:
        if key not in data:
            raise ValueError(f"{key} is missing")
    unknown = [one_line(key, 40) for key in data if key not in _KEYS]
    if unknown:
        raise ValueError(f"it has a key that was not asked for: {unknown[0]}")
    return Inferred(_proposal(data), _confidence(data["confidence"]))


def _unfenced(text: str) -> str:
    """``text`` without the one code fence that models like to put around JSON."""
    lines = text.strip().splitlines()
    fenced = len(lines) >= 3 and lines[0] in ("```", "```json") and lines[-1] == "```"
    return "\n".join(lines[1:-1]) if fenced else text


def _proposal(data: dict[str, Any]) -> Proposal:
    command, why = _command(_text(data, "command")), one_line(_text(data, "why"), _LONGEST_WHY)
    direction = next((one for one in Direction if one == data["direction"]), None)
    if direction is None:
        raise ValueError("direction is neither maximize nor minimize")
    return Proposal(
        key=KEY,
        measure=Measure.METRIC,
        title="what Codex proposes",
        why=why,
        direction=direction,
        command=command,
        confidence=Confidence.LIKELY,
    )


def believable(command: str) -> bool:
    """Whether ``command`` passes the gates for a model's: a draft on disk may have been edited since."""
    try:
        _command(command)
    except ValueError:
        return False
    return True


def _command(command: str) -> str:
    if len(command) > _LONGEST_COMMAND:
        raise ValueError("command is too long")
    if one_line(command) != " ".join(command.split(" ")):
        raise ValueError("command holds line ends or characters that cannot be shown")
    found = placeholder(command)
    if found:
        raise ValueError(f"command is a placeholder: {found}")
    return command


def _text(data: dict[str, Any], key: str) -> str:
    value = data[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} is not a text")
    return value.strip()


def _confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("confidence is not a number from 0 to 1")
    return float(value)
