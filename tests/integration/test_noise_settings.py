"""Noise settings on real runs, with evaluators whose every measurement is written down beforehand."""

import json
from pathlib import Path
from typing import Any

import pytest

from fakes.workspace import Workspace, candidate, wait_until

EVALUATOR = """\
import json, os, time
book = os.environ["SCORES"]
name = open("value.txt").read().strip()
served = open(book + ".served").read().split() if os.path.exists(book + ".served") else []
score = json.load(open(book))[name][served.count(name)]
if isinstance(score, str):
    open(book + ".waiting", "w").close()
    while not (os.path.exists(score) and open(score).read().endswith("\\n")):
        time.sleep(0.01)
    score = float(open(score).read())
with open(book + ".served", "a") as file:
    file.write(name + "\\n")
print(json.dumps({"pass": True, "score": score}))
"""


class Bench:
    """A workspace whose commits are named in value.txt, each with its scores in the order of its measurements."""

    def __init__(self, ws: Workspace, keys: str, iterations: int = 1, **scores: list[float | str]) -> None:
        self.ws = ws
        self.book = ws.root.parent / "scores.json"
        ws.environment["SCORES"] = str(self.book)
        self.book.write_text(json.dumps(scores))
        ws.write("value.txt", "base")
        ws.mission(f"budget:\n  max_iterations: {iterations}\n", EVALUATOR, evaluator_keys=keys)
        ws.commit()
        names = [name for name in scores if name != "base"]
        ws.plan(**{f"i{number}": candidate(name) for number, name in enumerate(names, start=1)})

    def run(self) -> list[dict[str, Any]]:
        """The ledger's entries of a whole run; what it printed stands in ``said``."""
        done = self.ws.launch()
        assert done.returncode == 0, done.stderr
        self.said = done.stderr
        return self.entries()

    def entries(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.ws.ledger()["entries"]
        return entries

    @property
    def served(self) -> list[str]:
        """The commits that were measured, in that order."""
        path = Path(f"{self.book}.served")
        return path.read_text().split() if path.exists() else []

    def handoff(self) -> str:
        return (self.ws.folder() / "handoff.md").read_text()


def decided(entry: dict[str, Any]) -> tuple[str, str]:
    return entry["decision"], entry["decision_reason"]


def test_the_baseline_is_measured_twice_and_the_noise_is_told(ws: Workspace) -> None:
    """By default two measurements of the same commit show how much scores vary, and what that means."""
    bench = Bench(ws, "  final_check: off\n", base=[100, 102], a=[101.5])
    baseline, entry = bench.run()
    assert (
        "scores vary by 2.1% from one measurement to the next: a gain below that will look like progress; "
        "set evaluator.repeats or evaluator.min_improvement"
    ) in bench.said
    assert baseline["evaluator"]["samples"] == [100, 102]
    assert decided(baseline) == ("baseline", "the starting point passes, score 101")
    assert decided(entry) == ("keep", "score improved: 101 → 101.5 (+0.5%)")
    assert bench.served == ["base", "base", "a"]


def test_a_mission_that_guards_against_noise_is_told_the_spread_only(ws: Workspace) -> None:
    """Advice that the mission already follows is not repeated."""
    bench = Bench(
        ws,
        "  final_check: off\n  baseline_repeats: 3\n  min_improvement: 5%\n",
        base=[100, 102, 98],
        a=[104],
    )
    baseline, entry = bench.run()
    assert "scores vary by 2.1% from one measurement to the next\n" in bench.said
    assert baseline["evaluator"]["samples"] == [100, 102, 98]
    assert decided(entry) == ("discard", "the gain 100 → 104 is below min_improvement (5)")


def test_an_evaluator_without_noise_is_told_so(ws: Workspace) -> None:
    """Measurements that agree exactly are worth a line too."""
    bench = Bench(ws, "  final_check: off\n", base=[100, 100], a=[99])
    bench.run()
    assert "measured 2 times, the same score each time" in bench.said


@pytest.mark.parametrize(
    ("wanted", "direction", "scores", "expected"),
    [
        ("2", "maximize", (101.9, 102, 103.9), ("discard", "keep", "discard")),
        ("2%", "maximize", (101.9, 102, 104), ("discard", "keep", "discard")),
        ("2%", "maximize", (102, 104.04, 104.05), ("keep", "keep", "discard")),
        ("2", "minimize", (98.1, 98, 96.5), ("discard", "keep", "discard")),
        ("0.5%", "minimize", (99.6, 99.5, 99), ("discard", "keep", "keep")),
    ],
)
def test_a_gain_below_the_least_that_counts_is_discarded(
    ws: Workspace, wanted: str, direction: str, scores: tuple[float, ...], expected: tuple[str, ...]
) -> None:
    """min_improvement is in units of the score or in percent of what is kept by then; one that equals it counts."""
    keys = f"  final_check: off\n  baseline_repeats: 1\n  min_improvement: {wanted}\n  direction: {direction}\n"
    named: dict[str, list[float | str]] = {f"c{number}": [score] for number, score in enumerate(scores)}
    entries = Bench(ws, keys, 3, base=[100], **named).run()[1:]
    assert [entry["decision"] for entry in entries] == list(expected), [decided(entry) for entry in entries]
    for entry in entries:
        assert ("below min_improvement" in entry["decision_reason"]) == (entry["decision"] == "discard")


@pytest.mark.parametrize(("aggregate", "score"), [("median", 113), ("mean", 115), ("min", 110), ("max", 122)])
def test_repeats_are_aggregated_as_the_mission_says(ws: Workspace, aggregate: str, score: float) -> None:
    """Each candidate is measured ``repeats`` times and the baseline at least twice that; all samples are recorded."""
    bench = Bench(
        ws,
        f"  final_check: off\n  repeats: 3\n  retest: off\n  aggregate: {aggregate}\n",
        base=[100, 101, 99, 100, 99, 101],
        a=[122, 110, 113],
    )
    baseline, entry = bench.run()
    assert entry["decision"] == "keep", entry["decision_reason"]
    assert entry["evaluator"]["score"] == score
    assert entry["evaluator"]["samples"] == [122, 110, 113]
    assert len(baseline["evaluator"]["samples"]) == 6
    assert "the gain" in entry["decision_reason"]
    assert "clears the noise" in entry["decision_reason"]
    assert bench.served == ["base"] * 6 + ["a"] * 3


NOISY = [100.0, 101, 99, 100, 101, 99]
FIRST = [101.5, 101.0, 102.0]


def test_every_gain_is_measured_again_side_by_side(ws: Workspace) -> None:
    """Candidate and incumbent take turns, each beginning every other pair, so that a drift favours neither.

    Only these fresh measurements decide, and the reason says the numbers.
    """
    bench = Bench(
        ws,
        "  final_check: off\n  repeats: 3\n",
        2,
        base=[*NOISY, 100, 100.5, 99.5, 100, 100.5, 99.5],
        lucky=[*FIRST, 100, 100.5, 99.5],
        real=[*FIRST, 106, 105, 107],
    )
    _, lucky, real = bench.run()
    assert lucky["decision"] == "discard"
    assert lucky["decision_reason"].startswith(
        "measured side by side: 100 → 100 over 3 pairs, a gain of 0 within noise"
    )
    assert real["decision"] == "keep"
    assert real["decision_reason"].startswith("measured side by side: 100 → 106 over 3 pairs, a gain of 6 over")
    turns = [(one["target"], one["score"]) for one in real["measurements"][3:]]
    assert turns == [
        ("candidate", 106),
        ("incumbent", 100),
        ("incumbent", 100.5),
        ("candidate", 105),
        ("candidate", 107),
        ("incumbent", 99.5),
    ]
    assert [one["score"] for one in lucky["measurements"]] == [*FIRST, 100, 100, 100.5, 100.5, 99.5, 99.5]
    assert ws.manifest()["last_kept_score"] == 106, "the lucky first measurements are forgotten"
    assert "measuring it side by side with what is kept" in bench.said


def test_measuring_again_ends_after_the_rounds_that_the_mission_allows(ws: Workspace) -> None:
    """``retest`` bounds the rounds of side-by-side measurements; a gain that only shows is discarded."""
    bench = Bench(
        ws,
        "  final_check: off\n  repeats: 2\n  retest: 2\n",
        base=[100, 104, 96, 100, 100, 104, 96, 100],
        a=[106, 108, 108, 110, 106, 108],
    )
    _, entry = bench.run()
    assert entry["decision"] == "discard"
    assert "measured side by side: 100 → 108 over 4 pairs, a gain of 8 within noise" in entry["decision_reason"]
    assert bench.served == ["base"] * 4 + ["a"] * 2 + ["a", "base", "base", "a"] * 2


def test_without_measuring_again_a_gain_within_the_noise_is_discarded_at_once(ws: Workspace) -> None:
    """``retest: off`` keeps only what clears the noise in its first measurements."""
    bench = Bench(ws, "  final_check: off\n  repeats: 3\n  retest: off\n", base=list(NOISY), a=list(FIRST))
    _, entry = bench.run()
    assert entry["decision"] == "discard"
    assert entry["decision_reason"].startswith("the gain 100 → 101.5 (1.5) does not clear the noise (")
    assert bench.served == ["base"] * 6 + ["a"] * 3


def test_a_worse_candidate_is_not_measured_again(ws: Workspace) -> None:
    """Repeats that are not better than what is kept cost nothing more."""
    bench = Bench(ws, "  final_check: off\n  repeats: 3\n", base=list(NOISY), a=[99, 99, 99])
    _, entry = bench.run()
    assert decided(entry) == ("discard", "score got worse: 100 → 99 (-1.0%)")
    assert bench.served == ["base"] * 6 + ["a"] * 3


# -- the check at the end


def test_the_handoff_says_how_much_of_the_gain_holds(ws: Workspace) -> None:
    """Baseline and kept commits are measured again in turn at the end; the handoff compares claim and finding."""
    bench = Bench(
        ws, "  baseline_repeats: 1\n", 3, base=[100, 100, 102], a=[110, 108, 110], b=[120, 106, 106], c=[90]
    )
    entries = bench.run()
    assert [entry["decision"] for entry in entries] == ["baseline", "keep", "keep", "discard"]
    assert bench.served[4:] == ["base", "a", "b"] * 2
    assert "measured again side by side: 1 of 2 keeps holds; 101 → 106 (+5.0%), claimed 100 → 120" in bench.handoff()
    assert ws.git("rev-parse", "HEAD", cwd=ws.lane()) == ws.manifest()["last_kept_commit"]
    assert [entry["decision"] for entry in bench.entries()] == ["baseline", "keep", "keep", "discard"]


def test_a_gain_that_was_luck_is_told_at_the_end(ws: Workspace) -> None:
    """When nothing of the gain is found again, the handoff says that it does not hold."""
    bench = Bench(ws, "  baseline_repeats: 1\n", base=[100, 101, 101], a=[110, 100, 100])
    bench.run()
    assert (
        "measured again side by side: the gain does not hold: 101 → 100 (-1.0%), claimed 100 → 110" in bench.handoff()
    )


@pytest.mark.parametrize(
    ("setting", "measured", "line"),
    [
        ("off", [], ""),
        ("best", ["base", "b"] * 2, "measured again side by side: 100 → 120 (+20.0%), claimed 100 → 120"),
    ],
)
def test_the_check_at_the_end_can_be_smaller(ws: Workspace, setting: str, measured: list[str], line: str) -> None:
    """``final_check: best`` compares the baseline with the best alone, ``off`` nothing."""
    keys = f"  baseline_repeats: 1\n  final_check: {setting}\n"
    bench = Bench(ws, keys, 2, base=[100] * 3, a=[110] * 3, b=[120] * 3)
    bench.run()
    assert bench.served[3:] == measured
    assert line in bench.handoff()
    assert ("measured again" in bench.handoff()) == bool(line)


def test_a_run_without_a_keep_has_nothing_to_check(ws: Workspace) -> None:
    """Nothing is measured again when nothing was kept."""
    bench = Bench(ws, "  baseline_repeats: 1\n", base=[100], a=[90])
    bench.run()
    assert bench.served == ["base", "a"]


# -- crashes


def test_a_kill_amid_a_comparison_repeats_no_recorded_measurement(ws: Workspace) -> None:
    """After kill -9 between two side-by-side measurements a resume goes on from those that were recorded, and
    decides what an undisturbed run would have."""
    gate = ws.root.parent / "gate"
    bench = Bench(
        ws,
        "  final_check: off\n  repeats: 3\n",
        base=[*NOISY, 100, 100.5, 99.5],
        real=[*FIRST, 106, str(gate), 107],
    )
    supervisor = ws.start_launch()
    wait_until(lambda: Path(f"{bench.book}.waiting").exists(), "the fifth measurement")
    before = bench.served
    assert before == ["base"] * 6 + ["real"] * 4 + ["base"] * 2
    supervisor.kill()
    supervisor.wait()
    gate.write_text("105\n")
    wait_until(lambda: bench.served != before or not ws.own_processes(), "the orphaned measurement's end")
    Path(f"{bench.book}.served").write_text("".join(f"{name}\n" for name in before))
    assert ws.resume(ws.run_id()).returncode == 0
    assert bench.served == [*before, "real", "real", "base"]
    _, entry = bench.entries()
    assert entry["decision"] == "keep"
    assert entry["decision_reason"].startswith(
        "measured side by side: 100 → 106 over 3 pairs, a gain of 6 over noise"
    )
    scores = [one["score"] for one in entry["measurements"]]
    assert scores == [*FIRST, 106, 100, 100.5, 105, 107, 99.5]


def test_a_kill_amid_the_check_at_the_end_is_made_up_for(ws: Workspace) -> None:
    """The check goes on where it was when the supervisor was killed, and ends the run with the same line."""
    gate = ws.root.parent / "gate"
    bench = Bench(ws, "  baseline_repeats: 1\n", base=[100, 100, str(gate)], a=[110, 111, 111])
    supervisor = ws.start_launch()
    wait_until(lambda: Path(f"{bench.book}.waiting").exists(), "the third measurement of the check")
    supervisor.kill()
    supervisor.wait()
    before = bench.served
    gate.write_text("100\n")
    wait_until(lambda: bench.served != before or not ws.own_processes(), "the orphaned measurement's end")
    Path(f"{bench.book}.served").write_text("".join(f"{name}\n" for name in before))
    assert ws.resume(ws.run_id()).returncode == 0
    assert "measured again side by side: 100 → 111 (+11.0%), claimed 100 → 110" in bench.handoff()
    assert ws.decisions() == ["baseline", "keep"]
