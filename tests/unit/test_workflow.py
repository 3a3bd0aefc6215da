"""Which modes may be active together, and which hand over to which."""

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.workflow import (
    HANDOFFS,
    PEERS,
    ActiveSet,
    Allowed,
    Denied,
    Mode,
    combination,
    parse_mode,
    recovery,
    transition,
    unsupported_pairs,
)

PEER_PAIRS = ["team+ralph", "team+ultrawork", "team+ultragoal"]
HANDOFF_PAIRS = [
    *("deep-interview>team", "deep-interview>plan", "deep-interview>ralph", "deep-interview>ultrawork"),
    *("deep-interview>ultragoal", "deep-interview>review", "plan>team", "plan>ralph", "plan>ultragoal"),
    *("review>ultraqa", "ultragoal>ultraqa", "ralph>ultraqa"),
]
SUPPORTED = [frozenset[Mode](), *(frozenset({mode}) for mode in Mode), *PEERS]


def _set(shown: str) -> ActiveSet:
    return frozenset(Mode(name) for name in shown.split("+") if name)


@pytest.mark.parametrize("target", Mode)
@pytest.mark.parametrize("source", Mode)
def test_every_pair_of_modes_is_as_the_contract_says(source: Mode, target: Mode) -> None:
    """Peers stay together, a handoff completes its source, and everything else is denied."""
    found = transition(frozenset({source}), target)
    if source is target:
        assert found == Allowed((), frozenset({source}))
    elif any(_set(pair) == {source, target} for pair in PEER_PAIRS):
        assert found == Allowed((), frozenset({source, target}))
    elif f"{source}>{target}" in HANDOFF_PAIRS:
        assert found == Allowed((source,), frozenset({target}))
    else:
        assert isinstance(found, Denied)
        assert found.in_the_way == (source,)


def test_the_tables_hold_exactly_what_the_contract_lists() -> None:
    assert {combination(pair) for pair in PEERS} == set(PEER_PAIRS)
    assert {f"{a}>{b}" for a, targets in HANDOFFS.items() for b in targets} == set(HANDOFF_PAIRS)


@pytest.mark.parametrize("mode", Mode)
def test_any_mode_may_stand_alone(mode: Mode) -> None:
    assert transition(frozenset(), mode) == Allowed((), frozenset({mode}))


@pytest.mark.parametrize(
    ("active", "target", "in_the_way", "pairs"),
    [
        ("team+ralph", "ultraqa", "team", "team+ultraqa"),  # ralph would hand over, but team would stay
        ("team+ultragoal", "ultraqa", "team", "team+ultraqa"),
        ("team+ralph", "ultrawork", "ralph", "ralph+ultrawork"),
        ("team+ultrawork", "ultragoal", "ultrawork", "ultrawork+ultragoal"),
        ("team+ralph", "review", "team+ralph", "review+team and review+ralph"),
        ("team+ralph", "autoresearch", "team+ralph", "team+autoresearch and ralph+autoresearch"),
        ("plan", "ultrawork", "plan", "plan+ultrawork"),
        ("plan", "deep-interview", "plan", "deep-interview+plan"),
        ("autoresearch", "team", "autoresearch", "team+autoresearch"),
        # What an older writer left: nothing joins it, not even what would go with a part of it.
        ("ralph+ultrawork", "team", "ralph+ultrawork", "ralph+ultrawork"),
        ("plan+team", "ralph", "plan+team", "plan+team"),
        ("team+ralph+ultragoal", "ultrawork", "ralph+ultragoal", "ralph+ultragoal"),
    ],
)
def test_a_denial_names_the_set_the_combination_and_the_way_out(
    active: str, target: str, in_the_way: str, pairs: str
) -> None:
    found = transition(_set(active), Mode(target))
    assert isinstance(found, Denied)
    assert combination(found.in_the_way) == in_the_way
    error = found.error()
    assert error.message.startswith(f"{target} was not activated: {active} is active, and {pairs} ")
    for mode in in_the_way.split("+"):
        assert f"clear it: omagy state clear {mode}\n" in error.hint
        assert f'omagy state clear --input \'{{"mode":"{mode}"}}\' --json' in error.hint
        assert f'omagy_state_clear with {{"mode":"{mode}"}}' in error.hint


def test_a_denial_within_a_session_names_the_session() -> None:
    found = transition(_set("plan"), Mode.ULTRAWORK)
    assert isinstance(found, Denied)
    error = found.error("s1")
    assert "plan is active in session s1" in error.message
    assert "clear it: omagy state clear plan --session-id s1\n" in error.hint
    assert """omagy state clear --input '{"mode":"plan","session_id":"s1"}' --json""" in error.hint
    assert 'omagy_state_clear with {"mode":"plan","session_id":"s1"}' in error.hint


