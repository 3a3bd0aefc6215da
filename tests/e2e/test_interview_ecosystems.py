"""From an empty idea to a finished run in five small repositories of different ecosystems, with real keys.

Toolchains that a plain machine lacks are stood in for by executables that read the sources and print what the real
ones would print about them.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from fakes.sample_repositories import GO, MAKE, NODE, RUST, UNITTEST, write_files
from fakes.screen import OpenScreen, Screen
from fakes.workspace import Workspace

_NODE = """\
if grep -q 'bye ${name}' index.js; then bye='ok 2 - bye'; status=0; else bye='not ok 2 - bye'; status=1; fi
printf 'TAP version 13\\nok 1 - greet\\n%s\\n1..2\\n' "$bye"
exit $status
"""
_CARGO = """\
case "$*" in *--no-run*) exit 0 ;; esac
if grep -q 'a + a' src/lib.rs; then
  echo 'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'
else
  echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'
  exit 101
fi
"""
_GO = """\
[ "$1" = test ] || exit 0
echo '{"Action":"pass","Package":"example.com/adder","Test":"TestAdd"}'
if grep -q Twice add.go; then
  echo '{"Action":"pass","Package":"example.com/adder","Test":"TestTwice"}'
  echo '{"Action":"pass","Package":"example.com/adder"}'
else
  echo '{"Action":"fail","Package":"example.com/adder","Test":"TestTwice"}'
  echo '{"Action":"fail","Package":"example.com/adder"}'
  exit 1
fi
"""
_MAKE = """\
if grep -q 'int unused' greet.c; then
  echo "greet.c:4:9: warning: unused variable 'unused' [-Wunused-variable]" >&2
fi
"""


@dataclass(frozen=True)
class Sample:
    """``tools`` are stand-ins by name; ``write`` is what the agent makes of the repository, to reach ``better``."""

    files: dict[str, str]
    goal: str
    measure: str
    write: dict[str, str]
    better: str
    tools: dict[str, str]


SAMPLES = {
    "python": Sample(
        files=UNITTEST,
        goal="all tests pass",
        measure="number of tests that pass (unittest)",
        write={"shapes.py": "def area(side):\n    return side * side\n"},
        better="1 → 2",
        tools={},
    ),
    "node": Sample(
        files=NODE,
        goal="",
        measure="number of tests that pass (node:test)",
        write={"index.js": NODE["index.js"].replace("bye = (name) => `hello", "bye = (name) => `bye")},
        better="1 → 2",
        tools={"node": _NODE, "npm": "exit 0\n"},
    ),
    "rust": Sample(
        files=RUST,
        goal="fix the bug in twice",
        measure="number of tests that pass (cargo test)",
        write={"src/lib.rs": RUST["src/lib.rs"].replace("    a\n", "    a + a\n")},
        better="1 → 2",
        tools={"cargo": _CARGO},
    ),
    "go": Sample(
        files=GO,
        goal="make all tests green",
        measure="number of tests that pass (go test)",
        write={"add.go": GO["add.go"] + "\nfunc Twice(a int) int { return a + a }\n"},
        better="1 → 2",
        tools={"go": _GO},
    ),
    "make": Sample(
        files=MAKE,
        goal="no warning is left",
        measure="number of compiler warnings",
        write={"greet.c": MAKE["greet.c"].replace("    int unused;\n", "")},
        better="1 → 0",
        tools={"make": _MAKE, "cc": "exit 0\n"},
    ),
}


@pytest.fixture(params=list(SAMPLES))
def sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]


@pytest.fixture
def screen(ws: Workspace, sample: Sample, tmp_path: Path, open_screen: OpenScreen) -> Screen:
    """A terminal in the sample's repository, with its tools on PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, script in sample.tools.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}")
        (tools / name).chmod(0o755)
    ws.environment["PATH"] = f"{tools}:{ws.environment['PATH']}"
    (ws.root / "value.txt").unlink()
    write_files(ws.root, sample.files)
    ws.commit()
    return open_screen(120, 45)


def test_from_an_empty_idea_to_a_finished_run(ws: Workspace, sample: Sample, screen: Screen) -> None:
    """The goal in words, then Enter: what is offered fits the repository, works on the spot, and sees the fix."""
    ws.plan(i1=[{"write": sample.write}, {"commit": "better"}, {"artifact": {}}])
    before = ws.users_side()
    screen.omagy("--agent", ws.agent, "--max-iterations", "1")
    screen.wait("What should get better?")
    screen.type(sample.goal)
    screen.enter("A short name for it?")
    screen.wait("How would you notice?")
    screen.wait(f" > 1) {sample.measure}")
    screen.press("Enter")
    screen.enter("Longest time for one measurement?")
    screen.wait("it works: the current commit")
    screen.enter("What may change?", "What must keep working?", "What must nobody change?")
    screen.wait("> 1) refine further")
    screen.choose("launch")
    screen.wait("status 0")
    assert ws.decisions() == ["baseline", "keep"]
    assert ws.ledger()["entries"][1]["decision_reason"].startswith(f"score improved: {sample.better}")
    after = {path: held for path, held in ws.users_side().items() if path.split("/")[0] != "missions"}
    assert after == before
