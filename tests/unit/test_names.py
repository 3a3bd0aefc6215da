"""The names that a run gives to things."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch import names

RUN = "faster-20260131t120000z"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Faster Sorting", "faster-sorting"),
        ("faster_sorting.v2", "faster-sorting-v2"),
        ("--a--b--", "a-b"),
        ("Größe", "gr-e"),
        ("x.lock", "x-lock"),
        ("../../etc", "etc"),
        ("@{u}", "u"),
        ("日本語", ""),
        ("", ""),
        ("a" * 60, "a" * 48),
        ("a" * 47 + " b", "a" * 47),
    ],
)
def test_a_name_becomes_a_slug(name: str, slug: str) -> None:
    """A slug is lower-case words joined by dashes, and is cut without a dash at its end."""
    assert names.slugify(name) == slug


@given(st.text(max_size=80))
def test_every_slug_is_safe_everywhere(name: str) -> None:
    """No name leads to a slug that git, a path or tmux would read differently, and slugs are stable."""
    slug = names.slugify(name)
    assert re.fullmatch(r"([a-z0-9]+(-[a-z0-9]+)*)?", slug)
    assert len(slug) <= 48
    assert names.slugify(slug) == slug


def test_a_run_tag_is_utc_in_the_contracts_form() -> None:
    """The tag is UTC YYYYMMDDTHHMMSSZ, wherever the machine stands."""
    there = timezone(timedelta(hours=-8))
    assert names.run_tag(datetime(2026, 1, 31, 23, 5, 9, tzinfo=there)) == "20260201T070509Z"
    assert names.run_tag(datetime(2026, 1, 31, 12, tzinfo=UTC)) == "20260131T120000Z"


@pytest.mark.parametrize(("number", "tag"), [(1, "T"), (2, "T-2"), (3, "T-3")])
def test_a_second_run_of_the_same_second_is_numbered_from_two(number: int, tag: str) -> None:
    """The first run of a second has the plain tag, the next ones -2, -3 and so on."""
    assert names.numbered("T", number) == tag


def test_names_of_a_lane_are_those_of_the_contract() -> None:
    """Branch, worktree and run id are spelt as the contract says."""
    assert names.run_id("faster", "20260131T120000Z-2") == "faster-20260131t120000z-2"
    assert names.branch_name("faster", "20260131T120000Z") == "autoresearch/faster/20260131T120000Z"
    assert names.worktree_name("faster", "20260131T120000Z") == "autoresearch-faster-20260131T120000Z"
    assert names.iteration_folder(7) == "iterations/0007"


def test_everything_of_a_run_hangs_below_its_own_ref() -> None:
    """Kept, candidates, strayed branches and leftovers are all found below refs/omagy/<run-id>."""
    refs = [
        names.kept_ref(RUN),
        names.candidate_ref(RUN, 3, 1),
        names.candidate_ref(RUN, 3, 2),
        names.strayed_ref(RUN, 3, 1),
        names.leftovers_ref(RUN, "3.1"),
        names.leftovers_ref(RUN, "resume-2"),
    ]
    assert all(ref.startswith(f"refs/omagy/{RUN}/") for ref in refs)
    assert len(set(refs)) == len(refs)


@given(
    st.tuples(st.integers(1, 9999), st.integers(1, 99)),
    st.tuples(st.integers(1, 9999), st.integers(1, 99)),
)
def test_attempts_never_share_a_ref_or_a_window(one: tuple[int, int], other: tuple[int, int]) -> None:
    """Two different attempts have different candidate refs and windows, and no ref lies inside another."""
    for name in (names.window_name, lambda i, a: names.candidate_ref(RUN, i, a)):
        assert (name(*one) == name(*other)) == (one == other)
        assert not name(*one).startswith(name(*other) + "/")


@pytest.mark.parametrize(
    ("text", "fit"),
    [
        ("speed-20260131t120000z", True),
        ("speed-20260131t120000z-2", True),
        ("a_b.c", True),
        *((text, False) for text in ("", "-x", ".", "../x", "a/b", "a b", "a;b", "a\n", "é", "x" * 201, "$(x)")),
    ],
)
def test_a_run_id_is_one_name_and_one_word(text: str, fit: bool) -> None:
    """A planted one leads neither out of its folder nor into a shell."""
    assert names.is_run_id(text) is fit
