"""C and C++ with CMake or make: ctest, run time of a benchmark, build time, size of a program, compiler warnings."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.ecosystems import evidence
from omagy_autoresearch.ecosystems.evidence import EVALUATE, Part
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
MARKERS = ("CMakeLists.txt", *_MAKEFILES)
TOOLS = ("cmake", "ctest", "make", "cc")
_SOURCE = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp")
_WARNING = r"^[^\s:]+:\d+:(?:\d+:)? warning: "
_SUPPRESSION = r"pragma\s+(?:GCC|clang)\s+(?:diagnostic|system_header)|NOLINT|maybe_unused|__attribute__\s*\(\("
_FIRST = ("**/GNUmakefile", "**/makefile")  # make reads these before a Makefile
_LEFT_OUT = "a feature that was dropped: let a guard test what matters"


def samples(path: str) -> bool:
    """The files that CMake reads below the root: they often hold the tests."""
    return path.endswith("/CMakeLists.txt")


def propose(facts: RepositoryFacts) -> Iterator[Proposal]:
    """Evaluators for the C and C++ parts of a repository, and for what a Makefile can do."""
    cmake = evidence.parts(facts, "CMakeLists.txt")
    for part in cmake[:1]:
        yield from _CMake(facts, part).proposals()
    for part in evidence.parts(facts, *_MAKEFILES)[: 0 if cmake else 1]:
        yield from _Make(facts, part).proposals()


class _CMake:
    """A build in a folder of its own, outside the worktree, so that nothing old is measured."""

    def __init__(self, facts: RepositoryFacts, part: Part) -> None:
        self.facts, self.part = facts, part
        self.text = "\n".join(text for path, text in sorted(facts.texts.items()) if path.endswith("CMakeLists.txt"))
        self.programs = re.findall(r"^\s*add_executable\s*\(\s*([\w.-]+)", self.text, re.MULTILINE | re.IGNORECASE)
        self.has_tests = re.search(r"\b(?:add_test|enable_testing|\w+_discover_tests)\b", self.text)
        source = shlex.quote(part.folder or ".")
        self.configure = f"cmake -S {source} -B {{out}}/build -DCMAKE_BUILD_TYPE=Release"
        self.build = f"{self.configure} && cmake --build {{out}}/build --parallel"

    def proposals(self) -> Iterator[Proposal]:
        if self.has_tests:
            yield self._tests()
        yield from self._size()
        yield from self._speed()
        yield self._warnings()
        yield self._build_time()

    @property
    def guard(self) -> str | None:
        if not self.has_tests:
            return None
        made = self.build.replace("{out}/build", '"$b"')
        ran = 'ctest --test-dir "$b" --no-tests=error --output-on-failure'
        return f'b=$(mktemp -d) && {made} && {ran}; s=$?; rm -rf "$b"; exit $s'

    @property
    def tests(self) -> tuple[str, ...]:
        return self.part.paths("test/**", "tests/**")

    def proposal(self, key: str, *tools: str, **fields: Any) -> Proposal:
        needs = evidence.missing(self.facts, "cmake", *tools)
        return Proposal(key=f"cmake.{key}", command=EVALUATE, isolation="fresh", needs=needs, **fields)

    def _tests(self) -> Proposal:
        return self.proposal(
            "ctest.tests",
            "ctest",
            measure=Measure.TESTS,
            title="number of tests that pass (ctest)",
            why="tests in CMakeLists.txt",
            direction=Direction.MAXIMIZE,
            script=script(
                "count_tests",
                BUILD=self.build,
                COMMAND="ctest --test-dir {out}/build --output-on-failure --output-junit {out}/report.xml",
            ),
            protected=(*self.tests, "**/CMakeLists.txt", "**/*.cmake"),
            constraints=evidence.SAME_TESTS,
            timeout="20m",
            confidence=Confidence.SURE,
        )

    def _size(self) -> Iterator[Proposal]:
        programs = [name for name in self.programs if not re.search(r"test|bench|example", name, re.IGNORECASE)]
        if not programs:
            return
        yield self.proposal(
            "program.size",
            measure=Measure.SIZE,
            title=f"size of {evidence.listed(programs)}",
            why="add_executable in CMakeLists.txt",
            direction=Direction.MINIMIZE,
            script=script(
                "measure_size", BUILD=self.build, OUTPUTS=tuple(f"{{out}}/build/**/{name}" for name in programs)
            ),
            guard=self.guard,
            protected=self.tests,
            timeout="20m",
            caution=_LEFT_OUT,
        )

    def _speed(self) -> Iterator[Proposal]:
        for name in [name for name in self.programs if "bench" in name.lower()][:1]:
            yield self.proposal(
                f"{name}.speed",
                measure=Measure.SPEED,
                title=f"run time of {name}",
                why="add_executable in CMakeLists.txt",
                direction=Direction.MINIMIZE,
                script=script(
                    "time_command",
                    PREPARE=self.build,
                    COMMAND=f"$(find {{out}}/build -type f -name {shlex.quote(name)})",
                    SAME_OUTPUT=False,
                ),
                constraints=evidence.NO_FEWER_LINES,
                guard=self.guard,
                protected=(*self.part.paths("bench/**", "benchmark/**", "benchmarks/**"), *self.tests),
                repeats=3,
                min_improvement="2%",
                timeout="20m",
                caution=f"that {name} still does its work: let a guard test it",
            )

    def _warnings(self) -> Proposal:
        flags = "-DCMAKE_C_FLAGS='-Wall -Wextra' -DCMAKE_CXX_FLAGS='-Wall -Wextra'"
        build = f"{self.configure} {flags} && cmake --build {{out}}/build 2>&1"
        return self.proposal(
            "warnings.lint",
            measure=Measure.LINT,
            title="number of compiler warnings",
            why="CMakeLists.txt",
            direction=Direction.MINIMIZE,
            script=_warnings(build),
            guard=self.guard,
            protected=("**/CMakeLists.txt", "**/*.cmake", *self.tests),
            constraints=evidence.NO_MORE_SUPPRESSIONS,
            timeout="20m",
            caution="code that was deleted: let a guard test what matters",
        )

    def _build_time(self) -> Proposal:
        return self.proposal(
            "build.speed",
            measure=Measure.SPEED,
            title="time of a clean build",
            why="CMakeLists.txt",
            direction=Direction.MINIMIZE,
            script=script(
                "time_command", COMMAND=f"rm -rf {{out}}/build && {self.build} >/dev/null", SAME_OUTPUT=False, RUNS=3
            ),
            guard=self.guard,
            protected=self.tests,
            repeats=3,
            min_improvement="2%",
            timeout="30m",
            caution="a target that is no longer built: let a guard test what matters",
        )


class _Make:
    """What the targets of a Makefile promise by their names."""

    def __init__(self, facts: RepositoryFacts, part: Part) -> None:
        self.facts, self.part = facts, part
        text = part.text(facts, *_MAKEFILES)
        self.targets = set(re.findall(r"^([A-Za-z][\w.-]*)\s*:(?![=:])", text, re.MULTILINE))
        self.native = any(path.endswith(_SOURCE) for path in facts.paths)
        self.text = text

    def proposals(self) -> Iterator[Proposal]:
        name = next((name for name in ("bench", "benchmark", "perf") if name in self.targets), None)
        if name is not None:
            yield self._speed(name)
        if self.native:
            yield self._warnings()
            yield from self._size()

    def make(self, words: str) -> str:
        return self.part.command(f"make {words}")

    @property
    def guard(self) -> str | None:
        name = next((name for name in ("test", "check", "tests") if name in self.targets), None)
        return self.make(name) if name else None

    def proposal(self, key: str, **fields: Any) -> Proposal:
        needs = evidence.missing(self.facts, "make")
        protected = ("**/Makefile", *_FIRST, *self.part.paths("test/**", "tests/**"))
        return Proposal(
            key=f"make.{key}",
            command=EVALUATE,
            isolation="fresh",
            needs=needs,
            guard=self.guard,
            direction=Direction.MINIMIZE,
            **{"protected": protected, **fields},
        )

    def _speed(self, name: str) -> Proposal:
        return self.proposal(
            f"{name}.speed",
            measure=Measure.SPEED,
            title=f"run time of make {name}",
            why=f"the target {name} in the Makefile",
            script=script("time_command", COMMAND=self.make(f"-s {name}"), SAME_OUTPUT=False),
            constraints=evidence.NO_FEWER_LINES,
            repeats=3,
            min_improvement="2%",
            timeout="20m",
            caution="how fast the code is, should the benchmark run for a fixed time",
        )

    def _warnings(self) -> Proposal:
        return self.proposal(
            "warnings.lint",
            measure=Measure.LINT,
            title="number of compiler warnings",
            why="a Makefile and C or C++ files",
            script=_warnings(self.make("-B 2>&1")),
            constraints=evidence.NO_MORE_SUPPRESSIONS,
            caution="code that was deleted: let a guard test what matters",
        )

    def _size(self) -> Iterator[Proposal]:
        named = re.search(r"^(?:TARGET|PROG|PROGRAM|BIN|EXE|NAME)\s*[:?]?=\s*([\w./-]+)\s*$", self.text, re.MULTILINE)
        written = re.search(r"-o\s+([\w./-]+)(?=\s)", self.text)
        found = named or written
        if found is None or found[1].endswith(".o"):
            return
        yield self.proposal(
            "program.size",
            measure=Measure.SIZE,
            title=f"size of {found[1]}",
            why="what the Makefile makes",
            script=script("measure_size", BUILD=self.make("-B"), OUTPUTS=self.part.paths(found[1])),
            protected=(*_FIRST, *self.part.paths("test/**", "tests/**")),
            caution=_LEFT_OUT,
        )


def _warnings(build: str) -> Any:
    """A script that counts a compiler's warnings; a build that fails has hidden some."""
    return script(
        "count_problems",
        COMMAND=f"({build}) || printf '\\nbuild-failed\\n'",
        PROBLEM=_WARNING,
        FATAL="^build-failed$",
        SUPPRESSION=_SUPPRESSION,
        SOURCES=_SOURCE,
    )
