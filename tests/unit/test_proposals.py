"""What is proposed for repositories of different kinds."""

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.sample_repositories import CMAKE, GO, MAVEN, NODE, PYTEST, RUST, SAMPLES
from omagy_autoresearch.decision import Direction
from omagy_autoresearch.mission_draft import draft_from, mission_files
from omagy_autoresearch.placeholder import placeholder
from omagy_autoresearch.proposals import (
    MODULES,
    TOOLS,
    Confidence,
    Measure,
    Proposal,
    RepositoryFacts,
    propose,
    wanted_texts,
)
from omagy_autoresearch.surface import Change, Surface


def facts(
    files: dict[str, str], *, without: tuple[str, ...] = (), modules: frozenset[str] | None = None
) -> RepositoryFacts:
    texts = {path: files[path] for path in wanted_texts(files)}
    return RepositoryFacts(frozenset(files), texts, TOOLS - set(without), modules=modules)


def proposals(files: dict[str, str], **known: object) -> dict[str, Proposal]:
    """By key; sketches, which are there for every repository, are left out."""
    found = propose(facts(files, **known))  # type: ignore[arg-type]
    return {one.key: one for one in found if one.confidence is not Confidence.SKETCH}


def setting(proposal: Proposal, name: str) -> object:
    """The value of a setting in a proposal's script."""
    assert proposal.script is not None
    found = re.search(rf"^{name} = (.*?)(  # .*)?$", proposal.script.text, re.MULTILINE)
    assert found is not None
    return ast.literal_eval(found[1])


EXPECTED = {
    "pytest": ["python.pytest.tests", "python.ruff.lint", "python.mypy.types"],
    "unittest": ["python.unittest.tests", "python.time.bench.py"],
    "training": ["python.training:train.py"],
    "node": ["node.node:test.tests", "node.bench.speed", "node.build.size"],
    "rust": ["rust.cargo.tests", "rust.release.size", "rust.clippy.lint", "rust.llvm-cov.coverage"],
    "go": [
        "go.test.tests",
        "go.bench.speed",
        "go.build.size",
        "go.golangci-lint.lint",
        "go.vet.lint",
        "go.cover.coverage",
    ],
    "cmake": ["cmake.ctest.tests", "cmake.build.speed", "cmake.program.size", "cmake.warnings.lint"],
    "make": ["make.bench.speed", "make.program.size", "make.warnings.lint"],
    "maven": ["maven.tests", "maven.jar.size", "maven.checkstyle.lint", "maven.jacoco.coverage"],
}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_kind_of_repository_is_known(name: str) -> None:
    """What can be measured is found from the files alone, in the order of measures: tests first."""
    assert list(proposals(dict(SAMPLES[name]))) == EXPECTED[name]


@pytest.mark.parametrize("name", [*sorted(SAMPLES), "nothing"])
def test_every_proposal_is_complete(name: str) -> None:
    """A key of its own, a reason, a command that may be run, a script that is Python, and what it cannot see."""
    found = propose(facts(dict(SAMPLES.get(name, {"README": "nothing"}))))
    assert len({one.key for one in found}) == len(found)
    for one in found:
        assert one.title
        assert one.why
        assert placeholder(one.command) == ""
        assert one.script is not None
        ast.parse(one.script.text, feature_version=(3, 9))
        assert bool(one.todo) == (one.confidence is Confidence.SKETCH)
        assert set(mission_files(draft_from(one, slug="m"))) == {"mission.md", "sandbox.md", "evaluate.py"}


@pytest.mark.parametrize("name", [*sorted(SAMPLES), "nothing"])
def test_a_score_cannot_be_bought_by_taking_something_away(name: str) -> None:
    """What the score counts is held: tests and lines by the baseline's number, the rest by a limit or a margin."""
    for one in propose(facts(dict(SAMPLES.get(name, {})))):
        limited = {constraint.metric for constraint in one.constraints}
        if one.measure is Measure.TESTS:
            assert "tests" in limited
            assert one.direction is Direction.MAXIMIZE
            assert one.protected
        if one.measure in (Measure.LINT, Measure.TYPES):
            assert "suppressions" in limited
            assert one.protected
        if one.measure is Measure.COVERAGE:
            assert "lines" in limited
            assert one.editable
        if one.measure is Measure.SPEED:
            assert one.repeats > 1
            assert one.min_improvement


