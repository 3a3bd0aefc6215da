"""Power is cut at every call that the loop makes of the world; what the next start makes of it is the same run."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fakes.ports import (
    NOOP,
    RUN_ID,
    START,
    FakeRecords,
    FakeStops,
    Machine,
    Play,
    PowerCutError,
    a_machine,
    a_world,
)
from omagy_autoresearch.events import StopMode
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.mission import Budget
from omagy_autoresearch.names import leftovers_ref
from omagy_autoresearch.plan import Overrides
from omagy_autoresearch.run import RunState
from omagy_autoresearch.sessions import Ending, EndingKind
from omagy_autoresearch.summary import handoff
from omagy_supervisor import daemon
from omagy_supervisor.loop import drive
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.requests import Fresh, Request, Resume

DOWN = Play(status=None, ending=Ending(EndingKind.UNREACHABLE, "the network is down"), takes_s=1)
PLAYS = {
    1: [Play(3, leaves=("left.txt",))],
    2: [Play(2, leaves=("left.txt",))],
    3: [NOOP],
    4: [DOWN, Play(9, status=None, leaves=("left.txt",))],
    5: [Play(4)],
}
ABORTING = {1: [Play(2)], 2: [Play(status="abort", leaves=("half.txt",))]}
ASKING = {1: [Play(2)], 2: [Play(3, asks="Which of the two?")]}
LOST_ASKING = {1: [Play(status=None, ending=DOWN.ending, asks="Which of the two?")]}


class Tap:
    """Counts the calls; at the ``number``-th one, ``moment``, it does ``then``."""

    def __init__(self, number: int = 0, moment: str = "", then: Callable[[], None] = lambda: None) -> None:
        self.calls = 0
        self._number = number
        self._moment = moment
        self._then = then

    def __call__(self, moment: str) -> None:
        self.calls += moment == "before"
        if (self.calls, moment) == (self._number, self._moment):
            self._then()


def live(machine: Machine, tap: Tap | None = None, stops: FakeStops | None = None) -> RunState:
    """One supervisor's life, as daemon.supervise leads it."""
    fresh = not machine.journal
    run = machine.load()
    request: Request = Fresh(machine.plan) if fresh else Resume(machine.plan.repo_root, RUN_ID, Overrides())
    world = a_world(machine, run, tap or Tap(), stops or FakeStops(machine))
    return drive(world, daemon._take_on(world, run, request))


def go_on(machine: Machine) -> None:
    """What a resume does: of a run that has ended, it only completes the records."""
    run = machine.load()
    if run.state.ended:
        records = FakeRecords(machine, run.entries)
        records.write_end(run.state, handoff(run.state, "records", records.kept()))
    else:
        live(machine)


def cut(moment: str = "") -> None:
    raise PowerCutError


def final_state(machine: Machine) -> dict[str, Any]:
    """What must not depend on how often a session was begun, nor on when."""
    last = machine.manifests[-1]
    assert all(entry.leftovers_ref in machine.refs for entry in machine.ledger if entry.leftovers_ref)
    return {
        "entries": [
            (entry.iteration, entry.decision, entry.candidate_commit, entry.kept_commit, entry.decision_reason)
            for entry in machine.ledger
        ],
        "refs": {
            ref.rpartition("/")[2].partition(".")[0] if "/cand/" in ref else ref: commit
            for ref, commit in machine.refs.items()
            if "/leftovers/" not in ref
        },
        "lane": (machine.head, machine.branch, machine.dirty),
        "manifest": (last.status, last.iteration, last.last_kept_commit, last.last_kept_score),
        "outcome": last.lifecycle_outcome,
        "asked": [(question.words, question.status) for question in machine.asked.values()],
        # A question's id tells apart the attempts that asked it.
        "end": machine.handoff and (machine.handoff.outcome, re.sub(r"q-[0-9a-f]{8}", "q-…", machine.handoff.reason)),
    }


def undisturbed(folder: Path, plays: dict[int, list[Play]]) -> tuple[dict[str, Any], int]:
    """How the run ends by itself, and how many calls that takes."""
    machine, tap = a_machine(folder / "undisturbed", plays), Tap()
    live(machine, tap)
    return final_state(machine), tap.calls


def test_what_the_play_is_about(tmp_path: Path) -> None:
    """Baseline, keep, discard, noop, a pause, an error: the run that is cut below goes through all of it."""
    end, calls = undisturbed(tmp_path, PLAYS)
    assert [entry[1] for entry in end["entries"]] == ["baseline", "keep", "discard", "noop", "error", "keep"]
    assert end["end"][0] == "finished"
    assert calls > 100


