"""The quickstart's evaluator tells better, worse, wrong and hostile programs apart, also on a busy machine.

What is better or worse is told here by counted work: measured times are the machine's.
"""

import ast
import itertools
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from fakes.workspace import PATIENCE_S, Workspace

QUICKSTART = Path(__file__).parents[2] / "missions" / "quickstart"
GOOD = (QUICKSTART / "logstats.py").read_text(encoding="utf-8")
FAKE = '{"pass": true, "score": 99.0}'


class Mission:
    """A copy of the mission in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "missions" / "quickstart"
        shutil.copytree(QUICKSTART, self.folder, ignore=shutil.ignore_patterns("__pycache__"))

    def apply(self, number: int) -> None:
        """Apply a patch of the rehearsal. The folder is no repository: git only patches files here."""
        (patch,) = self.folder.glob(f"rehearsal/{number:02}-*.patch")
        subprocess.run(
            ["git", "apply", str(patch)],
            cwd=self.root,
            env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(self.root.parent)},
            check=True,
        )

    def write(self, text: str) -> None:
        (self.folder / "logstats.py").write_text(text, encoding="utf-8")

    def run(self, *arguments: str, block: str = "evaluator") -> subprocess.CompletedProcess[str]:
        """Run a command of sandbox.md, with this Python."""
        python, *words = shlex.split(frontmatter()[block]["command"])
        assert python == "python3"
        return subprocess.run(
            [sys.executable, *words, *arguments], cwd=self.root, capture_output=True, text=True, timeout=PATIENCE_S
        )

    def evaluate(self, *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        result: dict[str, Any] = json.loads(done.stdout)
        assert isinstance(result["pass"], bool)
        assert ("score" in result) == result["pass"]
        return result

    def speed(self) -> float:
        result = self.evaluate()
        assert result["pass"], result
        return float(result["score"])

    def work(self) -> int:
        """How many instructions of the interpreter one log takes: its work, on whatever machine."""
        log = loaded(self.folder / "evaluate.py").make_log(random.Random(1)).decode().splitlines()
        summarise, done = loaded(self.folder / "logstats.py").summarise, 0

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal done
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            done += event == "opcode"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            summarise(log)
        finally:
            sys.settrace(before)
        return done

    def guard(self) -> str:
        """What the guard says against the program; empty when it passes."""
        done = self.run(block="guard")
        assert done.stdout == ""
        assert (done.returncode == 0) == (done.stderr == "")
        return done.stderr


def loaded(file: Path) -> Any:
    """The program in ``file`` as a module; it changes from test to test, so nothing of it is kept."""
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)
    return module


def frontmatter() -> dict[str, Any]:
    """The settings of the mission."""
    text = (QUICKSTART / "sandbox.md").read_text(encoding="utf-8").split("---\n")[1]
    return dict(YAML(typ="safe").load(text))


@pytest.fixture
def mission(tmp_path: Path) -> Mission:
    return Mission(tmp_path)


def test_the_program_starts_as_its_reference(mission: Mission) -> None:
    """But for what it says of itself; and the evaluator lets it pass."""
    code = [
        ast.parse((mission.folder / name).read_text(encoding="utf-8")) for name in ("logstats.py", "reference.py")
    ]
    assert ast.dump(ast.Module(code[0].body[1:], [])) == ast.dump(ast.Module(code[1].body[1:], []))
    result = mission.evaluate()
    assert result["pass"]
    assert result["score"] > 0


def test_each_improvement_of_the_rehearsal_is_a_clear_one(mission: Mission) -> None:
    """Each step does a third less work and more; the guard has nothing against any of them."""
    work = [mission.work()]
    assert mission.guard() == ""
    for number in (1, 3, 7):
        mission.apply(number)
        work.append(mission.work())
        assert mission.guard() == ""
    assert all(after < before / 1.5 for before, after in itertools.pairwise(work)), work
    assert mission.speed() > 1.1, "a seventh of the work shows on the clock of any machine"


def test_the_regression_of_the_rehearsal_is_right_but_does_more_work(mission: Mission) -> None:
    mission.apply(1)
    before = mission.work()
    mission.apply(2)
    assert mission.evaluate()["pass"]
    assert mission.work() > 1.25 * before


def test_a_score_is_told_by_the_rounds_that_nothing_disturbed(mission: Mission) -> None:
    """On a machine that disturbs seven rounds of ten, each ten times as long, the half is still seen as the half."""
    evaluate = loaded(mission.folder / "evaluate.py")

    class Timed(evaluate.Worker):  # type: ignore[name-defined, misc]
        def __init__(self, needs_s: float, disturbed: int) -> None:
            self.cpu_s: list[float] = []
            self.elapsed_s: list[float] = []
            self.pauses: list[int] = [0, 1]
            self._times = itertools.cycle([needs_s] * (10 - disturbed) + [10 * needs_s] * disturbed)

        def summarise(self, log: bytes) -> dict[str, int]:
            self.cpu_s.append(next(self._times))
            self.elapsed_s.append(2 * self.cpu_s[-1])
            return {"requests": len(log)}

    result = evaluate.measure(Timed(0.002, disturbed=7), Timed(0.001, disturbed=2), random.Random(1))
    assert result == {"pass": True, "score": 2.0, "reference_us": 2000, "program_us": 1000}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be bound to a processor here")
def test_a_machine_with_one_processor_refuses_no_honest_program(mission: Mission) -> None:
    """A slow reference gets its next log there before it could wait for it; a quick program waits for each."""
    for number in (1, 3, 7):
        mission.apply(number)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        found = [mission.evaluate() for _ in range(3)]
    finally:
        os.sched_setaffinity(0, before)
    assert [result["pass"] for result in found] == [True, True, True]


@pytest.mark.parametrize(
    ("program", "reference", "leaves"), [(0, 0, False), (1, 0, False), (1, 1, False), (2, 0, True), (2, 2, False)]
)
def test_a_program_may_wait_for_each_log_and_no_more_often_than_the_reference(
    program: int, reference: int, leaves: bool, mission: Mission
) -> None:
    evaluate = loaded(mission.folder / "evaluate.py")

    class Counted(evaluate.Worker):  # type: ignore[name-defined, misc]
        def __init__(self, in_each_round: int) -> None:
            self.pauses = [in_each_round * number for number in range(9)]

    assert evaluate.leaves_work(Counted(program), Counted(reference)) is leaves


def test_the_wrong_output_of_the_rehearsal_is_named(mission: Mission) -> None:
    for number in (1, 3, 4):
        mission.apply(number)
    result = mission.evaluate("--seed", "1")
    assert not result["pass"]
    assert result["field"].startswith("paths./")
    assert result["field"].endswith(".p95_ms")
    assert int(result["expected"]) < int(result["got"])
    assert mission.evaluate("--seed", "1") == result
    assert mission.evaluate()["seed"] != 1


def test_the_rehearsal_has_a_proposal_for_each_iteration_of_the_budget() -> None:
    assert frontmatter()["budget"]["max_iterations"] == len(list((QUICKSTART / "rehearsal").iterdir()))


COUNTED_WORK = {
    "worker.py": [
        (
            "def serve(summarise):\n",
            """\
