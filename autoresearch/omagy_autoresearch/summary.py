"""The terminal handoff of a run (contract section 5): outcome, evidence, artifacts, and who is next."""

import shlex

from omagy_autoresearch.confirm import held_line
from omagy_autoresearch.counted import counted
from omagy_autoresearch.decision import Decision, show
from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.handoff import Handoff, compose, quoted
from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.names import iteration_folder
from omagy_autoresearch.plan import AgentKind
from omagy_autoresearch.run import Blocker, BlockerKind, RunState
from omagy_autoresearch.spending import cost, show_money
from omagy_autoresearch.stop_conditions import merge_ruling


def handoff(
    state: RunState, run_folder: str, best: tuple[Entry, ...], command: str = "omagy", question: str = ""
) -> Handoff:
    """The handoff of an ended run. ``best`` are its kept entries, newest last; ``command`` starts omagy.

    ``question`` are the words of the question that the last session asked.
    """
    outcome, reason = state.outcome, state.stop_reason
    assert outcome is not None, "the run has ended"
    assert reason is not None
    return compose(
        outcome,
        reason.removesuffix(f" ({state.remedy})"),  # which stands in the handoff
        evidence=_evidence(state, best, question),
        artifacts=_artifacts(state, run_folder),
        handoff=_next(state, run_folder, outcome, command),
        run_id=state.plan.run_id,
    )


def _evidence(state: RunState, kept: tuple[Entry, ...], asked: str) -> tuple[str, ...]:
    lines = [_counts(state), _gain(state)]
    if asked and state.last_entry is not None:
        lines.insert(0, f"question {state.last_entry.question_id}: {quoted(asked)}")
    checked = held_line(state)
    if checked:
        lines.append(checked)
    lines += [_kept_line(entry) for entry in kept[-5:]]
    last = state.last_entry
    if last is not None and last.decision not in (Decision.KEEP, Decision.BASELINE):
        lines.append(f"last iteration {last.iteration}: {last.decision}, {quoted(last.decision_reason)}")
    used = state.usage
    if used.input_tokens or used.output_tokens:
        lines.append(
            f"tokens: {used.input_tokens:,} in ({used.cached_input_tokens:,} cached), {used.output_tokens:,} out"
        )
    spent = cost(used, state.budget.prices)
    if spent is not None:
        lines.append(f"cost: {show_money(spent)} by budget.prices")
    if state.plan.agent.kind is AgentKind.REHEARSAL:
        lines.append("agent: the offline rehearsal agent made these candidates; no model took part")
    return tuple(lines)


def _counts(state: RunState) -> str:
    tally = state.tally
    named = [f"{getattr(tally, name)} {name}" for name in tally.__struct_fields__ if getattr(tally, name)]
    done = sum(getattr(tally, name) for name in tally.__struct_fields__)
    detail = f" ({', '.join(named)})" if named else ""
    return f"{counted(done, 'iteration')} in {format_duration(state.elapsed_s)}{detail}"


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
    told = f" {quoted(entry.description)}" if entry.description else ""
    return f"kept in iteration {entry.iteration}: {entry.kept_commit[:12]}{score}{told}"


def _artifacts(state: RunState, run_folder: str) -> tuple[str, ...]:
    plan = state.plan
    return (
        f"branch {plan.branch_name} at {(state.tip or plan.start_commit)[:12]}",
        f"worktree {plan.worktree_path}",
        f"records {run_folder} (manifest.json, iteration-ledger.json, iterations/)",
        f"every candidate: `git for-each-ref refs/omagy/{plan.run_id}`",
    )


def _next(state: RunState, run_folder: str, outcome: Outcome, command: str) -> tuple[str, ...]:
    """Who does what now, in omagy's own words: what an agent or a tool said stands in the evidence."""
    plan = state.plan
    resume = f"{command} autoresearch --resume {plan.run_id}"
    merge = f"git merge --no-ff {plan.branch_name}"
    review = f"git log --stat {(state.baseline_commit or plan.start_commit)[:12]}..{plan.branch_name}"
    kept = state.tally.keep > 0
    go_on = (*((f"you: see what was kept so far with `{review}`",) if kept else ()), f"you: go on with `{resume}`")
    match outcome:
        case Outcome.FINISHED if kept:
            gate = merge_ruling(approved=False, merge_authorized=False, human_merge_only=False).rule
            return (
                f"you: review with `{review}`",
                f"you: take it over with `{merge}`; omagy leaves that to you ({gate})",
            )
        case Outcome.FINISHED:
            return ("you: nothing was kept, so there is nothing to take over; read the reasons in the ledger",)
        case Outcome.FAILED:
            again = f"{command} autoresearch {shlex.quote(plan.mission_dir)}"
            work = (f"you: kept work: `{review}`",) if kept else ()
            return (f"you: {_cure(state, run_folder)}", *work, f"you: start anew with `{again}`")
        case Outcome.BLOCKED:
            return (f"you: remove the blocker: {_remedy(state, command)}", *go_on)
        case Outcome.USERINTERLUDE:
            return go_on
        case Outcome.ASK_USER_QUESTION:
            question = state.last_entry.question_id if state.last_entry else None
            answer = f"{command} question answer {question} '<your answer>'"
            return (f"you: answer question {question} with `{answer}`", *go_on)


def _cure(state: RunState, run_folder: str) -> str:
    """What a run that failed calls for."""
    if state.remedy:
        return f"mend the cause: {state.remedy}"
    limit, last = state.budget.max_consecutive_errors, state.last_entry
    if limit is not None and state.streaks.errors >= limit and last is not None:
        logs = f"{run_folder}/{iteration_folder(last.iteration)}"
        return f"read session.log in {logs} and the folders before it, and mend the cause"
    return "mend the cause that the outcome names"


def _remedy(state: RunState, command: str) -> str:
    plan, last = state.plan, state.last_entry
    if state.remedy:
        return state.remedy
    if state.blocker is not None:
        return _removal(state.blocker, f"{command} autoresearch --resume {plan.run_id}")
    if last is not None and last.leaves_lane_alone and not state.settled:
        return f"look at the lane with `git -C {shlex.quote(plan.worktree_path)} status`, and leave it clean"
    fault = last.evaluator.error if last is not None and last.evaluator is not None else ""
    if fault and fault in (state.stop_reason or ""):
        return (
            f"what `{plan.contract.evaluator.command}` needs from outside the repository (a tool, a service, a file)."
            " A fault in the repository itself takes a commit and a new run:"
            f" {command} autoresearch {shlex.quote(plan.mission_dir)}"
        )
    return "what the outcome names"


def _removal(blocker: Blocker, resume: str) -> str:
    match blocker.kind:
        case BlockerKind.NOT_LOGGED_IN:
            return "log in with `codex login`"
        case BlockerKind.MISCONFIGURED:
            return (
                "the agent refuses its configuration or its arguments. Mend the configuration, or go on with other"
                f" arguments: `{resume} -- <codex-args>` (nothing behind the -- leaves them all out)"
            )
        case BlockerKind.USAGE_LIMIT:
            return "wait for the reset of the usage limit; the outcome, or the agent's account, says when"
        case BlockerKind.UNREACHABLE:
            return "the agent's server cannot be reached; look at the network, then at the server's status page"
        case BlockerKind.OUT_OF_TIME:
            return (
                "the time budget ends before the wait does: go on once the wait is over, or raise it with"
                f" `{resume} --max-wall-time <duration>`"
            )
