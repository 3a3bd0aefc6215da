"""What an interview knows before its first question."""

from collections.abc import Sequence

from msgspec import Struct

from omagy_autoresearch.decision import KeepPolicy
from omagy_autoresearch.proposal import Measure, Proposal


class Seeds(Struct, frozen=True, omit_defaults=True):
    """What the command line already said; empty where it said nothing."""

    topic: str = ""
    evaluator: str = ""
    keep_policy: KeepPolicy | None = None
    slug: str = ""
    agent: str = ""
    budget: str = ""  # as the answer to the question when to stop


class Inferred(Struct, frozen=True):
    """A measurement that a model proposed: it passes the same gates as any other, and stays marked as what it is."""

    proposal: Proposal
    confidence: float  # 0 to 1, as the model said


class Background(Struct, frozen=True, kw_only=True):
    """``taken`` are names that a mission or another draft has, each with the reason to show."""

    repository: str
    proposals: tuple[Proposal, ...] = ()
    folders: tuple[str, ...] = ()  # of the repository, where code probably is
    taken: tuple[tuple[str, str], ...] = ()
    seeds: Seeds = Seeds()
    codex_missing: str = ""  # why Codex cannot work, empty when it can


_WORDS = {
    Measure.SPEED: ("fast", "speed", "slow", "latency", "quick", "time", "throughput"),
    Measure.TESTS: ("test", "bug", "fail", "fix", "green", "pass"),
    Measure.SIZE: ("small", "size", "bytes", "bundle", "lines", "short"),
    Measure.TYPES: ("type", "mypy", "typing"),
    Measure.LINT: ("lint", "warning", "style", "clean"),
    Measure.COVERAGE: ("cover",),
    Measure.TRAINING: ("train", "loss", "accuracy", "model", "learn"),
}


def by_goal(proposals: Sequence[Proposal], goal: str) -> tuple[Proposal, ...]:
    """``proposals`` with those first that measure what ``goal`` speaks of; otherwise in the order they came."""
    spoken = goal.lower()

    def rank(proposal: Proposal) -> tuple[bool, bool]:
        fits = any(word in spoken for word in _WORDS.get(proposal.measure, ()))
        return (not works(proposal), not fits)

    return tuple(sorted(proposals, key=rank))


def works(proposal: Proposal) -> bool:
    """True when nothing is missing that a person would have to bring first."""
    return not (proposal.needs or proposal.todo)


def goal_for(proposals: Sequence[Proposal], repository: str) -> str:
    """A goal to begin with: what the best proposal measures."""
    first = next((proposal for proposal in proposals if works(proposal)), None)
    return _GOALS[first.measure].format(repository=repository) if first else f"make {repository} faster"


_GOALS = {
    Measure.TESTS: "make all tests of {repository} pass",
    Measure.SPEED: "make {repository} faster",
    Measure.SIZE: "make {repository} smaller",
    Measure.LINT: "fix what the linter complains about in {repository}",
    Measure.TYPES: "fix the type errors of {repository}",
    Measure.COVERAGE: "cover more of {repository} with tests",
    Measure.METRIC: "improve the metric of {repository}",
    Measure.TRAINING: "train a better model in {repository}",
}
