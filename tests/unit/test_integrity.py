"""Whether a candidate is the commit it says it is."""

import pytest

from omagy_autoresearch.integrity import Claim, integrity_problem, is_commit_id

TIP, NEW, OTHER = f"{1:040x}", f"{2:040x}", f"{3:040x}"
SOUND = Claim(candidate=NEW, base=TIP, head=NEW, descends=True)


def test_a_sound_claim_holds() -> None:
    """A candidate that is HEAD, descends from its base, and whose base is the last kept commit has no problem."""
    assert integrity_problem(SOUND, TIP) == ""


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        (Claim(None, TIP, NEW, descends=True), "candidate_commit names no commit"),
        (Claim(NEW, None, NEW, descends=True), "base_commit names no commit"),
        (
            Claim(NEW, OTHER, NEW, descends=True),
            f"base_commit is {OTHER[:12]}, but the last kept commit is {TIP[:12]}",
        ),
        (Claim(NEW, TIP, OTHER, descends=True), f"session left HEAD at {OTHER[:12]}"),
        (Claim(TIP, TIP, TIP, descends=True), "nothing was committed"),
        (Claim(NEW, TIP, NEW, descends=False), "does not descend from its base"),
        (Claim(None, None, OTHER, descends=False), "candidate_commit names no commit"),
    ],
)
def test_every_broken_claim_says_what_is_wrong(claim: Claim, problem: str) -> None:
    """Each condition of the contract is checked, and the reason names the commits that differ."""
    assert problem in integrity_problem(claim, TIP)


@pytest.mark.parametrize(
    ("text", "is_id"),
    [
        ("abcd", True),
        ("ABCDEF12", True),
        ("0" * 40, True),
        ("0" * 64, True),
        ("abc", False),
        ("0" * 65, False),
        ("", False),
        ("HEAD", False),
        ("HEAD~1", False),
        ("refs/heads/main", False),
        ("--upload-pack=x", False),
        ("abcd^{tree}", False),
        ("abcd\n", False),
        (" abcd", False),
        ("abcd..dcba", False),
        ("١٢٣٤", False),
    ],
)
def test_only_hexadecimal_ids_reach_git(text: str, is_id: bool) -> None:
    """An agent's text is handed to git only when it is a (short) commit id and nothing else."""
    assert is_commit_id(text) is is_id
