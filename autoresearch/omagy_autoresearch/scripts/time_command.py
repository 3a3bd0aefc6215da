"""Time a command. The score is the milliseconds of its fastest run, and less is better.

- The fastest of several, because a disturbance only ever adds time; the first run warms up and does not count.
- It waits until the output ends, so work that is left to a background process counts too.
- A command that fails, or prints something else from one run to the next, gets no score. `output` in the answer is a
  fingerprint of what it printed: a constraint on it (sandbox.md) discards a candidate that prints something else than
  the baseline. Without output there is nothing to compare: let a guard check that the work was done.
- What it cannot see: an output that is stored instead of computed. Read what is kept.
"""

import atexit
import glob
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
PREPARE = ""  # run once, before the clock starts: a build
COMMAND = ""
RUNS = 7
SAME_OUTPUT = True  # False for a command that prints times or dates

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


def timed():
    """The seconds of one run, and what it printed."""
    command = COMMAND.replace("{out}", OUT)
    before = time.perf_counter()
    done = subprocess.run(  # nothing but the command runs between the two looks at the clock
        command, shell=True, env=INNER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False
    )
    seconds = time.perf_counter() - before
    if done.returncode in (126, 127):
        broken(f"something could not be started (exit status {done.returncode}): {COMMAND}")
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-2000:].decode(errors="replace"))
        unfit(f"the command fails with status {done.returncode}")
    return seconds, done.stdout


def main():
    if not COMMAND.strip():
        broken("say at the top of this script what is timed: COMMAND is empty")
    if PREPARE and run(PREPARE)[0] != 0:
        unfit("it does not build")
    timed()
    runs = [timed() for _ in range(RUNS)]
    seconds = [one for one, _ in runs]
    fastest, usual = (round(1000 * one, 3) for one in (min(seconds), median(seconds)))
    result = {"pass": True, "score": fastest, "median_ms": usual}
    if SAME_OUTPUT:
        outputs = {output for _, output in runs}
        if len(outputs) > 1:
            broken("its output differs from run to run; if that has to be so, set SAME_OUTPUT to False")
        result["output"] = int.from_bytes(hashlib.sha256(outputs.pop()).digest()[:6], "big")
    answer(**result)


if __name__ == "__main__":
    main()
