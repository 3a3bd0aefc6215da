"""Count the tests that pass. The count is the score, and more is better.

- A count and not a rate: a test that is deleted or skipped lowers it.
- `tests` in the answer is how many tests the run knows of. A constraint on it (sandbox.md) discards a candidate that
  has fewer than the baseline; keeping a candidate from adding or changing tests is what `protected` is for.
- A candidate that does not build is `pass: false`. A starting point that does not, or a runner that cannot start,
  finds no test, or fails although no test did, has measured nothing: then this script exits with a status other
  than 0 and says why.
- What it cannot see: the code under test runs in the same process as its tests, and could lie to their runner.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

from shared import answer, broken, files_of, remove_old, run, unfit

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
BUILD = ""
COMMAND = "python3 -m pytest -q --junitxml={out}/report.xml"
FORMAT = "junit"  # junit, jest, mocha, tap, go, cargo or unittest
REPORTS = ("{out}/report.xml",)  # where the runner writes its report; empty: to stdout

# -- here comes the text of shared.py


def read_junit(texts):
    counts = Counter()
    for case in (case for text in texts for case in ET.fromstring(text).iter("testcase")):
        tags = {child.tag for child in case}
        skipped = "skipped" in tags or case.get("status") in ("disabled", "notrun")
        counts["failed" if tags & {"failure", "error"} else "skipped" if skipped else "passed"] += 1
    return counts


def read_jest(texts):
    """A file that could not be run counts as one failed test."""
    counts = Counter()
    for data in map(json.loads, texts):
        skipped = data["numPendingTests"] + data.get("numTodoTests", 0)
        failed = data["numFailedTests"] + data.get("numRuntimeErrorTestSuites", 0)
        counts.update(passed=data["numPassedTests"], failed=failed, skipped=skipped)
    return counts


def read_mocha(texts):
    counts = Counter()
    for stats in (json.loads(text[text.index("{") :])["stats"] for text in texts):
        counts.update(passed=stats["passes"], failed=stats["failures"], skipped=stats["pending"])
    return counts


def read_tap(texts):
    """The innermost tests: a line that closes subtests only repeats what these said."""
    counts, before = Counter(), -1
    for line in "\n".join(texts).splitlines():
        found = re.match(r"( *)(not )?ok\b(.*)", line)
        if found is None:
            continue
        depth = len(found[1])
        if depth >= before:
            skipped = re.search(r"# *(skip|todo)", found[3], re.IGNORECASE)
            counts["skipped" if skipped else "failed" if found[2] else "passed"] += 1
        before = depth
    return counts


def read_go(texts):
    """A package that fails although none of its tests did counts as one failed test."""
    words = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    counts, explained, failed = Counter(), set(), set()
    for event in (json.loads(line) for text in texts for line in text.splitlines() if line.startswith("{")):
        word = words.get(event.get("Action"))
        if word and "Test" in event:
            counts[word] += 1
        if word == "failed":
            (explained if "Test" in event else failed).add(event.get("Package"))
    counts["failed"] += len(failed - explained)
    return counts


def read_cargo(texts):
    counts = Counter()
    line = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
    for numbers in (found for text in texts for found in line.findall(text)):
        passed, failed, skipped = map(int, numbers)
        counts.update(passed=passed, failed=failed, skipped=skipped)
    return counts


def read_unittest(texts):
    """The last summary, as Python's own runner writes it at its end."""
    last = r"^Ran (\d+) tests? in .*\n\n(?:OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?\s*\Z"
    found = re.search(last, "".join(texts), re.MULTILINE)
    if found is None:
        return Counter()
    said = Counter({word: int(number) for word, number in re.findall(r"([a-z ]+)=(\d+)", found[2] or "")})
    said = Counter({word.strip(): number for word, number in said.items()})
    failed = said["failures"] + said["errors"] + said["unexpected successes"]
    skipped = said["skipped"] + said["expected failures"]
    return Counter(passed=max(int(found[1]) - failed - skipped, 0), failed=failed, skipped=skipped)


READERS = {
    "junit": read_junit,
    "jest": read_jest,
    "mocha": read_mocha,
    "tap": read_tap,
    "go": read_go,
    "cargo": read_cargo,
    "unittest": read_unittest,
}


def main():
    remove_old(REPORTS)
    if BUILD and run(BUILD)[0] != 0:
        unfit("it does not build")
    status, output = run(COMMAND)
    texts = [Path(path).read_text(encoding="utf-8", errors="replace") for path in files_of(REPORTS)]
    if REPORTS and not texts:
        broken(f"the test runner ended with status {status} and wrote no report")
    try:
        counts = READERS[FORMAT](texts if REPORTS else [output])
    except (ET.ParseError, ValueError, KeyError, TypeError) as error:
        broken(f"the report cannot be read as {FORMAT}: {error}")
    total = sum(counts.values())
    if not total:
        broken(f"the test runner found no tests (its exit status is {status})")
    if status != 0 and not counts["failed"]:
        broken(f"the test runner ended with status {status}, although no test failed")
    rest = {word: counts[word] for word in ("failed", "skipped")}
    answer(**{"pass": True, "score": counts["passed"], "tests": total, **rest})


if __name__ == "__main__":
    main()
