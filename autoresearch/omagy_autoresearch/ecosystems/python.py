"""Python: pytest, unittest, benchmarks, ruff, flake8, mypy, pyright, coverage, the wheel, a training script."""

from collections.abc import Iterator

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.mission import Constraint
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

MARKERS = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", "requirements.txt", "Pipfile")
TOOLS = ("python3", "uv", "pytest", "ruff", "mypy")


def propose(facts: RepositoryFacts) -> Iterator[Proposal]:
    """Evaluators for the Python part of a repository."""
    tests = sorted({path.split("/", 1)[0] for path in facts.paths if _is_test(path) and "/" in path})
    if not tests:
        return
    yield Proposal(
        key="python.pytest.tests",
        measure=Measure.TESTS,
        title="number of tests that pass (pytest)",
        why=f"test files in {', '.join(tests)}",
        direction=Direction.MAXIMIZE,
        command="python3 -I {mission}/evaluate.py",
        script=script("count_tests", COMMAND=f"{facts.python} -m pytest -q --junitxml={{report}}"),
        protected=tuple(f"{folder}/**" for folder in tests),
        constraints=(Constraint("tests", min="baseline"),),
        confidence=Confidence.SURE,
    )


def _is_test(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
