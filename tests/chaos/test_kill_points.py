"""The supervisor is killed at every boundary of its journal; going on ends as if nothing had happened."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from chaos.checker import check, digest, read_journal
from chaos.short_run import UNDISTURBED, Kill, ShortRun, Supervisors
from fakes.workspace import Workspace, workspace

KILLED = -9
MOMENTS = ("before", "torn", "after")
BOUNDARIES = {"usual": 24, "aborting": 15, "asking": 11, "checked": 15}
FIRST_OF_THE_ABORT = 11
FIRST_OF_THE_QUESTION = 6
FIRST_OF_THE_CHECK = 10
SEEDS = range(8)
GIT_PARTS = 16
GIT_MOMENTS = ("locked", "after", "locked")

AT_OTHER_EFFECTS = [
    Kill("before", 2, "sessions:make_pipe"),
    Kill("after", 2, "sessions:make_pipe"),
    Kill("after", 3, "sessions:offer"),
    Kill("before", 3, "sessions:_diagnose"),
    Kill("after", 4, "sessions:write_atomic"),
    Kill("after", 3, "adapters.records:write_atomic"),
    Kill("after", 6, "adapters.records:write_atomic"),
    Kill("before", 2, "adapters.ledger_file:_exchange"),
    Kill("after", 2, "adapters.ledger_file:_exchange"),
    Kill("before", 1, "adapters.git.exclude:write_atomic"),
    Kill("before", 2, "adapters.git.run_refs:fsync_dir"),
    Kill("after", 5, "files:fsync_dir"),
    *(Kill("before", number, "adapters.workflow_files:write_atomic") for number in (1, 2)),
    *(Kill("before", number, "adapters.workflow_files:replace_file") for number in (1, 2)),
    Kill("after", 2, "adapters.workflow_files:write_atomic"),
    Kill("after", 2, "adapters.workflow_files:replace_file"),
]

Ends = dict[str, dict[str, Any]]


def kills(first: int, last: int) -> list[Kill]:
    """Both sides of every boundary; a torn line is another way of not being written."""
    return [
        Kill(moment, number)
        for number in range(first, last + 1)
        for moment in ("before" if number % 2 else "torn", "after")
    ]


@pytest.fixture(scope="session")
def supervisors() -> Iterator[Supervisors]:
    made = Supervisors()
    yield made
    made.close()


class Undisturbed(dict[str, dict[str, Any]]):
    """How each script's run ends when nothing happens to it: played when it is first asked for."""

    def __init__(self, supervisors: Supervisors, folders: pytest.TempPathFactory) -> None:
        self._supervisors = supervisors
        self._folders = folders

    def __missing__(self, script: str) -> dict[str, Any]:
        with workspace(self._folders.mktemp(script)) as ws:
            run = ShortRun(self._supervisors, ws, script)
            run.launch()
            check(ws)
            assert len(read_journal(ws.folder() / "journal.jsonl")) == BOUNDARIES[script]
            self[script] = {"state": run.final_state(), "git calls": run.git_calls()}
        return self[script]


@pytest.fixture(scope="session")
def undisturbed(supervisors: Supervisors, tmp_path_factory: pytest.TempPathFactory) -> Ends:
    return Undisturbed(supervisors, tmp_path_factory)


def go_on(run: ShortRun) -> None:
    """What a person does after the supervisor died: resume, and whatever its refusal says."""
    if not run.ws.run_ids():  # it died before there was a run
        run.launch()
        return
    done = run.resume()
    if "rebuild" in done.stderr:  # it died before it wrote a manifest
        rebuilt = run.rebuild()
        never_began = "the run never began" in rebuilt.stderr
        assert never_began or rebuilt.returncode == 0
        done = run.launch() if never_began else run.resume()
    assert done.returncode in (0, 2, 3, 4), done.stderr
    assert "fault of omagy's own" not in done.stderr


def test_the_scripted_run_covers_what_it_is_for(undisturbed: Ends) -> None:
    """Baseline, keep with several commits, error, noop and discard, each with leftovers."""
    entries = undisturbed["usual"]["state"]["ledger"]
    assert [entry["decision"] for entry in entries] == ["baseline", "keep", "error", "noop", "discard"]
    assert [bool(entry["leftovers_ref"]) for entry in entries] == [False, True, True, True, True]
    assert undisturbed["usual"]["state"]["manifest"]["last_kept_score"] == 4
    assert [entry["decision"] for entry in undisturbed["aborting"]["state"]["ledger"]] == [
        "baseline",
        "keep",
        "abort",
    ]
    assert undisturbed["aborting"]["state"]["end"][0] == "blocked"


@pytest.mark.parametrize("kill", kills(1, BOUNDARIES["usual"]), ids=str)
def test_a_killed_run_ends_as_the_undisturbed_one(
    supervisors: Supervisors, ws: Workspace, undisturbed: Ends, kill: Kill
) -> None:
    """Ledger, refs, lane and results are those of the undisturbed run, wherever the supervisor was killed."""
    run = ShortRun(supervisors, ws)
    assert run.launch(kill).returncode == KILLED
    go_on(run)
    check(ws, run.run_id)
    assert run.final_state() == undisturbed["usual"]["state"]


