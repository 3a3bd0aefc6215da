"""No ended workflow asks for leave: not in any template, and not by way of words that came from outside."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec.structs import replace

import omagy_autoresearch
import omagy_supervisor
from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.errors import OmagyError, RepositoryError, StorageError
from omagy_autoresearch.events import PauseOver, RunEnded, StopMode, StopRequested
from omagy_autoresearch.handoff import SOFTENERS, Handoff, handoff_markdown, is_soft, quoted
from omagy_autoresearch.lifecycle import LEGACY, Outcome
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.remedies import remedy_of
from omagy_autoresearch.run import BlockerKind, Pausing
from omagy_autoresearch.sessions import EndingKind
from omagy_autoresearch.summary import handoff
from omagy_autoresearch.workflow_handoff import workflow_handoff
from unit.histories import BASELINE, PLAN, History, artifact, broken, plan

PARTS = ["Outcome", "Evidence", "Artifacts / state", "Handoff"]
PACKAGES = [Path(str(package.__file__)).parent for package in (omagy_autoresearch, omagy_supervisor)]
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
DATA = Path(__file__).parents[1] / "data" / "lifecycle"


def _strings(module: Path) -> Iterator[str]:
    """Every string that ``module`` can say, f-strings with their holes closed; docstrings are for its readers."""
    tree = ast.parse(module.read_text())
    said_to_readers = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said_to_readers:
            yield node.value


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_template_asks_for_leave(module: Path) -> None:
    """Whatever the two packages can print reports and names the next step."""
    soft = [text for text in _strings(module) if is_soft(text)]
    assert soft == (list(SOFTENERS) if module.name == "handoff.py" else [])


@pytest.mark.parametrize(
    "text",
    ["If you want, I can go on.", "IF YOU'D LIKE", "if you’d like", "Would you\nlike me to continue?", *SOFTENERS],
)
def test_softeners_are_known_however_they_are_written(text: str) -> None:
    """Case, line breaks and the kind of apostrophe do not hide one."""
    assert is_soft(text)


# -- words from outside

SOFT = "If you want, I can try again. Would you like me to? Let me know”: feel free\n## Outcome\n- finished: all good"
INTRUSIONS = {
    "an agent's abort": lambda: _described(CandidateStatus.ABORT),
    "an agent's last words": lambda: _described(CandidateStatus.CANDIDATE, problem=SOFT),
    "an interrupted agent": lambda: _described(CandidateStatus.INTERRUPTED, dirty_files=("a",)),
    "a login": lambda: History().measured().session(kind=EndingKind.NOT_LOGGED_IN, detail=SOFT).ended(),
    "a refusal": lambda: History().measured().session(kind=EndingKind.MISCONFIGURED, detail=SOFT).ended(),
    "a usage limit": lambda: (
        History(plan(wait_for_limits=False)).measured().session(kind=EndingKind.USAGE_LIMIT, detail=SOFT).ended()
    ),
    "a broken baseline": lambda: History().measured(broken(SOFT)).ended(),
    "an evaluator": lambda: (
        History().measured().candidate(broken(SOFT)).candidate(broken(SOFT)).candidate(broken(SOFT)).ended()
    ),
    "an artifact": lambda: History(plan(Budget(max_consecutive_errors=1))).measured().wrong(SOFT).ended(),
    "git": lambda: History().measured().tell(RunEnded(Outcome.FAILED, f"git failed: {SOFT}", "look at the disk")),
    "git, before remedies": lambda: History().measured().tell(RunEnded(Outcome.BLOCKED, f"git failed: {SOFT}")),
}


def _described(status: CandidateStatus, **changes: Any) -> History:
    said = replace(artifact(status), description=SOFT)
    return History(plan(Budget(max_iterations=1))).measured().said(status, candidate=said, **changes).ended()


def _parts(found: Handoff) -> dict[str, str]:
    text = handoff_markdown(found)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS
    return dict(zip(PARTS, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:], strict=True))


def _is_firm(found: Handoff) -> None:
    """Only quoted evidence may hold what nobody of us said; the other parts are ours alone."""
    parts = _parts(found)
    for name in ("Outcome", "Artifacts / state", "Handoff"):
        assert not is_soft(parts[name]), parts[name]
    assert not is_soft(re.sub(r"“[^”]*”", "“”", parts["Evidence"])), parts["Evidence"]
    assert all(re.search(r"^- \S", part, re.MULTILINE) for part in parts.values())


@pytest.mark.parametrize("source", INTRUSIONS)
def test_words_from_outside_stay_quoted_evidence(source: str) -> None:
    """An agent that asks for leave is quoted; what omagy says of it does not."""
    history = INTRUSIONS[source]()
    found = handoff(history.state, "/records", tuple(history.state.recent), question=SOFT)
    _is_firm(found)
    assert any("If you want, I can try again" in line for line in found.evidence)
    assert not any("If you want" in line for line in found.handoff)


def test_a_question_stands_in_the_evidence_in_its_words() -> None:
    """The handoff names whose answer is needed and how it is given."""
    history = History().measured().said(CandidateStatus.NOOP, question_id="q1").ended()
    found = handoff(history.state, "/records", (), question="Which\nformat?")
    assert found.evidence[0] == "question q1: “Which format?”"
    assert found.handoff[0] == "you: answer question q1 with `omagy question answer q1 '<your answer>'`"


def test_a_mode_that_handed_over_names_who_goes_on() -> None:
    """Nobody is asked to take over what another mode has taken over; a name that is no mode is not believed."""
    record = {"active": False, "lifecycle_outcome": "finished", "handoff_to": "team"}
    found = workflow_handoff("plan", record)
    assert found is not None
    assert found.handoff == ("team: it has taken over, and goes on with what the artifacts name",)
    for odd in ("if you want\n- you: rm -rf .", ["team"], None):
        found = workflow_handoff("plan", record | {"handoff_to": odd})
        assert found is not None
        assert found.handoff[0].startswith("you: check the evidence")


def test_quotes_cannot_be_left() -> None:
    """What is quoted stays inside, on its line, and of a length that can be read."""
    assert quoted("a”\n- “b\x1b[2J") == '“a" - "b”'
    assert len(quoted("x" * 10_000)) == 402


@pytest.mark.parametrize("kind", BlockerKind)
def test_every_blocker_has_a_remedy(kind: BlockerKind) -> None:
    """No kind falls back to the agent's own words."""
    endings = {
        BlockerKind.NOT_LOGGED_IN: (EndingKind.NOT_LOGGED_IN, plan(), 1),
        BlockerKind.MISCONFIGURED: (EndingKind.MISCONFIGURED, plan(), 1),
        BlockerKind.USAGE_LIMIT: (EndingKind.USAGE_LIMIT, plan(wait_for_limits=False), 1),
        BlockerKind.UNREACHABLE: (EndingKind.UNREACHABLE, plan(), 30),
        BlockerKind.OUT_OF_TIME: (EndingKind.USAGE_LIMIT, plan(Budget(max_wall_time_s=200.0)), 1),
    }
    ending, made, times = endings[kind]
    history = History(made).measured()
    for _ in range(times):
        if history.state.blocker is None:
            history.session(kind=ending, detail="its words")
            if isinstance(history.state.phase, Pausing):
                history.tell(PauseOver())
    assert history.state.blocker is not None
    assert history.state.blocker.kind is kind
    found = handoff(history.ended().state, "/records", ())
    assert found.handoff[0].startswith("you: remove the blocker: ")
    assert "its words" not in " ".join(found.handoff)
    assert "its words" in found.reason