def test_a_denial_because_of_another_worktree_leads_there() -> None:
    found = transition(_set("plan"), Mode.AUTORESEARCH)
    assert isinstance(found, Denied)
    error = found.error("s1", "/a b/w")
    assert "plan is active in session s1 in /a b/w" in error.message
    assert "clear it: cd '/a b/w' && omagy state clear plan --session-id s1\n" in error.hint


def test_a_run_belongs_to_no_session() -> None:
    """The command that clears it names none, wherever the other mode would have been activated."""
    found = transition(_set("autoresearch"), Mode.TEAM)
    assert isinstance(found, Denied)
    assert "session_id" not in found.error("s1").hint


@pytest.mark.parametrize("active", ["ralph+ultrawork", "plan+team", "team+ralph", "plan"])
def test_writing_an_active_mode_is_an_update(active: str) -> None:
    """It is no activation, so not even an unsupported set keeps a mode from saying how far it is."""
    for mode in _set(active):
        assert transition(_set(active), mode) == Allowed((), _set(active))


@given(active=st.frozensets(st.sampled_from(Mode)), target=st.sampled_from(Mode))
def test_no_transition_makes_an_unsupported_set(active: ActiveSet, target: Mode) -> None:
    """Whatever was there: an allowed activation ends in a supported set that holds the target."""
    found = transition(active, target)
    if isinstance(found, Denied):
        assert found.in_the_way
        assert set(found.in_the_way) <= active
    else:
        assert target in found.active_after
        assert found.active_after in SUPPORTED or found.active_after == active
        assert active - found.active_after == set(found.completes)


@given(active=st.frozensets(st.sampled_from(Mode)), target=st.sampled_from(Mode))
def test_clearing_what_a_denial_names_opens_the_way(active: ActiveSet, target: Mode) -> None:
    """Its guidance works: after clearing what is in the way, the same activation is allowed, in two steps at most."""
    for _ in range(2):
        found = transition(active, target)
        if isinstance(found, Allowed):
            return
        active -= set(found.in_the_way)
    assert isinstance(transition(active, target), Allowed)


@given(modes=st.permutations(list(Mode)))
def test_a_combination_has_one_spelling(modes: list[Mode]) -> None:
    """However the set came about."""
    assert combination(modes[:4]) == combination(reversed(modes[:4]))
    assert combination([Mode.RALPH, Mode.TEAM]) == "team+ralph"
    assert combination([]) == ""


def test_unsupported_pairs_are_found_in_any_set() -> None:
    for size in (0, 1):
        assert not any(unsupported_pairs(frozenset(modes)) for modes in combinations(Mode, size))
    assert not unsupported_pairs(_set("team+ralph"))
    assert unsupported_pairs(_set("team+ralph+ultrawork")) == [_set("ralph+ultrawork")]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rallph", "there is no mode rallph, did you mean ralph?"),
        ("Team", "there is no mode Team, did you mean team?"),
        ("", "mode is missing"),
        (None, "mode is missing"),
        (3, "mode is not a name"),
        ("a\nb", "there is no mode a b"),
        ("../team", "there is no mode ../team, did you mean team?"),
    ],
)
def test_an_unknown_mode_is_told_with_the_nearest(name: object, told: str) -> None:
    with pytest.raises(ContractError) as caught:
        parse_mode(name)
    assert caught.value.message == told
    assert "deep-interview" in caught.value.hint


def test_every_mode_has_its_name() -> None:
    assert [parse_mode(str(mode)) for mode in Mode] == list(Mode)


def test_a_run_is_in_the_way_of_the_repository_not_of_a_session() -> None:
    """It belongs to none, so nobody is sent to look for it in one."""
    found = transition(frozenset({Mode.AUTORESEARCH}), Mode.RALPH)
    assert isinstance(found, Denied)
    assert "autoresearch is active, and" in found.error("s-1").message
    assert not any(word in found.error("s-1").hint for word in ("session_id", "--session-id"))


def test_a_mode_in_another_worktree_is_cleared_there_by_either_way() -> None:
    """The commands go there first, and the tool is told where."""
    command, data, tool = recovery(Mode.TEAM, "s-1", "/it's here")
    assert command == "clear it: cd '/it'\"'\"'s here' && omagy state clear team --session-id s-1"
    assert data.startswith("in a script: cd '/it'\"'\"'s here' && omagy state clear --input ")
    asked = json.loads(tool.removeprefix("over MCP: omagy_state_clear with "))
    assert asked == {"mode": "team", "session_id": "s-1", "working_directory": "/it's here"}
