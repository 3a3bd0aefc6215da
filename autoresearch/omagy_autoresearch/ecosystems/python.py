"""Python: pytest, unittest, benchmarks, ruff, flake8, mypy, pyright, coverage, the wheel, a training script."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.ecosystems import evidence
from omagy_autoresearch.ecosystems.evidence import EVALUATE, Part
from omagy_autoresearch.ecosystems.training import training
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pytest.ini", "tox.ini")
_REQUIREMENTS = ("requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements-test.txt")
MARKERS = (*_PROJECT, *_REQUIREMENTS, ".flake8", "mypy.ini", "ruff.toml")
TOOLS = ("python3", "ruff", "pyright", "asv")
MODULES = ("pytest", "mypy", "flake8", "coverage", "pytest_cov", "pytest_benchmark", "ruff", "pip")
_TEST = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py")
_TRAINING = re.compile(r"(?:[^/]+/){0,2}(?:train|training|finetune|fine_tune|pretrain)\.py")
_BENCHMARK = re.compile(r"(?:(?:benchmarks?|bench|perf|scripts)/)?(?:bench|benchmark|benchmarks)(?:_[^/]*)?\.py")
_CONFIGURATION = ("**/pyproject.toml", "**/setup.cfg", "**/tox.ini")
_RUNNER = (
    "**/conftest.py",
    "**/pytest.ini",
    "**/.pytest.ini",
    "**/pytest.toml",
    "**/.pytest.toml",
    "pytest.py",
    "pytest/**",
)
_TEST_FILES = ("**/test*.py", "**/*_test.py")
_ASV_MACHINE = "export HOME={out}; asv machine --yes >/dev/null 2>&1"  # it would ask, and write into the user's home
_ASV = "asv run --environment existing --show-stderr --dry-run 2>&1"
_SUPPRESSION = (
    r"#\s*(?i:noqa|type:\s*ignore|(?:pyright|mypy|ruff|flake8|fmt|isort|yapf):|pylint:\s*disable)"
    r"|\bno_type_check\b|\bnot\s+(?:typing\.)?TYPE_CHECKING\b"
)


def samples(path: str) -> bool:
    """Files that are no markers, but say what kind of tests or training a repository has."""
    return bool(_TEST.fullmatch(path) or _TRAINING.fullmatch(path))


def propose(facts: RepositoryFacts) -> Iterator[Proposal]:
    """Evaluators for the Python part of a repository."""
    found = evidence.parts(facts, *_PROJECT)
    if not found and any(_TEST.fullmatch(path) or ("/" not in path and path.endswith(".py")) for path in facts.paths):
        found = [Part("")]
    for part in found:
        yield from _Project(facts, part).proposals()


class _Project:
    """What one Python project says about itself."""

    def __init__(self, facts: RepositoryFacts, part: Part) -> None:
        self.facts, self.part = facts, part
        self.files = [path for path in part.within(facts) if path.endswith(".py")]
        self.text = part.text(facts, *MARKERS)
        self.tests = [path for path in self.files if _TEST.fullmatch(path)]
        self.test_globs = tuple(sorted(set(map(_glob_of, self.tests))))
        self.sample = "\n".join(facts.texts.get(part.path(path), "") for path in self.tests)
        self.source = "src" if any(path.startswith("src/") for path in self.files) else "."
        self.environment = _import_path(self.files)
        self.python = shlex.quote(facts.python)

    def proposals(self) -> Iterator[Proposal]:
        yield from self._tests()
        yield from self._speed()
        yield from self._problems()
        yield from self._coverage()
        yield from self._wheel()
        yield from training(self.facts, self.part, self.python, [p for p in self.files if _TRAINING.fullmatch(p)])

    # -- what they have in common

    def module(self, command: str) -> str:
        """``python -m …`` in the project's folder, which imports the packages that lie there.

        An editable installation in the user's environment would else have the user's checkout measured.
        """
        return self.part.command(f"{self.environment}{self.python} -m {command}")

    def checker(self, command: str) -> str:
        """``python -m …`` of a program that reads the checkout: no file of the checkout may stand in for it."""
        return self.part.command(f"PYTHONSAFEPATH=1 {self.python} -m {command}")

    def needs(self, *modules: str) -> tuple[str, ...]:
        known = self.facts.modules
        names = [] if known is None else [name for name in modules if name not in known]
        return tuple(f"{name.replace('_', '-')} (for {self.facts.python})" for name in names)

    @property
    def has_pytest(self) -> bool:
        by_name = evidence.says(self.text + self.sample, "pytest") or "[tool.pytest" in self.text
        return by_name or any(path.endswith("conftest.py") for path in self.files)

    @property
    def test_command(self) -> str:
        if self.has_pytest or "unittest" not in self.sample:
            return self.module("pytest -q")
        folder = self.tests[0].rpartition("/")[0].partition("/")[0] if self.tests else "."
        where = f" -s {shlex.quote(folder)} -t ." if folder else ""
        return self.module(f"unittest discover{where}")

    @property
    def guard(self) -> str | None:
        return self.test_command if self.tests else None

    @property
    def protected_guard(self) -> tuple[str, ...]:
        """The tests, and what says which of them run and how."""
        return (*self.protected_tests, *_CONFIGURATION, *_RUNNER)

    def _stand_ins(self, module: str) -> tuple[str, ...]:
        """What a Python before 3.11, which does not know PYTHONSAFEPATH, would run in a checker's place."""
        known = any(path.startswith((f"{module}.py", f"{module}/")) for path in self.files)
        return () if known else self.part.paths(f"{module}.py", f"{module}/**")

    @property
    def protected_tests(self) -> tuple[str, ...]:
        return self.part.paths(*self.test_globs)

    def proposal(self, key: str, **fields: Any) -> Proposal:
        name = f"python.{key}" if not self.part.folder else f"python.{key}:{self.part.folder}"
        return Proposal(key=name, command=EVALUATE, **{"isolation": "fresh", **fields})

    # -- one measure each

    def _tests(self) -> Iterator[Proposal]:
        if not self.tests:
            return
        pytest = "pytest" in self.test_command
        command = self.module(
            "pytest -q -p no:cacheprovider --maxfail=0 --continue-on-collection-errors --junitxml={out}/report.xml"
        )
        plain = {"COMMAND": f"{self.test_command} 2>&1", "FORMAT": "unittest", "REPORTS": ()}
        settings: dict[str, Any] = {"COMMAND": command} if pytest else plain
        runner = "pytest" if pytest else "unittest"
        yield self.proposal(
            f"{runner}.tests",
            measure=Measure.TESTS,
            title=f"number of tests that pass ({runner})",
            why=f"{evidence.several(self.tests, 'test file')}: {evidence.listed(self.tests)}",
            direction=Direction.MAXIMIZE,
            script=script("count_tests", **settings),
            protected=(*self.protected_tests, *_TEST_FILES, *_CONFIGURATION, *_RUNNER),
            constraints=evidence.NO_FEWER_TESTS,
            needs=self.needs("pytest") if pytest else (),
            confidence=Confidence.SURE if self.has_pytest or not pytest else Confidence.LIKELY,
            caution="code under test that lies to its runner, in whose process it runs: read what is kept",
        )

    def _speed(self) -> Iterator[Proposal]:
        if evidence.says(self.text, "pytest-benchmark"):
            yield self._benchmarks(
                "pytest-benchmark",
                "pytest-benchmark among the dependencies",
                COMMAND=self.module(
                    "pytest -q -p no:cacheprovider --benchmark-only --benchmark-json={out}/report.json"
                ),
                REPORTS=("{out}/report.json",),
                needs=self.needs("pytest", "pytest_benchmark"),
                protected=self.protected_tests,
            )
        if self.part.path("asv.conf.json") in self.facts.paths:
            yield self._benchmarks(
                "asv",
                "asv.conf.json",
                COMMAND=self.part.command(f"{_ASV_MACHINE} && {self.environment}{_ASV}"),
                needs=evidence.missing(self.facts, "asv"),
                protected=self.part.paths("asv.conf.json", "benchmarks/**"),
            )
        for path in [path for path in self.files if _BENCHMARK.fullmatch(path)][:2]:
            yield self.proposal(
                f"time.{path}",
                measure=Measure.SPEED,
                title=f"run time of {path}",
                why=f"{path} looks like a benchmark",
                direction=Direction.MINIMIZE,
                script=script(
                    "time_command",
                    COMMAND=self.part.command(f"{self.environment}{self.python} {shlex.quote(path)}"),
                    SAME_OUTPUT=False,
                ),
                guard=self.guard,
                protected=(self.part.path(path), *self.protected_guard),
                constraints=evidence.NO_FEWER_LINES,
                repeats=3,
                min_improvement="2%",
                caution=f"that {path} still does its work: tests as a guard see part of it",
            )

    def _benchmarks(
        self, name: str, why: str, *, needs: tuple[str, ...], protected: tuple[str, ...], **settings: Any
    ) -> Proposal:
        return self.proposal(
            f"{name}.speed",
            measure=Measure.SPEED,
            title=f"run time of the benchmarks ({name})",
            why=why,
            direction=Direction.MINIMIZE,
            script=script("read_benchmarks", FORMAT=name, **settings),
            guard=self.guard,
            protected=(*protected, *_CONFIGURATION, *_RUNNER),
            constraints=evidence.SAME_BENCHMARKS,
            repeats=3,
            min_improvement="2%",
            timeout="20m",
            needs=needs,
            confidence=Confidence.SURE,
            caution="code that lies to the benchmarks' clock, in whose process it runs: read what is kept",
        )

    def _problems(self) -> Iterator[Proposal]:
        names = set(self.part.within(self.facts))
        if "[tool.ruff" in self.text or names & {"ruff.toml", ".ruff.toml"}:
            here = "ruff" in self.facts.tools
            # Nothing is hidden by a new ignore file; what git ignores is not in the checkout anyway.
            check = "check --no-cache --no-respect-gitignore --output-format concise ."
            yield self._checker(
                "ruff",
                Measure.LINT,
                self.part.command(f"ruff {check}") if here else self.checker(f"ruff {check}"),
                FATAL=r": invalid-syntax: |SyntaxError: ",
                needs=() if here else self.needs("ruff"),
                configuration=("**/ruff.toml", "**/.ruff.toml"),
            )
        if ".flake8" in names or "[flake8]" in self.text:
            yield self._checker(
                "flake8",
                Measure.LINT,
                self.checker("flake8"),
                FATAL=r": E999 |: E902 ",
                needs=self.needs("flake8"),
                configuration=("**/.flake8",),
            )
        if "[tool.mypy" in self.text or "[mypy" in self.text or names & {"mypy.ini", ".mypy.ini"}:
            files = "" if re.search(r"^files\s*=", self.text, re.MULTILINE) else f" {self.source}"
            yield self._checker(
                "mypy",
                Measure.TYPES,
                self.checker(f"mypy --cache-dir=/dev/null --no-error-summary{files}"),
                PROBLEM=r"^.+?:\d+(?::\d+)?: error: ",
                FATAL=r"\[syntax\]$|errors? prevented further checking",
                needs=self.needs("mypy"),
                configuration=("**/mypy.ini", "**/.mypy.ini", "**/*.pyi"),  # a stub beside the code would hide it
            )
        if "[tool.pyright" in self.text or "pyrightconfig.json" in names:
            yield self._checker(
                "pyright",
                Measure.TYPES,
                self.part.command("pyright"),
                PROBLEM=r"^\s+\S.*:\d+:\d+ - error: ",
                needs=evidence.missing(self.facts, "pyright"),
                configuration=("**/pyrightconfig.json",),
            )

    def _checker(
        self,
        name: str,
        measure: Measure,
        command: str,
        *,
        needs: tuple[str, ...],
        configuration: tuple[str, ...],
        **settings: Any,
    ) -> Proposal:
        what = "type errors" if measure is Measure.TYPES else "complaints"
        sources = (".py", ".pyi")
        return self.proposal(
            f"{name}.{measure}",
            measure=measure,
            title=f"number of {what} ({name})",
            why=f"{name} is configured",
            direction=Direction.MINIMIZE,
            script=script("count_problems", COMMAND=command, SUPPRESSION=_SUPPRESSION, SOURCES=sources, **settings),
            guard=self.guard,
            protected=(*configuration, *self._stand_ins(name), *self.protected_guard),
            constraints=evidence.NO_MORE_SUPPRESSIONS,
            needs=needs,
            confidence=Confidence.SURE,
            caution=_VAGUE[measure],
        )

    def _coverage(self) -> Iterator[Proposal]:
        plugin = evidence.says(self.text, "pytest-cov") or evidence.says(self.text, "pytest_cov")
        if not self.tests or not (plugin or evidence.says(self.text, "coverage") or "[tool.coverage" in self.text):
            return
        if plugin:
            command = self.module(
                f"pytest -q -p no:cacheprovider --cov={self.source} --cov-report=xml:{{out}}/coverage.xml"
            )
            command = command.replace(f"{self.python} -m", f"COVERAGE_FILE={{out}}/data {self.python} -m")
        else:
            run = self.test_command.rsplit(f"{self.python} -m ", 1)[1]
            export = f"export COVERAGE_FILE={{out}}/data {self.environment}".rstrip()
            tool = f"{self.python} -m coverage"
            command = self.part.command(
                f"{export}; {tool} run -m {run}; status=$?; {tool} xml -q -o {{out}}/coverage.xml; exit $status"
            )
        yield self.proposal(
            "coverage",
            measure=Measure.COVERAGE,
            title="share of lines that the tests run (coverage)",
            why="coverage among the dependencies or in the configuration",
            direction=Direction.MAXIMIZE,
            script=script("measure_coverage", COMMAND=command, LEFT_OUT=self.test_globs),
            protected=(*_CONFIGURATION, "**/.coveragerc"),
            editable=self.protected_tests,
            constraints=evidence.NO_FEWER_LINES,
            needs=self.needs("pytest", "pytest_cov") if plugin else self.needs("coverage"),
            confidence=Confidence.SURE,
            caution="whether a test that runs a line also checks what it does: read what is kept",
        )

    def _wheel(self) -> Iterator[Proposal]:
        if "[build-system]" not in self.part.text(self.facts, "pyproject.toml"):
            return
        build = f"{self.python} -m pip wheel -q --no-deps --no-cache-dir -w {{out}}/wheel ."
        yield self.proposal(
            "wheel.size",
            measure=Measure.SIZE,
            title="size of the wheel",
            why="a build system in pyproject.toml",
            direction=Direction.MINIMIZE,
            script=script("measure_size", BUILD=self.part.command(build), OUTPUTS=("{out}/wheel/*.whl",)),
            isolation="lane",
            guard=self.guard,
            protected=(*self.protected_tests, *_RUNNER),
            needs=self.needs("pip"),
            caution="whether what is left out of the wheel is needed: test what is installed",
        )