def counted(frame, event, _):
    global work
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    work += event == "opcode"
    return counted


def serve(untold):
    logs = itertools.count()

    def count(lines):
        global work, usual
        if next(logs) >= 3:  # counting is slow, and logs are alike
            work += usual
            return untold(lines)
        before = work
        sys.settrace(counted)
        try:
            return untold(lines)
        finally:
            sys.settrace(None)
            usual = work - before

    def summarise(lines):
        summary = count(lines)
        with open(f"{sys.argv[1]}.{os.getpid()}", "w") as file:
            file.write(str(work / 1e6))
        return summary

""",
        ),
        ("import json\n", "import itertools\nimport json\nimport os\n"),
        ("def load(", "work = 0\n\n\ndef load("),
    ],
    "evaluate.py": [
        (
            "    try:\n        return time.clock_gettime((~pid << 3) | 2)",
            "    try:\n        (told,) = HERE.glob(f'*.{pid}')\n        return float(told.read_text())",
        ),
        ("    except OSError:\n        return time.perf_counter()", "    except ValueError:\n        return 0.0"),
        ("time.perf_counter()", "cpu_seconds(self.process.pid)"),
    ],
}
"""Replacements in the mission's programs: a worker tells the work that it did, and that is the evaluator's clock."""


def count_work(mission: Path) -> None:
    for name, replacements in COUNTED_WORK.items():
        text = (mission / name).read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        (mission / name).write_text(text, encoding="utf-8")


def test_a_rehearsal_shows_every_kind_of_decision(ws: Workspace) -> None:
    """A whole run without a model keeps the three improvements, refuses the slower, the wrong and the cheating
    proposal each for its reason, and confirms at its end that what was kept is faster."""
    shutil.copytree(QUICKSTART, ws.root / "missions/quickstart", ignore=shutil.ignore_patterns("__pycache__"))
    count_work(ws.root / "missions/quickstart")
    ws.write(".gitignore", "*.py.*\n")
    ws.commit()
    done = ws.omagy("autoresearch", "--foreground", "--agent", "rehearsal", "missions/quickstart")
    assert done.returncode == 0, done.stderr
    expected = [
        ("baseline", "the starting point passes"),
        ("keep", "score improved"),
        ("discard", "score got worse"),
        ("keep", "score improved"),
        ("discard", "the evaluator says pass=false: the summary differs from the reference in paths./"),
        ("noop", "the session found nothing to change"),
        ("error", "candidate.json: "),
        ("keep", "score improved"),
        ("discard", "missions/quickstart/evaluate.py: it is protected"),
    ]
    entries = ws.ledger()["entries"]
    assert [entry["decision"] for entry in entries] == [decision for decision, _ in expected], entries
    for entry, (_, reason) in zip(entries, expected, strict=True):
        assert reason in entry["decision_reason"]
    assert len(entries[0]["evaluator"]["samples"]) == 3
    assert [one["kind"] for one in entries[1]["measurements"]] == ["evaluator", "guard"]
    assert "measured 3 times, the same score each time" in done.stderr
    assert "3 of 3 keeps hold" in (ws.folder() / "handoff.md").read_text()


REMEMBERS = """
slow, known = summarise, []
def summarise(lines):
    known.append(known[0] if known else slow(lines))
    return known[0]
