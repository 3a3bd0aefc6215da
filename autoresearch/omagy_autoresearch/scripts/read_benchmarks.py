"""Run benchmarks. The score is the geometric mean of their times in microseconds, and less is better.

- A geometric mean: halving the time of any one benchmark counts the same.
- `benchmarks` in the answer is how many there are, and `names` a fingerprint of what they are called. Constraints on
  them (sandbox.md) discard a candidate that has left a slow one out; what they do is kept by `protected`.
- Benchmarks that cannot be built or that fail are `pass: false`. A command that cannot be started or reports no
  benchmark has measured nothing: then this script exits with a status other than 0 and says why.
- Times vary: sandbox.md has candidates measured more than once.
"""

import atexit
import glob
import hashlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
BUILD = ""
COMMAND = ""
FORMAT = "go"  # go, criterion, libtest, pytest-benchmark or asv
REPORTS = ()  # where the benchmarks write their report; empty: to stdout

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