def test_measures_without_anything_to_go_by_are_sketches() -> None:
    """An empty repository still gets something to fill in, and is told what."""
    found = propose(RepositoryFacts(frozenset()))
    assert {one.measure for one in found} == {Measure.SPEED, Measure.SIZE, Measure.METRIC, Measure.TRAINING}
    assert all("evaluate.py" in one.todo for one in found)


# -- Python


def test_packages_are_imported_from_the_checkout() -> None:
    """An editable installation would have the user's own checkout measured instead of the candidate."""
    command = str(setting(proposals(PYTEST)["python.pytest.tests"], "COMMAND"))
    assert command.startswith("PYTHONPATH=src python3 -m pytest ")
    two_roots = {"pyproject.toml": "pytest", "a/x/__init__.py": "", "a/x/y/__init__.py": "", "b/z/__init__.py": ""}
    two_roots |= {"tests/unit/__init__.py": "", "tests/unit/test_x.py": ""}
    command = str(setting(proposals(two_roots)["python.pytest.tests"], "COMMAND"))
    assert command.startswith("PYTHONPATH=a:b python3 ")
    flat = {"setup.py": "", "x/__init__.py": "", "tests/test_x.py": "import pytest"}
    assert str(setting(proposals(flat)["python.pytest.tests"], "COMMAND")).startswith("python3 -m pytest ")


def test_the_users_interpreter_is_used_and_its_missing_modules_are_told() -> None:
    """The command names the virtual environment's Python, quoted; what it lacks stands in needs, and ranks last."""
    known = facts(PYTEST, modules=frozenset(MODULES) - {"pytest"}, without=("ruff",))
    known = RepositoryFacts(known.paths, known.texts, known.tools, "/my env/bin/python", known.modules)
    found = {one.key: one for one in propose(known)}
    assert "'/my env/bin/python' -m pytest" in str(setting(found["python.pytest.tests"], "COMMAND"))
    assert found["python.pytest.tests"].needs == ("pytest (for /my env/bin/python)",)
    assert "-m ruff check" in str(setting(found["python.ruff.lint"], "COMMAND"))
    ready = [one.key for one in propose(known) if one.confidence is not Confidence.SKETCH]
    assert ready[-1] == "python.pytest.tests"


@pytest.mark.parametrize(
    ("files", "key"),
    [
        ({"setup.cfg": "[flake8]\n"}, "python.flake8.lint"),
        ({"setup.py": "", ".flake8": ""}, "python.flake8.lint"),
        ({"pyproject.toml": "[tool.pyright]\n"}, "python.pyright.types"),
        ({"pyproject.toml": "", "mypy.ini": ""}, "python.mypy.types"),
        ({"pyproject.toml": "[build-system]\n"}, "python.wheel.size"),
        ({"requirements.txt": "pytest-benchmark==4\n", "tests/test_a.py": ""}, "python.pytest-benchmark.speed"),
        ({"pyproject.toml": "", "asv.conf.json": "{}"}, "python.asv.speed"),
        ({"requirements.txt": "pytest-cov\n", "tests/test_a.py": "import pytest"}, "python.coverage"),
        ({"pyproject.toml": "[tool.coverage.run]\n", "tests/test_a.py": "import unittest"}, "python.coverage"),
        ({"requirements.txt": "", "benchmarks/bench_sort.py": ""}, "python.time.benchmarks/bench_sort.py"),
        ({"back/pyproject.toml": "", "back/tests/test_a.py": "", "front/x.js": ""}, "python.pytest.tests:back"),
    ],
)
def test_pythons_tools_are_known_by_their_configuration(files: dict[str, str], key: str) -> None:
    """A tool is proposed where the repository says that it is used."""
    assert key in proposals(files)


def test_the_metric_of_a_training_script_decides_the_direction() -> None:
    """A validation metric is taken before a training loss, an accuracy is to grow, and a script without any is a
    sketch."""
    key = "python.training:train.py"
    loss = proposals({"train.py": "print('loss', x, 'val_loss', y)"})[key]
    assert (loss.direction, "val_loss" in loss.title) == (Direction.MINIMIZE, True)
    accuracy = proposals({"train.py": "print(f'accuracy: {a}')"})[key]
    assert accuracy.direction is Direction.MAXIMIZE
    sketch = next(one for one in propose(facts({"train.py": "fit()"})) if one.key == key)
    assert sketch.todo


