"""Go: go test, benchmarks, vet, golangci-lint, the size of a program, coverage."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.ecosystems import evidence
from omagy_autoresearch.ecosystems.evidence import EVALUATE, Part
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

MARKERS = ("go.mod",)
TOOLS = ("go", "golangci-lint")
_TESTS = ("**/*_test.go", "**/testdata/**")
_COMPLAINT = r"^(?:\./)?[^\s:]+\.go:\d+:\d+: "


def samples(path: str) -> bool:
    """Test files, which may hold benchmarks."""
    return path.endswith("_test.go")


def propose(facts: RepositoryFacts) -> Iterator[Proposal]:
    """Evaluators for the Go parts of a repository."""
    for part in evidence.parts(facts, *MARKERS):
        yield from _Module(facts, part).proposals()


class _Module:
    def __init__(self, facts: RepositoryFacts, part: Part) -> None:
        self.facts, self.part = facts, part
        self.files = [path for path in part.within(facts) if "vendor/" not in path]
        self.tests = [path for path in self.files if path.endswith("_test.go")]
        self.sample = "\n".join(facts.texts.get(part.path(path), "") for path in self.tests)

    def proposals(self) -> Iterator[Proposal]:
        if self.tests:
            yield self._tests()
        yield from self._problems()
        if "func Benchmark" in self.sample:
            yield self._benchmarks()
        yield from self._size()
        if self.tests:
            yield self._coverage()

    def go(self, words: str) -> str:
        return self.part.command(f"go {words}")

    @property
    def guard(self) -> str | None:
        return self.go("test ./...") if self.tests else None

    def proposal(self, key: str, *tools: str, **fields: Any) -> Proposal:
        name = f"go.{key}" if not self.part.folder else f"go.{key}:{self.part.folder}"
        needs = evidence.missing(self.facts, "go", *tools)
        return Proposal(key=name, command=EVALUATE, isolation="fresh", needs=needs, **fields)

    def _tests(self) -> Proposal:
        return self.proposal(
            "test.tests",
            measure=Measure.TESTS,
            title="number of tests that pass (go test)",
            why=f"go.mod and {evidence.several(self.tests, 'test file')}",
            direction=Direction.MAXIMIZE,
            script=script(
                "count_tests",
                BUILD=self.go("build ./..."),
                COMMAND=self.go("test -count=1 -json ./..."),
                FORMAT="go",
                REPORTS=(),
            ),
            protected=(*_TESTS, "**/go.mod"),
            constraints=evidence.NO_FEWER_TESTS,
            confidence=Confidence.SURE,
            caution="code under test that lies to its runner, in whose process it runs: read what is kept",
        )

    def _problems(self) -> Iterator[Proposal]:
        configured = [path for path in self.files if re.fullmatch(r"\.golangci\.(?:ya?ml|toml|json)", path)]
        if configured:
            command = self.part.command("golangci-lint run --max-issues-per-linter 0 --max-same-issues 0 ./...")
            yield self._checker("golangci-lint", command, configured[0], ("golangci-lint",), FATAL=r"\(typecheck\)$")
        yield self._checker("vet", self.go("vet ./... 2>&1"), "go.mod", (), FATAL=r"^vet: ")

    def _checker(self, name: str, command: str, why: str, tools: tuple[str, ...], **settings: Any) -> Proposal:
        return self.proposal(
            f"{name}.lint",
            *tools,
            measure=Measure.LINT,
            title=f"number of complaints ({'go vet' if name == 'vet' else name})",
            why=why,
            direction=Direction.MINIMIZE,
            script=script(
                "count_problems",
                COMMAND=command,
                PROBLEM=_COMPLAINT,
                SUPPRESSION=r"//\s*nolint|//\s*lint:ignore",
                SOURCES=(".go",),
                **settings,
            ),
            guard=self.guard,
            protected=(*_TESTS, "**/go.mod", "**/.golangci.*"),
            constraints=evidence.NO_MORE_SUPPRESSIONS,
            confidence=Confidence.SURE if tools else Confidence.LIKELY,
            caution="code that was deleted: the guard's tests see part of it",
        )

    def _benchmarks(self) -> Proposal:
        return self.proposal(
            "bench.speed",
            measure=Measure.SPEED,
            title="run time of the benchmarks (go test -bench)",
            why="func Benchmark… in the test files",
            direction=Direction.MINIMIZE,
            script=script("read_benchmarks", COMMAND=self.go("test -run '^$' -bench . -count 3 ./...")),
            guard=self.guard,
            protected=(*_TESTS, "**/go.mod"),
            constraints=evidence.SAME_BENCHMARKS,
            repeats=3,
            min_improvement="2%",
            timeout="20m",
            confidence=Confidence.SURE,
        )

    def _size(self) -> Iterator[Proposal]:
        found = [path.rpartition("/")[0] for path in self.files if re.fullmatch(r"(?:cmd/[^/]+/)?main\.go", path)]
        if not found:
            return
        packages = " ".join(shlex.quote(f"./{folder}" if folder else ".") for folder in found)
        yield self.proposal(
            "build.size",
            measure=Measure.SIZE,
            title="size of the program" if len(found) == 1 else "size of the programs",
            why=evidence.listed(f"{folder}/main.go".removeprefix("/") for folder in found),
            direction=Direction.MINIMIZE,
            script=script(
                "measure_size", BUILD=self.go(f"build -o {{out}}/made/ {packages}"), OUTPUTS=("{out}/made",)
            ),
            guard=self.guard,
            protected=_TESTS,
            confidence=Confidence.SURE,
            caution="a feature that was dropped: the guard's tests see part of it",
        )

    def _coverage(self) -> Proposal:
        return self.proposal(
            "cover.coverage",
            measure=Measure.COVERAGE,
            title="share of statements that the tests run (go test -cover)",
            why=f"go.mod and {evidence.several(self.tests, 'test file')}",
            direction=Direction.MAXIMIZE,
            script=script(
                "measure_coverage",
                COMMAND=self.go("test -count=1 -coverpkg=./... -coverprofile={out}/cover.out ./..."),
                FORMAT="go",
                REPORTS=("{out}/cover.out",),
            ),
            editable=_TESTS,
            constraints=evidence.NO_FEWER_LINES,
            confidence=Confidence.SURE,
            caution="whether a test that runs a line also checks what it does: read what is kept",
        )
