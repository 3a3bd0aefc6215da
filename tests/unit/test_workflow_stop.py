"""When a session may stop: all modes count, and what became of their questions."""

import pytest

from omagy_autoresearch.questions import Status
from omagy_autoresearch.workflow import Mode
from omagy_autoresearch.workflow_stop import MayStop, MustContinue, must_continue

_ACTIVE = {"active": True}
_TWO = {**_ACTIVE, "questions": [{"id": "q-1", "status": "open"}, {"id": "q-2", "status": "open"}]}
_OPEN, _ANSWERED = Status.OPEN, Status.ANSWERED


@pytest.mark.parametrize(
    ("state", "recorded", "waits"),
    [
        ({**_ACTIVE, "question_id": "q-1"}, {}, False),
        ({**_ACTIVE, "question_id": "q-1"}, {"q-1": _OPEN}, True),
        ({**_ACTIVE, "question_id": "q-1", "question_status": "open"}, {}, True),
        ({**_ACTIVE, "question_id": "q-1", "question_status": "open"}, {"q-1": _ANSWERED}, False),
        ({**_ACTIVE, "question_id": "q-1", "question_status": "open"}, {"q-1": Status.CANCELLED}, False),
        ({**_ACTIVE, "question_id": "q-1", "question_status": "open"}, {"q-1": Status.EXPIRED}, False),
        ({**_ACTIVE, "question_id": "q-1", "question_status": "open"}, {"q-2": _ANSWERED}, True),
        (_TWO, {"q-1": _ANSWERED}, True),
        (_TWO, {"q-1": _ANSWERED, "q-2": _ANSWERED}, False),
        ({**_ACTIVE, "question": {"id": "q-1", "status": "answered"}}, {"q-1": _OPEN}, True),
    ],
)
def test_a_mode_waits_as_long_as_one_of_its_questions_is_open(
    state: dict[str, object], recorded: dict[str, Status], waits: bool
) -> None:
    """Records of questions count before what the state says of them, and what has no record is as the state says."""
    found = must_continue({Mode.RALPH: state}, recorded)
    assert isinstance(found, MayStop if waits else MustContinue)
    assert must_continue({Mode.RALPH: state, Mode.TEAM: _ACTIVE}, recorded).reason.startswith(
        "team has not ended" if waits else "team+ralph has not ended"
    )


def test_what_became_of_a_question_is_told_with_where_it_is_read() -> None:
    found = must_continue({Mode.RALPH: {**_ACTIVE, "question_id": "q-1"}}, {"q-1": _ANSWERED})
    assert found.reason == "ralph has not ended; question q-1 is answered: omagy question show q-1"


def test_an_outcome_counts_before_an_answer() -> None:
    """A mode that has ended does not go on by itself, answered or not."""
    state = {"active": False, "lifecycle_outcome": "askuserQuestion", "question_id": "q-1"}
    assert isinstance(must_continue({Mode.RALPH: state}, {"q-1": _ANSWERED}), MayStop)
