"""JavaScript and TypeScript: test runners, eslint, biome, tsc, bundle size, benchmarks, coverage."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.ecosystems import evidence
from omagy_autoresearch.ecosystems.evidence import EVALUATE, Part
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

MARKERS = ("package.json",)
TOOLS = ("node", "npm", "npx", "pnpm", "yarn", "bun")
_TEST = re.compile(r"(?:.*/)?(?:[^/]+[.-](?:test|spec)|(?:__tests__|tests?)/(?:.*/)?[^/]+)\.[cm]?[jt]sx?")
_INSTALLED = (  # what the tools are made from, and where from
    "**/package.json",
    "**/package-lock.json",
    "**/npm-shrinkwrap.json",
    "**/pnpm-lock.yaml",
    "**/yarn.lock",
    "**/bun.lock*",
    "**/.yarnrc*",
    "**/.yarn/**",
    "**/.pnpmfile.*",
    "**/.npmrc",
    "**/node_modules/**",
)
_CONFIGURATION = (
    *_INSTALLED,
    "**/tsconfig*.json",
    "**/vitest.config.*",
    "**/vite.config.*",
    "**/jest.config.*",
)
_IGNORED = ("**/.gitignore", "**/.ignore", "**/.eslintignore")
_RUNNER = (*_CONFIGURATION, "**/.mocharc.*", "**/vitest.workspace.*")
_TEST_FILES = (
    "**/*.test.*",
    "**/*.spec.*",
    "**/*-test.*",
    "**/*_test.*",
    "**/test-*",
    "**/__tests__/**",
    "**/test/**",
)
_SOURCES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
_SUPPRESSION = r"eslint-disable|biome-ignore|@ts-ignore|@ts-expect-error|@ts-nocheck"
_RUNNERS: dict[str, tuple[str, str, str]] = {  # the runner's words, what it reports, and how it is told to
    "vitest": ("vitest run", "jest", "--reporter=json --outputFile={out}/report"),
    "jest": ("jest", "jest", "--ci --json --outputFile={out}/report"),
    "mocha": ("mocha", "mocha", "--reporter json --reporter-option output={out}/report"),
}
_OUTPUTS = {"next": ".next/static", "react-scripts": "build", "@sveltejs/kit": ".svelte-kit/output/client"}


def samples(path: str) -> bool:  # noqa: ARG001
    return False


def propose(facts: RepositoryFacts) -> Iterator[Proposal]:
    """Evaluators for the JavaScript parts of a repository."""
    for part in evidence.parts(facts, *MARKERS):
        yield from _Project(facts, part).proposals()


class _Project:
    """What one ``package.json`` and the files beside it say."""

    def __init__(self, facts: RepositoryFacts, part: Part) -> None:
        self.facts, self.part = facts, part
        package = evidence.json_object(part.text(facts, "package.json"))
        self.scripts = evidence.words_of(package, "scripts")
        self.dependencies = evidence.words_of(package, "dependencies") | evidence.words_of(package, "devDependencies")
        self.package = package
        self.files = [path for path in part.within(facts) if "node_modules/" not in path]
        self.tests = [path for path in self.files if _TEST.fullmatch(path)]
        self.manager = next((name for name, locks in _LOCKS.items() if set(locks) & set(self.files)), "npm")

    def proposals(self) -> Iterator[Proposal]:
        yield from self._tests()
        yield from self._problems()
        yield from self._size()
        yield from self._speed()
        yield from self._coverage()

    # -- what they have in common

    def has(self, name: str) -> bool:
        return name in self.dependencies

    def tool(self, words: str) -> str:
        """A command of an installed package; nothing is fetched for it."""
        return self.part.command(f"{_RUN_TOOL[self.manager]} {words}")

    def run(self, name: str) -> str:
        return self.part.command(
            f"{self.manager} run {'' if self.manager == 'bun' else '--silent '}{shlex.quote(name)}"
        )

    @property
    def setup(self) -> str | None:
        """A lane starts without node_modules."""
        if not self.dependencies:
            return None
        locked = {name for locks in _LOCKS.values() for name in locks} & set(self.files)
        berry = self.manager == "yarn" and ".yarnrc.yml" in self.files
        install = "install --immutable" if berry else _INSTALL[self.manager]
        return self.part.command(f"{self.manager} {install}" if locked else "npm install --no-audit --no-fund")

    @property
    def guard(self) -> str | None:
        text = self.scripts.get("test", "")
        if not text or "no test specified" in text:
            return None
        return self.run("test")

    @property
    def test_globs(self) -> tuple[str, ...]:
        found = {self.part.path(_glob_of(path)) for path in self.tests}
        return tuple(sorted(found))

    def own_lines(self, tests: tuple[str, ...]) -> tuple[str, ...]:
        """Patterns for the tests, as seen from the root and from the project's folder: a report may do either."""
        return tuple(dict.fromkeys((*tests, *sorted(map(_glob_of, self.tests)))))

    def proposal(self, key: str, **fields: Any) -> Proposal:
        name = f"node.{key}" if not self.part.folder else f"node.{key}:{self.part.folder}"
        tools = ("node", *((self.manager,) if self.dependencies or self.manager == "bun" else ()))
        return Proposal(
            key=name,
            command=EVALUATE,
            setup=self.setup,
            isolation="fresh",
            needs=evidence.missing(self.facts, *tools),
            **fields,
        )

    # -- one measure each

    def runner(self) -> tuple[str, str, dict[str, Any]] | None:
        """The test runner, why it is taken for it, and the settings that have it counted."""
        for name, (words, form, options) in _RUNNERS.items():
            if self.has(name):
                command = self.tool(f"{words} {options}")
                settings = {"COMMAND": command, "FORMAT": form, "REPORTS": ("{out}/report",)}
                return name, f"{name} in package.json", settings
        text = self.scripts.get("test", "")
        if re.search(r"\bnode\b.*--test\b", text):
            command = self.part.command(text) + " --test-reporter=tap"
            if text.count(";") + text.count("&") + text.count("|"):
                command = self.part.command("node --test --test-reporter=tap")
            return "node:test", "node --test in package.json", {"COMMAND": command, "FORMAT": "tap", "REPORTS": ()}
        if self.manager == "bun" and self.tests:
            command = self.part.command("bun test --reporter=junit --reporter-outfile={out}/report")
            return "bun", "bun's lock file and test files", {"COMMAND": command, "REPORTS": ("{out}/report",)}
        return None

    def _tests(self) -> Iterator[Proposal]:
        found = self.runner()
        if found is None:
            return
        name, why, settings = found
        yield self.proposal(
            f"{name}.tests",
            measure=Measure.TESTS,
            title=f"number of tests that pass ({name})",
            why=why,
            direction=Direction.MAXIMIZE,
            script=script("count_tests", **settings),
            protected=(*self.test_globs, *_TEST_FILES, *_RUNNER),
            constraints=evidence.NO_FEWER_TESTS,
            confidence=Confidence.SURE,
            caution="code under test that lies to its runner, in whose process it runs: read what is kept",
        )

    def _problems(self) -> Iterator[Proposal]:
        if self.has("eslint"):
            yield self._checker(
                "eslint",
                Measure.LINT,
                self.tool("eslint --format json ."),
                PROBLEM=r'"severity":[12]\b',
                FATAL=r'"fatal":true',
                configuration=("**/eslint.config.*", "**/.eslintrc*"),
            )
        if self.has("@biomejs/biome"):
            yield self._checker(
                "biome",
                Measure.LINT,
                self.tool("biome lint --reporter=github --max-diagnostics=none ."),
                PROBLEM=r"^::(?:error|warning)",
                FATAL=r"title=parse",
                configuration=("**/biome.json*",),
            )
        if self.has("typescript") and any(path.endswith("tsconfig.json") for path in self.files):
            yield self._checker(
                "tsc",
                Measure.TYPES,
                self.tool("tsc --noEmit --pretty false --incremental false"),
                PROBLEM=r"^\S.*: error TS\d+: |^error TS\d+: ",
                FATAL=r"error TS1\d{3}: ",
                STATUSES=(0, 1, 2),
                configuration=(),
            )

    def _checker(
        self, name: str, measure: Measure, command: str, *, configuration: tuple[str, ...], **settings: Any
    ) -> Proposal:
        what = "type errors" if measure is Measure.TYPES else "complaints"
        return self.proposal(
            f"{name}.{measure}",
            measure=measure,
            title=f"number of {what} ({name})",
            why=f"{name} in package.json",
            direction=Direction.MINIMIZE,
            script=script("count_problems", COMMAND=command, SUPPRESSION=_SUPPRESSION, SOURCES=_SOURCES, **settings),
            guard=self.guard,
            protected=(*configuration, *_IGNORED, *_RUNNER, *self.test_globs),
            constraints=evidence.NO_MORE_SUPPRESSIONS,
            confidence=Confidence.SURE,
            caution="code that was deleted, or types that were made vague (any): read what is kept",
        )

    def _size(self) -> Iterator[Proposal]:
        if "build" not in self.scripts:
            return
        outputs, sure = self._outputs()
        yield self.proposal(
            "build.size",
            measure=Measure.SIZE,
            title=f"size of what the build makes, compressed ({outputs})",
            why="a build script in package.json",
            direction=Direction.MINIMIZE,
            script=script("measure_size", BUILD=self.run("build"), OUTPUTS=self.part.paths(outputs), COMPRESSED=True),
            guard=self.guard,
            protected=(*_INSTALLED, *self.test_globs),
            confidence=Confidence.SURE if sure else Confidence.LIKELY,
            caution="a feature that was dropped, or a part that is loaded from elsewhere: let a guard test the build",
        )

    def _outputs(self) -> tuple[str, bool]:
        """The folder that the build writes, and whether the package says so."""
        known = next((folder for name, folder in _OUTPUTS.items() if self.has(name)), None)
        if known is not None:
            return known, True
        names = (_build_folder(self.package.get(key)) for key in ("main", "module", "browser", "types"))
        folder = next((name for name in names if name), None)
        return folder or "dist", folder is not None or self.has("vite")

    def _speed(self) -> Iterator[Proposal]:
        name = next((name for name in ("bench", "benchmark", "perf") if name in self.scripts), None)
        if name is None:
            return
        benchmarks = [path for path in self.files if re.search(r"(?:^|/)bench|\.bench\.", path)]
        yield self.proposal(
            f"{name}.speed",
            measure=Measure.SPEED,
            title=f"run time of {self.manager} run {name}",
            why=f"the script {name} in package.json",
            direction=Direction.MINIMIZE,
            script=script("time_command", COMMAND=self.run(name), SAME_OUTPUT=False, RUNS=3),
            guard=self.guard,
            constraints=evidence.NO_FEWER_LINES,
            protected=(*(self.part.path(path) for path in benchmarks), *_RUNNER, *self.test_globs),
            repeats=3,
            min_improvement="2%",
            timeout="20m",
            caution="how fast the code is, should the benchmark run for a fixed time",
        )

    def _coverage(self) -> Iterator[Proposal]:
        lcov = "{out}/coverage/lcov.info"
        if self.has("vitest") and (self.has("@vitest/coverage-v8") or self.has("@vitest/coverage-istanbul")):
            options = "--coverage --coverage.reporter=lcovonly --coverage.reportsDirectory={out}/coverage"
            name, command = "vitest", self.tool(f"vitest run {options}")
        elif self.has("jest"):
            options = "--ci --coverage --coverageReporters=lcovonly --coverageDirectory={out}/coverage"
            name, command = "jest", self.tool(f"jest {options}")
        elif self.has("c8") and self.guard:
            name = "c8"
            command = self.tool(f"c8 --reporter=lcovonly --reports-dir={{out}}/coverage {self.manager} test")
        else:
            return
        tests = self.test_globs or ("**/*.test.*",)
        yield self.proposal(
            f"{name}.coverage",
            measure=Measure.COVERAGE,
            title=f"share of lines that the tests run ({name})",
            why=f"{name} in package.json",
            direction=Direction.MAXIMIZE,
            script=script(
                "measure_coverage", COMMAND=command, FORMAT="lcov", REPORTS=(lcov,), LEFT_OUT=self.own_lines(tests)
            ),
            protected=_RUNNER,
            editable=tests,
            constraints=evidence.NO_FEWER_LINES,
            confidence=Confidence.SURE,
            caution="whether a test that runs a line also checks what it does: read what is kept",
        )


