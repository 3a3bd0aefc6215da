"""Which evaluators a repository offers, best first (contract section 9)."""

from collections.abc import Iterable

from omagy_autoresearch.ecosystems import python
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

__all__ = ["TOOLS", "Confidence", "Measure", "Proposal", "RepositoryFacts", "propose", "wanted_texts"]

_ECOSYSTEMS = (python,)
_MARKERS = frozenset(name for ecosystem in _ECOSYSTEMS for name in ecosystem.MARKERS)
_DEPTH = 3
_MOST_TEXTS = 40

TOOLS = frozenset(tool for ecosystem in _ECOSYSTEMS for tool in ecosystem.TOOLS)
"""The executables whose presence decides what is proposed."""

_CONFIDENCE = {Confidence.SURE: 0, Confidence.LIKELY: 1, Confidence.SKETCH: 2}
_ORDER = tuple(Measure)


def wanted_texts(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of ``paths`` whose text proposals are made from, the nearest to the root first."""
    found = [path for path in paths if path.rsplit("/", 1)[-1] in _MARKERS and path.count("/") < _DEPTH]
    return tuple(sorted(found, key=lambda path: (path.count("/"), path))[:_MOST_TEXTS])


def propose(facts: RepositoryFacts) -> tuple[Proposal, ...]:
    """The evaluators for a repository, best first: what works as it stands, then by measure."""
    found = [proposal for ecosystem in _ECOSYSTEMS for proposal in ecosystem.propose(facts)]
    return tuple(sorted(found, key=_rank))


def _rank(proposal: Proposal) -> tuple[int, int, int]:
    return (bool(proposal.needs), _CONFIDENCE[proposal.confidence], _ORDER.index(proposal.measure))