# -- JavaScript


@pytest.mark.parametrize(
    ("lock", "setup", "tool"),
    [
        ("package-lock.json", "npm ci --no-audit --no-fund", "npx --no-install vitest run"),
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm exec vitest run"),
        ("yarn.lock", "yarn install --frozen-lockfile", "yarn vitest run"),
        ("bun.lock", "bun install --frozen-lockfile", "bunx --no-install vitest run"),
        ("README.md", "npm install --no-audit --no-fund", "npx --no-install vitest run"),
    ],
)
def test_the_lock_file_names_the_package_manager(lock: str, setup: str, tool: str) -> None:
    """A lane starts without node_modules, so the set-up installs what is locked; no tool is fetched for a run."""
    found = proposals({"package.json": '{"devDependencies": {"vitest": "1"}}', lock: ""})["node.vitest.tests"]
    assert found.setup == setup
    assert str(setting(found, "COMMAND")).startswith(tool)


@pytest.mark.parametrize(
    ("package", "keys"),
    [
        ('{"devDependencies": {"jest": "29"}}', ["node.jest.tests", "node.jest.coverage"]),
        ('{"devDependencies": {"mocha": "10"}, "scripts": {"test": "mocha"}}', ["node.mocha.tests"]),
        ('{"devDependencies": {"eslint": "9"}}', ["node.eslint.lint"]),
        ('{"devDependencies": {"@biomejs/biome": "1"}}', ["node.biome.lint"]),
        ('{"devDependencies": {"typescript": "5"}}', ["node.tsc.types"]),
        ('{"scripts": {"build": "vite build"}, "devDependencies": {"vite": "5"}}', ["node.build.size"]),
        (
            '{"devDependencies": {"vitest": "1", "@vitest/coverage-v8": "1"}}',
            ["node.vitest.tests", "node.vitest.coverage"],
        ),
    ],
)
def test_javascripts_tools_are_known_by_their_dependency(package: str, keys: list[str]) -> None:
    """A tool is proposed where package.json brings it."""
    assert list(proposals({"package.json": package, "tsconfig.json": "{}"})) == keys


_BROKEN = ["", "[]", "nul", "{", '"text"', '{"scripts": 5, "dependencies": [1]}', '{"scripts": {"test": 5}}']


@pytest.mark.parametrize("package", [*_BROKEN, "[" * 9999])
def test_a_broken_package_json_is_passed_over(package: str) -> None:
    """Whatever stands in package.json, nothing is proposed from what cannot be understood, and nothing breaks."""
    assert list(proposals({"package.json": package})) == []


# -- others


def test_a_missing_tool_is_told_and_ranks_last() -> None:
    """A proposal that cannot run here stays visible, with what is missing."""
    found = proposals(dict(GO), without=("go", "golangci-lint"))
    assert found["go.golangci-lint.lint"].needs == ("go", "golangci-lint")
    both = proposals({**GO, **NODE}, without=("go",))
    assert list(both)[:3] == ["node.node:test.tests", "node.bench.speed", "node.build.size"]


def test_rust_benchmarks_workspaces_and_binaries_are_read_from_cargo_toml() -> None:
    """Criterion's reports, all members of a workspace, and the names of binaries."""
    cargo = '[workspace]\n[package]\nname = "a"\n[[bin]]\nname = "tool"\n[dev-dependencies]\ncriterion = "0.5"\n'
    found = proposals({"Cargo.toml": cargo, "benches/b.rs": ""})
    assert setting(found["rust.bench.speed"], "FORMAT") == "criterion"
    assert setting(found["rust.cargo.tests"], "COMMAND") == "cargo test --no-fail-fast --workspace"
    assert setting(found["rust.release.size"], "OUTPUTS") == ("target/release/tool",)
    assert "rust.release.size" not in proposals({"Cargo.toml": '[package]\nname = "a"\n', "src/lib.rs": ""})
    assert "rust.llvm-cov.coverage" not in proposals(dict(RUST), without=("cargo-llvm-cov",))