@pytest.mark.parametrize("kill", kills(FIRST_OF_THE_ABORT, BOUNDARIES["aborting"]), ids=str)
def test_an_abort_stops_the_run_even_when_the_supervisor_is_killed(
    supervisors: Supervisors, ws: Workspace, undisturbed: Ends, kill: Kill
) -> None:
    """What the operator has to look at stays as the session left it, and no further session is started."""
    run = ShortRun(supervisors, ws, "aborting")
    assert run.launch(kill).returncode == KILLED
    go_on(run)
    check(ws)
    assert run.final_state() == undisturbed["aborting"]["state"]


@pytest.mark.parametrize(
    "kill",
    [*kills(FIRST_OF_THE_QUESTION, BOUNDARIES["asking"]), Kill("after", 1, "adapters.questions:write_atomic")],
    ids=str,
)
def test_a_question_is_recorded_once_wherever_the_supervisor_is_killed(
    supervisors: Supervisors, ws: Workspace, undisturbed: Ends, kill: Kill
) -> None:
    """The candidate beside it is kept, the run ends with the question, and nobody is asked twice."""
    run = ShortRun(supervisors, ws, "asking")
    assert run.launch(kill).returncode == KILLED
    go_on(run)
    check(ws)
    assert run.final_state() == undisturbed["asking"]["state"]
    assert undisturbed["asking"]["state"]["end"][0] == "askuserQuestion"
    assert len(list((ws.root / ".omagy/state/questions").glob("*.json"))) == 1


@pytest.mark.parametrize("kill", kills(FIRST_OF_THE_CHECK, BOUNDARIES["checked"]), ids=str)
def test_the_check_at_the_end_goes_on_where_it_was(
    supervisors: Supervisors, ws: Workspace, undisturbed: Ends, kill: Kill
) -> None:
    """Baseline and kept commits are measured once more at the end; a kill leaves neither of them in the lane."""
    run = ShortRun(supervisors, ws, "checked")
    assert run.launch(kill).returncode == KILLED
    go_on(run)
    check(ws)
    assert run.final_state() == undisturbed["checked"]["state"]


@pytest.mark.parametrize("part", range(GIT_PARTS))
def test_a_run_killed_around_a_git_command_ends_as_the_undisturbed_one(
    supervisors: Supervisors, ws: Workspace, undisturbed: Ends, part: int
) -> None:
    """The same for its calls of git, from the first to the last; one that is killed leaves its locks behind."""
    run = ShortRun(supervisors, ws)
    number = 1 + part * undisturbed["usual"]["git calls"] // GIT_PARTS
    assert run.launch(Kill(GIT_MOMENTS[part % 3], number, "git")).returncode == KILLED
    go_on(run)
    check(ws, run.run_id)
    assert run.final_state() == undisturbed["usual"]["state"]


@pytest.mark.parametrize("kill", AT_OTHER_EFFECTS, ids=str)
def test_a_run_killed_at_another_effect_ends_as_the_undisturbed_one(
    supervisors: Supervisors, ws: Workspace, undisturbed: Ends, kill: Kill
) -> None:
    """The same around what is neither journal nor git: starting a session, and the files that the world reads."""
    run = ShortRun(supervisors, ws)
    assert run.launch(kill).returncode == KILLED
    go_on(run)
    check(ws)
    assert run.final_state() == undisturbed["usual"]["state"]


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_in_a_row_change_nothing_either(
    supervisors: Supervisors, ws: Workspace, undisturbed: Ends, seed: int
) -> None:
    """The supervisor that goes on is killed too, again and again, each time a little later."""
    dice = random.Random(seed)
    run = ShortRun(supervisors, ws)
    assert run.launch(Kill(dice.choice(MOMENTS), dice.randint(3, BOUNDARIES["usual"] - 9))).returncode == KILLED
    for _ in range(dice.randint(1, 3)):
        assert run.resume(Kill(dice.choice(MOMENTS), dice.randint(1, 3))).returncode == KILLED
    go_on(run)
    check(ws)
    assert run.final_state() == undisturbed["usual"]["state"]


@pytest.mark.parametrize("number", [7, 8, 9], ids=["measured", "decided", "applied"])
def test_an_agent_that_cannot_work_does_not_stop_what_was_begun(
    supervisors: Supervisors, ws: Workspace, undisturbed: Ends, number: int
) -> None:
    """A resume that ends blocked leaves nothing of the killed session in the way of the next resume."""
    run = ShortRun(supervisors, ws)
    assert run.launch(Kill("after", number)).returncode == KILLED
    blocked = run.resume(UNDISTURBED, "--agent", "command:if")
    assert blocked.returncode == 3
    check(ws)
    again = run.resume(UNDISTURBED, "--agent", run.agent)
    assert again.returncode == 0, again.stderr
    check(ws)
    assert run.final_state() == undisturbed["usual"]["state"]


def test_a_run_that_has_ended_is_left_as_it_is(supervisors: Supervisors, ws: Workspace) -> None:
    """Resuming a finished run is refused and changes nothing."""
    run = ShortRun(supervisors, ws)
    run.launch()
    before = digest(ws, run.run_id)
    refused = run.resume()
    assert refused.returncode == 2
    assert "has ended for good" in refused.stderr
    assert digest(ws, run.run_id) == before
