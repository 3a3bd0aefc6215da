"""Records that earlier tools left load as what they mean, for ever (tests/data/lifecycle)."""

import json
from pathlib import Path

import pytest

from omagy_autoresearch.lifecycle import Outcome, normalise

DATA = Path(__file__).parents[1] / "data" / "lifecycle"
RECORDS: dict[str, tuple[Outcome | None, bool]] = {
    "sibling-manifest-completed": (Outcome.FINISHED, True),
    "sibling-manifest-stopped": (None, True),
    "manifest-cancelled": (Outcome.USERINTERLUDE, True),
    "deep-interview-state-asking": (Outcome.ASK_USER_QUESTION, True),
    "deep-interview-state-old-asking": (Outcome.ASK_USER_QUESTION, True),
    "ralph-state-blocked-on-user": (Outcome.BLOCKED, True),
    "team-state-run-outcome-only": (Outcome.FINISHED, True),
    "ultrawork-state-going-on": (None, False),
    "plan-state-phase-only": (Outcome.USERINTERLUDE, True),
    "ultraqa-state-just-over": (None, True),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_an_earlier_tool_says_what_it_meant(name: str) -> None:
    """Its outcome, and whether it is over at all."""
    reading = normalise(json.loads((DATA / f"{name}.json").read_text()))
    assert (reading.outcome, reading.ended) == RECORDS[name]
    assert not reading.problem


def test_every_record_that_is_kept_is_tested() -> None:
    """None of them lies there unread."""
    assert {path.stem for path in DATA.glob("*.json")} == set(RECORDS)
