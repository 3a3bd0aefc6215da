"""How a record of any age says how its workflow ended: the whole table, and what nobody may read into it."""

from typing import Any

import pytest

from omagy_autoresearch.lifecycle import LEGACY, Outcome, Reading, Source, normalise

FINISHED, BLOCKED, FAILED = Outcome.FINISHED, Outcome.BLOCKED, Outcome.FAILED
INTERLUDE, ASKED = Outcome.USERINTERLUDE, Outcome.ASK_USER_QUESTION

PROOFS: dict[str, dict[str, Any]] = {
    "an id of a recorded question": {"question_id": "q1"},
    "an id with its status": {"question_id": "q1", "question_status": "answered"},
    "a question's record": {"question": {"id": "q1", "status": "open"}},
    "a sibling's record": {"question": {"question_id": "q1", "status": "prompting"}},
    "a list of records": {"questions": [{"id": "q0", "status": "cancelled"}, {"id": "q1", "status": "asked"}]},
    "a sibling's obligation": {"question_enforcement": {"obligation_id": "q1", "status": "pending"}},
    "one that was met": {"question_enforcement": {"obligation_id": "o", "question_id": "q1", "status": "satisfied"}},
}
NO_PROOFS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "words alone": {"question": "Which one?", "current_phase": "waiting for the user"},
    "an empty id": {"question_id": "  "},
    "an id that is none": {"question_id": 7},
    "a record without an id": {"question": {"status": "open", "question": "Which one?"}},
    "a record without a status": {"question": {"id": "q1"}},
    "a withdrawn question": {"question": {"id": "q1", "status": "cancelled"}},
    "one that was never shown": {"question": {"id": "q1", "status": "error"}},
    "an unknown status": {"question_id": "q1", "question_status": "drafted"},
    "a withdrawn question named once more": {"question_id": "q1", "question": {"id": "q1", "status": "cancelled"}},
    "one that does not block": {"question": {"id": "q1", "status": "open", "blocking": False}},
    "an obligation that was dropped": {"question_enforcement": {"obligation_id": "q1", "status": "cleared"}},
    "an empty list": {"questions": []},
    "a list of garbage": {"questions": [None, 1, "q1", ["q1"], {"id": ["q1"], "status": {}}]},
}


@pytest.mark.parametrize("field", ["lifecycle_outcome", "run_outcome", "current_phase", "status"])
@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("finished", FINISHED),
        ("blocked", BLOCKED),
        ("failed", FAILED),
        ("userinterlude", INTERLUDE),
        ("askuserQuestion", ASKED),
        ("finish", FINISHED),
        ("complete", FINISHED),
        ("completed", FINISHED),
        ("done", FINISHED),
        ("cancelled", INTERLUDE),
        ("canceled", INTERLUDE),
        ("abort", INTERLUDE),
        ("aborted", INTERLUDE),
        ("blocked_on_user", BLOCKED),
        # Spelling does not matter, as far as nobody can take one word for another.
        ("Finished", FINISHED),
        (" COMPLETED\n", FINISHED),
        ("askUserQuestion", ASKED),
        ("ask_user_question", ASKED),
        ("ASK-USER-QUESTION", ASKED),
        ("user-interlude", INTERLUDE),
        ("Blocked-On-User", BLOCKED),
    ],
)
def test_every_word_has_its_outcome_wherever_it_stands(field: str, word: str, outcome: Outcome) -> None:
    """Canonical words mean themselves, legacy words what the contract says, in each place that may hold one."""
    reading = normalise({field: word})
    assert reading.outcome is outcome
    assert reading.ended
    assert reading.source == {"status": Source.CONTEXT}.get(field, field)
    assert not reading.problem


@pytest.mark.parametrize("proof", PROOFS)
@pytest.mark.parametrize("field", ["lifecycle_outcome", "run_outcome", "current_phase"])
def test_blocked_on_user_is_a_question_when_one_was_asked(field: str, proof: str) -> None:
    """A question's record tells that the user is who is waited for."""
    reading = normalise({field: "blocked_on_user", **PROOFS[proof]})
    assert reading.outcome is ASKED
    assert reading.question is not None
    assert reading.question.id == "q1"


@pytest.mark.parametrize("proof", NO_PROOFS)
def test_blocked_on_user_without_proof_of_a_question_is_blocked(proof: str) -> None:
    """A model's words, or a question that was taken back, ask nobody anything."""
    reading = normalise({"run_outcome": "blocked_on_user", **NO_PROOFS[proof]})
    assert (reading.outcome, reading.question) == (BLOCKED, None)


