"""The terminal handoff of a run (contract section 5): outcome, evidence, artifacts, and who is next."""

import shlex

from msgspec import Struct

from omagy_autoresearch.confirm import held_line
from omagy_autoresearch.decision import Decision, show
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.plan import AgentKind
from omagy_autoresearch.run import RunState
from omagy_autoresearch.spending import cost


class Handoff(Struct, frozen=True):
    """Four parts, each a list of lines without markup."""

    run_id: str
    outcome: Outcome
    reason: str
    evidence: tuple[str, ...]
    artifacts: tuple[str, ...]
    handoff: tuple[str, ...]


def handoff(
    state: RunState, run_folder: str, best: tuple[Entry, ...], command: str = "omagy", question: str = ""
) -> Handoff:
    """The handoff of an ended run. ``best`` are its kept entries, newest last; ``command`` starts omagy.

    ``question`` are the words of the question that the last session asked.
    """
    outcome, reason = state.outcome, state.stop_reason
    assert outcome is not None, "the run has ended"
    assert reason is not None
    return Handoff(
        run_id=state.plan.run_id,
        outcome=outcome,
        reason=reason,
        evidence=_evidence(state, best),
        artifacts=_artifacts(state, run_folder),
        handoff=_next(state, outcome, command, question),
    )


def _evidence(state: RunState, kept: tuple[Entry, ...]) -> tuple[str, ...]:
    lines = [_counts(state), _gain(state)]
    checked = held_line(state)
    if checked:
        lines.append(checked)
    lines += [_kept_line(entry) for entry in kept[-5:]]
    last = state.last_entry
    if last is not None and last.decision not in (Decision.KEEP, Decision.BASELINE):
        lines.append(f"last iteration {last.iteration}: {last.decision}, {last.decision_reason}")
    used = state.usage
    if used.input_tokens or used.output_tokens:
        lines.append(
            f"tokens: {used.input_tokens:,} in ({used.cached_input_tokens:,} cached), {used.output_tokens:,} out"
        )
    spent = cost(used, state.budget.prices)
    if spent is not None:
        lines.append(f"cost: {spent:.2f} by budget.prices")
    if state.plan.agent.kind is AgentKind.REHEARSAL:
        lines.append("agent: the offline rehearsal agent made these candidates; no model took part")
    return tuple(lines)


def _counts(state: RunState) -> str:
    tally = state.tally
    named = [f"{getattr(tally, name)} {name}" for name in tally.__struct_fields__ if getattr(tally, name)]
    done = sum(getattr(tally, name) for name in tally.__struct_fields__)
    detail = f" ({', '.join(named)})" if named else ""
    noun = "iteration" if done == 1 else "iterations"
    return f"{done} {noun} in {format_duration(state.elapsed_s)}{detail}"


def _gain(state: RunState) -> str:
    first, last = state.baseline_standing, state.standing
    if first is None or last is None:
        return "the baseline was not measured"
    if first.score is None or last.score is None or first == last:
        return f"score: baseline {show(first.score)}, kept {show(last.score)}"
    change = f" ({(last.score - first.score) / abs(first.score):+.1%})" if first.score else ""
    return f"score: {show(first.score)} → {show(last.score)}{change}, {state.plan.contract.evaluator.direction}"


def _kept_line(entry: Entry) -> str:
    score = f" score {show(entry.evaluator.score)}" if entry.evaluator and entry.evaluator.score is not None else ""
    return f"kept in iteration {entry.iteration}: {entry.kept_commit[:12]}{score} {entry.description}".rstrip()


def _artifacts(state: RunState, run_folder: str) -> tuple[str, ...]:
    plan = state.plan
    return (
        f"branch {plan.branch_name} at {(state.tip or plan.start_commit)[:12]}",
        f"worktree {plan.worktree_path}",
        f"records {run_folder} (manifest.json, iteration-ledger.json, iterations/)",
        f"every candidate: git for-each-ref refs/omagy/{plan.run_id}",
    )


def _next(state: RunState, outcome: Outcome, command: str, asked: str) -> tuple[str, ...]:
    plan = state.plan
    resume = f"{command} autoresearch --resume {plan.run_id}"
    merge = f"git merge --no-ff {plan.branch_name}"
    review = f"git log --stat {(state.baseline_commit or plan.start_commit)[:12]}..{plan.branch_name}"
    kept = state.tally.keep > 0
    match outcome:
        case Outcome.FINISHED if kept:
            return (f"you: review with `{review}`", f"you: take it over with `{merge}`")
        case Outcome.FINISHED:
            return ("you: nothing was kept, so there is nothing to take over; read the reasons in the ledger",)
        case Outcome.FAILED:
            again = f"{command} autoresearch {shlex.quote(plan.mission_dir)}"
            lines = ("you: read the last iterations' session.log in the records, mend the cause",)
            return (*lines, *((f"you: kept work: `{review}`",) if kept else ()), f"you: start anew with `{again}`")
        case Outcome.BLOCKED:
            return (f"you: remove the blocker: {_remedy(state)}", f"you: go on with `{resume}`")
        case Outcome.USERINTERLUDE:
            return (f"you: go on with `{resume}`",)
        case Outcome.ASK_USER_QUESTION:
            question = state.last_entry.question_id if state.last_entry else None
            answer = f"{command} question answer {question} '<your answer>'"
            words = f": {' '.join(asked.split())}" if asked else ""
            return (f"you: answer question {question}{words}", f"you: with `{answer}`, then go on with `{resume}`")


def _remedy(state: RunState) -> str:
    plan, last = state.plan, state.last_entry
    if state.blocker and "logged in" in state.blocker:
        return "log in with `codex login`"
    if state.blocker:
        return state.blocker
    if last is not None and last.leaves_lane_alone and not state.settled:
        return f"look at the lane with `git -C {shlex.quote(plan.worktree_path)} status`, and leave it clean"
    fault = last.evaluator.error if last is not None and last.evaluator is not None else ""
    if fault and fault in (state.stop_reason or ""):
        return (
            f"what `{plan.contract.evaluator.command}` needs from outside the repository (a tool, a service, a file)."
            f" A fault in the repository itself takes a commit and a new run: omagy autoresearch {plan.mission_dir}"
        )
    return state.stop_reason or ""


def handoff_markdown(value: Handoff) -> str:
    """The handoff as ``handoff.md`` holds it and as a terminal shows it."""
    parts = (
        ("Outcome", (f"{value.outcome}: {value.reason}",)),
        ("Evidence", value.evidence),
        ("Artifacts / state", value.artifacts),
        ("Handoff", value.handoff),
    )
    sections = [f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts]
    return f"# Run {value.run_id}\n\n" + "\n\n".join(sections) + "\n"
