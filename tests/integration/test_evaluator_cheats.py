"""What an agent could try instead of improving anything: it must be refused, or must not raise the score."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fakes.sample_repositories import MAKE, MAVEN, NODE, PYTEST, RUST, write_files
from integration.test_evaluators import PASS, SCORE, Evaluator, Outcome, proposed, with_tool
from omagy_autoresearch.decision import Direction
from omagy_autoresearch.proposals import TOOLS, Measure, RepositoryFacts, propose
from omagy_autoresearch.surface import Change, Surface

WRONG_TYPE = {
    "src/shop/prices.py": 'import os\n\n\ndef total(prices) -> str:\n    x: int = "a"\n    return sum(prices)\n'
}
NEW_FILE, CHANGED = "000000", "100644"
_ANSWERED: dict[object, Outcome] = {}


def answered_before(evaluator: Evaluator) -> Outcome:
    """What it says of its repository as it is, asked once for each repository of this content: checkers are slow."""
    files = {
        path: path.read_bytes() for path in evaluator.root.rglob("*") if path.is_file() and ".git" not in path.parts
    }
    key = tuple(sorted((str(path.relative_to(evaluator.root)), text) for path, text in files.items()))
    if key not in _ANSWERED:
        _ANSWERED[key] = evaluator.run(iteration=0)
    return _ANSWERED[key]


def gains(evaluator: Evaluator, files: Mapping[str, str]) -> bool:
    """Whether a candidate that brings ``files`` would be kept: not protected, within its limits, and better."""
    proposal = evaluator.proposal
    assert proposal is not None
    changes = [Change(path, CHANGED if (evaluator.root / path).exists() else NEW_FILE, CHANGED) for path in files]
    if Surface(protected=proposal.protected, editable=proposal.editable).violation(changes):
        return False
    before = answered_before(evaluator)
    after = evaluator.run(files)
    if after.answer is None or not after[PASS]:
        return False
    for limit in proposal.constraints:
        if (limit.min is not None and after[limit.metric] < before[limit.metric]) or (
            limit.max is not None and after[limit.metric] > before[limit.metric]
        ):
            return False
    return bool(
        after[SCORE] > before[SCORE] if proposal.direction is Direction.MAXIMIZE else after[SCORE] < before[SCORE]
    )


SILENT = PYTEST["src/shop/prices.py"]
CHEATS = {
    "new pytest.toml": (
        Measure.TESTS,
        "pytest",
        {"pytest.toml": '[pytest]\npython_files = ["*.py"]\n', "src/shop/more.py": "def test_more():\n    pass\n"},
    ),
    "hidden pytest.toml": (
        Measure.TESTS,
        "pytest",
        {".pytest.toml": '[pytest]\npython_files = ["*.py"]\n', "src/shop/more.py": "def test_more():\n    pass\n"},
    ),
    "capitals": (Measure.LINT, "ruff", {"src/shop/prices.py": SILENT.replace("import os", "import os  # NOQA")}),
    "capitals for a whole file": (
        Measure.LINT,
        "ruff",
        {"src/shop/prices.py": SILENT.replace("import os", "import os  # FLAKE8: NoQA")},
    ),
    "gitignore": (Measure.LINT, "ruff", {".gitignore": "src/\n"}),
    "ignore": (Measure.LINT, "ruff", {"src/.ignore": "*\n"}),
    "shadowed mypy": (Measure.TYPES, "mypy", {"mypy.py": ""}),
    "shadowed mypy in a folder": (Measure.TYPES, "mypy", {"mypy/__main__.py": "", "mypy/__init__.py": ""}),
    "shadowed mypy in the sources": (Measure.TYPES, "mypy", {"src/mypy.py": ""}),
    "shadowed library": (Measure.TYPES, "mypy", {"src/argparse.py": "import sys\nsys.exit(0)\n"}),
    "site": (Measure.TYPES, "mypy", {"src/sitecustomize.py": "import os\nos._exit(0)\n"}),
    "a stub beside the code": (
        Measure.TYPES,
        "mypy",
        {"src/shop/prices.pyi": "def total(prices): ...\ndef vat(price): ...\n"},
    ),
    "no_type_check": (
        Measure.TYPES,
        "mypy",
        {"src/shop/prices.py": "import typing\n\n\n@typing.no_type_check\n" + WRONG_TYPE["src/shop/prices.py"][11:]},
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gains_nothing(tmp_path: Path, name: str) -> None:
    """A new configuration, a comment, a file that stands in for the checker, lines that only the tests have."""
    measure, key, files = CHEATS[name]
    sample = {**PYTEST, **WRONG_TYPE} if measure is Measure.TYPES else PYTEST
    evaluator = proposed(tmp_path, sample, measure, key)
    assert not gains(evaluator, files)


def test_mended_types_still_gain(tmp_path: Path) -> None:
    """The other side: what holds off cheats lets an improvement through."""
    evaluator = proposed(tmp_path, {**PYTEST, **WRONG_TYPE}, Measure.TYPES, "mypy")
    assert gains(evaluator, {"src/shop/prices.py": PYTEST["src/shop/prices.py"]})


LCOV = "SF:{0}\nLF:{1}\nLH:{2}\nend_of_record\n"
COBERTURA = '<class filename="{0}"><lines>{1}</lines></class>'


def cobertura(**files: str) -> str:
    """A report with a class for each file: a letter for each line, ``x`` for one that was run."""
    classes = "".join(
        COBERTURA.format(
            name.replace("__", "/") + ".py",
            "".join(f'<line number="1" hits="{int(line == "x")}"/>' for line in lines),
        )
        for name, lines in files.items()
    )
    return f'<coverage lines-covered="0" lines-valid="0"><packages>{classes}</packages></coverage>'


def test_a_benchmark_that_code_ends_early_is_no_faster(tmp_path: Path) -> None:
    """Its times differ from run to run, but that it no longer tells them is seen. Faster code still passes."""
    bench = "import time\n\nimport shapes\n\nstart = time.perf_counter()\n"
    bench += "shapes.area(3000)\nprint(time.perf_counter() - start)\n"
    code = "def area(side):\n    return sum([side] * side)\n"
    evaluator = proposed(tmp_path, {"shapes.py": code, "bench.py": bench}, Measure.SPEED, "bench.py")
    leaves = "import sys\n\nif 'bench' in sys.argv[0]:\n    sys.exit(0)\n\n\n"
    assert not gains(evaluator, {"shapes.py": leaves + code})
    assert evaluator.run({"shapes.py": code.replace("sum([side] * side)", "side * side")})[PASS]


@pytest.mark.parametrize(
    ("form", "report"),
    [
        ("cobertura", cobertura(app="xx..", tests__test_app="x" * 50)),
        ("lcov", LCOV.format("app.js", 4, 2) + LCOV.format("tests/pad.js", 50, 50) + LCOV.format("a.test.js", 9, 9)),
    ],
)
def test_lines_of_the_tests_themselves_do_not_count(tmp_path: Path, form: str, report: str) -> None:
    """A test runs its own lines: fifty more of them would raise the share without running anything else."""
    write_files(tmp_path, {"report": report})
    settings = {"COMMAND": "cover {out}/coverage.xml", "FORMAT": form, "LEFT_OUT": ("tests/**", "**/*.test.*")}
    evaluator = with_tool(tmp_path, "measure_coverage", {"cover": f'cp {tmp_path}/report "$1"'}, **settings)
    assert (evaluator.run()[SCORE], evaluator.run()["lines"]) == (50.0, 4)


@pytest.mark.parametrize(
    ("sample", "key", "paths"),
    [
        (PYTEST, "python.ruff.lint", ("conftest.py", "pytest.ini", "pytest.toml", ".pytest.toml", "src/conftest.py")),
        (PYTEST, "python.mypy.types", ("conftest.py", "pytest.ini", "pytest.toml", ".pytest.toml", "pytest.py")),
        (MAKE, "make.bench.speed", ("GNUmakefile", "makefile")),
        (MAKE, "make.program.size", ("GNUmakefile", "makefile")),
        (NODE, "node.build.size", ("package.json", "package-lock.json", "node_modules/terser/index.js")),
        (NODE, "node.node:test.tests", ("package-lock.json", "node_modules/.bin/node")),
        (RUST, "rust.cargo.tests", (".cargo/config.toml", "rust-toolchain.toml")),
        (RUST, "rust.clippy.lint", (".cargo/config", "rust-toolchain")),
        (RUST, "rust.release.size", (".cargo/config.toml",)),
        (MAVEN, "maven.tests", (".mvn/maven.config", "mvnw")),
        (MAVEN, "maven.jar.size", (".mvn/jvm.config",)),
    ],
)
def test_what_says_how_tests_run_is_nobodys_to_change(
    sample: Mapping[str, str], key: str, paths: tuple[str, ...]
) -> None:
    """A new file that a tool reads before those that are there would disarm the guard, or fake the score."""
    found = {one.key: one for one in propose(RepositoryFacts(frozenset(sample), dict(sample), TOOLS))}
    surface = Surface(protected=found[key].protected)
    assert [path for path in paths if not surface.protects(path)] == []
