"""Runs that an earlier tool left: listed as what they were, and refused with what to do (contract section 6)."""

import json
import shutil
from pathlib import Path

import pytest

from fakes.workspace import Workspace, contents

DATA = Path(__file__).parents[1] / "data" / "lifecycle"


@pytest.fixture
def old(ws: Workspace) -> Workspace:
    """A repository with the records of an earlier tool's runs in it."""
    ws.commit()
    for name in ("sibling-manifest-completed", "sibling-manifest-stopped", "manifest-cancelled"):
        run_id = json.loads((DATA / f"{name}.json").read_text())["run_id"]
        folder = ws.root / ".omagy/logs/autoresearch" / run_id
        folder.mkdir(parents=True)
        shutil.copy(DATA / f"{name}.json", folder / "manifest.json")
    return ws


def test_runs_of_an_earlier_tool_are_listed_with_canonical_outcomes(old: Workspace) -> None:
    """No legacy word is shown as an outcome, for people or for programs."""
    listed = old.omagy("autoresearch", "list")
    assert listed.returncode == 0, listed.stderr
    states = {line.split("  ")[0]: line for line in listed.stdout.splitlines()[1:]}
    assert " finished " in states["tokenizer-20250611t081502z"]
    assert " userinterlude " in states["parser-20250901t100000z"]
    assert " over, it is not known how " in states["tokenizer-20250612t201100z"]
    assert "completed" not in listed.stdout
    assert "cancelled" not in listed.stdout
    runs = json.loads(old.omagy("autoresearch", "list", "--json").stdout)["runs"]
    assert [run["lifecycle_outcome"] for run in runs] == ["finished", None, "userinterlude"]
    status = old.omagy("autoresearch", "status", "tokenizer-20250612t201100z")
    assert status.returncode == 0, status.stderr
    assert "omagy autoresearch missions/tokenizer" in status.stdout


@pytest.mark.parametrize(
    ("run_id", "said", "way_out"),
    [
        ("tokenizer-20250611t081502z", "has ended for good: finished, iteration limit reached", "start a new run: "),
        ("tokenizer-20250612t201100z", "has no journal", "git log autoresearch/tokenizer/20250612t201100z"),
        ("parser-20250901t100000z", "has no journal", "start a new run: omagy autoresearch missions/parser"),
    ],
)
def test_a_run_of_an_earlier_tool_is_not_resumed(old: Workspace, run_id: str, said: str, way_out: str) -> None:
    """Finished is for good; of the others nothing is left to go on from, and nothing is touched."""
    before = contents(old.root)
    done = old.resume(run_id)
    assert done.returncode == 2
    assert said in done.stderr
    assert way_out in done.stderr
    assert contents(old.root) == before


def test_a_run_whose_outcome_nobody_understands_is_not_resumed(old: Workspace) -> None:
    """An unknown word is told with the file it stands in; the other runs are listed all the same."""
    path = old.root / ".omagy/logs/autoresearch/parser-20250901t100000z/manifest.json"
    path.write_text(path.read_text().replace('"cancelled"', '"exploded"'))
    done = old.resume("parser-20250901t100000z")
    assert done.returncode == 2
    assert "manifest.json cannot be read: lifecycle_outcome holds 'exploded', which is no outcome" in done.stderr
    listed = old.omagy("autoresearch", "list")
    assert "tokenizer-20250611t081502z" in listed.stdout
    assert "run parser-20250901t100000z has no manifest that can be read" in listed.stderr


@pytest.mark.parametrize(
    ("run_id", "status", "outcome"),
    [
        ("tokenizer-20250611t081502z", 0, "finished: the workflow is complete"),
        ("tokenizer-20250612t201100z", 3, "blocked: its record says that it is over, and not how"),
        ("parser-20250901t100000z", 130, "userinterlude: a person stopped it"),
    ],
)
def test_watching_a_run_of_an_earlier_tool_shows_its_handoff(
    old: Workspace, run_id: str, status: int, outcome: str
) -> None:
    """There is no handoff.md; the manifest has what there is to tell, in the four parts."""
    done = old.omagy("autoresearch", "watch", run_id)
    assert done.returncode == status, done.stderr
    assert [f"- {outcome}"] == [line for line in done.stdout.splitlines() if outcome in line]
    assert done.stdout.count("\n## ") == 4
