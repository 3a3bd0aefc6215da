"""Budgets bind: each ends a run by its name, and what a run can use at most is said before it starts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.codex_home import KEY_VARIABLE, codex_for_tests, make_codex_home
from fakes.responses_server import (
    TOKENS_CACHED,
    TOKENS_IN,
    TOKENS_OUT,
    Message,
    ResponsesServer,
    Shell,
    responses_server,
)
from fakes.used_time import let_time_be_used
from fakes.workspace import Acts, Workspace, candidate, noop

ERROR: Acts = [{"artifact": {"status": "none of these"}}]
QUICK = "  baseline_repeats: 1\n  final_check: off\n"


def run(ws: Workspace, budget: str, *sessions: Acts, status: int = 0, keys: str = QUICK) -> str:
    """A run of ``sessions`` under ``budget`` (YAML below ``budget:``); returns why it ended."""
    ws.mission(f"budget:\n{budget}", evaluator_keys=keys)
    ws.commit()
    ws.plan(default=noop(), **{f"i{number}": acts for number, acts in enumerate(sessions, start=1)})
    done = ws.launch()
    assert done.returncode == status, done.stderr
    reason: str = ws.manifest()["stop_reason"]
    assert reason in (ws.folder() / "handoff.md").read_text()
    return reason


def test_a_plateau_ends_the_run(ws: Workspace) -> None:
    """Iterations of any kind without a keep count, and a keep begins anew."""
    sessions = [candidate(2), candidate(1), noop(), candidate(3), noop(), ERROR, candidate(0), candidate(9)]
    reason = run(ws, "  plateau: 3\n  max_consecutive_errors: off\n", *sessions)
    assert reason == "no keep in 3 iterations (budget.plateau)"
    assert ws.decisions() == ["baseline", "keep", "discard", "noop", "keep", "noop", "error", "discard"]
    assert ws.manifest()["lifecycle_outcome"] == "finished"


@pytest.mark.parametrize(
    ("budget", "sessions", "reason"),
    [
        ("  max_iterations: 2\n", [candidate(2), candidate(3)], "iteration budget used: 2 (budget.max_iterations)"),
        ("  target_score: 5\n", [candidate(6)], "target score reached: 6 (budget.target_score 5)"),
        ("  max_consecutive_noops: 2\n", [noop(), noop()], "2 noops in a row (budget.max_consecutive_noops)"),
        (
            "  max_consecutive_discards: 2\n",
            [candidate(0), candidate(0.5)],
            "2 discards in a row (budget.max_consecutive_discards)",
        ),
        ("  plateau: 1\n", [noop()], "no keep in 1 iteration (budget.plateau)"),
    ],
)
def test_each_end_names_its_budget(ws: Workspace, budget: str, sessions: list[Acts], reason: str) -> None:
    """The reason says which setting ended the run, so that it can be changed."""
    assert run(ws, budget, *sessions) == reason
    assert len(ws.decisions()) == len(sessions) + 1


def test_the_time_budget_ends_a_session_and_leaves_room_for_the_check_at_the_end(ws: Workspace) -> None:
    """A session is cut when the time is used but for what the check at the end needs, and the check is still made."""
    ws.mission("budget:\n  max_wall_time: 1h\n", evaluator_keys="  baseline_repeats: 1\n")
    ws.commit()
    ws.plan(i1=candidate(2), i2=[{"hang": True}])
    supervisor = ws.start_launch()
    ws.wait_for_run()
    ws.wait_for_session(2)
    supervisor.kill()
    supervisor.wait()
    let_time_be_used(ws, 3598)
    done = ws.resume(ws.run_id())
    assert done.returncode == 0, done.stderr
    assert ws.manifest()["stop_reason"].startswith("time budget used: ")
    assert ws.manifest()["stop_reason"].endswith(" (budget.max_wall_time)")
    assert ws.decisions() == ["baseline", "keep"]
    assert "measured again side by side: 1 → 2 (+100.0%), claimed 1 → 2" in (ws.folder() / "handoff.md").read_text()
    journal = (ws.folder() / "journal.jsonl").read_text()
    used = [float(part.split(",")[0].rstrip("}")) for part in journal.split('"elapsed_s":')[1:]]
    assert used == sorted(used), "time is counted on a clock that does not go back"


def test_what_a_run_can_use_at_most_is_said_before_it_starts(ws: Workspace) -> None:
    """One line bounds iterations, time, tokens and money, and says where nothing bounds them."""
    frontmatter = (
        "budget:\n  max_iterations: 3\n  max_wall_time: 8h\n  max_tokens: 1000000\n  max_cost: 7.5\n"
        "  prices: {input: 1, output: 10}\nsession:\n  timeout: 20m\nguard:\n  command: 'true'\n  timeout: 5m\n"
    )
    ws.mission(frontmatter, evaluator_keys=QUICK + "  timeout: 10m\n  repeats: 2\n  retest: 1\n")
    ws.commit()
    ws.plan(default=noop())
    done = ws.launch()
    line = next(line for line in done.stderr.splitlines() if line.startswith("at most: "))
    assert done.stderr.index(line) < done.stderr.index("lane ready")
    assert line == (
        "at most: 3 iterations, each at most 20m 00s of session and 1h 05m of evaluation; 8h 00m in all; "
        "1,000,000 tokens and the session that passes them; 7.50 in money and the session that passes it"
    )


def test_a_run_that_nothing_bounds_is_told_so(ws: Workspace) -> None:
    """Without limits the line says that there are none."""
    ws.mission(evaluator_keys=QUICK)
    ws.commit()
    ws.plan(default=[{"artifact": {"status": "abort"}}])
    said = ws.launch().stderr
    assert "at most: iterations without limit, each at most 1h 00m of session and 30m 00s of evaluation; " in said
    assert "no limit on tokens (budget.max_tokens, budget.max_cost)" in said


@pytest.mark.parametrize(
    ("budget", "complaint"),
    [
        ("  max_cost: 5\n", "sandbox.md:6: budget.max_cost: needs budget.prices to know what tokens cost"),
        ("  max_cost: 5\n  prices: {input: 1}\n", "sandbox.md:7: budget.prices: output is missing"),
        ("  prices: {input: 1, outpt: 2}\n", "sandbox.md:6: budget.prices: unknown key outpt, did you mean output?"),
        ("  max_cost: -1\n", "sandbox.md:6: budget.max_cost: must not be negative"),
        ("  max_tokens: 1.5\n", "sandbox.md:6: budget.max_tokens: must be a whole number of at least 1"),
        ("  plateau: 0\n", "sandbox.md:6: budget.plateau: must be a whole number of at least 1"),
        ("  platau: 3\n", "sandbox.md:6: budget.platau: unknown key, did you mean plateau?"),
    ],
)
def test_a_budget_that_cannot_bind_is_refused(ws: Workspace, budget: str, complaint: str) -> None:
    """A limit that cannot be kept, or is none, is told with file, line and key before anything is made."""
    ws.mission(f"budget:\n{budget}")
    ws.commit()
    ws.plan(default=noop())
    done = ws.launch()
    assert done.returncode == 2
    assert complaint in done.stderr
    assert ws.run_ids() == []


# -- tokens and money, counted by Codex itself


@pytest.fixture
def server() -> Iterator[ResponsesServer]:
    with responses_server() as running:
        yield running


def run_codex(ws: Workspace, tmp_path: Path, server: ResponsesServer, budget: str) -> str:
    """A run with the real Codex whose sessions change nothing, in two requests each; returns why it ended."""
    artifact = json.dumps(
        {"status": "noop", "candidate_commit": None, "base_commit": "BASE", "description": "no idea", "notes": []}
    )
    write = f"printf '%s' '{artifact[:-1]}, \"created_at\": \"2026-01-31T12:00:00Z\"}}' "
    url = server.play(Shell(write + '| sed "s/BASE/$OMAGY_BASE_COMMIT/" > "$OMAGY_CANDIDATE_FILE"'), Message("done"))
    home = make_codex_home(tmp_path / "codex", url)
    ws.environment |= {
        "OMAGY_CODEX": str(codex_for_tests()),
        "CODEX_HOME": home.environment["CODEX_HOME"],
        "TMPDIR": home.environment["TMPDIR"],
        KEY_VARIABLE: home.environment[KEY_VARIABLE],
    }
    ws.mission(f"budget:\n  max_iterations: 5\n{budget}", evaluator_keys=QUICK)
    ws.commit()
    done = ws.omagy("autoresearch", "--foreground", "--agent", "codex", "missions/m")
    assert done.returncode == 0, done.stderr
    return str(ws.manifest()["stop_reason"])


SESSION = 2 * (TOKENS_IN + TOKENS_OUT)


def test_tokens_end_a_run(ws: Workspace, tmp_path: Path, server: ResponsesServer) -> None:
    """Codex's own records of its sessions are added up; the session that passes the limit is the last."""
    reason = run_codex(ws, tmp_path, server, f"  max_tokens: {SESSION + 1}\n")
    assert ws.decisions() == ["baseline", "noop", "noop"]
    assert reason == f"token budget used: {2 * SESSION:,} (budget.max_tokens)"
    told = f"tokens: {4 * TOKENS_IN:,} in ({4 * TOKENS_CACHED:,} cached), {4 * TOKENS_OUT:,} out"
    assert told in (ws.folder() / "handoff.md").read_text()


def test_money_ends_a_run(ws: Workspace, tmp_path: Path, server: ResponsesServer) -> None:
    """The user's price table says what tokens cost, cached ones apart."""
    fresh, cached, out = 2 * (TOKENS_IN - TOKENS_CACHED), 2 * TOKENS_CACHED, 2 * TOKENS_OUT
    each = (fresh * 1000 + cached * 100 + out * 5000) / 1_000_000
    prices = "  prices: {input: 1000, cached_input: 100, output: 5000}\n"
    reason = run_codex(ws, tmp_path, server, f"  max_cost: {each}\n{prices}")
    assert ws.decisions() == ["baseline", "noop"]
    assert reason == f"money budget used: {each:.2f} (budget.max_cost)"
    assert f"cost: {each:.2f} by budget.prices" in (ws.folder() / "handoff.md").read_text()
