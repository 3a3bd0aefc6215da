"""The proposed evaluators at work: in real repositories where the tool is there, else on what the tool once printed.

Each is asked three things: is the score true, is a tool that cannot do its work told apart from a bad result, and
does a cheat gain anything.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fakes.sample_repositories import (
    CMAKE,
    MAKE,
    NODE,
    PYTEST,
    RUST,
    TRAINING,
    UNITTEST,
    make_repository,
    write_files,
)
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.mission_draft import draft_from
from omagy_autoresearch.proposals import Measure, Proposal, propose
from omagy_supervisor.scaffold import scaffold
from omagy_supervisor.settings import read_settings
from omagy_supervisor.survey import survey

PASS, SCORE = "pass", "score"
TOOLCHAINS = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup"}


@dataclass(frozen=True)
class Outcome:
    """What an evaluator said: ``answer`` is None when it measured nothing."""

    status: int
    answer: dict[str, Any] | None
    errors: str

    def __getitem__(self, name: str) -> Any:
        assert self.answer is not None, self.errors
        return self.answer[name]


class Evaluator:
    """A mission's evaluator in a repository, run as omagy runs it. Iteration 0 is the baseline."""

    def __init__(self, root: Path, command: str, path: str, proposal: Proposal | None = None) -> None:
        self.root, self.command, self.path, self.proposal = root, command, path, proposal

    def run(self, files: Mapping[str, str] | None = None, *, iteration: int = 1) -> Outcome:
        """Run it on the repository, with ``files`` written into it first. stdout holds one JSON object or nothing."""
        write_files(self.root, files or {})
        for cache in self.root.rglob("__pycache__"):  # two texts of a length, written in one second, look alike to it
            shutil.rmtree(cache)
        environment = {"PATH": self.path, "HOME": str(self.root.parent), "OMAGY_ITERATION": str(iteration)}
        for name, folder in TOOLCHAINS.items():
            environment[name] = os.environ.get(name) or str(Path.home() / folder)
        done = subprocess.run(
            ["/bin/sh", "-c", self.command],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert bool(done.stdout.strip()) == (done.returncode == 0)
        return Outcome(done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr)

    def broken(self, files: Mapping[str, str] | None = None, *, iteration: int = 1) -> str:
        """The reason why nothing was measured: the last line of stderr."""
        outcome = self.run(files, iteration=iteration)
        assert outcome.answer is None, outcome.answer
        last = outcome.errors.strip().splitlines()[-1]
        assert last.startswith("evaluate.py: ")
        return last.removeprefix("evaluate.py: ")


def path_with_python(folder: Path) -> str:
    """PATH with the Python of these tests (it has pytest, ruff and mypy) as ``python3``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "python3").unlink(missing_ok=True)
    (folder / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "python3").chmod(0o755)
    return f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"


def proposed(tmp_path: Path, files: Mapping[str, str], measure: Measure, key: str = "") -> Evaluator:
    """The evaluator that is proposed for a repository of ``files``, in its mission folder."""
    root = make_repository(tmp_path / "repository", files)
    path = path_with_python(tmp_path / "bin")
    settings = read_settings({"PATH": path, "HOME": str(tmp_path)})
    found = [one for one in propose(survey(settings, root)) if one.measure is measure and key in one.key]
    draft = draft_from(found[0], slug="m")
    scaffold(root, draft)
    return Evaluator(root, draft.in_place(draft.command), path, found[0])


def with_tool(tmp_path: Path, template: str, tools: Mapping[str, str], **settings: Any) -> Evaluator:
    """The evaluator ``template`` in a repository, with stand-ins for ``tools``: shell scripts by name."""
    root = make_repository(tmp_path / "repository", {"README": "sample"})
    path = path_with_python(tmp_path / "bin")
    for name, text in tools.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    made = script(template, **settings)
    write_files(root, {f"missions/m/{made.name}": made.text})
    return Evaluator(root, "python3 -I missions/m/evaluate.py", path)


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"needs {tool}")


# -- tests that pass, counted for real


def test_pytest_is_counted(tmp_path: Path) -> None:
    """One of two passes; mended code makes it two; a test that is skipped or gone is one less, never more."""
    evaluator = proposed(tmp_path, PYTEST, Measure.TESTS)
    assert (evaluator.run()[SCORE], evaluator.run()["tests"]) == (1, 2)
    mended = PYTEST["src/shop/prices.py"].replace("return price", "return price * 119 // 100")
    assert evaluator.run({"src/shop/prices.py": mended})[SCORE] == 2
    skipped = "import pytest\n" + PYTEST["tests/test_prices.py"].replace(
        "def test_vat", "@pytest.mark.skip\ndef test_vat"
    )
    found = evaluator.run({"tests/test_prices.py": skipped})
    assert (found[SCORE], found["tests"], found["skipped"]) == (1, 2, 1)
    gone = PYTEST["tests/test_prices.py"].split("def test_vat")[0]
    assert evaluator.run({"tests/test_prices.py": gone})["tests"] == 1


def test_pytest_that_collects_nothing_or_cannot_start_is_no_score(tmp_path: Path) -> None:
    """No tests, a pytest that is not there, and one that ends without a report are each told as what they are."""
    evaluator = proposed(tmp_path, PYTEST, Measure.TESTS)
    assert evaluator.broken({"tests/test_prices.py": "nothing = 1\n"}) == (
        "the test runner found no tests (its exit status is 5)"
    )
    leaves = "import os\n\n\ndef test_leaves():\n    os._exit(0)\n"
    assert "wrote no report" in evaluator.broken({"tests/test_prices.py": leaves})
    command = evaluator.root / "missions/m/evaluate.py"
    command.write_text(command.read_text().replace(" -m pytest ", " -m pytest_that_is_not_there "))
    assert "wrote no report" in evaluator.broken()


def test_code_that_cannot_be_imported_counts_as_a_failed_test(tmp_path: Path) -> None:
    """A broken module fails its tests' file and no other: the rest is still counted."""
    evaluator = proposed(tmp_path, {**PYTEST, "tests/test_other.py": "def test_one():\n    pass\n"}, Measure.TESTS)
    found = evaluator.run({"src/shop/prices.py": "def total(:\n"})
    assert (found[SCORE], found["failed"]) == (1, 1)


def test_a_result_that_code_under_test_prints_or_writes_does_not_count(tmp_path: Path) -> None:
    """The answer is the evaluator's own, on stdout and in the result file, whatever the tested code does to both."""
    evaluator = proposed(tmp_path, PYTEST, Measure.TESTS)
    lie = '{"pass": true, "score": 99}'
    code = f"import os\nprint('{lie}')\nfor k, v in os.environ.items():\n    assert not k.startswith('OMAGY')\n"
    result = tmp_path / "result.json"
    result.write_text(lie)
    evaluator.command = f"OMAGY_RESULT_FILE={result} {evaluator.command}"
    assert evaluator.run({"src/shop/__init__.py": code})[SCORE] == 1
    assert json.loads(result.read_text())[SCORE] == 1


def test_unittest_is_counted(tmp_path: Path) -> None:
    """Python's own runner: failures, then a suite without tests, then one that cannot be imported."""
    evaluator = proposed(tmp_path, UNITTEST, Measure.TESTS)
    assert (evaluator.run()[SCORE], evaluator.run()["tests"]) == (1, 2)
    assert evaluator.run({"shapes.py": "def area(side):\n    return side * side\n"})[SCORE] == 2
    assert (evaluator.run({"shapes.py": "1 +\n"})[SCORE], evaluator.run()["failed"]) == (0, 1)
    assert "found no tests" in evaluator.broken({"tests/test_shapes.py": ""})


NESTED = """\
import test from "node:test";
import assert from "node:assert";
test("outer", async (t) => {
  await t.test("one", () => {});
  await t.test("two", () => assert.ok(false));
  await t.test("inner", async (u) => { await u.test("three", () => {}); });
});
test.skip("later", () => {});
"""


@needs("node")
def test_nodes_own_runner_is_counted(tmp_path: Path) -> None:
    """TAP with subtests: the innermost tests count once."""
    evaluator = proposed(tmp_path, NODE, Measure.TESTS)
    assert (evaluator.run()[SCORE], evaluator.run()["tests"]) == (1, 2)
    found = evaluator.run({"test/greet.test.js": NESTED})
    assert (found[SCORE], found["failed"], found["skipped"]) == (2, 1, 1)
    (evaluator.root / "test/greet.test.js").unlink()
    assert evaluator.broken()


@needs("cargo")
def test_cargo_is_counted(tmp_path: Path) -> None:
    """Unit, integration and documentation tests add up; what does not compile is no score on the baseline and a
    failed candidate after it."""
    evaluator = proposed(tmp_path, RUST, Measure.TESTS)
    assert (evaluator.run()[SCORE], evaluator.run()["tests"]) == (1, 2)
    assert evaluator.run({"src/lib.rs": RUST["src/lib.rs"].replace("    a\n", "    a + a\n")})[SCORE] == 2
    found = evaluator.run({"src/lib.rs": "pub fn add("})
    assert found[PASS] is False
    assert found["reason"] == "it does not build"
    assert evaluator.broken(iteration=0) == "it does not build"


@needs("ctest")
def test_ctest_is_counted_in_a_build_of_its_own(tmp_path: Path) -> None:
    """Two tests, one fails; a build folder in the worktree, old or planted, changes nothing."""
    evaluator = proposed(tmp_path, CMAKE, Measure.TESTS)
    found = evaluator.run({"build/CTestTestfile.cmake": "add_test(x true)\n"})
    assert (found[SCORE], found["tests"]) == (1, 2)
    assert not (evaluator.root / "Testing").exists()
    assert evaluator.run({"sum.c": "int main("})["reason"] == "it does not build"


# -- what other runners report

JUNIT = """<testsuites><testsuite name="s"><testcase name="a"/><testcase name="b"><failure>no</failure></testcase>
<testcase name="c"><error/></testcase><testcase name="d"><skipped/></testcase><testcase name="e" status="disabled"/>
</testsuite></testsuites>"""
JEST = json.dumps({"numPassedTests": 4, "numFailedTests": 1, "numPendingTests": 2, "numRuntimeErrorTestSuites": 1})
MOCHA = "warning\n" + json.dumps({"stats": {"passes": 3, "failures": 1, "pending": 1}})
GO = "\n".join(
    json.dumps(event)
    for event in (
        {"Action": "pass", "Package": "a", "Test": "TestOne"},
        {"Action": "fail", "Package": "a", "Test": "TestTwo"},
        {"Action": "skip", "Package": "a", "Test": "TestThree"},
        {"Action": "fail", "Package": "a"},
        {"Action": "pass", "Package": "b", "Test": "TestOne"},
        {"Action": "pass", "Package": "b"},
        {"Action": "fail", "Package": "does-not-build"},
    )
)
CARGO = """\
running 3 tests
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

running 2 tests
test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


@pytest.mark.parametrize(
    ("form", "report", "passed", "failed", "skipped"),
    [
        ("junit", JUNIT, 1, 2, 2),
        ("jest", JEST, 4, 2, 2),
        ("mocha", MOCHA, 3, 1, 1),
        ("go", GO, 2, 2, 1),
        ("cargo", CARGO, 3, 1, 1),
        ("tap", "TAP version 13\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\nok 4 # TODO later\n1..4\n", 1, 1, 2),
    ],
)
def test_every_kind_of_report_is_read(
    tmp_path: Path, form: str, report: str, passed: int, failed: int, skipped: int
) -> None:
    """What a runner reported becomes counts; the same report without a runner's failure is looked at all the same."""
    write_files(tmp_path, {"report": report})
    runner = {"runner": f"cat {tmp_path}/report; exit 1"}
    evaluator = with_tool(tmp_path, "count_tests", runner, COMMAND="runner", FORMAT=form, REPORTS=())
    found = evaluator.run()
    assert (found[SCORE], found["failed"], found["skipped"]) == (passed, failed, skipped)
    assert found["tests"] == passed + failed + skipped


@pytest.mark.parametrize("report", ["", "nonsense", "{}", "[]", '{"a": 1}', "<a/>", "<testsuites></testsuites>", "{"])
@pytest.mark.parametrize("form", ["junit", "jest", "mocha", "tap", "go", "cargo", "unittest"])
def test_a_report_without_tests_is_never_a_score(tmp_path: Path, form: str, report: str) -> None:
    """Whatever a runner leaves instead of a report, it is a reason and no count."""
    write_files(tmp_path, {"report": report})
    runner = {"runner": f"cat {tmp_path}/report"}
    assert with_tool(tmp_path, "count_tests", runner, COMMAND="runner", FORMAT=form, REPORTS=()).broken()


def test_a_runner_that_fails_although_no_test_did_has_measured_nothing(tmp_path: Path) -> None:
    """A crash after the last test must not look like a complete run."""
    runner = {"runner": "echo 'ok 1 - a'; exit 3"}
    evaluator = with_tool(tmp_path, "count_tests", runner, COMMAND="runner", FORMAT="tap", REPORTS=())
    assert evaluator.broken() == "the test runner ended with status 3, although no test failed"


def test_reports_of_earlier_runs_are_not_counted_again(tmp_path: Path) -> None:
    """A report that a session left (git ignores it) is gone before the runner starts; one that git tracks is told."""
    settings = {"COMMAND": "runner", "REPORTS": ("**/reports/TEST-*.xml",)}
    evaluator = with_tool(tmp_path, "count_tests", {"runner": "exit 1"}, **settings)
    assert "wrote no report" in evaluator.broken({"target/reports/TEST-a.xml": JUNIT})
    write_files(evaluator.root, {"target/reports/TEST-a.xml": JUNIT})
    subprocess.run(["git", "add", "-f", "target"], cwd=evaluator.root, check=True)
    assert "git tracks it" in evaluator.broken()


def test_a_link_out_of_the_worktree_is_not_followed(tmp_path: Path) -> None:
    """An ignored link that a candidate left in place of its outputs must not have the user's files removed."""
    elsewhere = tmp_path / "elsewhere"
    write_files(elsewhere, {"precious.txt": "precious"})
    evaluator = with_tool(tmp_path, "measure_size", {}, BUILD="true", OUTPUTS=("dist", "out/*"))
    (evaluator.root / "dist").symlink_to(elsewhere)
    assert evaluator.broken() == "dist leads out of the worktree"
    (evaluator.root / "dist").unlink()
    write_files(evaluator.root, {"out/a": "a"})
    (evaluator.root / "out/b").symlink_to(elsewhere / "precious.txt")
    assert evaluator.broken() == "out/b leads out of the worktree"
    assert (elsewhere / "precious.txt").read_text() == "precious"


@pytest.mark.parametrize(
    "template", ["count_tests", "count_problems", "measure_coverage", "read_benchmarks", "read_metric"]
)
def test_a_tool_that_is_not_installed_is_told(tmp_path: Path, template: str) -> None:
    """Exit status 127 from the shell is a missing tool, not a bad candidate."""
    reports = {} if template in ("count_problems", "read_metric") else {"REPORTS": ()}
    evaluator = with_tool(tmp_path, template, {}, COMMAND="no-such-tool --run", **reports)
    assert evaluator.broken() == "something could not be started (exit status 127): no-such-tool --run"


@pytest.mark.parametrize(
    "template", ["count_problems", "measure_coverage", "measure_size", "read_metric", "time_command"]
)
def test_a_sketch_says_what_is_to_be_filled_in(tmp_path: Path, template: str) -> None:
    """A script as it is shipped, without a command, is an evaluator's fault with the remedy."""
    assert "at the top of this script" in with_tool(tmp_path, template, {}).broken()


# -- complaints


def test_ruffs_complaints_are_counted(tmp_path: Path) -> None:
    """One unused import; what is said of the mission's own script does not count; silencing is counted apart."""
    evaluator = proposed(tmp_path, PYTEST, Measure.LINT, "ruff")
    assert (evaluator.run()[SCORE], evaluator.run()["suppressions"]) == (1, 0)
    silenced = PYTEST["src/shop/prices.py"].replace("import os", "import os  # noqa")
    found = evaluator.run({"src/shop/prices.py": silenced})
    assert (found[SCORE], found["suppressions"]) == (0, 1)
    assert evaluator.proposal is not None
    assert [(one.metric, one.max) for one in evaluator.proposal.constraints] == [("suppressions", "baseline")]
    assert evaluator.run({"src/shop/prices.py": "import os\nimport (\n"})[PASS] is False
    assert evaluator.run({"src/shop/prices.py": ""})[SCORE] == 0


def test_mypys_errors_are_counted(tmp_path: Path) -> None:
    """Errors count, notes do not; a file that cannot be parsed hides the rest and is no progress."""
    evaluator = proposed(tmp_path, PYTEST, Measure.TYPES)
    assert evaluator.run()[SCORE] == 0
    assert evaluator.run({"src/shop/prices.py": "x: int = 'a'\ny: int = 'b'\nreveal_type(x)\n"})[SCORE] == 2
    assert evaluator.run({"src/shop/prices.py": "x: int = 'a'\ny ="})[PASS] is False


@needs("cargo-clippy")
def test_clippys_complaints_are_counted(tmp_path: Path) -> None:
    """A needless return; what is denied counts as well; code that does not compile is no progress."""
    evaluator = proposed(tmp_path, RUST, Measure.LINT)
    assert (evaluator.run()[SCORE], evaluator.run()[SCORE]) == (1, 1)
    assert evaluator.run({"src/lib.rs": RUST["src/lib.rs"].replace("return a + b;", "a + b")})[SCORE] == 0
    allowed = "#![allow(clippy::needless_return)]\n" + RUST["src/lib.rs"]
    found = evaluator.run({"src/lib.rs": allowed})
    assert (found[SCORE], found["suppressions"]) == (0, 1)
    assert evaluator.run({"src/lib.rs": "pub fn add(a: i32) -> i32 { a + }"})[PASS] is False


@needs("cmake")
def test_compiler_warnings_are_counted(tmp_path: Path) -> None:
    """Each evaluation compiles everything; a build that fails is no progress."""
    evaluator = proposed(tmp_path, CMAKE, Measure.LINT)
    assert (evaluator.run()[SCORE], evaluator.run()[SCORE]) == (1, 1)
    assert evaluator.run({"sum.c": "int main("})[PASS] is False


@needs("make")
def test_a_makefiles_warnings_and_program_are_measured(tmp_path: Path) -> None:
    """The same for make: warnings of a full build, and the bytes of the program it makes."""
    evaluator = proposed(tmp_path, MAKE, Measure.LINT)
    assert evaluator.run()[SCORE] == 1
    size = proposed(tmp_path / "size", MAKE, Measure.SIZE)
    first = size.run()[SCORE]
    assert first == (size.root / "greet").stat().st_size
    assert size.run({"greet.c": MAKE["greet.c"].replace("hello", "hello" * 2000)})[SCORE] > first


ESLINT = json.dumps([{"filePath": "a.js", "messages": [{"severity": 2}, {"severity": 1}], "source": '"severity":2'}])
CHECKERS = [
    ("eslint", ESLINT.replace(": ", ":"), r'"severity":[12]\b', "", 1, 2),
    ("tsc", "a.ts(1,2): error TS2322: no\nb.ts(3,4): error TS2304: no\n", r"^\S.*: error TS\d+: ", "error TS1", 2, 2),
    ("tsc", "a.ts(1,2): error TS1005: ';' expected.\n", r"^\S.*: error TS\d+: ", r"error TS1\d{3}: ", 2, None),
    ("vet", "# a\n./a.go:5:2: unreachable code\n", r"^(?:\./)?[^\s:]+\.go:\d+:\d+: ", "^vet: ", 1, 1),
    ("vet", "vet: ./a.go:3:1: expected declaration\n", r"^(?:\./)?[^\s:]+\.go:\d+:\d+: ", "^vet: ", 1, None),
    ("biome", "::error title=lint/x::no\n::warning title=y::no\n", r"^::(?:error|warning)", "title=parse", 1, 2),
]


@pytest.mark.parametrize(("tool", "printed", "problem", "fatal", "status", "score"), CHECKERS)
def test_other_checkers_are_read(
    tmp_path: Path, tool: str, printed: str, problem: str, fatal: str, status: int, score: int | None
) -> None:
    """What they once printed becomes a count, or a candidate that cannot be parsed."""
    write_files(tmp_path, {"printed": printed})
    settings = {"COMMAND": tool, "PROBLEM": problem, "FATAL": fatal, "STATUSES": (0, 1, 2)}
    found = with_tool(tmp_path, "count_problems", {tool: f"cat {tmp_path}/printed; exit {status}"}, **settings).run()
    assert (found[PASS], found.answer and found.answer.get(SCORE)) == (score is not None, score)


@pytest.mark.parametrize(
    ("status", "reason"), [(2, "ended with status 2"), (1, "nothing it printed matches PROBLEM")]
)
def test_a_checker_that_crashes_has_not_found_nothing(tmp_path: Path, status: int, reason: str) -> None:
    """No complaint and a bad exit status is a fault: it must not look like a perfect score."""
    tool = {"checker": f"echo Traceback; exit {status}"}
    assert reason in with_tool(tmp_path, "count_problems", tool, COMMAND="checker").broken()


# -- time


def test_a_command_is_timed(tmp_path: Path) -> None:
    """From its start to its end, a failing command is refused, and what it prints has a fingerprint."""
    work = "import sys, time\ntime.sleep(float(sys.argv[1]))\nprint('done')\n"
    evaluator = with_tool(tmp_path, "time_command", {}, COMMAND="python3 work.py $(cat size)", RUNS=3)
    before = time.monotonic()
    little = evaluator.run({"work.py": work, "size": "0"})
    most_ms = 1000 * (time.monotonic() - before)
    assert 0 < little[SCORE] <= little["median_ms"]
    assert 3 * little[SCORE] <= most_ms, "the fastest of three runs, which all lie within the evaluation"
    much = evaluator.run({"size": "0.1"})
    assert 100 <= much[SCORE] <= much["median_ms"]
    assert little["output"] == much["output"]
    assert evaluator.run({"work.py": "print('something else')\n"})["output"] != much["output"]
    assert evaluator.run({"work.py": "raise SystemExit(3)\n"})["reason"] == "the command fails with status 3"
    assert evaluator.broken(iteration=0) == "the command fails with status 3"
    assert "differs from run to run" in evaluator.broken({"work.py": "import time\nprint(time.time_ns())\n"})


def test_work_that_is_left_to_the_background_counts(tmp_path: Path) -> None:
    """The clock stops when the output ends, not when the first process does."""
    evaluator = with_tool(tmp_path, "time_command", {}, COMMAND="sh work.sh", RUNS=1)
    assert evaluator.run({"work.sh": "(sleep 0.3; echo done) &\n"})[SCORE] > 250


@needs("cmake")
def test_a_clean_build_is_timed(tmp_path: Path) -> None:
    """Each run builds anew."""
    found = proposed(tmp_path, CMAKE, Measure.SPEED, "build").run()
    assert found[SCORE] > 10


PYTEST_BENCHMARK = json.dumps({"benchmarks": [{"fullname": "t::a", "stats": {"min": 0.001}}]})
BENCHMARKS = [
    (
        "go",
        "BenchmarkAdd-8 \t 100\t 4000 ns/op\nBenchmarkAdd-8 \t 100\t 5000 ns/op\nBenchmarkB \t 10\t 1000.0 ns/op\n",
        2.0,
        2,
    ),
    ("libtest", "test a ... bench:       2,000 ns/iter (+/- 3)\n", 2.0, 1),
    ("pytest-benchmark", PYTEST_BENCHMARK, 1000.0, 1),
    (
        "asv",
        "[50.00%] ··· benchmarks.Suite.time_keys   1.50±0.1ms\n[75.00%] ··· benchmarks.time_x   6.00±0μs\n",
        94.8683,
        2,
    ),
]


@pytest.mark.parametrize(("form", "printed", "score", "count"), BENCHMARKS)
def test_benchmarks_are_read(tmp_path: Path, form: str, printed: str, score: float, count: int) -> None:
    """The geometric mean in microseconds, the fastest of repeats; one left out is seen in number and names."""
    write_files(tmp_path, {"printed": printed})
    tool = {"bench": f"cat {tmp_path}/printed; test ! -e failing"}
    evaluator = with_tool(tmp_path, "read_benchmarks", tool, COMMAND="bench", FORMAT=form)
    found = evaluator.run()
    assert (found[SCORE], found["benchmarks"]) == (pytest.approx(score, abs=1e-3), count)
    (tmp_path / "printed").write_text(printed.replace("Add", "Bad").replace("::a", "::b").replace(" a ", " b "))
    (tmp_path / "printed").write_text((tmp_path / "printed").read_text().replace("time_keys", "time_none"))
    assert evaluator.run()["names"] != found["names"]
    assert evaluator.run({"failing": ""})["reason"] == "the benchmarks fail with status 1"
    (tmp_path / "printed").write_text("{}" if form.startswith("pytest") else "nothing")
    assert evaluator.broken()


def test_criterions_estimates_are_read_and_old_ones_are_not(tmp_path: Path) -> None:
    """Only what this run wrote counts."""
    place = "target/criterion/{}/new/estimates.json"
    write = 'mkdir -p target/criterion/a/new; echo \'{"median": {"point_estimate": 3000}}\' > ' + place.format("a")
    settings = {"COMMAND": "bench", "FORMAT": "criterion", "REPORTS": ("target/criterion/**/new/estimates.json",)}
    evaluator = with_tool(tmp_path, "read_benchmarks", {"bench": write}, **settings)
    found = evaluator.run({place.format("old"): '{"median": {"point_estimate": 1}}'})
    assert (found[SCORE], found["benchmarks"]) == (3.0, 1)


# -- size, coverage, numbers


@needs("node")
def test_a_bundle_is_built_and_weighed(tmp_path: Path) -> None:
    """Compressed bytes of what the build makes now; an old output is not weighed, a build that makes none is told."""
    evaluator = proposed(tmp_path, NODE, Measure.SIZE)
    first = evaluator.run({"dist/old.js": "old" * 10_000})[SCORE]
    assert 0 < first < 200
    assert evaluator.run({"index.js": NODE["index.js"].replace("hello", "a longer greeting")})[SCORE] > first
    package = NODE["package.json"].replace("mkdir -p dist && cp index.js dist/index.js", "true")
    assert evaluator.broken({"package.json": package}) == "the build made nothing of dist"
    failing = package.replace('"build": "true"', '"build": "false"')
    assert evaluator.run({"package.json": failing})["reason"] == "it does not build"


@needs("cargo")
def test_a_release_build_is_weighed(tmp_path: Path) -> None:
    """The program that cargo makes is weighed each time, although nothing had to be compiled again."""
    evaluator = proposed(tmp_path, RUST, Measure.SIZE)
    assert evaluator.run()[SCORE] == evaluator.run()[SCORE] > 10_000


def test_what_is_small_has_to_run(tmp_path: Path) -> None:
    """An empty program is small; the smoke test says that it is none."""
    settings = {"BUILD": "cp app dist", "OUTPUTS": ("dist",), "SMOKE": "sh ./dist"}
    evaluator = with_tool(tmp_path, "measure_size", {}, **settings)
    assert evaluator.run({"app": "exit 0"})[SCORE] == 6
    assert evaluator.run({"app": "exit 1"})["reason"] == "what was built does not run: sh ./dist"
    assert evaluator.broken({"app": ""}) == "the build made nothing of dist"


COVERAGE = [
    ("cobertura", '<coverage lines-covered="3" lines-valid="4"/>', 75.0, 4),
    ("lcov", "SF:a\nLF:10\nLH:5\nend_of_record\nSF:b\nLF:10\nLH:10\nend_of_record\n", 75.0, 20),
    ("go", "mode: set\na.go:1.1,2.2 3 1\na.go:3.1,4.2 1 0\na.go:1.1,2.2 3 0\n", 75.0, 4),
    ("jacoco", "GROUP,PACKAGE,CLASS,LINE_MISSED,LINE_COVERED\ng,p,A,1,3\n", 75.0, 4),
]


@pytest.mark.parametrize(("form", "report", "score", "lines"), COVERAGE)
def test_coverage_reports_are_read(tmp_path: Path, form: str, report: str, score: float, lines: int) -> None:
    """A share of the lines, and how many there are; tests that fail are no progress; an empty report is no score."""
    write_files(tmp_path, {"report": report})
    tool = {"cover": f'cp {tmp_path}/report "$1"; test ! -e failing'}
    settings = {"COMMAND": "cover {out}/coverage.xml", "FORMAT": form}
    evaluator = with_tool(tmp_path, "measure_coverage", tool, **settings)
    assert (evaluator.run()[SCORE], evaluator.run()["lines"]) == (score, lines)
    assert evaluator.run({"failing": ""})[PASS] is False
    (tmp_path / "report").write_text("")
    assert evaluator.broken()


def test_the_last_value_of_a_training_is_read(tmp_path: Path) -> None:
    """The last validation loss that is printed; a diverged or failed training is refused, a silent one told."""
    evaluator = proposed(tmp_path, TRAINING, Measure.TRAINING)
    assert evaluator.run()[SCORE] == 0.667
    assert evaluator.run({"train.py": "print('val_loss', float('nan'))"})["reason"] == "the number is nan"
    assert evaluator.run({"train.py": "print('val_loss = 1e-3')\nprint('val_loss: 2.5e-4 end')"})[SCORE] == 0.00025
    assert evaluator.run({"train.py": "print('val_loss 0.1')\nraise SystemExit(2)"})[PASS] is False
    assert "nothing in its output is a number" in evaluator.broken({"train.py": "print('done')"})


def test_an_old_log_is_not_read_again(tmp_path: Path) -> None:
    """A log that lies there from before, and that this run does not write, has no number in it."""
    settings = {"COMMAND": "program", "LOG": "run.log", "METRIC": r"speed (\d+)", "TAKE": "max"}
    evaluator = with_tool(tmp_path, "read_metric", {"program": "test -e mute || echo speed 5 > run.log"}, **settings)
    assert evaluator.run({"run.log": "speed 100\n"})[SCORE] == 5
    assert "nothing in run.log is a number" in evaluator.broken({"run.log": "speed 100\n", "mute": ""})


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """The temporary folder of an evaluation goes with it, also when it measured nothing."""
    evaluator = with_tool(
        tmp_path, "measure_size", {}, BUILD="echo a > {out}/a; test ! -e fail", OUTPUTS=("{out}/a",)
    )
    evaluator.command = f"TMPDIR={tmp_path}/tmp {evaluator.command}"
    (tmp_path / "tmp").mkdir()
    assert evaluator.run()[SCORE] == 2
    assert evaluator.broken({"fail": ""}, iteration=0)
    assert list((tmp_path / "tmp").iterdir()) == []
