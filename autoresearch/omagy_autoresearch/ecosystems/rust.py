"""Rust: cargo test, criterion, clippy, the size of a binary, coverage."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.ecosystems import evidence
from omagy_autoresearch.ecosystems.evidence import EVALUATE, Part
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

MARKERS = ("Cargo.toml",)
_CARGO = ("**/.cargo/**", "**/rust-toolchain*")  # they could put another program in the place of a tool
TOOLS = ("cargo", "cargo-clippy", "cargo-llvm-cov")
_BUILD = ("**/build.rs", ".cargo/**", "**/rust-toolchain*")
_INLINE = "tests inside the source files, which a candidate can edit: read what is kept"


def samples(path: str) -> bool:  # noqa: ARG001
    return False


def propose(facts: RepositoryFacts) -> Iterator[Proposal]:
    """Evaluators for the Rust parts of a repository."""
    for part in evidence.parts(facts, *MARKERS):
        yield from _Crate(facts, part).proposals()


class _Crate:
    def __init__(self, facts: RepositoryFacts, part: Part) -> None:
        self.facts, self.part = facts, part
        self.text = part.text(facts, "Cargo.toml")
        self.files = part.within(facts)
        self.all = " --workspace" if "[workspace]" in self.text else ""

    def proposals(self) -> Iterator[Proposal]:
        yield from self._tests()
        yield from self._clippy()
        yield from self._size()
        yield from self._speed()
        yield from self._coverage()

    def cargo(self, words: str) -> str:
        return self.part.command(f"cargo {words}")

    @property
    def tests(self) -> tuple[str, ...]:
        return (*self.part.paths("tests/**"), "**/tests/**", *_BUILD)

    def proposal(self, key: str, setup: str, *tools: str, **fields: Any) -> Proposal:
        """``setup`` builds the dependencies, which a fresh checkout would else build for every candidate."""
        name = f"rust.{key}" if not self.part.folder else f"rust.{key}:{self.part.folder}"
        return Proposal(
            key=name,
            command=EVALUATE,
            isolation="fresh",
            setup=self.cargo(setup),
            needs=evidence.missing(self.facts, "cargo", *tools),
            timeout="20m",
            **fields,
        )

    def _tests(self) -> Iterator[Proposal]:
        yield self.proposal(
            "cargo.tests",
            f"test --no-run{self.all}",
            measure=Measure.TESTS,
            title="number of tests that pass (cargo test)",
            why=self.part.path("Cargo.toml"),
            direction=Direction.MAXIMIZE,
            script=script(
                "count_tests",
                BUILD=self.cargo(f"test --no-run{self.all}"),
                COMMAND=self.cargo(f"test --no-fail-fast{self.all}"),
                FORMAT="cargo",
                REPORTS=(),
            ),
            protected=(*self.tests, "**/Cargo.toml", *_CARGO),
            constraints=evidence.SAME_TESTS,
            confidence=Confidence.SURE,
            caution=_INLINE,
        )

    def _clippy(self) -> Iterator[Proposal]:
        yield self.proposal(
            "clippy.lint",
            f"clippy --all-targets{self.all} -- --cap-lints allow",
            "cargo-clippy",
            measure=Measure.LINT,
            title="number of complaints (clippy)",
            why=self.part.path("Cargo.toml"),
            direction=Direction.MINIMIZE,
            script=script(
                "count_problems",
                COMMAND=self.cargo(f"clippy --all-targets --message-format short{self.all} -- --cap-lints warn 2>&1"),
                PROBLEM=r"^\S+:\d+:\d+: warning: ",
                FATAL=r"^error: could not compile",
                STATUSES=(0, 101),
                SUPPRESSION=r"#!?\[\s*(?:cfg_attr\([^\]]*)?(?:allow|expect)\(",
                SOURCES=(".rs",),
            ),
            guard=self.cargo(f"test{self.all}"),
            protected=(*self.tests, "**/clippy.toml", "**/.clippy.toml", "**/Cargo.toml", *_CARGO),
            constraints=evidence.NO_MORE_SUPPRESSIONS,
            caution="code that was deleted: the guard's tests see part of it",
        )

    def _size(self) -> Iterator[Proposal]:
        names = self._binaries()
        if not names:
            return
        target = self.part.paths(*(f"target/release/{name}" for name in names))
        yield self.proposal(
            "release.size",
            "build --release",
            measure=Measure.SIZE,
            title=f"size of the release build ({evidence.listed(names)})",
            why="a binary in Cargo.toml or src/main.rs",
            direction=Direction.MINIMIZE,
            script=script("measure_size", BUILD=self.cargo(f"build --release{self.all}"), OUTPUTS=target),
            guard=self.cargo(f"test{self.all}"),
            protected=(*self.tests, *_CARGO),
            confidence=Confidence.SURE,
            caution="a feature that was dropped: the guard's tests see part of it",
        )

    def _binaries(self) -> list[str]:
        """The names of the binaries, as far as Cargo.toml and the usual places say."""
        own = re.findall(r"\[\[bin\]\][^\[]*?^\s*name\s*=\s*\"([\w-]+)\"", self.text, re.MULTILINE)
        package = re.search(r"\[package\][^\[]*?^\s*name\s*=\s*\"([\w-]+)\"", self.text, re.MULTILINE)
        usual = [package[1]] if package and "src/main.rs" in self.files else []
        return sorted({*own, *usual})

    def _speed(self) -> Iterator[Proposal]:
        benches = [path for path in self.files if path.startswith("benches/")]
        criterion = evidence.says(self.text, "criterion")
        if not benches and not criterion:
            return
        reports = self.part.paths("target/criterion/**/new/estimates.json") if criterion else ()
        yield self.proposal(
            "bench.speed",
            f"bench --no-run{self.all}",
            measure=Measure.SPEED,
            title=f"run time of the benchmarks ({'criterion' if criterion else 'cargo bench'})",
            why="criterion in Cargo.toml" if criterion else "a folder benches",
            direction=Direction.MINIMIZE,
            script=script(
                "read_benchmarks",
                BUILD=self.cargo(f"bench --no-run{self.all}"),
                COMMAND=self.cargo(f"bench{self.all}"),
                FORMAT="criterion" if criterion else "libtest",
                REPORTS=reports,
            ),
            guard=self.cargo(f"test{self.all}"),
            protected=(*self.part.paths("benches/**"), *self.tests, *_CARGO),
            constraints=evidence.SAME_BENCHMARKS,
            repeats=3,
            min_improvement="2%",
            confidence=Confidence.SURE if criterion else Confidence.LIKELY,
            caution="" if criterion else "benchmarks of the standard library's kind need a nightly toolchain",
        )

    def _coverage(self) -> Iterator[Proposal]:
        if "cargo-llvm-cov" not in self.facts.tools:
            return
        tests = self.part.paths("tests/**")
        yield self.proposal(
            "llvm-cov.coverage",
            "llvm-cov --no-report",
            measure=Measure.COVERAGE,
            title="share of lines that the tests run (cargo llvm-cov)",
            why="cargo-llvm-cov is installed",
            direction=Direction.MAXIMIZE,
            script=script(
                "measure_coverage",
                COMMAND=self.cargo(f"llvm-cov{self.all} --lcov --output-path {shlex.quote('{out}/lcov.info')}"),
                FORMAT="lcov",
                REPORTS=("{out}/lcov.info",),
            ),
            editable=tests,
            constraints=evidence.NO_FEWER_LINES,
            caution="whether a test that runs a line also checks what it does: read what is kept",
        )
