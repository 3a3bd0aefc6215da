"""Run benchmarks. The score is the geometric mean of their times in microseconds, and less is better.

- A geometric mean: halving the time of any one benchmark counts the same.
- `benchmarks` in the answer is how many there are, and `names` a fingerprint of what they are called. Constraints on
  them (sandbox.md) discard a candidate that has left a slow one out; what they do is kept by `protected`.
- Benchmarks that cannot be built or that fail are `pass: false`. A command that cannot be started or reports no
  benchmark has measured nothing: then this script exits with a status other than 0 and says why.
- Times vary: sandbox.md has candidates measured more than once.
"""

import hashlib
import json
import math
import re
from pathlib import Path

from shared import answer, broken, files_of, remove_old, run, unfit

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
BUILD = ""
COMMAND = ""
FORMAT = "go"  # go, criterion, libtest, pytest-benchmark or asv
REPORTS = ()  # where the benchmarks write their report; empty: to stdout

# -- here comes the text of shared.py


NANOSECONDS = {"ns": 1, "us": 1e3, "μs": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10}


def read_go(texts):
    """Of a benchmark that is run several times the fastest counts."""
    lines = re.findall(r"^(Benchmark\S*)\s+\d+\s+([\d.e+]+) ns/op", "\n".join(texts.values()), re.MULTILINE)
    return fastest((name, float(value)) for name, value in lines)


def read_libtest(texts):
    lines = re.findall(r"^test (\S+)\s+\.\.\. bench:\s+([\d,.]+) ns/iter", "\n".join(texts.values()), re.MULTILINE)
    return fastest((name, float(value.replace(",", ""))) for name, value in lines)


def read_criterion(texts):
    """target/criterion/<name>/new/estimates.json, in nanoseconds."""
    found = {path: json.loads(text) for path, text in texts.items()}
    return {str(Path(path).parent.parent): one["median"]["point_estimate"] for path, one in found.items()}


def read_pytest_benchmark(texts):
    found = [one for text in texts.values() for one in json.loads(text)["benchmarks"]]
    return {one["fullname"]: 1e9 * one["stats"]["min"] for one in found}


def read_asv(texts):
    lines = re.findall(r"\s(\S*\btime_\S*)\s+([\d.]+)±\S*?(ns|us|μs|µs|ms|s|m)\b", "\n".join(texts.values()))
    return fastest((name, float(value) * NANOSECONDS[unit]) for name, value, unit in lines)


def fastest(pairs):
    found = {}
    for name, value in pairs:
        found[name] = min(value, found.get(name, value))
    return found


READERS = {
    "go": read_go,
    "criterion": read_criterion,
    "libtest": read_libtest,
    "pytest-benchmark": read_pytest_benchmark,
    "asv": read_asv,
}


def main():
    remove_old(REPORTS)
    if BUILD and run(BUILD)[0] != 0:
        unfit("it does not build")
    status, output = run(COMMAND)
    texts = {path: Path(path).read_text(encoding="utf-8", errors="replace") for path in files_of(REPORTS)}
    try:
        found = READERS[FORMAT](texts if REPORTS else {"": output})
    except (ValueError, KeyError, TypeError) as error:
        broken(f"the report cannot be read as {FORMAT}: {error}")
    if not found:
        broken(f"no benchmark reported a time (exit status {status})")
    if status != 0:
        unfit(f"the benchmarks fail with status {status}")
    if not all(value > 0 for value in found.values()):
        broken("a benchmark reports no time at all: it measures nothing")
    score = math.exp(sum(math.log(value) for value in found.values()) / len(found)) / 1000
    names = hashlib.sha256("\n".join(sorted(found)).encode()).digest()
    fingerprint = int.from_bytes(names[:6], "big")
    answer(**{"pass": True, "score": round(score, 4), "benchmarks": len(found), "names": fingerprint})


if __name__ == "__main__":
    main()
