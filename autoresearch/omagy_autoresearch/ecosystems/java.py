"""Java and Kotlin with Maven or Gradle: tests, size of the jar, checkstyle, spotbugs, coverage."""

import re
from collections.abc import Iterator
from typing import Any

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.ecosystems import evidence
from omagy_autoresearch.ecosystems.evidence import EVALUATE, Part
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

_GRADLE = ("build.gradle", "build.gradle.kts")
MARKERS = ("pom.xml", *_GRADLE)
TOOLS = ("mvn", "gradle", "java")
_TESTS = ("**/src/test/**",)
_FLAGS = ("**/.mvn/**", "**/mvnw*", "**/gradlew*", "**/gradle/wrapper/**")  # they could skip tests
_BUILD = (
    "**/pom.xml",
    "**/build.gradle",
    "**/build.gradle.kts",
    "**/settings.gradle*",
    "**/gradle.properties",
    *_FLAGS,
)
_SUPPRESSION = r"@SuppressWarnings|@SuppressFBWarnings|CHECKSTYLE[:. ]*OFF|//\s*NOSONAR|//\s*NOPMD"
_SOURCES = (".java", ".kt", ".scala", ".groovy")


def samples(path: str) -> bool:  # noqa: ARG001
    return False


def propose(facts: RepositoryFacts) -> Iterator[Proposal]:
    """Evaluators for the Java parts of a repository."""
    maven = evidence.parts(facts, "pom.xml")
    for part in maven[:1]:
        yield from _Project(facts, part, _maven(facts, part)).proposals()
    for part in evidence.parts(facts, *_GRADLE)[: 0 if maven else 1]:
        yield from _Project(facts, part, _gradle(facts, part)).proposals()


class _Tool:
    """How Maven or Gradle is told to do something, and where it leaves what it made."""

    def __init__(self, name: str, command: str, needs: tuple[str, ...], **words: str) -> None:
        self.name, self.command, self.needs, self.words = name, command, needs, words


def _maven(facts: RepositoryFacts, part: Part) -> _Tool:
    wrapped = part.path("mvnw") in facts.paths
    return _Tool(
        "maven",
        "./mvnw -B" if wrapped else "mvn -B",
        evidence.missing(facts, "java", *(() if wrapped else ("mvn",))),
        compile="-q test-compile",
        test="test -Dmaven.test.failure.ignore=false --fail-at-end",
        reports="**/target/surefire-reports/TEST-*.xml",
        package="-q package -DskipTests",
        jars="**/target/*.jar",
        checkstyle="checkstyle:check",
        spotbugs="test-compile spotbugs:check",
        coverage="test jacoco:report",
        jacoco="**/target/site/jacoco/jacoco.csv",
    )


def _gradle(facts: RepositoryFacts, part: Part) -> _Tool:
    wrapped = part.path("gradlew") in facts.paths
    return _Tool(
        "gradle",
        "./gradlew --console=plain" if wrapped else "gradle --console=plain",
        evidence.missing(facts, "java", *(() if wrapped else ("gradle",))),
        compile="-q testClasses",
        test="test --continue",
        reports="**/build/test-results/test/TEST-*.xml",
        package="-q assemble",
        jars="**/build/libs/*.jar",
        checkstyle="checkstyleMain checkstyleTest --rerun-tasks",
        spotbugs="spotbugsMain --rerun-tasks",
        coverage="test jacocoTestReport",
        jacoco="**/build/reports/jacoco/test/jacocoTestReport.csv",
    )


class _Project:
    def __init__(self, facts: RepositoryFacts, part: Part, tool: _Tool) -> None:
        self.facts, self.part, self.tool = facts, part, tool
        self.text = part.text(facts, *MARKERS)
        self.tests = [path for path in part.within(facts) if re.search(r"(?:^|/)src/test/.*\.(?:java|kt)$", path)]

    def proposals(self) -> Iterator[Proposal]:
        if self.tests:
            yield self._tests()
        yield self._size()
        for name in ("checkstyle", "spotbugs"):
            if name in self.text:
                yield self._checker(name)
        if self.tests and "jacoco" in self.text:
            yield self._coverage()

    def run(self, what: str) -> str:
        return self.part.command(f"{self.tool.command} {self.tool.words[what]}")

    def made(self, what: str) -> tuple[str, ...]:
        return self.part.paths(self.tool.words[what])

    @property
    def guard(self) -> str | None:
        return self.run("test") if self.tests else None

    def proposal(self, key: str, **fields: Any) -> Proposal:
        return Proposal(
            key=f"{self.tool.name}.{key}",
            command=EVALUATE,
            isolation="fresh",
            needs=self.tool.needs,
            timeout="30m",
            **fields,
        )

    def _tests(self) -> Proposal:
        return self.proposal(
            "tests",
            measure=Measure.TESTS,
            title=f"number of tests that pass ({self.tool.name})",
            why=f"{evidence.several(self.tests, 'test file')} below src/test",
            direction=Direction.MAXIMIZE,
            script=script(
                "count_tests", BUILD=self.run("compile"), COMMAND=self.run("test"), REPORTS=self.made("reports")
            ),
            protected=(*_TESTS, *_BUILD),
            constraints=evidence.NO_FEWER_TESTS,
            confidence=Confidence.SURE,
        )

    def _size(self) -> Proposal:
        return self.proposal(
            "jar.size",
            measure=Measure.SIZE,
            title="size of the jar",
            why=f"a {self.tool.name} build",
            direction=Direction.MINIMIZE,
            script=script("measure_size", BUILD=self.run("package"), OUTPUTS=self.made("jars")),
            guard=self.guard,
            protected=(*_TESTS, *_FLAGS),
            caution="a feature that was dropped: the guard's tests see part of it",
        )

    def _checker(self, name: str) -> Proposal:
        problem = {
            "checkstyle": r"^(?:\[ant:checkstyle\] )?\[(?:WARN(?:ING)?|ERROR)\] \S*\.(?:java|kt)[:\[]",
            "spotbugs": r"^(?:\[(?:ERROR|WARNING)\] (?:High|Medium|Low): |[MHL] [A-Z] \w+: )",
        }[name]
        return self.proposal(
            f"{name}.lint",
            measure=Measure.LINT,
            title=f"number of complaints ({name})",
            why=f"{name} in the build",
            direction=Direction.MINIMIZE,
            script=script(
                "count_problems",
                COMMAND=f"{self.run(name)} 2>&1",
                PROBLEM=problem,
                FATAL=r"COMPILATION ERROR|Compilation failed",
                SUPPRESSION=_SUPPRESSION,
                SOURCES=_SOURCES,
            ),
            guard=self.guard,
            protected=(*_TESTS, *_BUILD, "**/checkstyle*.xml", "**/spotbugs*.xml", "config/**"),
            constraints=evidence.NO_MORE_SUPPRESSIONS,
            caution="code that was deleted: the guard's tests see part of it",
        )

    def _coverage(self) -> Proposal:
        return self.proposal(
            "jacoco.coverage",
            measure=Measure.COVERAGE,
            title="share of lines that the tests run (JaCoCo)",
            why="jacoco in the build",
            direction=Direction.MAXIMIZE,
            script=script(
                "measure_coverage", COMMAND=self.run("coverage"), FORMAT="jacoco", REPORTS=self.made("jacoco")
            ),
            editable=_TESTS,
            constraints=evidence.NO_FEWER_LINES,
            caution="whether a test that runs a line also checks what it does: read what is kept",
        )
