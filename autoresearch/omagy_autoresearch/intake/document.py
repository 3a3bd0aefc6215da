"""The draft as two files: one for people and agents, one for programs and for going on (contract section 9)."""

from typing import Any

import msgspec
from msgspec import Struct, field

from omagy_autoresearch.intake.answers import Problem
from omagy_autoresearch.intake.background import Background, Inferred, Seeds
from omagy_autoresearch.intake.inference import believable
from omagy_autoresearch.intake.interview import Answered, Interview, answer, missing
from omagy_autoresearch.intake.questions import QuestionId, question
from omagy_autoresearch.intake.trials import Trial, TrialKind, told
from omagy_autoresearch.mission_draft import MissionDraft, mission_files
from omagy_autoresearch.strict_json import JsonProblem, loads_object

_SCHEMA = 1
_UNNAMED = "draft"


class Saved(Struct, frozen=True, kw_only=True):
    """``result.json``: what the interview goes on from, and what other programs read of it."""

    schema_version: int = _SCHEMA
    slug: str
    status: str = "draft"  # or "launched"
    mission_dir: str = ""
    answers: tuple[Answered, ...] = ()
    seeds: Seeds = Seeds()
    inferred: tuple[Inferred, ...] = ()
    trials: tuple[Trial, ...] = ()
    launch_ready: bool = False
    missing: tuple[str, ...] = ()
    evaluator: dict[str, Any] = field(default_factory=dict)
    updated_at: str = ""


def saved(state: Interview, *, at: str, launched: str = "") -> Saved:
    """``state`` as it is kept; ``launched`` is the mission folder once it was launched."""
    draft = state.draft
    return Saved(
        slug=state.slug,
        status="launched" if launched else "draft",
        mission_dir=launched or draft.place,
        answers=state.answered,
        seeds=state.known.seeds,
        inferred=state.inferred,
        trials=state.trials,
        launch_ready=not missing(state),
        missing=missing(state),
        evaluator={
            "command": draft.in_place(draft.command),
            "keep_policy": draft.keep_policy,
            "direction": draft.direction,
            "timeout": draft.timeout,
        },
        updated_at=at,
    )


def encode(record: Saved) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def decode(raw: bytes) -> Saved:
    """The record in ``raw``. Raises ValueError with what is wrong."""
    try:
        record = msgspec.convert(loads_object(raw), Saved)
    except JsonProblem as problem:
        raise ValueError(str(problem)) from None
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    if record.schema_version != _SCHEMA:
        raise ValueError(f"it is of version {record.schema_version}, and this omagy knows {_SCHEMA}")
    return record


def restored(record: Saved, known: Background) -> tuple[Interview, str]:
    """The interview of ``record``, and what of it holds no longer.

    Every answer passes the same gates again: the repository may have changed, and so may the file.
    """
    believed = tuple(one for one in record.inferred if believable(one.proposal.command))
    state = Interview(known=known, inferred=believed, trials=record.trials)
    for one in record.answers:
        asked = question(one.question, state.situation)
        held = answer(state, one.answer)
        if isinstance(held, Problem) or held.answered[-1].question is not one.question:
            reason = held.text if isinstance(held, Problem) else "it is asked in another place now"
            return state, f"{asked.text} {one.answer}: {reason}"
        state = held
    return state, ""


# -- for people and agents


def markdown(state: Interview) -> str:
    """The draft as a document with the headings that the contract names."""
    draft = state.draft
    parts = [f"# Autoresearch draft: {draft.topic or state.slug or _UNNAMED}"]
    sections = (
        ("Mission draft", _fenced(mission_files(draft)["mission.md"], "markdown")),
        ("Evaluator draft", _evaluator(state, draft)),
        ("Keep policy", f"`{draft.keep_policy}`, {draft.direction}"),
        ("Slug", f"`{state.slug or _UNNAMED}`, the mission's folder is `{draft.place}`"),
        ("Seed inputs", _seeds(state)),
        ("Launch readiness", _readiness(state)),
        ("Confirmation bridge", _bridge(state)),
    )
    parts += [f"## {title}\n\n{text.strip()}" for title, text in sections]
    return "\n\n".join(parts) + "\n"


def _fenced(text: str, language: str) -> str:
    """A block that ``text`` cannot end, whatever it holds."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _evaluator(state: Interview, draft: MissionDraft) -> str:
    if not draft.command:
        return "Not chosen yet."
    files = mission_files(draft)
    parts = [_fenced(files["sandbox.md"], "markdown")]
    for one in state.inferred:
        if one.proposal.command == draft.command:
            parts.insert(0, f"**Inferred by Codex** with confidence {one.confidence:.2f}: {one.proposal.why}")
    for kind in TrialKind:
        trial = state.trial(kind)
        if trial is not None:
            parts.append(
                f"Tried ({kind}) on {trial.commit[:12]}:\n\n" + "\n".join(f"- {line}" for line in told(trial))
            )
    return "\n\n".join(parts)


def _seeds(state: Interview) -> str:
    seeds = msgspec.to_builtins(state.known.seeds)
    given = [f"- `--{name.replace('_', '-')}`: {value}" for name, value in seeds.items()]
    answers = [f"- {one.question}: {one.answer}" for one in state.answered]
    return "\n".join([*(given or ["None from the command line."]), "", "Answers so far:", "", *(answers or ["none"])])


def _readiness(state: Interview) -> str:
    problems = missing(state)
    if not problems:
        return "Ready to launch."
    return "Not ready:\n\n" + "\n".join(f"- {problem}" for problem in problems)


def _bridge(state: Interview) -> str:
    again = f"omagy autoresearch --slug {state.slug or '<name>'}"
    return (
        "Nothing is launched without being asked for. The interview ends with one of:\n\n"
        "- `refine further`: change an answer, and try again what it changes\n"
        f"- `launch`: write `{state.draft.place}` and start a run of it\n\n"
        f"Go on with this draft: `{again}`"
    )


def launched(record: Saved) -> bool:
    return record.status == "launched"


def topic_of(record: Saved) -> str:
    """What the draft is about, for a list of drafts."""
    return next((one.answer for one in record.answers if one.question is QuestionId.GOAL), record.slug)