@pytest.mark.parametrize(("plays", "decision"), [(ASKING, "keep"), (LOST_ASKING, "error")])
def test_a_question_ends_the_run_after_its_iteration(
    tmp_path: Path, plays: dict[int, list[Play]], decision: str
) -> None:
    """What the session made is decided on first, and kept when it is better."""
    end, _ = undisturbed(tmp_path, plays)
    assert [entry[1] for entry in end["entries"]][-1] == decision
    assert end["end"][0] == "askuserQuestion"
    assert [words for words, _ in end["asked"]] == ["Which of the two?"]


@pytest.mark.parametrize("sessions", ["sessions die too", "sessions live on"])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "plays", [PLAYS, ABORTING, ASKING, LOST_ASKING], ids=["usual", "aborting", "asking", "asking without a candidate"]
)
def test_a_cut_at_any_call_changes_nothing(
    tmp_path: Path, plays: dict[int, list[Play]], moment: str, sessions: str
) -> None:
    """A session that lives on is adopted: no agent is ever started twice for it."""
    want, calls = undisturbed(tmp_path, plays)
    for number in range(1, calls + 1):
        machine = a_machine(tmp_path / f"{number}", plays)
        with pytest.raises(PowerCutError):
            live(machine, Tap(number, moment, cut))
        if sessions == "sessions die too":
            machine.lose_power()
        go_on(machine)
        assert final_state(machine) == want, f"cut {moment} call {number}"
        assert not machine.sessions
        if sessions == "sessions live on":
            started = [(iteration, attempt) for iteration, attempt, _ in machine.starts]
            assert len(started) == sum(machine.done.values()), f"cut {moment} call {number}: {started}"


# -- requests to stop


@pytest.mark.parametrize("plays", [PLAYS, ABORTING], ids=["usual", "aborting"])
@pytest.mark.parametrize("mode", StopMode)
def test_a_stop_at_any_call_is_an_interlude(tmp_path: Path, mode: StopMode, plays: dict[int, list[Play]]) -> None:
    """The run ends by the stop, or by itself when that comes first; going on gives the same end."""
    want, calls = undisturbed(tmp_path, plays)
    for number in range(1, calls + 1):
        machine = a_machine(tmp_path / f"{number}", plays)
        stops = FakeStops(machine)
        state = live(machine, Tap(number, "before", partial(stops.ask, mode)), stops)
        assert not machine.sessions
        if state.outcome is not Outcome.USERINTERLUDE:
            assert final_state(machine) == want, f"stop at call {number}"
            continue
        assert state.tip is None or (machine.head, machine.branch, machine.dirty) == (state.tip, state.tip, ())
        if mode is StopMode.AFTER_ITERATION:
            assert "half-done.txt" not in machine.refs.values(), f"stop at call {number} cut a session short"
        live(machine)
        assert final_state(machine) == want, f"stop at call {number}"


# -- waiting


RESETS_AT = START + timedelta(hours=5)
USAGE_LIMIT = Play(status=None, ending=Ending(EndingKind.USAGE_LIMIT, "5 h limit", RESETS_AT), takes_s=10)


def starts(machine: Machine) -> list[float]:
    """When agents were started, in seconds since the beginning of the run."""
    return [(when - START).total_seconds() for _, _, when in machine.starts]


def waits(machine: Machine) -> list[float]:
    """How long after the end of one session the next was started."""
    return [later - earlier - 1 for earlier, later in pairwise(starts(machine))]


def test_a_usage_limit_is_waited_out_until_the_reset_it_states(tmp_path: Path) -> None:
    """Nothing is started before that moment, and the manifest says what the run waits for."""
    machine = a_machine(tmp_path, {1: [USAGE_LIMIT, Play(2)]}, budget=Budget(max_iterations=1))
    assert live(machine).outcome is Outcome.FINISHED
    assert [entry.decision for entry in machine.ledger] == ["baseline", "keep"]
    first, second = starts(machine)
    assert first < 60
    assert 0 <= second - 5 * 3600 <= 60
    (waiting,) = {shown.waiting_until for shown in machine.manifests} - {None}
    assert waiting == (RESETS_AT + timedelta(seconds=20)).isoformat()
    assert {shown.waiting_for for shown in machine.manifests} == {None, "5 h limit"}


def test_a_model_that_cannot_be_reached_is_tried_again_later_and_later(tmp_path: Path) -> None:
    """The pauses grow to half an hour, they never turn into an error of the agent's."""
    machine = a_machine(tmp_path, {1: [*[DOWN] * 9, Play(2)]}, budget=Budget(max_iterations=1))
    assert live(machine).outcome is Outcome.FINISHED
    assert [round(wait) for wait in waits(machine)] == [10, 30, 60, 120, 300, 600, 1200, 1800, 1800]
    assert [entry.decision for entry in machine.ledger] == ["baseline", "keep"]


