"""Whatever a person answers, in whatever order they go back: the interview stays whole."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.intake.answers import Problem
from omagy_autoresearch.intake.background import Background
from omagy_autoresearch.intake.document import decode, encode, markdown, restored, saved
from omagy_autoresearch.intake.interview import (
    Interview,
    Ready,
    Try,
    answer,
    back,
    change,
    missing,
    next_step,
    reopened,
    with_trial,
)
from omagy_autoresearch.intake.questions import Question, QuestionId
from omagy_autoresearch.intake.review import review
from omagy_autoresearch.intake.trials import Trial, subject
from omagy_autoresearch.mission_draft import mission_files
from omagy_autoresearch.proposal import Measure, Proposal

KNOWN = Background(
    repository="calc",
    proposals=(
        Proposal(
            key="a.size",
            measure=Measure.SIZE,
            title="size",
            why="it is there",
            direction=Direction.MINIMIZE,
            command="sh {mission}/size.sh",
            guard="make test",
            protected=("tests/**", "data/*.csv"),
        ),
        Proposal(
            key="b.tests",
            measure=Measure.TESTS,
            title="tests",
            why="they are there",
            direction=Direction.MAXIMIZE,
            command="make score",
        ),
    ),
    folders=("src", "lib"),
    taken=(("a", "missions/a exists already"),),
)
LIKELY = st.sampled_from(
    [
        *("", "a", "own", "a.size", "b.tests", "b.tests+edited", "time", "number", "json", "status", "maximize"),
        *("none", "anything", "src/**, lib", "10m", "5 iterations, 1h", "codex", "command:sh x", "make it fast"),
    ]
)
SAID = st.lists(st.one_of(LIKELY, st.text(max_size=12), st.just(None)), max_size=30)
"""Answers; None is a step back."""


def follow(said: list[str | None]) -> list[Interview]:
    """Every state on the way; what is due is tried, and works."""
    states = [Interview(known=KNOWN)]
    for text in said:
        state = states[-1]
        while isinstance(step := next_step(state), Try):
            tried = subject(state.draft, step.kind)
            state = with_trial(state, Trial(kind=step.kind, subject=tried, commit="c" * 40, scores=(1.0,)))
        found = back(state) if text is None else answer(state, text)
        states.append(state if isinstance(found, Problem) else found)
    return states


@given(SAID)
def test_any_answers_lead_to_a_state_or_a_problem(said: list[str | None]) -> None:
    """There is always a next step, a document, and a list of what is missing; and problems are words."""
    for state in follow(said):
        step = next_step(state)
        assert isinstance(step, Question | Try | Ready)
        assert "## Launch readiness" in markdown(state)
        assert review(state)
        assert mission_files(state.draft)
        if isinstance(step, Ready):
            assert missing(state) == ()
            assert state.draft.command
        found = answer(state, "\ud800")
        assert isinstance(found, Problem)
        assert found.text


@given(SAID, LIKELY)
def test_back_undoes_an_answer(said: list[str | None], text: str) -> None:
    state = follow(said)[-1]
    found = answer(state, text)
    if isinstance(found, Interview):
        assert back(found) == state


@given(SAID)
def test_a_draft_that_is_read_again_is_the_state_that_wrote_it(said: list[str | None]) -> None:
    for state in follow(said):
        raw = encode(saved(state, at="2026-01-31T12:00:00+00:00"))
        assert restored(decode(raw), KNOWN) == (state, "")


@given(SAID)
def test_every_default_is_an_answer(said: list[str | None]) -> None:
    """Enter always goes on, except where nothing can be known."""
    for state in follow(said):
        step = next_step(state)
        if isinstance(step, Question):
            assert isinstance(answer(state, ""), Interview), step


@given(SAID, st.sampled_from(list(QuestionId)), LIKELY)
def test_changing_an_answer_changes_nothing_before_it(said: list[str | None], which: QuestionId, text: str) -> None:
    state = follow(said)[-1]
    found = change(state, {which: text})
    if which not in state.answers or isinstance(found, Problem):
        return
    questions = [one.question for one in state.answered]
    before = questions.index(which)
    assert found.answered[:before] == state.answered[:before]
    assert reopened(found, which).default


@given(SAID)
def test_the_same_answers_again_change_nothing(said: list[str | None]) -> None:
    """Answers are kept in a form that means itself."""
    state = follow(said)[-1]
    assert change(state, state.answers) == state


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader_of_drafts(raw: bytes) -> None:
    with contextlib.suppress(ValueError):
        restored(decode(raw), KNOWN)
