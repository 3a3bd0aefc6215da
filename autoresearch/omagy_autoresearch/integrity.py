"""Whether a candidate is the commit it says it is (contract section 4, Integrity)."""

import re

from msgspec import Struct

_HEX = re.compile(r"[0-9a-fA-F]{4,64}")


class Claim(Struct, frozen=True):
    """A candidate's claims, resolved by git: None where a name resolves to no commit."""

    candidate: str | None
    base: str | None
    head: str
    descends: bool


def is_commit_id(text: str) -> bool:
    """True when ``text`` can be a (short) commit id. Other revisions of an agent never reach git."""
    return _HEX.fullmatch(text) is not None


def integrity_problem(claim: Claim, tip: str) -> str:
    """Why the claim does not hold against the last kept commit ``tip``; empty when it does."""
    if claim.candidate is None:
        return "candidate_commit names no commit of this repository"
    if claim.base is None:
        return "base_commit names no commit of this repository"
    if claim.base != tip:
        return f"base_commit is {claim.base[:12]}, but the last kept commit is {tip[:12]}"
    if not claim.head:
        return "the session left HEAD on a branch without a commit"
    if claim.candidate != claim.head:
        return f"candidate_commit is {claim.candidate[:12]}, but the session left HEAD at {claim.head[:12]}"
    if claim.candidate == tip:
        return "candidate_commit is the last kept commit itself: nothing was committed"
    if not claim.descends:
        return f"candidate_commit {claim.candidate[:12]} does not descend from its base {tip[:12]}"
    return ""