def test_gradle_is_told_apart_from_maven_and_wrappers_are_used() -> None:
    """The repository's own wrapper is preferred: it names the version that the build needs."""
    files = {"build.gradle.kts": "plugins { checkstyle }", "gradlew": "", "src/test/kotlin/ATest.kt": ""}
    found = proposals(files, without=("gradle",))
    assert str(setting(found["gradle.tests"], "COMMAND")).startswith("./gradlew ")
    assert found["gradle.tests"].needs == ()
    assert proposals({**MAVEN, "mvnw": ""}, without=("mvn",))["maven.tests"].needs == ()
    assert proposals(dict(MAVEN), without=("mvn",))["maven.tests"].needs == ("mvn",)


def test_a_benchmark_of_cmake_is_built_before_the_clock_starts() -> None:
    """The build is prepared; only the program is timed."""
    text = CMAKE["CMakeLists.txt"] + "add_executable(bench_sum bench.c)\n"
    found = proposals({**CMAKE, "CMakeLists.txt": text})["cmake.bench_sum.speed"]
    assert "cmake --build" in str(setting(found, "PREPARE"))
    assert "cmake" not in str(setting(found, "COMMAND"))


def test_several_projects_in_one_repository_are_all_proposed() -> None:
    """Each part keeps its folder in commands, patterns and keys; names that a command line cannot trust are left."""
    files = {f"core/{path}": text for path, text in RUST.items()}
    files |= {f"web app/{path}": text for path, text in NODE.items()}
    files |= {"$(evil)/package.json": NODE["package.json"], "a\nb/package.json": NODE["package.json"]}
    found = proposals(files)
    assert str(setting(found["rust.cargo.tests:core"], "COMMAND")).startswith("cd core && cargo test")
    node = found["node.node:test.tests:web app"]
    assert str(setting(node, "COMMAND")).startswith("cd 'web app' && node --test")
    assert "web app/test/**" in node.protected
    assert not [key for key in found if "evil" in key or "\n" in key]


_MARKERS = ("package.json", "Cargo.toml", "go.mod", "pyproject.toml", "pom.xml", "CMakeLists.txt", "Makefile")
_FILES = (
    "tests/test_a.py",
    "train.py",
    "a_test.go",
    "src/main.rs",
    "test/a.test.js",
    "x/y/package.json",
    "setup.cfg",
)
_NAMES = st.sampled_from((*_MARKERS, *_FILES, "build.gradle", "setup.cfg"))
_TEXTS = st.text(max_size=80) | st.sampled_from([text for files in SAMPLES.values() for text in files.values()])


@given(st.dictionaries(_NAMES | st.text(min_size=1, max_size=20), _TEXTS, max_size=8))
def test_any_repository_gives_proposals_that_can_be_written(files: dict[str, str]) -> None:
    """Whatever files hold and are called, proposing breaks at nothing, and every script is Python."""
    for one in propose(facts(files)):
        assert one.script is not None
        ast.parse(one.script.text)
        assert "\n" not in one.command + one.title


def test_texts_are_asked_for_within_limits() -> None:
    """A repository of ten thousand projects has only the nearest of them read."""
    paths = [f"p{number}/package.json" for number in range(10_000)] + ["package.json"]
    wanted = wanted_texts(paths)
    assert wanted[0] == "package.json"
    assert len(wanted) <= 60


@pytest.mark.parametrize(
    ("test", "code"),
    [
        ("app/tests/test_core.py", "app/core.py"),
        ("src/app/tests/unit/test_core.py", "src/app/core.py"),
        ("app/test_core.py", "app/core.py"),
        ("app/core_test.py", "app/core.py"),
        ("tests/test_core.py", "app/core.py"),
        ("test_core.py", "core.py"),
    ],
)
def test_tests_beside_the_code_do_not_close_the_code(test: str, code: str) -> None:
    """A mission in which nothing may be changed costs a night: the tests are protected, and nothing else is."""
    files = {test: "import pytest\n", code: "", "pyproject.toml": "[tool.ruff]\n[tool.mypy]\n[tool.coverage]\n"}
    for one in proposals(files).values():
        surface = Surface(protected=one.protected, editable=one.editable)
        change = Change(code, "100644", "100644")
        assert bool(surface.violation([change])) == (one.measure is Measure.COVERAGE), one.key
        if one.measure is Measure.COVERAGE:
            assert not surface.violation([Change(test, "100644", "100644")])
        else:
            assert surface.protects(test)
