"""The terminal handoff: four parts, plain words, and an exact next command."""

import json
import re
from collections.abc import Callable

import msgspec
import pytest

from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.errors import ExitStatus
from omagy_autoresearch.events import LaneReady, RunEnded, StopMode, StopRequested
from omagy_autoresearch.handoff import Handoff, handoff_markdown
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.plan import AgentChoice, AgentKind
from omagy_autoresearch.sessions import EndingKind, Usage
from omagy_autoresearch.summary import handoff
from unit.histories import BASELINE, History, broken, commit, plan, scored

RUN = "faster-20260131t120000z"
FULL = "disk full (free some space, then resume)"
RESUME = f"`omagy autoresearch --resume {RUN}`"
SOFTENERS = re.compile(
    r"if you (want|like|wish)|whenever you|would you|you (may|might|could) |feel free|let me know|perhaps|please",
    re.IGNORECASE,
)


def _stopped() -> History:
    return History().measured().kept().tell(StopRequested(StopMode.NOW, "Ctrl-C")).ended()


def _faults() -> History:
    history = History().measured()
    for _ in range(3):
        history.candidate(broken())
    return history.ended()


ENDS: dict[str, tuple[Callable[[], History], Outcome, list[str]]] = {
    "finished with kept work": (
        lambda: History(plan(Budget(max_iterations=1))).measured().kept().ended(),
        Outcome.FINISHED,
        [
            f"`git log --stat {BASELINE[:12]}..autoresearch/faster/20260131T120000Z`",
            "`git merge --no-ff autoresearch/",
            "omagy leaves that to you (STOP-APPROVAL-001)",
        ],
    ),
    "finished without": (
        lambda: History(plan(Budget(max_iterations=1))).measured().noop().ended(),
        Outcome.FINISHED,
        ["nothing was kept"],
    ),
    "failed": (
        lambda: History(plan(Budget(max_consecutive_errors=1))).measured().wrong().ended(),
        Outcome.FAILED,
        [
            f"session.log in /repo/.omagy/logs/autoresearch/{RUN}/iterations/0001",
            "`omagy autoresearch missions/faster`",
        ],
    ),
    "failed with kept work": (
        lambda: History(plan(Budget(max_consecutive_errors=1))).measured().kept().wrong().ended(),
        Outcome.FAILED,
        ["`git log --stat ", "`omagy autoresearch missions/faster`"],
    ),
    "failed by git before its lane": (
        lambda: History().tell(RunEnded(Outcome.FAILED, "git failed", "`git -C /repo fsck --full`")),
        Outcome.FAILED,
        ["mend the cause: `git -C /repo fsck --full`", "`omagy autoresearch missions/faster`"],
    ),
    "failed before remedies were recorded": (
        lambda: History().measured().tell(RunEnded(Outcome.FAILED, "git failed")),
        Outcome.FAILED,
        ["mend the cause that the outcome names", "`omagy autoresearch missions/faster`"],
    ),
    "not logged in": (
        lambda: History().measured().session(kind=EndingKind.NOT_LOGGED_IN, detail="401").ended(),
        Outcome.BLOCKED,
        ["`codex login`", RESUME],
    ),
    "refused to start": (
        lambda: History().measured().session(kind=EndingKind.MISCONFIGURED, detail="bad flag").ended(),
        Outcome.BLOCKED,
        ["the agent refuses its configuration or its arguments", RESUME],
    ),
    "broken baseline": (
        lambda: History().measured(broken()).ended(),
        Outcome.BLOCKED,
        ["`./measure`", RESUME],
    ),
    "evaluator faults": (_faults, Outcome.BLOCKED, ["`./measure`", RESUME]),
    "aborted": (
        lambda: History().measured().said(CandidateStatus.ABORT).ended(),
        Outcome.BLOCKED,
        ["`git -C /repo.omagy-worktrees/autoresearch-faster-20260131T120000Z status`", RESUME],
    ),
    "interrupted": (
        lambda: History().measured().said(CandidateStatus.INTERRUPTED, dirty_files=("a",)).ended(),
        Outcome.BLOCKED,
        ["`git -C /repo.omagy-worktrees/autoresearch-faster-20260131T120000Z status`", RESUME],
    ),
    "blocked by the disk": (
        lambda: History().measured().tell(RunEnded(Outcome.BLOCKED, FULL, "free some space, then resume")),
        Outcome.BLOCKED,
        ["free some space", RESUME],
    ),
    "blocked by the disk after an interrupted session": (
        lambda: (
            History()
            .measured()
            .said(CandidateStatus.INTERRUPTED)
            .tell(RunEnded(Outcome.BLOCKED, FULL, "free some space, then resume"))
        ),
        Outcome.BLOCKED,
        ["free some space", RESUME],
    ),
    "blocked by the disk after an evaluator's fault": (
        lambda: (
            History()
            .measured()
            .candidate(broken())
            .tell(RunEnded(Outcome.BLOCKED, FULL, "free some space, then resume"))
        ),
        Outcome.BLOCKED,
        ["free some space", RESUME],
    ),
    "blocked by the disk after an abort was settled": (
        lambda: (
            History()
            .measured()
            .said(CandidateStatus.ABORT)
            .ended()
            .resumed()
            .tell(RunEnded(Outcome.BLOCKED, FULL, "free some space, then resume"))
        ),
        Outcome.BLOCKED,
        ["free some space", RESUME],
    ),
    "stopped": (_stopped, Outcome.USERINTERLUDE, [RESUME]),
    "stopped before its baseline": (
        lambda: History().tell(LaneReady(BASELINE), StopRequested(StopMode.NOW, "SIGTERM")).ended(),
        Outcome.USERINTERLUDE,
        [RESUME],
    ),
    "asked": (
        lambda: History().measured().said(CandidateStatus.NOOP, question_id="q1").ended(),
        Outcome.ASK_USER_QUESTION,
        ["`omagy question answer q1 '<your answer>'`", RESUME],
    ),
}


