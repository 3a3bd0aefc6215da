"""What runs of a mission learnt: written, bounded, and never at the expense of what the person wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.events import Evaluated
from omagy_autoresearch.lessons import TEXT_LIMIT, lessons_section, merge_lessons
from unit.histories import History, commit, plan, scored


def _section(history: History) -> str:
    return lessons_section(history.state, history.state.recent)


def _ended() -> History:
    history = History().measured().candidate(scored(3.0)).candidate(scored(2.0)).noop().wrong("no artifact")
    return history.said(CandidateStatus.ABORT).ended()


def test_kept_gains_and_failed_ideas_are_written_with_their_reasons() -> None:
    """One line each; errors of a session teach nothing about the mission."""
    lines = _section(_ended()).splitlines()
    assert lines[0] == "## run faster-20260131t120000z (blocked, score 1 → 3)"
    assert lines[2:] == [
        "- kept: what was done | score improved: 1 → 3 (+200.0%)",
        "- failed: what was done | score got worse: 3 → 2 (-33.3%)",
        "- failed: what was done | the session found nothing to change",
    ]


def test_a_run_without_iterations_learnt_nothing() -> None:
    """There is no section for it."""
    assert _section(History().measured()) == ""


def test_a_description_stays_one_short_line() -> None:
    """What an agent wrote can neither begin a section of its own nor fill the file."""
    history = History().measured()
    left = history.left(CandidateStatus.CANDIDATE, commit(1))
    assert left.candidate is not None
    told = "good\n## run fake (finished)\n" + "x" * 1000
    history.session(replace(left, candidate=replace(left.candidate, description=told)))
    history.tell(Evaluated(scored(9.0))).decided()
    section = _section(history)
    assert section.count("\n## ") == 0
    assert max(map(len, section.splitlines())) < 600


def test_a_first_section_stands_below_an_introduction() -> None:
    """A file that omagy makes says what it is and what the person may do with it."""
    text = merge_lessons("", "r1", "## run r1 (finished)\n\n- kept: x\n")
    assert text.startswith("# Lessons\n")
    assert "Edit it as you like" in text
    assert text.endswith("## run r1 (finished)\n\n- kept: x\n")


def test_what_the_person_wrote_stays() -> None:
    """Text above the sections and edits inside other runs' sections are kept as they are; only the section of the
    run that ends is written anew."""
    mine = "My notes.\n\nDo not try caching.\n\n## run r1 (finished)\n\n- kept: x (this was wrong, me)\n"
    both = merge_lessons(mine, "r2", "## run r2 (failed)\n\n- failed: y\n")
    assert both.startswith(mine)
    again = merge_lessons(both, "r2", "## run r2 (finished)\n\n- kept: z\n")
    assert again == mine + "\n## run r2 (finished)\n\n- kept: z\n"


def test_a_run_whose_id_begins_like_another_keeps_its_section() -> None:
    """r1 and r10 are two runs."""
    old = merge_lessons("", "r10", "## run r10 (finished)\n\n- kept: ten\n")
    assert "ten" in merge_lessons(old, "r1", "## run r1 (finished)\n\n- kept: one\n")


def test_the_oldest_sections_go_when_there_are_too_many() -> None:
    """The file stays bounded; the newest run's section is always in it."""
    text = "Mine.\n"
    for number in range(60):
        text = merge_lessons(text, f"r{number}", f"## run r{number} (finished)\n\n" + "- kept: x\n" * 60)
    assert len(text) < TEXT_LIMIT + 1000
    assert text.startswith("Mine.\n")
    assert "## run r59 " in text
    assert "## run r0 " not in text


@pytest.mark.parametrize("section", ["", "## run r (finished)\n\n- kept: x\n"])
@given(old=st.text(max_size=200))
def test_writing_the_same_again_changes_nothing(section: str, old: str) -> None:
    """Ending a run twice, as a resume after a crash does, leaves the file as it was."""
    once = merge_lessons(old, "r", section)
    assert merge_lessons(once, "r", section) == once


def test_the_lessons_of_a_later_resume_replace_the_earlier_ones() -> None:
    """A run that went on is told once, with all it learnt."""
    history = History(plan()).measured().kept()
    first = merge_lessons("", "faster-20260131t120000z", _section(history))
    second = merge_lessons(first, "faster-20260131t120000z", _section(history.discarded()))
    assert second.count("## run ") == 1
    assert second.count("- ") == 2
