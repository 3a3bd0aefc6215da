"""Progress as plain lines."""

import io
import os
import pty
import termios
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.events import LaneReady, Remeasured, RunCreated, StopMode, StopRequested
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.sessions import EndingKind
from omagy_supervisor.ui.text import TextReporter, event_lines
from unit.histories import BASELINE, PLAN, History, broken, commit, plan, scored


def _lines(history: History) -> list[str]:
    """What a person reads of the newest record."""
    return event_lines(history.state, history.records[-1])


def test_a_run_is_told_from_its_creation_to_its_end() -> None:
    """Each fact that a person waits for is one line with its names and numbers."""
    history = History(plan(Budget(max_iterations=1)))
    assert isinstance(history.records[0].event, RunCreated)
    assert _lines(history) == [f"run {PLAN.run_id}: branch {PLAN.branch_name}, agent command"]
    assert _lines(history.tell(LaneReady(BASELINE))) == [f"lane ready at {BASELINE[:12]} in {PLAN.worktree_path}"]
    history = History(plan(Budget(max_iterations=1))).measured(scored(2.0))
    assert _lines(history) == ["baseline, the starting point passes, score 2"]
    assert _lines(history.begun()) == ["iteration 1: session started"]
    history = History(plan(Budget(max_iterations=1))).measured().candidate(scored(3.0))
    assert _lines(history) == ["iteration 1: keep, score improved: 1 → 3 (+200.0%) | what was done"]
    assert _lines(history.ended()) == ["run ended: finished, iteration budget used: 1 (budget.max_iterations)"]


def test_a_kept_commit_that_fails_when_it_is_measured_again_is_told_with_the_reason() -> None:
    """The check at the end says which commit failed and why; one that passes needs no line."""
    history = History(plan(Budget(max_iterations=1))).measured().candidate(scored(3.0))
    assert _lines(history.tell(Remeasured(BASELINE, scored(1.0)))) == []
    failed = history.tell(Remeasured(commit(1), broken("the evaluator exited with status 7")))
    assert _lines(failed) == [f"measured again, {commit(1)[:12]} fails: the evaluator exited with status 7"]


def test_sessions_that_did_not_work_say_why() -> None:
    """The kind of the ending, its detail, and the wait that follows."""
    history = History().measured().session(kind=EndingKind.UNREACHABLE, detail="refused")
    first, second = _lines(history)
    assert first == "session ended: unreachable: refused"
    assert second.startswith("waiting until ")
    assert second.endswith(" (10s), then trying again")
    left = History().measured().left(CandidateStatus.NOOP, leftovers_ref="refs/x")
    history = History().measured().session(left)
    assert _lines(history) == ["uncommitted leftovers of the session are saved as refs/x"]
    assert _lines(History().measured().session(kind=EndingKind.LOST).begun()) == [
        "iteration 1 (attempt 2): session started"
    ]


def test_what_the_next_line_says_of_a_session_is_not_said_before_it() -> None:
    """The decision, or the end of the run, gives the ending with its detail; beside an artifact it stands alone."""
    late: dict[str, Any] = {"kind": EndingKind.TIMED_OUT, "detail": "after 1h"}
    history = History().measured().session(**late)
    assert _lines(history) == []
    assert "(timed out: after 1h)" in _lines(history.decided())[0]
    history = History().measured().session(kind=EndingKind.NOT_LOGGED_IN, detail="401")
    assert _lines(history) == []
    assert "not logged in: 401" in _lines(history.ended())[0]
    stopped = History().measured().session(kind=EndingKind.STOPPED, detail="the run was asked to stop")
    assert _lines(stopped) == []
    history = History().measured()
    assert _lines(history.session(history.left(CandidateStatus.NOOP), **late)) == [
        "session ended: timed out: after 1h"
    ]


@pytest.mark.parametrize(
    ("mode", "when"), [(StopMode.NOW, "now"), (StopMode.AFTER_ITERATION, "after this iteration")]
)
def test_a_request_to_stop_is_acknowledged(mode: StopMode, when: str) -> None:
    """Whoever asked sees that it arrived, and when it takes effect."""
    assert _lines(History().measured().tell(StopRequested(mode, "Ctrl-C"))) == [f"asked to stop {when} (Ctrl-C)"]


def test_lines_reach_log_and_window(tmp_path: Path) -> None:
    """Both get the same lines, and a log that is there is continued."""
    log, window = tmp_path / "supervisor.log", io.StringIO()
    log.write_text("before\n")
    reporter = TextReporter(log, window)
    history = History()
    reporter.event(history.state, history.records[0])
    reporter.note("a note")
    reporter.close()
    assert log.read_text() == "before\n" + window.getvalue()
    assert window.getvalue().splitlines()[2] == " " * 10 + "a note"


def test_a_date_stands_above_the_first_line_of_each_day_and_of_each_life(tmp_path: Path) -> None:
    """A night crosses midnight and a resumed run spans days: a time alone would not say when."""
    log = tmp_path / "supervisor.log"
    history = History()
    record = history.records[0]
    moments = [datetime.fromisoformat(f"2026-01-{moment}").astimezone() for moment in ("30T23:59:58", "30T23:59:59")]
    moments += [moments[-1] + timedelta(seconds=1), moments[-1] + timedelta(days=3)]
    for life in (moments, moments[-1:]):
        reporter = TextReporter(log, io.StringIO())
        for at in life:
            reporter.event(history.state, replace(record, at=at.astimezone(UTC)))
        reporter.close()
    assert [line.split("  ")[0] for line in log.read_text().splitlines()] == [
        *("2026-01-30", "23:59:58", "23:59:59"),
        *("2026-01-31", "00:00:00"),
        *("2026-02-02", "23:59:59"),
        *("2026-02-02", "23:59:59"),
    ]


def test_a_window_gets_lines_that_fit_and_the_log_whole_ones(tmp_path: Path) -> None:
    """The log is read again in a terminal of another size."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 40))
    history = History(plan(Budget(max_iterations=1))).measured().candidate(scored(3.0))
    with os.fdopen(slave, "w") as window:
        reporter = TextReporter(tmp_path / "log", window)
        reporter.event(history.state, history.records[-1])
        reporter.close()
        shown = ""
        while shown.count("\n") < 4:
            shown += os.read(master, 1 << 16).decode()
    os.close(master)
    _, whole = (tmp_path / "log").read_text().splitlines()
    _, *lines = shown.splitlines()
    assert all(len(line) < 40 for line in lines)
    assert " ".join(line.strip() for line in lines) == whole


def test_a_closed_window_or_log_ends_no_run(tmp_path: Path) -> None:
    """Progress is a courtesy: nobody reading it is no fault."""
    window = io.StringIO()
    reporter = TextReporter(tmp_path / "log", window)
    window.close()
    reporter.note("one")
    reporter.close()
    reporter.note("two")
    assert "one" in (tmp_path / "log").read_text()