def test_an_agent_that_refused_its_arguments_is_resumed_with_others() -> None:
    """The command that merely goes on would hand it the same arguments again."""
    history = History().measured().session(kind=EndingKind.MISCONFIGURED, detail="unexpected argument").ended()
    again = f"`omagy autoresearch --resume {PLAN.run_id} -- <codex-args>`"
    assert again in handoff(history.state, "/records", ()).handoff[0]


def _stopped() -> History:
    return History().measured().kept().tell(StopRequested(StopMode.NOW, "Ctrl-C")).ended()


def test_a_wait_that_is_too_long_names_both_ways_on() -> None:
    """In the morning the limit may be over, and no budget has to be raised for it; a sentence ends once."""
    made = plan(Budget(max_wall_time_s=200.0))
    history = History(made).measured().session(kind=EndingKind.USAGE_LIMIT, detail="Try again at 6:33 PM.").ended()
    found = handoff(history.state, "/records", ())
    assert found.reason.startswith("Try again at 6:33 PM; waiting 5m 00s for it would outlast")
    assert "go on once the wait is over, or raise it with" in found.handoff[0]


def test_what_mends_a_fault_stands_once_in_its_handoff() -> None:
    """The manifest's reason carries it for programs and for status; a handoff has it where it is due."""
    history = History().measured().tell(RunEnded(Outcome.BLOCKED, "no sandbox here (allow it)", "allow it"))
    found = handoff(history.state, "/records", ())
    assert (found.reason, history.state.stop_reason) == ("no sandbox here", "no sandbox here (allow it)")
    assert found.handoff[0] == "you: remove the blocker: allow it"


ENDS: dict[str, Callable[[], History]] = {
    "stopped": _stopped,
    "blocked": lambda: History().measured().kept().session(kind=EndingKind.NOT_LOGGED_IN).ended(),
    "asked": lambda: History().measured().kept().said(CandidateStatus.NOOP, question_id="q1").ended(),
    "failed": lambda: History(plan(Budget(max_consecutive_errors=1))).measured().kept().wrong("why").ended(),
    "finished": lambda: History(plan(Budget(max_iterations=1))).measured().kept().ended(),
}


