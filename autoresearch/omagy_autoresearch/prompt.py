"""The instructions of one session (contract section 4, step 1).

What comes from people, evaluators or earlier sessions stands in quoted blocks that are capped and say that they
are data, so that nothing in them reads as an instruction of ours.
"""

from msgspec import Struct

from omagy_autoresearch.decision import Decision, Direction, KeepPolicy, show
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.run import RunState

_RECENT = 10
_MISSION_LIMIT = 24_000
_LINE_LIMIT = 300
_OUTPUT_LIMIT = 1500
_LESSONS_LIMIT = 16_000
_PATHS = 40
_REFINE_AFTER = 3
_LEAVE_AFTER = 5


class Asked(Struct, frozen=True):
    """What an earlier session asked, and what the person answered; None when there will be no answer."""

    question: str
    answer: str | None


def instructions(
    state: RunState,
    base: str,
    candidate_file: str,
    answers: tuple[Asked, ...] = (),
    lessons: str = "",
    *,
    ask: str = "",
) -> str:
    """The text that the session of ``state``'s iteration gets, ``base`` being the last kept commit.

    ``ask`` is the command by which the session asks the person something.
    """
    sections = [
        _task(state, base),
        _block("Mission (written by the person who started this run)", state.plan.mission_text, _MISSION_LIMIT),
        _block("Evaluator (sandbox.md)", state.plan.sandbox_text, _MISSION_LIMIT),
        _standing(state, base),
        _surface(state),
        _history(state),
        _advice(state),
        _block("What earlier runs of this mission learnt", lessons, _LESSONS_LIMIT) if lessons.strip() else "",
        _last_output(state),
        _answers(answers),
        _how_to_ask(ask) if ask else "",
        _artifact_rules(base, candidate_file),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _task(state: RunState, base: str) -> str:
    plan = state.plan
    return f"""# Iteration {state.iteration} of run {plan.run_id}

You are one session of an autonomous experiment loop. Make exactly one experiment, then end:

1. Read the mission below and what earlier iterations found.
2. Choose one change that is likely to improve the evaluator's verdict, and make it in this worktree.
3. Commit it on the branch that is checked out ({plan.branch_name}), on top of {base}.
4. Write the candidate file described at the end, and stop.

The supervisor then runs the evaluator on your commit and keeps or discards it. Nobody is there to answer you
during this session. Do not wait for input, do not start the next experiment, do not push, and do not touch
branches other than the one checked out. Run the evaluator yourself if that helps you; its verdict in this
session decides nothing."""


def _standing(state: RunState, base: str) -> str:
    settings, standing = state.plan.contract.evaluator, state.standing
    goal = {
        KeepPolicy.PASS_ONLY: "a candidate is kept when the evaluator says pass=true",
        KeepPolicy.SCORE_IMPROVEMENT: "a candidate is kept when the evaluator says pass=true and its score is "
        + ("higher" if settings.direction is Direction.MAXIMIZE else "lower")
        + " than the last kept score",
    }[settings.keep_policy]
    lines = [
        "# Where the run stands",
        "",
        f"- keep policy: {settings.keep_policy}, {settings.direction}: {goal}",
        f"- evaluator command: `{_line(settings.command)}` (time limit {format_duration(settings.timeout_s)})",
        f"- baseline commit: {state.baseline_commit}",
        f"- last kept commit: {base}",
        f"- last kept score: {show(standing.score) if standing else 'not known'}",
        f"- previous outcome: {_outcome(state.last_entry)}",
        f"- this session ends after {format_duration(state.plan.contract.session.timeout_s)} at the latest",
    ]
    return "\n".join(lines)


def _outcome(entry: Entry | None) -> str:
    return "none yet" if entry is None else f"{entry.decision}: {_line(entry.decision_reason)}"


def _surface(state: RunState) -> str:
    """What a candidate may change; one that changes anything else is discarded before it is measured."""
    surface = state.surface
    closed = sorted({*surface.closed, *surface.protected})
    lines = ["# What you may change", ""]
    if surface.editable:
        lines.append("Only these paths: " + ", ".join(f"`{_line(path)}`" for path in surface.editable) + ".")
    lines.append(
        "Never these, in any way (a candidate that does is discarded unmeasured): "
        + ", ".join(f"`{_line(path)}`" for path in closed[:_PATHS])
        + (f" and {len(closed) - _PATHS} more" if len(closed) > _PATHS else "")
        + "."
    )
    return "\n".join(lines)


def _advice(state: RunState) -> str:
    """A run that is stuck is told so: first to refine, then to leave the path it is on."""
    stuck = state.streaks.without_keep
    if stuck < _REFINE_AFTER:
        return ""
    if stuck < _LEAVE_AFTER:
        return (
            f"# No improvement for {stuck} iterations\n\n"
            "Refine instead of adding: take the most promising of the attempts above, find out by measuring why it"
            " fell short, and change that one thing."
        )
    return (
        f"# No improvement for {stuck} iterations\n\n"
        "The approach of the attempts above is exhausted. Do not vary them again. Look at the problem from the"
        " start: measure where the evaluator's score really comes from, name two approaches that none of the"
        " attempts above or earlier runs tried, and take the more promising one."
    )


def _history(state: RunState) -> str:
    entries = [entry for entry in state.recent if entry.decision is not Decision.BASELINE][-_RECENT:]
    if not entries:
        return ""
    rows = "\n".join(_row(entry) for entry in entries)
    title = "The last iteration" if len(entries) == 1 else f"The last {len(entries)} iterations, oldest first"
    return _block(title, rows, _RECENT * 4 * _LINE_LIMIT)


def _row(entry: Entry) -> str:
    score = show(entry.evaluator.score) if entry.evaluator else "–"
    told = _line(entry.description) or "(no description)"
    row = f"{entry.iteration:>4} {entry.decision:<11} score {score}: {told} | {_line(entry.decision_reason)}"
    notes = _line("; ".join(entry.notes))
    return f"{row}\n     noted: {notes}" if notes else row


def _last_output(state: RunState) -> str:
    """The evaluator's own words on the last candidate, when it was not kept."""
    entry = state.last_entry
    if entry is None or entry.decision is Decision.KEEP or entry.evaluator is None:
        return ""
    evaluation = entry.evaluator
    text = "\n".join(part for part in (evaluation.stdout_tail, evaluation.stderr_tail) if part)[-_OUTPUT_LIMIT:]
    return _block("End of the evaluator's output on the previous candidate", text, _OUTPUT_LIMIT) if text else ""


def _answers(answers: tuple[Asked, ...]) -> str:
    if not answers:
        return ""
    text = "\n".join(f"Question: {_line(item.question)}\n{_answer(item)}" for item in answers)
    return _block("Answers of the person to questions of earlier sessions", text, _MISSION_LIMIT)


def _answer(item: Asked) -> str:
    if item.answer is None:
        return "Withdrawn: the person will not answer it. Decide yourself, and do not ask it again."
    return f"Answer: {item.answer}"


def _how_to_ask(command: str) -> str:
    return f"""# If only the person can decide

Ask for what you cannot find out or decide yourself, and what the experiments of this run depend on (an access, a
choice between two goals). It ends the run until the person has answered, so nothing else is worth it. Ask with

    {command} question --input '{{"question": "<what>", "options": ["<one>", "<other>"]}}' --json

("allow_other": true takes free words too; without options any answer is taken). Its exit status 4 is no failure: the
question is kept, and still open. Then write the candidate file, with status candidate for a commit that is worth
measuring anyway, else abort, and end. A later session of this run gets the answer."""


def _artifact_rules(base: str, candidate_file: str) -> str:
    return f"""# The candidate file

Before you end, write this JSON object to exactly this path:

    {candidate_file}

{{
  "status": "candidate",
  "candidate_commit": "<full id of the commit you made, or null>",
  "base_commit": "{base}",
  "description": "<one line: what you changed and why it should help>",
  "notes": ["<what you learnt that the next session should know>"],
  "created_at": "<ISO time, such as 2026-01-31T12:00:00Z>"
}}

- status is one of: candidate (you committed a change), noop (nothing worth trying; candidate_commit null),
  abort (the run should stop, description says why; candidate_commit null), interrupted (you could not finish;
  candidate_commit null).
- candidate_commit must be HEAD of this worktree when you end, and must descend from {base}.
- Several commits on top of the base are one candidate. What you do not commit is not part of it."""


def _block(title: str, text: str, limit: int) -> str:
    """``text`` as quoted data. No line of it can leave its block: every one is prefixed."""
    body = text.strip()
    if len(body) > limit:
        body = body[:limit] + f"\n[… {len(body) - limit} more characters]"
    quoted = "\n".join(f"> {line}" for line in body.splitlines()) or "> (empty)"
    return f"# {title}\n\n{quoted}"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE_LIMIT else line[: _LINE_LIMIT - 1] + "…"
