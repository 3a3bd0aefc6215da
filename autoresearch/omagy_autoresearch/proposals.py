"""Which evaluators a repository offers, best first (contract section 9)."""

from collections.abc import Iterable

from omagy_autoresearch.ecosystems import anything, cmake, go, java, node, python, rust
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

__all__ = ["MODULES", "TOOLS", "Confidence", "Measure", "Proposal", "RepositoryFacts", "propose", "wanted_texts"]

_ECOSYSTEMS = (python, node, rust, go, cmake, java, anything)
_MARKERS = frozenset(name for ecosystem in _ECOSYSTEMS for name in ecosystem.MARKERS)
_MARKERS_DEPTH = 2
_SAMPLES_DEPTH = 4
_MOST_SAMPLES = 12
_MOST_TEXTS = 60

TOOLS = frozenset(tool for ecosystem in _ECOSYSTEMS for tool in ecosystem.TOOLS)
"""The executables whose presence decides what is proposed."""

MODULES = python.MODULES
"""The modules that the repository's Python may have."""

_CONFIDENCE = {Confidence.SURE: 0, Confidence.LIKELY: 1, Confidence.SKETCH: 2}
_ORDER = tuple(Measure)


def wanted_texts(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of ``paths`` whose text proposals are made from: marker files, then samples, the nearest to the root."""
    near = sorted(
        (path for path in paths if path.count("/") <= _SAMPLES_DEPTH), key=lambda path: (path.count("/"), path)
    )
    markers = [path for path in near if path.rpartition("/")[2] in _MARKERS and path.count("/") <= _MARKERS_DEPTH]
    samples: list[str] = []
    for ecosystem in _ECOSYSTEMS:
        samples += [path for path in near if ecosystem.samples(path)][:_MOST_SAMPLES]
    return tuple(dict.fromkeys([*markers[: _MOST_TEXTS // 2], *samples]))[:_MOST_TEXTS]


def propose(facts: RepositoryFacts) -> tuple[Proposal, ...]:
    """The evaluators for a repository, best first: what works as it stands, then by measure."""
    found = [proposal for ecosystem in _ECOSYSTEMS for proposal in ecosystem.propose(facts)]
    return tuple(sorted(found, key=_rank))


def _rank(proposal: Proposal) -> tuple[bool, bool, int, int]:
    sketch = proposal.confidence is Confidence.SKETCH
    return (sketch, bool(proposal.needs), _ORDER.index(proposal.measure), _CONFIDENCE[proposal.confidence])