def _glob_of(test: str) -> str:
    """A pattern for a test file and those beside it, never for code: a folder of tests, or such names anywhere."""
    folders = test.split("/")[:-1]
    depth = next((depth for depth, name in enumerate(folders, start=1) if name in ("test", "tests")), 0)
    if depth:
        return "/".join((*folders[:depth], "**"))
    return "**/test_*.py" if test.rpartition("/")[2].startswith("test_") else "**/*_test.py"


def _import_path(files: list[str]) -> str:
    """The variable that has Python find the packages of a checkout; empty where the folder itself is enough."""
    packages = {path.rpartition("/")[0] for path in files if path.endswith("/__init__.py")}
    tops = {folder for folder in packages if folder.rpartition("/")[0] not in packages}
    roots = {folder.rpartition("/")[0] for folder in tops} | {"src" for path in files if path.startswith("src/")}
    useful = sorted(root for root in roots if root and not _ELSEWHERE.match(root))[:4]
    return f"PYTHONPATH={shlex.quote(':'.join(useful))} " if useful else ""


_ELSEWHERE = re.compile(r"(?:.*/)?(?:tests?|docs?|examples?|vendor|third_party|build|\..*)(?:/|$)")
_VAGUE = {
    Measure.LINT: "code that was deleted instead of mended: the guard's tests see part of it",
    Measure.TYPES: "types that were made vague (Any, casts): read what is kept",
}
