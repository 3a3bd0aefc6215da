"""Whatever stands in a record, reading it is safe: total, true to canonical words, and never too hopeful."""

from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from omagy_autoresearch.lifecycle import LEGACY, Outcome, Source, normalise

_WORDS = [*Outcome, *LEGACY, "blocked_on_user", "continue", "exploded", "ﬁnished", "", " finished ", "Running"]
_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(_WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_question = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["q1", ""]) | _json,
        "status": st.sampled_from(["open", "answered", "cancelled"]) | _json,
        "blocking": st.booleans(),
    },
)
_records = st.fixed_dictionaries(
    {},
    optional={
        "lifecycle_outcome": st.sampled_from(_WORDS) | _json,
        "run_outcome": st.sampled_from(_WORDS) | _json,
        "current_phase": st.sampled_from(_WORDS) | _json,
        "status": st.sampled_from(_WORDS) | _json,
        "active": st.booleans() | _json,
        "completed_at": _json,
        "error": _json,
        "question_id": _json,
        "question": _question | _json,
        "questions": st.lists(_question) | _json,
        "question_enforcement": _question | _json,
    },
)
_FIELDS = {
    Source.LIFECYCLE_OUTCOME: "lifecycle_outcome",
    Source.RUN_OUTCOME: "run_outcome",
    Source.CURRENT_PHASE: "current_phase",
    Source.CONTEXT: "status",
}
_FINISHED_WORDS = {"finished", *(word for word, outcome in LEGACY.items() if outcome is Outcome.FINISHED)}


@given(_json | _records)
def test_any_value_gives_a_reading(value: Any) -> None:
    """No JSON value makes reading fail, and an outcome is always one of an end."""
    reading = normalise(value)
    assert reading.outcome is None or reading.ended


@given(_records)
def test_finished_is_never_invented(record: dict[str, Any]) -> None:
    """It stands in the deciding source as a word that means it, or nobody says it."""
    reading = normalise(record)
    if reading.outcome is Outcome.FINISHED:
        assert record[_FIELDS[reading.source]].strip().lower() in _FINISHED_WORDS
        assert not reading.problem


@given(_records, st.sampled_from(Outcome))
def test_a_canonical_value_always_wins(record: dict[str, Any], outcome: Outcome) -> None:
    """Whatever else the record says."""
    reading = normalise({**record, "lifecycle_outcome": str(outcome)})
    assert (reading.outcome, reading.source, reading.problem) == (outcome, Source.LIFECYCLE_OUTCOME, "")


@given(_records)
def test_reading_what_was_read_changes_nothing(record: dict[str, Any]) -> None:
    """A record brought up to date reads as before."""
    once = normalise(record)
    if once.outcome is not None:
        again = normalise({**record, "lifecycle_outcome": once.outcome.value})
        assert (again.outcome, again.question, again.reason) == (once.outcome, once.question, once.reason)
