"""Measure how much of the code the tests run. The score is a percentage of lines, and more is better.

- `pass` needs all tests to pass.
- `lines` in the answer is how many lines there are to be run. A constraint on it (sandbox.md) discards a candidate
  that has taken some out of the count; `editable` keeps candidates to the tests.
- A runner that cannot start or writes no report has measured nothing: then this script exits with a status other than
  0 and says why.
- Lines of the tests themselves do not count (LEFT_OUT).
- What it cannot see: whether a test that runs a line also checks what it does, and a test that writes the report
  itself. Read what is kept.
"""

import csv
import fnmatch
import io
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from shared import answer, broken, files_of, remove_old, run, unfit

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
BUILD = ""
COMMAND = ""
FORMAT = "cobertura"  # cobertura, lcov, go or jacoco
REPORTS = ("{out}/coverage.xml",)
LEFT_OUT = ()  # patterns of files that do not count (cobertura, lcov): a test runs its own lines, however many

# -- here comes the text of shared.py


def counts(path):
    """False for a file that a pattern of LEFT_OUT names."""
    seen = os.path.relpath(path) if Path(path).is_absolute() else os.path.normpath(path)
    patterns = {pattern.removeprefix("**/") for pattern in LEFT_OUT} | set(LEFT_OUT)
    return not any(fnmatch.fnmatchcase(seen, pattern) for pattern in patterns)


def read_cobertura(text):
    root = ET.fromstring(text)
    if not LEFT_OUT:
        return int(root.attrib["lines-covered"]), int(root.attrib["lines-valid"])
    files = [one for one in root.iter("class") if counts(one.attrib["filename"])]
    hits = [int(line.attrib["hits"]) for one in files for line in one.findall("lines/line")]
    return sum(number > 0 for number in hits), len(hits)


def read_lcov(text):
    hit = found = 0
    for record in text.split("end_of_record"):
        path = re.search(r"^SF:(.*)$", record, re.MULTILINE)
        if path is None or not counts(path[1]):
            continue
        hit += sum(map(int, re.findall(r"^LH:(\d+)", record, re.MULTILINE)))
        found += sum(map(int, re.findall(r"^LF:(\d+)", record, re.MULTILINE)))
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