def _handoff(history: History) -> Handoff:
    return handoff(history.state, "/repo/.omagy/logs/autoresearch/" + RUN, ())


@pytest.mark.parametrize("name", ENDS)
def test_every_end_has_its_exact_next_command(name: str) -> None:
    """Whoever reads the handoff knows who is next and can copy what to do, complete with this run's names."""
    make, outcome, commands = ENDS[name]
    found = _handoff(make())
    assert found.outcome is outcome
    assert all(line.startswith("you: ") for line in found.handoff)
    text = "\n".join(found.handoff)
    for command in commands:
        assert command in text
    assert ("--resume" in text) is (not outcome.terminal)


@pytest.mark.parametrize("name", ENDS)
def test_every_end_has_four_parts_without_softeners(name: str) -> None:
    """Outcome, Evidence, Artifacts / state and Handoff, each with something in it, and no invitation."""
    text = handoff_markdown(_handoff(ENDS[name][0]()))
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Outcome", "Evidence", "Artifacts / state", "Handoff"]
    for part in text.split("\n## ")[1:]:
        assert re.search(r"^- \S", part, re.MULTILINE)
    assert not SOFTENERS.search(text)
    assert f"- {ENDS[name][1]}: " in text


def test_the_evidence_tells_what_was_done_and_gained() -> None:
    """Counts, the change of the score, the kept commits, the last disappointment and the tokens are told."""
    history = History(plan(Budget(max_iterations=3))).measured(scored(2.0)).kept()
    history.session(history.left(CandidateStatus.NOOP), usage=Usage(1_000_000, 600_000, 2_000)).decided()
    history.wrong("candidate.json: it is not JSON").ended()
    kept = tuple(entry for entry in history.state.recent if entry.decision == "keep")
    evidence = handoff(history.state, "/r", kept).evidence
    assert evidence[0].startswith("3 iterations in ")
    assert evidence[0].endswith("(1 keep, 1 noop, 1 error)")
    assert evidence[1:] == (
        "score: 2 → 3 (+50.0%), maximize",
        f"kept in iteration 1: {commit(1)[:12]} score 3 “what was done”",
        "last iteration 3: error, “candidate.json: it is not JSON”",
        "tokens: 1,000,000 in (600,000 cached), 2,000 out",
    )


def test_the_artifacts_name_branch_worktree_records_and_refs() -> None:
    """Everything that remains of a run can be found from the handoff."""
    text = "\n".join(_handoff(_stopped()).artifacts)
    for part in (
        commit(1)[:12],
        "autoresearch/faster/20260131T120000Z",
        "/repo.omagy-worktrees/",
        f"refs/omagy/{RUN}",
    ):
        assert part in text


def test_a_rehearsal_says_that_no_model_took_part() -> None:
    """Nobody takes prepared candidates for an agent's work."""
    history = (
        History(plan(Budget(max_iterations=1), agent=AgentChoice(AgentKind.REHEARSAL))).measured().kept().ended()
    )
    assert any("no model took part" in line for line in _handoff(history).evidence)


def test_paths_with_blanks_are_quoted() -> None:
    """A command can be copied even where the mission's folder has a blank in its name."""
    history = History(plan(Budget(max_consecutive_errors=1), mission_dir="my missions/faster")).measured().wrong()
    assert "`omagy autoresearch 'my missions/faster'`" in "\n".join(_handoff(history.ended()).handoff)


def test_the_handoff_reads_back_from_its_json() -> None:
    """handoff.json has the same four parts for programs."""
    found = _handoff(_stopped())
    data = json.loads(msgspec.json.encode(found))
    assert list(data) == ["run_id", "outcome", "reason", "evidence", "artifacts", "handoff", "workflow"]
    assert msgspec.json.decode(msgspec.json.encode(found), type=Handoff) == found


@pytest.mark.parametrize(
    ("outcome", "word", "status", "terminal"),
    [
        (Outcome.FINISHED, "finished", ExitStatus.OK, True),
        (Outcome.FAILED, "failed", ExitStatus.FAILED, True),
        (Outcome.BLOCKED, "blocked", ExitStatus.BLOCKED, False),
        (Outcome.ASK_USER_QUESTION, "askuserQuestion", ExitStatus.QUESTION, False),
        (Outcome.USERINTERLUDE, "userinterlude", ExitStatus.INTERLUDE, False),
    ],
)
def test_outcomes_are_spelt_and_exit_as_the_contract_says(
    outcome: Outcome, word: str, status: ExitStatus, terminal: bool
) -> None:
    """The canonical words, their exit statuses, and which of them are for good."""
    assert (str(outcome), outcome.exit_status, outcome.terminal) == (word, status, terminal)
    assert [int(status) for status in ExitStatus] == [0, 1, 2, 3, 4, 130]
