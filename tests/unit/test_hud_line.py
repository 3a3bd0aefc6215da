"""The line of the HUD."""

from datetime import UTC, datetime

import pytest

from omagy_autoresearch.hud import RunGlance, hud_line, plain, sparkline

RUN = RunGlance(
    run_id="speed-20260131t120000z",
    name="speed",
    state="in session",
    iteration=12,
    best=93.25,
    baseline=80.0,
    scores=(80.0, 85.0, 93.25),
)
WAITING = RUN._replace(
    state="waiting", waits_until=datetime(2026, 1, 31, 3, 10, tzinfo=UTC), waits_for="usage limit reached"
)


def _line(*combinations: str, run: RunGlance | None = None, width: int = 200, unicode: bool = True) -> str:
    return hud_line(combinations, run, width, unicode=unicode)


def test_nothing_is_told_as_such() -> None:
    assert _line() == "omagy: idle"


def test_modes_are_told_by_their_combination() -> None:
    assert _line("team+ralph") == "omagy: team+ralph"
    assert _line("team+ralph", "plan") == "omagy: team+ralph, plan"


def test_a_run_is_told_with_iteration_score_gain_and_trend() -> None:
    assert _line(run=RUN) == "omagy: autoresearch speed in session | iteration 12 | best 93.25 (+16.6%) ▁▄█"


def test_a_wait_is_told_with_its_end_and_reason() -> None:
    assert _line(run=WAITING).endswith(" | waits until 03:10: usage limit reached")


def test_a_run_without_scores_is_told_without() -> None:
    bare = RunGlance("r", "speed", "preparing", 0)
    assert _line(run=bare) == "omagy: autoresearch speed preparing | iteration 0"
    assert _line(run=bare._replace(name="")) == "omagy: autoresearch preparing | iteration 0"
    zero = RUN._replace(baseline=0.0, scores=())
    assert _line(run=zero) == "omagy: autoresearch speed in session | iteration 12 | best 93.25"


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("run", [None, RUN, WAITING, RUN._replace(name="x" * 90)])
def test_the_line_keeps_its_width(run: RunGlance | None, unicode: bool) -> None:
    for width in (*range(1, 130), 500):
        line = _line("team+ralph", run=run, width=width, unicode=unicode)
        assert 0 < len(line) <= width
        assert unicode or line.isascii()


def test_what_matters_least_goes_first() -> None:
    """The reason of a wait, then the trend, then words; iteration and score stay longest."""
    full = len(_line(run=WAITING))
    assert "usage" not in _line(run=WAITING, width=full - 1)
    assert "▁" in _line(run=WAITING, width=full - 1)
    assert "#12 | best 93.25" in _line(run=RUN, width=60)


def test_nothing_in_a_record_commands_a_terminal_or_tmux() -> None:
    """Escape sequences, tmux's styles and its shell commands come out as text."""
    assert plain("a\033[31m\n\tb#[fg=red]#(rm)##[x]") == "a b[fg=red](rm)[x]"
    evil = WAITING._replace(name="\033]0;x\007##(reboot)", state="#[reverse]", waits_for="#{pane_id}")
    assert not {"\033", "\007"} & set(_line(run=evil))
    assert "#" not in _line(run=evil)


@pytest.mark.parametrize(
    ("scores", "bars"),
    [
        ((), ""),
        ((1.0,), ""),
        ((1.0, 1.0), "▁▁"),
        ((1.0, 2.0), "▁█"),
        ((2.0, 1.0, 1.5), "█▁▅"),
        ((-1.7e308, 1.7e308), "▁▁"),
    ],
)
def test_a_trend_is_bars(scores: tuple[float, ...], bars: str) -> None:
    assert sparkline(scores) == bars
