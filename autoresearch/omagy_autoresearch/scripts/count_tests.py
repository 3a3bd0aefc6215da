"""Count the tests that pass: that is the score, and more is better.

- A count and not a rate: a test that is deleted or skipped lowers it.
- `tests` in the answer is how many tests the run knows of. The mission's constraint on it keeps a candidate from
  having fewer than the baseline; that tests are not added or changed to get a score is what `protected` is for.
- `pass` says that the run was complete. A candidate that does not build is `pass: false`. A runner that cannot
  start, finds no test, or fails although no test did is no answer: this script then exits with a status other
  than 0, and omagy discards the candidate with that reason.
- What it cannot see: code under test runs in the process of its tests and could lie to the runner. Read what is kept.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

# -- yours to edit: commands are run by sh in the root of the worktree; {report} is a file in a temporary folder
BUILD = ""
COMMAND = "python3 -m pytest -q --junitxml={report}"
FORMAT = "junit"  # what the runner reports: junit, jest, mocha, tap, go, cargo or unittest
REPORTS = ""  # where the runner writes its reports if it cannot be told, such as target/surefire-reports/TEST-*.xml
# --

RESULT = os.environ.get("OMAGY_RESULT_FILE")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("OMAGY_")}


def broken(reason):
    sys.exit(f"evaluate.py: {reason}")


def answer(result):
    text = json.dumps(result)
    if RESULT:  # what was left there by the code under test was not written here
        Path(RESULT).unlink(missing_ok=True)
        Path(RESULT).write_text(text, encoding="utf-8")
    print(text)


def run(command):
    """Exit status and output of a shell command; its end is shown on stderr for whoever has to mend something."""
    done = subprocess.run(
        command,
        shell=True,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    text = done.stdout.decode(errors="replace")
    print(text[-3000:], file=sys.stderr)
    if done.returncode in (126, 127):
        broken(f"the command could not be started: {command}")
    return done.returncode, text


def read_junit(texts):
    counts = Counter()
    for text in texts:
        for case in ET.fromstring(text).iter("testcase"):
            found = {child.tag for child in case}
            bad = "failed" if found & {"failure", "error"} else "skipped" if "skipped" in found else "passed"
            counts["skipped" if case.get("status") in ("disabled", "notrun") else bad] += 1
    return counts


def read_jest(texts):
    names = {"passed": "numPassedTests", "failed": "numFailedTests", "skipped": "numPendingTests"}
    counts = Counter()
    for data in map(json.loads, texts):
        counts.update({word: data[name] for word, name in names.items()})
        counts["failed"] += data.get("numRuntimeErrorTestSuites", 0)
    return counts


def read_mocha(texts):
    names = {"passed": "passes", "failed": "failures", "skipped": "pending"}
    stats = [json.loads(text[text.index("{") :])["stats"] for text in texts]
    return sum((Counter({word: one[name] for word, name in names.items()}) for one in stats), Counter())


def read_tap(texts):
    """The innermost tests: one that has subtests says only what these said."""
    counts, inner = Counter(), -1
    for line in "\n".join(texts).splitlines():
        found = re.match(r"( *)(not )?ok\b(.*)", line)
        if not found:
            continue
        depth = len(found[1])
        if inner <= depth:
            skipped = re.search(r"# *(skip|todo)", found[3], re.IGNORECASE)
            counts["skipped" if skipped else "failed" if found[2] else "passed"] += 1
        inner = depth
    return counts


def read_go(texts):
    """Go's stream of events. A package that fails without a failing test counts as one."""
    words = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    counts, failed, packages = Counter(), set(), set()
    for line in "\n".join(texts).splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        word, package = words.get(event.get("Action")), event.get("Package", "")
        if word and "Test" in event:
            counts[word] += 1
            failed |= {package} if word == "failed" else set()
        elif word == "failed":
            packages.add(package)
    counts["failed"] += len(packages - failed)
    return counts


def read_cargo(texts):
    counts = Counter()
    pattern = r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored"
    for passed, failed, ignored in re.findall(pattern, "\n".join(texts), re.MULTILINE):
        counts.update(passed=int(passed), failed=int(failed), skipped=int(ignored))
    return counts


def read_unittest(texts):
    """The last summary of Python's own runner."""
    text = "\n".join(texts)
    ran = re.findall(r"^Ran (\d+) tests? in ", text, re.MULTILINE)
    ended = re.findall(r"^(?:OK|FAILED)(?: \((.*)\))?\s*$", text, re.MULTILINE)
    if not ran or not ended:
        return Counter()
    said = {word: int(number) for word, number in re.findall(r"([a-z ]+)=(\d+)", ended[-1])}
    failed = sum(said.get(word, 0) for word in ("failures", "errors", " errors", " unexpected successes"))
    failed += said.get("unexpected successes", 0)
    skipped = sum(said.get(word, 0) for word in ("skipped", " skipped", "expected failures", " expected failures"))
    return Counter(passed=max(int(ran[-1]) - failed - skipped, 0), failed=failed, skipped=skipped)


READERS = {
    "junit": read_junit,
    "jest": read_jest,
    "mocha": read_mocha,
    "tap": read_tap,
    "go": read_go,
    "cargo": read_cargo,
    "unittest": read_unittest,
}


def tracked(path):
    return subprocess.run(["git", "ls-files", "--error-unmatch", "--", path], capture_output=True).returncode == 0


def old_reports():
    """Take away reports of earlier runs, or they would be counted again."""
    for path in map(str, Path().glob(REPORTS) if REPORTS else ()):
        if tracked(path):
            broken(f"{path} is tracked by git: a report of this run must not be")
        Path(path).unlink()


def main():
    old_reports()
    if BUILD and run(BUILD)[0] != 0:
        return answer({"pass": False, "reason": "it does not build"})
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        status, output = run(COMMAND.replace("{report}", str(report)))
        files = sorted(Path().glob(REPORTS)) if REPORTS else [report] if "{report}" in COMMAND else []
        texts = [file.read_text(errors="replace") for file in files if file.is_file()]
    if not texts and files + [None] * bool(REPORTS):
        broken(f"the test runner ended with status {status} and wrote no report")
    try:
        counts = READERS[FORMAT](texts or [output])
    except (ET.ParseError, ValueError, KeyError, TypeError) as error:
        return broken(f"the test runner's report cannot be read: {error}")
    if not sum(counts.values()):
        broken(f"the test runner found no tests (its exit status: {status})")
    if status != 0 and not counts["failed"]:
        broken(f"the test runner ended with status {status} although no test failed")
    total = sum(counts.values())
    return answer(
        {"pass": True, "score": counts["passed"], "tests": total, **{w: counts[w] for w in ("failed", "skipped")}}
    )


if __name__ == "__main__":
    main()
