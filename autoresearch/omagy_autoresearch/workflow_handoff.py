"""The terminal handoff of a workflow that is known by its record alone: a mode's state, an older tool's manifest."""

import shlex
from collections.abc import Mapping

from omagy_autoresearch.handoff import Handoff, compose, quoted
from omagy_autoresearch.lifecycle import Outcome, Reading, normalise
from omagy_autoresearch.workflow import Mode, clear_command

_EVIDENCE = ("evidence", "verification", "verification_evidence", "completion_note", "error", "blocker")
_ARTIFACTS = (
    "artifacts",
    "artifact_paths",
    "changed_files",
    "spec_path",
    "plan_path",
    "branch_name",
    "worktree_path",
)
_SHOWN = 8
_UNKNOWN = "its record says that it is over, and not how"


def workflow_handoff(
    mode: str, record: Mapping[str, object], *, state_path: str = "", session_id: str | None = None
) -> Handoff | None:
    """The handoff of the workflow ``mode`` whose state is ``record``; None for one that has not ended.

    ``state_path`` is where the record lies, ``session_id`` whose scope that is. One that is over without saying how
    is told as ``blocked``: a person has to look before anything goes on from it.
    """
    reading = normalise(record)
    if not reading.ended:
        return None
    outcome = reading.outcome or Outcome.BLOCKED
    run_id = record.get("run_id")
    return compose(
        outcome,
        "" if reading.outcome else _UNKNOWN,
        evidence=_evidence(record, reading),
        artifacts=_artifacts(record, reading, state_path),
        handoff=_next(mode, record, reading, session_id),
        run_id=run_id if isinstance(run_id, str) and mode == "autoresearch" else "",
        workflow=mode,
    )


def _evidence(record: Mapping[str, object], reading: Reading) -> tuple[str, ...]:
    lines = [f"reason: {quoted(reading.reason)}"] if reading.reason else []
    lines += [f"not understood: {quoted(reading.problem)}"] if reading.problem else []
    if reading.question is not None:
        asked = f": {quoted(reading.question.text)}" if reading.question.text else ""
        lines.append(f"question {quoted(reading.question.id)}{asked}")
    lines += [f"{name.replace('_', ' ')}: {quoted(text)}" for name in _EVIDENCE for text in _texts(record.get(name))]
    iteration, most = record.get("iteration"), record.get("max_iterations")
    if isinstance(iteration, int) and not isinstance(iteration, bool):
        of = f" of {most}" if isinstance(most, int) and not isinstance(most, bool) else ""
        lines.append(f"iteration {iteration}{of}")
    return tuple(lines) or ("the record holds none",)


def _artifacts(record: Mapping[str, object], reading: Reading, state_path: str) -> tuple[str, ...]:
    lines = [f"{name.replace('_', ' ')}: {quoted(text)}" for name in _ARTIFACTS for text in _texts(record.get(name))]
    if reading.question is not None:
        lines.append(f"question {quoted(reading.question.id)}")
    if state_path:
        lines.append(f"state {state_path}")
    return tuple(lines) or ("the record names none",)


def _texts(value: object) -> list[str]:
    found = value if isinstance(value, list | tuple) else [value]
    return [text for text in found if isinstance(text, str) and text.strip()][:_SHOWN]


def _next(mode: str, record: Mapping[str, object], reading: Reading, session_id: str | None) -> tuple[str, ...]:
    again = _again(mode, record, reading)
    clear = f"you: clear its state with `{clear_command(mode, session_id)}`"
    match reading.outcome:
        case Outcome.FINISHED if record.get("handoff_to") in list(Mode):
            return (f"{record['handoff_to']}: it has taken over, and goes on with what the artifacts name",)
        case Outcome.FINISHED:
            return ("you: check the evidence, and take over what the artifacts name", clear)
        case Outcome.BLOCKED:
            return ("you: remove the blocker that the evidence names", again)
        case Outcome.FAILED:
            return ("you: mend the failure that the evidence names", again)
        case Outcome.USERINTERLUDE:
            return (again,)
        case Outcome.ASK_USER_QUESTION if reading.question is None:
            return ("you: find the question with `omagy question list`, and answer it", again)
        case Outcome.ASK_USER_QUESTION:
            assert reading.question is not None
            answer = f"omagy question answer {shlex.quote(reading.question.id)} '<your answer>'"
            return (f"you: answer the question with `{answer}`", again)
        case None:
            return ("you: look at its record, and settle how it ended", clear, again)


def _again(mode: str, record: Mapping[str, object], reading: Reading) -> str:
    run_id, mission = record.get("run_id"), record.get("mission_dir")
    if mode != "autoresearch" or not isinstance(run_id, str):
        return f"you: start {mode} again; it does not go on by itself"
    over = reading.outcome is None or reading.outcome.terminal
    if over and isinstance(mission, str):
        return f"you: start a new run with `omagy autoresearch {shlex.quote(mission)}`"
    return f"you: go on with `omagy autoresearch --resume {shlex.quote(run_id)}`"
