"""What a repository has, and a ready evaluator that is proposed for it (contract section 9)."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.evaluator_scripts import EvaluatorScript
from omagy_autoresearch.mission import Constraint, Isolation

MISSION = "{mission}"
"""Stands in a proposal's commands for the mission folder, which is not known yet."""


class RepositoryFacts(Struct, frozen=True):
    """What proposals are made from; the shell gathers it within limits and runs nothing of the repository."""

    paths: frozenset[str]  # tracked files, relative to the root, with slashes
    texts: Mapping[str, str] = field(default_factory=dict)  # of the marker files that `wanted_texts` names
    tools: frozenset[str] = frozenset()  # of TOOLS, those that are on PATH
    python: str = "python3"  # the interpreter for a command of the repository's
    modules: frozenset[str] | None = None  # of MODULES, those that this interpreter has; None: it was not asked


class Measure(StrEnum):
    TESTS = "tests"
    SPEED = "speed"
    SIZE = "size"
    LINT = "lint"
    TYPES = "types"
    COVERAGE = "coverage"
    METRIC = "metric"
    TRAINING = "training"


class Confidence(StrEnum):
    """How sure it is that the command works as it stands."""

    SURE = "sure"  # the repository says so itself: a configuration, a script, a target of this name
    LIKELY = "likely"  # the usual command of such a repository
    SKETCH = "sketch"  # a person has to name something first: `todo` says what


class Proposal(Struct, frozen=True, kw_only=True):
    """An evaluator that is ready to be tried. Commands run from the root of the worktree.

    ``{mission}`` in a command stands for the mission folder. ``caution`` is what the score cannot see, in one line.
    """

    key: str  # stable, such as "python.pytest.tests"
    measure: Measure
    title: str  # "number of tests that pass (pytest)"
    why: str  # what in the repository made us propose it, in one line
    direction: Direction
    command: str
    script: EvaluatorScript | None = None
    isolation: Isolation = "lane"
    setup: str | None = None  # worktree.setup: a lane starts without what git ignores
    guard: str | None = None
    protected: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    min_improvement: str | None = None
    repeats: int = 1
    timeout: str = "10m"
    needs: tuple[str, ...] = ()  # tools that this machine does not have
    confidence: Confidence = Confidence.LIKELY
    caution: str = ""
    todo: str = ""  # what a person has to fill in before it can work; empty when nothing