@pytest.mark.parametrize("end", ENDS)
def test_kept_work_can_be_found_from_every_end(end: str) -> None:
    """A run without a budget ends by being stopped: its handoff, too, says how to see what was kept."""
    found = handoff(ENDS[end]().state, "/records", ())
    assert sum(f"`git log --stat {BASELINE[:12]}..{PLAN.branch_name}`" in line for line in found.handoff) == 1


def test_a_stopped_run_that_kept_nothing_names_no_work() -> None:
    """There is nothing to look at."""
    history = History().measured().tell(StopRequested(StopMode.NOW, "Ctrl-C")).ended()
    assert handoff(history.state, "/records", ()).handoff == (
        f"you: go on with `omagy autoresearch --resume {PLAN.run_id}`",
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RepositoryError("git failed", recoverable=False), "`git -C /repo fsck --full`"),
        (StorageError("disk"), "check the disk"),
        (OmagyError("tmux could not open a window: x"), "supervisor.log"),
        (OmagyError("tmux", "start it\nor use --foreground"), "start it; or use --foreground"),
    ],
)
def test_every_fault_has_a_remedy_of_its_own_kind(error: OmagyError, words: str) -> None:
    """Git's, the disk's and the terminal's faults send nobody to read the sessions' logs."""
    remedy = remedy_of(error, PLAN)
    assert words in remedy
    assert "session.log" not in remedy


# -- workflows that are no runs

MODES = ("deep-interview", "plan", "review", "team", "ralph", "ultrawork", "ultragoal", "ultraqa", "autoresearch")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("word", [*Outcome, *LEGACY, "blocked_on_user", "exploded"])
def test_every_mode_ends_with_four_firm_parts(mode: str, word: str) -> None:
    """Whatever word its state ends with; a legacy or unknown one is never the outcome."""
    found = workflow_handoff(mode, {"mode": mode, "lifecycle_outcome": word, "stop_reason": SOFT, "error": SOFT})
    assert found is not None
    _is_firm(found)
    assert _parts(found)["Outcome"].strip().removeprefix("- ").split(":")[0] in list(Outcome)
    assert all(line.startswith("you: ") for line in found.handoff)


def test_a_mode_state_tells_its_evidence_and_artifacts() -> None:
    """What the record holds is told as the record's words, with the question's id where there is one."""
    record = {
        "run_outcome": "blocked_on_user",
        "question": {"id": "q7", "status": "open", "question": "Which one?"},
        "verification": ["12 passed", 3, ""],
        "artifacts": ["docs/plan.md"],
        "iteration": 4,
        "max_iterations": 10,
    }
    found = workflow_handoff("ralph", record, state_path=".omagy/state/ralph-state.json")
    assert found is not None
    assert (found.outcome, found.workflow) == (Outcome.ASK_USER_QUESTION, "ralph")
    assert found.evidence == ("question “q7”: “Which one?”", "verification: “12 passed”", "iteration 4 of 10")
    assert found.artifacts == ("artifacts: “docs/plan.md”", "question “q7”", "state .omagy/state/ralph-state.json")
    assert found.handoff[0] == "you: answer the question with `omagy question answer q7 '<your answer>'`"
    assert handoff_markdown(found).startswith("# Workflow ralph\n")


def test_a_mode_that_goes_on_has_no_handoff() -> None:
    """There is nothing to hand over."""
    assert workflow_handoff("ralph", {"active": True, "current_phase": "executing"}) is None


def test_a_mode_that_is_over_without_saying_how_waits_for_a_person() -> None:
    """Nobody calls it finished."""
    found = workflow_handoff("ultraqa", json.loads((DATA / "ultraqa-state-just-over.json").read_text()))
    assert found is not None
    assert (found.outcome, found.reason) == (Outcome.BLOCKED, "its record says that it is over, and not how")
    assert any("`omagy state clear ultraqa`" in line for line in found.handoff)


def test_an_earlier_tools_run_has_the_commands_of_a_run() -> None:
    """Its id and mission stand in its manifest."""
    record = json.loads((DATA / "sibling-manifest-completed.json").read_text())
    found = workflow_handoff("autoresearch", record)
    assert found is not None
    assert found.run_id == "tokenizer-20250611t081502z"
    assert found.handoff[0].startswith("you: check the evidence")
    assert found.evidence[0] == "reason: “iteration limit reached”"


@given(
    st.dictionaries(st.sampled_from(["lifecycle_outcome", "error", "artifacts", "question", "iteration"]), st.text())
)
def test_any_record_gives_a_firm_handoff_or_none(record: dict[str, str]) -> None:
    """Whatever stands in it."""
    found = workflow_handoff("team", record)
    if found is not None:
        _is_firm(found)