@pytest.mark.parametrize(
    ("record", "outcome", "source"),
    [
        ({"lifecycle_outcome": "failed", "run_outcome": "finish"}, FAILED, "lifecycle_outcome"),
        ({"lifecycle_outcome": "finished", "run_outcome": "failed"}, FINISHED, "lifecycle_outcome"),
        ({"lifecycle_outcome": "userinterlude", "current_phase": "complete"}, INTERLUDE, "lifecycle_outcome"),
        ({"lifecycle_outcome": "blocked", "active": True}, BLOCKED, "lifecycle_outcome"),
        ({"lifecycle_outcome": "blocked", "question": {"id": "q", "status": "open"}}, BLOCKED, "lifecycle_outcome"),
        ({"lifecycle_outcome": "cancelled", "run_outcome": "finish"}, INTERLUDE, "lifecycle_outcome"),
        ({"lifecycle_outcome": None, "run_outcome": "failed"}, FAILED, "run_outcome"),
        ({"lifecycle_outcome": " ", "run_outcome": "failed"}, FAILED, "run_outcome"),
        ({"run_outcome": "failed", "current_phase": "complete"}, FAILED, "run_outcome"),
        ({"run_outcome": "continue", "current_phase": "complete"}, None, "run_outcome"),
        ({"run_outcome": "progress"}, None, "run_outcome"),
        ({"current_phase": "failed", "status": "done"}, FAILED, "current_phase"),
        ({"current_phase": "complete", "question": {"id": "q", "status": "open"}}, FINISHED, "current_phase"),
        ({"current_phase": "executing", "question": {"id": "q", "status": "open"}}, ASKED, "question"),
        ({"question": {"id": "q", "status": "open"}, "status": "done"}, ASKED, "question"),
        ({"question": {"id": "q", "status": "answered"}}, None, "nothing"),
        ({"question_id": "q"}, None, "nothing"),
        ({"status": "failed", "completed_at": "2026-01-01"}, FAILED, "context"),
        ({"active": False, "error": "out of memory"}, FAILED, "context"),
        ({"completed_at": "2026-01-01", "error": "out of memory"}, FAILED, "context"),
        ({"error": "a retry helped"}, None, "nothing"),
        ({"active": True, "error": "a retry helped"}, None, "nothing"),
    ],
)
def test_the_sources_are_asked_in_order(record: dict[str, Any], outcome: Outcome | None, source: str) -> None:
    """lifecycle_outcome, run_outcome, phase, question, context: the first that says something decides."""
    reading = normalise(record)
    assert (reading.outcome, reading.source) == (outcome, source)


@pytest.mark.parametrize("unknown", ["exploded", "finisheded", "ﬁnished", "fin ished", 1, True, [], ["finished"], {}])
@pytest.mark.parametrize("field", ["lifecycle_outcome", "run_outcome"])
def test_nothing_reads_finished_behind_a_value_that_nobody_understands(field: str, unknown: object) -> None:
    """What is below it is still asked, and may say how it failed; that it went well nobody can know."""
    below = {"current_phase": "complete", "status": "done", "completed_at": "2026-01-01", "active": False}
    reading = normalise({field: unknown, **below})
    assert (reading.outcome, reading.ended) == (None, True)
    assert reading.problem.startswith(f"{field} holds ")
    assert normalise({field: unknown, "current_phase": "failed"}).outcome is FAILED
    assert normalise({field: unknown, "current_phase": "cancelled"}).outcome is INTERLUDE


def test_an_unknown_outcome_does_not_hide_the_one_below() -> None:
    """run_outcome still tells a failure, and what was not understood is told with it."""
    reading = normalise({"lifecycle_outcome": "exploded", "run_outcome": "failed"})
    assert reading.outcome is FAILED
    assert reading.problem == "lifecycle_outcome holds 'exploded', which is no outcome"
    assert normalise({"lifecycle_outcome": "exploded", "run_outcome": "finish"}).outcome is None


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"active": True, "current_phase": "executing"},
        {"current_phase": "reviewing", "status": "running"},
        {"active": None, "completed_at": ""},
    ],
)
def test_what_has_not_ended_has_no_outcome(record: dict[str, Any]) -> None:
    """Names of phases are open: one that is no outcome says nothing about an end."""
    assert normalise(record) == Reading(None)


@pytest.mark.parametrize("record", [{"active": False}, {"completed_at": "2026-01-01"}, {"lifecycle_outcome": 3}])
def test_what_is_over_without_saying_how_has_no_outcome_but_has_ended(record: dict[str, Any]) -> None:
    """Being over is not having succeeded."""
    reading = normalise(record)
    assert (reading.outcome, reading.ended) == (None, True)


def test_an_active_workflow_whose_phase_says_that_it_ended_has_no_outcome() -> None:
    """Two hints that contradict each other infer nothing."""
    reading = normalise({"active": True, "current_phase": "complete"})
    assert (reading.outcome, reading.ended) == (None, False)
    assert reading.problem == "current_phase says that it has ended, and active that it has not"


@pytest.mark.parametrize("record", [None, 1, "finished", ["finished"], True])
def test_what_is_no_object_has_no_outcome(record: object) -> None:
    """Garbage gives a reading that says so."""
    assert normalise(record) == Reading(None, problem="the record is no JSON object")


def test_reason_and_question_are_read_on_the_way() -> None:
    """Whoever tells of the end has the record's reason, and the question's id and words, in one line each."""
    question = {"id": "q1", "status": "open", "question": "Which\none?"}
    reading = normalise({"run_outcome": "blocked_on_user", "stop_reason": " a \n b ", "question": question})
    assert reading.reason == "a b"
    assert reading.question is not None
    assert (reading.question.open, reading.question.text) == (True, "Which one?")
    assert normalise({"reason": "why", "stop_reason": ""}).reason == "why"


def test_an_open_question_is_told_before_an_answered_one() -> None:
    """The one that waits is the one a person needs."""
    asked = [{"id": "q1", "status": "answered"}, {"id": "q2", "status": "pending"}]
    reading = normalise({"questions": asked})
    assert reading.question is not None
    assert reading.question.id == "q2"


def test_no_legacy_word_is_an_outcome() -> None:
    """What is legacy is never canonical, so no outcome is ever shown as one."""
    assert not {outcome.lower() for outcome in Outcome} & set(LEGACY)
