"""Measure how much of the code the tests run. The score is a percentage of lines, and more is better.

- `pass` needs all tests to pass.
- `lines` in the answer is how many lines there are to be run. A constraint on it (sandbox.md) discards a candidate
  that has taken some out of the count; `editable` keeps candidates to the tests.
- A runner that cannot start or writes no report has measured nothing: then this script exits with a status other than
  0 and says why.
- What it cannot see: whether a test that runs a line also checks what it does. Read what is kept.
"""

import atexit
import csv
import glob
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
BUILD = ""
COMMAND = ""
FORMAT = "cobertura"  # cobertura, lcov, go or jacoco
REPORTS = ("{out}/coverage.xml",)

# -- the same in all evaluator scripts that omagy writes
RESULT = os.environ.get("OMAGY_RESULT_FILE")
INNER = {name: value for name, value in os.environ.items() if not name.startswith("OMAGY_")}
BASELINE = os.environ.get("OMAGY_ITERATION", "0") == "0"
MISSION = os.path.relpath(Path(__file__).resolve().parent)
OUT = tempfile.mkdtemp(prefix="evaluate-")  # {out} in the commands: new, empty, and removed at the end
MOST = 64 << 20
atexit.register(shutil.rmtree, OUT, ignore_errors=True)
signal.signal(signal.SIGTERM, lambda *_: broken("it was stopped"))


def broken(reason):
    """No measurement could be made: no answer at all, which omagy tells apart from a bad one."""
    sys.exit(f"evaluate.py: {reason}")


def answer(**result):
    text = json.dumps(result, allow_nan=False)
    if RESULT:  # this file counts before stdout, and what lies in it by now was not written here
        Path(RESULT).unlink(missing_ok=True)
        Path(RESULT).write_text(text, encoding="utf-8")
    print(text)
    sys.exit(0)


def unfit(reason):
    """A candidate is refused for it. A starting point that is unfit is nothing to start from: that is a fault."""
    if BASELINE:
        broken(reason)
    answer(**{"pass": False, "reason": reason})


def run(command):
    """Exit status and stdout of a shell command. Whoever has to mend something sees the end of it on stderr."""
    if not command.strip():
        broken("say at the top of this script what it runs: a command is empty")
    with tempfile.TemporaryFile() as file:
        filled = command.replace("{out}", OUT)
        done = subprocess.run(filled, shell=True, env=INNER, stdin=subprocess.DEVNULL, stdout=file, check=False)
        if file.seek(0, os.SEEK_END) > MOST:
            broken(f"more than {MOST >> 20} MiB of output: {command}")
        file.seek(0)
        text = file.read().decode(errors="replace")
    if text:
        print(text[-2000:].rstrip("\n"), file=sys.stderr)
    if done.returncode in (126, 127):
        broken(f"something could not be started (exit status {done.returncode}): {command}")
    return done.returncode, text


def files_of(patterns):
    """The files that paths and patterns stand for; a folder stands for all in it."""
    named = [path for pattern in patterns for path in glob.glob(pattern.replace("{out}", OUT), recursive=True)]
    folders = [path for path in named if at_home(path) and Path(path).is_dir()]
    inside = [str(Path(top, name)) for folder in folders for top, _, names in os.walk(folder) for name in names]
    return sorted({path for path in (*named, *inside) if at_home(path) and Path(path).is_file()})


def at_home(path):
    """True; a link could lead out of the worktree, and nothing there is to be read or removed."""
    place = Path(path).resolve()
    if not {Path.cwd().resolve(), Path(OUT).resolve()} & set(place.parents):
        broken(f"{path} leads out of the worktree")
    return True


def remove_old(patterns):
    """Take away what earlier runs left, or it would count again. What git tracks is nobody's to remove."""
    for path in files_of(patterns):
        tracks = ["git", "ls-files", "--error-unmatch", "--", path]
        if subprocess.run(tracks, capture_output=True, check=False).returncode == 0:
            broken(f"{path} is to be made anew by each evaluation, but git tracks it")
        Path(path).unlink()


# --


def read_cobertura(text):
    root = ET.fromstring(text)
    return int(root.attrib["lines-covered"]), int(root.attrib["lines-valid"])


def read_lcov(text):
    hit, found = (sum(map(int, re.findall(rf"^{name}:(\d+)", text, re.MULTILINE))) for name in ("LH", "LF"))
    return hit, found


def read_go(text):
    """Statements; a block that stands more than once is run when it is run once."""
    blocks = {}
    for block, size, times in re.findall(r"^(\S+:\S+) (\d+) (\d+)$", text, re.MULTILINE):
        blocks[block] = (int(size), int(times) > 0 or blocks.get(block, (0, False))[1])
    return sum(size for size, ran in blocks.values() if ran), sum(size for size, _ in blocks.values())


def read_jacoco(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    covered = sum(int(row["LINE_COVERED"]) for row in rows)
    return covered, covered + sum(int(row["LINE_MISSED"]) for row in rows)


READERS = {"cobertura": read_cobertura, "lcov": read_lcov, "go": read_go, "jacoco": read_jacoco}


def main():
    remove_old(REPORTS)
    if BUILD and run(BUILD)[0] != 0:
        unfit("it does not build")
    status, _ = run(COMMAND)
    texts = [Path(path).read_text(encoding="utf-8", errors="replace") for path in files_of(REPORTS)]
    if not texts:
        broken(f"the test runner ended with status {status} and wrote no coverage report")
    try:
        numbers = [READERS[FORMAT](text) for text in texts]
    except (ET.ParseError, ValueError, KeyError, TypeError) as error:
        broken(f"the report cannot be read as {FORMAT}: {error}")
    covered, lines = (sum(column) for column in zip(*numbers))
    if not lines:
        broken("the coverage report knows of no lines")
    if status != 0:
        answer(**{"pass": False, "reason": f"the tests fail with status {status}", "lines": lines})
    answer(**{"pass": True, "score": round(100 * covered / lines, 4), "covered": covered, "lines": lines})


if __name__ == "__main__":
    main()