def test_a_model_that_stays_away_blocks_the_run_in_the_end(tmp_path: Path) -> None:
    """Ten tries; then the person is told, and a resume begins to count anew."""
    machine = a_machine(tmp_path, {1: [DOWN]}, budget=Budget(max_iterations=1))
    ended = live(machine)
    assert ended.outcome is Outcome.BLOCKED
    assert "gave up after 11 tries" in (ended.stop_reason or "")
    assert len(machine.starts) == 11
    machine.plays[1] = [Play(2)]
    assert live(machine).outcome is Outcome.FINISHED


def test_without_waiting_a_usage_limit_blocks_the_run_at_once(tmp_path: Path) -> None:
    """--no-wait: the run ends blocked, with what it waits for, and can be resumed."""
    machine = a_machine(tmp_path, {1: [USAGE_LIMIT, Play(2)]}, budget=Budget(max_iterations=1), wait_for_limits=False)
    ended = live(machine)
    assert (ended.outcome, ended.stop_reason) == (Outcome.BLOCKED, "usage limit: 5 h limit")
    assert machine.now - START < timedelta(minutes=1)
    assert live(machine).outcome is Outcome.FINISHED


def test_a_wait_that_would_outlast_the_budget_is_not_begun(tmp_path: Path) -> None:
    """The run ends blocked at once, with hours of its time budget unused."""
    budget = Budget(max_iterations=1, max_wall_time_s=4 * 3600)
    machine = a_machine(tmp_path, {1: [USAGE_LIMIT]}, budget=budget)
    ended = live(machine)
    assert ended.outcome is Outcome.BLOCKED
    assert "would outlast the run's time budget" in (ended.stop_reason or "")
    assert machine.now - START < timedelta(minutes=1)


def test_sessions_that_fail_at_once_and_alike_trip_the_breaker(tmp_path: Path) -> None:
    """No hundred sessions into the same wall, even where errors are not limited."""
    broken = Play(status=None, ending=Ending(EndingKind.CRASHED, "no such option"), takes_s=1)
    budget = Budget(max_iterations=100, max_consecutive_errors=None)
    machine = a_machine(tmp_path, {number: [broken] for number in range(1, 101)}, budget=budget)
    ended = live(machine)
    assert ended.outcome is Outcome.BLOCKED
    assert "5 sessions in a row failed at once and alike" in (ended.stop_reason or "")
    assert len(machine.starts) == 5


def told_to_the_session(machine: Machine, iteration: int) -> str:
    """What the supervisor has the window of a session say when it ends it."""
    return StateRoot(Path(machine.plan.repo_root)).run(RUN_ID).attempt(iteration, 1).ending.read_text()


def test_the_time_budget_cuts_a_session_short(tmp_path: Path) -> None:
    """The session is ended when the run's time is used, what it left is saved, and the run is finished."""
    budget = Budget(max_wall_time_s=1000)
    machine = a_machine(tmp_path, {1: [Play(2, takes_s=600)], 2: [Play(3, takes_s=600)]}, budget=budget)
    ended = live(machine)
    assert (ended.outcome, ended.stop_reason) == (
        Outcome.FINISHED,
        "time budget used: 16m 40s (budget.max_wall_time)",
    )
    assert [entry.decision for entry in machine.ledger] == ["baseline", "keep"]
    assert machine.refs[leftovers_ref(RUN_ID, "2.1")] == "half-done.txt"
    assert (machine.head, machine.dirty) == (ended.tip, ())
    assert told_to_the_session(machine, 2) == "omagy ends this session: the run's time budget was used"


def test_a_session_has_a_time_limit_of_its_own(tmp_path: Path) -> None:
    """It is ended then, and the iteration is an error that says so."""
    machine = a_machine(tmp_path, {1: [Play(2, takes_s=601)]}, budget=Budget(max_iterations=1), session_s=600)
    assert live(machine).outcome is Outcome.FINISHED
    assert "stopped at its time limit of 10m" in machine.ledger[1].decision_reason
    assert told_to_the_session(machine, 1) == "omagy ends this session at its time limit of 10m 00s"


def test_a_quiet_session_is_told_and_works_on_to_its_end(tmp_path: Path) -> None:
    """An hour of silence is three lines in the log; the session still hands in its candidate."""
    machine = a_machine(tmp_path, {1: [Play(2, takes_s=3500)]}, budget=Budget(max_iterations=1))
    live(machine)
    told = [note for note in machine.notes if "been quiet" in note]
    assert [note.split(": ")[0] for note in told] == [
        f"the session has been quiet for {length}" for length in ("10m 00s", "20m 00s", "40m 00s")
    ]
    assert all("STOP-QUIET-WATCHER-001" in note for note in told)
    assert [entry.decision for entry in machine.ledger] == ["baseline", "keep"]