_LOCKS = {
    "pnpm": ("pnpm-lock.yaml",),
    "yarn": ("yarn.lock",),
    "bun": ("bun.lock", "bun.lockb"),
    "npm": ("package-lock.json", "npm-shrinkwrap.json"),
}
_INSTALL = {
    "pnpm": "install --frozen-lockfile",
    "yarn": "install --frozen-lockfile",
    "bun": "install --frozen-lockfile",
    "npm": "ci --no-audit --no-fund",
}
_RUN_TOOL = {"pnpm": "pnpm exec", "yarn": "yarn", "bun": "bunx --no-install", "npm": "npx --no-install"}


def _build_folder(path: object) -> str | None:
    """The folder of a path below one of those that builds write."""
    folder = path.removeprefix("./").split("/")[0] if isinstance(path, str) else ""
    return folder if folder in ("dist", "lib", "build", "out") else None


def _glob_of(path: str) -> str:
    """A pattern for ``path`` and the tests beside it: their top folder of tests, or their kind of name."""
    parts = path.split("/")
    for depth, name in enumerate(parts[:-1]):
        if name in ("test", "tests", "__tests__"):
            return "**/__tests__/**" if name == "__tests__" else "/".join(parts[: depth + 1]) + "/**"
    found = re.search(r"[.-](test|spec)\.", parts[-1])
    return f"**/*{found[0]}*" if found else path