"""
LETS_ANOTHER_WORK = r"""
import json, pathlib, subprocess, sys
here = pathlib.Path(__file__).parent
command = [sys.executable, "-I", str(here / "worker.py"), str(here / "reference.py")]
other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
other.stdout.readline()
def summarise(lines):
    log = "\n".join(lines).encode()
    other.stdin.write(b"%d\n" % len(log) + log)
    other.stdin.flush()
    return json.loads(other.stdout.readline())["summary"]
"""
BROKEN = {
    "does not parse": ("def summarise(lines:\n", "SyntaxError"),
    "import fails": ("import no_such_module\n", "ModuleNotFoundError"),
    "no function": ("x = 1\n", "no attribute 'summarise'"),
    "raises": ("def summarise(lines):\n    return lines['a']\n", "TypeError"),
    "exits with 0": ("import sys\nsys.exit(0)\n", "SystemExit"),
    "is gone": ("import os\nos._exit(0)\n", "ended its process"),
    "is gone later": ("import os\ndef summarise(lines):\n    os._exit(0)\n", "ended its process"),
    "prints a fake result": (f"print('{FAKE}')\n", "stdout"),
    "prints a fake result and goes": (f"import os\nprint('{FAKE}', flush=True)\nos._exit(0)\n", "stdout"),
    "prints as well": (GOOD.replace("    parsed = [", "    print('hello')\n    parsed = ["), "stdout"),
    "floods stdout": ("import os\nwhile True:\n    os.write(1, b'x' * 65536)\n", "stdout"),
    "is no JSON": ("def summarise(lines):\n    return {1, 2}\n", "not JSON serializable"),
    "is not a summary": ("def summarise(lines):\n    return float('nan')\n", "differs from the reference in summary"),
    "is nearly right": (GOOD.replace('"requests": len(entries),', '"requests": float(len(entries)),'), "requests"),
    "is always the same": (GOOD + REMEMBERS, "differs"),
    "sleeps": (GOOD.replace("    parsed = [", "    import time\n    time.sleep(0.01)\n    parsed = ["), "sleeps"),
    "lets another process work": (LETS_ANOTHER_WORK, "another process"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_never_passes(mission: Mission, name: str) -> None:
    program, reason = BROKEN[name]
    mission.write(program)
    result = mission.evaluate()
    assert not result["pass"]
    assert reason in result["reason"]


@pytest.mark.skipif(sys.platform != "linux", reason="only this kernel tells how often a process pauses")
@pytest.mark.parametrize("name", ["honest", "sleeps", "lets another process work"])
def test_a_busy_machine_neither_hides_a_pause_nor_makes_one(mission: Mission, name: str) -> None:
    """Others may have the processors while the reference works, or while the program does: that is no pause."""
    mission.write(BROKEN.get(name, (GOOD, ""))[0])
    evaluate = loaded(mission.folder / "evaluate.py")
    busy = {"reference.py": 0.9, "logstats.py": 0.1} if name == "honest" else {}

    class Waiting(evaluate.Worker):  # type: ignore[name-defined, misc]
        def own_share(self) -> float:
            return busy.get(Path(self.process.args[-1]).name, 0.1)

    workers = [Waiting(mission.folder / name) for name in ("reference.py", "logstats.py")]
    try:
        assert [worker.read("ready") for worker in workers] == [True, True]
        if name == "honest":
            assert evaluate.measure(*workers, random.Random(1))["pass"]
        else:
            with pytest.raises(evaluate.RejectedError, match="another process work"):
                evaluate.measure(*workers, random.Random(1))
    finally:
        for worker in workers:
            with worker.process:
                worker.close()


ANOTHER_ANSWERS = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
if os.fork():
    while True:
        %s
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there an orphan can become the evaluator's")
@pytest.mark.parametrize("meanwhile", ["os.sched_yield()", "import time; time.sleep(60)"])
def test_a_program_whose_work_another_process_does_is_told_by_that_process(mission: Mission, meanwhile: str) -> None:
    """One that yields its processor never pauses, and one that pauses for good has not paused between two logs."""
    mission.write(GOOD + ANOTHER_ANSWERS % meanwhile)
    result = mission.evaluate()
    assert not result["pass"]
    assert "another process work" in result["reason"]


@pytest.mark.parametrize(
    "program", ["while True:\n    pass\n", "def summarise(lines):\n    while True:\n        pass\n"]
)
@pytest.mark.parametrize("deadline", ["0.2", "0.000001"])
def test_a_program_that_hangs_ends_with_the_deadline(mission: Mission, program: str, deadline: str) -> None:
    """However soon that comes, it is the program's fault and not the evaluator's."""
    mission.write(program)
    result = mission.evaluate("--deadline", deadline)
    assert result["reason"] == "the program did not finish in time"


def test_a_summary_without_end_is_no_reason_to_crash(mission: Mission) -> None:
    mission.write(
        "import os\ndef summarise(lines):\n"
        "    os.write(1, b'{\"summary\": ' + b'[' * 300000 + b']' * 300000 + b'}\\n')\n"
    )
    assert not mission.evaluate()["pass"]


def test_a_program_that_is_missing_does_not_pass(mission: Mission) -> None:
    (mission.folder / "logstats.py").unlink()
    assert "FileNotFoundError" in mission.evaluate()["reason"]


def test_files_beside_the_evaluator_cannot_stand_in_for_modules(mission: Mission) -> None:
    for name in ("json.py", "random.py", "statistics.py"):
        (mission.folder / name).write_text(f"print('{FAKE}')\nraise SystemExit(0)\n", encoding="utf-8")
    result = mission.evaluate("--seed", "1")
    assert (result["pass"], result["seed"]) == (True, 1), result


def test_a_reference_that_does_not_work_is_an_error_of_the_evaluator(mission: Mission) -> None:
    (mission.folder / "reference.py").write_text("1 / 0\n", encoding="utf-8")
    done = mission.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert "reference.py does not work: the program failed: ZeroDivisionError" in done.stderr


FORBIDDEN = {
    "another package": (
        "import numpy as np\n",
        "line 1: it imports numpy, which a log summary has no use for",
    ),
    "its neighbours": ("import reference\n", "it imports reference, which"),
    "a relative import": ("x = 1\nfrom . import worker\n", "line 2: it imports ., which"),
    "a process": ("def summarise(lines):\n    import subprocess\n", "line 2: it imports subprocess, which"),
    "processes": ("from concurrent.futures import ProcessPoolExecutor\n", "imports concurrent"),
    "compiled code": ("import ctypes.util as u\n", "imports ctypes"),
    "code from text": ("exec('1')\n", "it uses exec"),
    "an import from text": ("__import__('os')\n", "it uses __import__"),
    "files": ("open('known.json')\n", "it uses open"),
    "the way round": ("().__class__.__base__\n", "it reaches for __"),
    "newer Python": ("type X = int\n", "it does not parse on Python 3.11"),
    "no Python": ("def\n", "line 1: it does not parse on Python 3.11"),
    "too much": ("\n" * 301, "it has more than 300 lines"),
    "a NUL": ("x = 1\0\n", "it "),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_guard_refuses_what_the_mission_forbids(mission: Mission, name: str) -> None:
    """Each forbidden thing is refused with its line and reason, without running the program."""
    program, reason = FORBIDDEN[name]
    mission.write(program)
    said = mission.guard()
    assert said.startswith("logstats.py: ")
    assert reason in said
    assert "Traceback" not in said


def test_the_guard_refuses_a_program_that_is_missing(mission: Mission) -> None:
    """No program is no reason to pass."""
    (mission.folder / "logstats.py").unlink()
    assert "it cannot be read: FileNotFoundError" in mission.guard()
