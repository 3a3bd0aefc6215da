"""Time a command. The score is the milliseconds of its fastest run, and less is better.

- The fastest of several, because a disturbance only ever adds time; the first run warms up and does not count.
- It waits until the output ends, so work that is left to a background process counts too.
- A command that fails, or prints something else from one run to the next, gets no score. `output` in the answer is a
  fingerprint of what it printed: a constraint on it (sandbox.md) discards a candidate that prints something else than
  the baseline. Without output there is nothing to compare: let a guard check that the work was done.
- Where it prints times (SAME_OUTPUT), `lines` says how many lines it printed at least: a constraint on it discards a
  candidate that has the command end early.
- What it cannot see: an output that is stored instead of computed. Read what is kept.
"""

import hashlib
import subprocess
import sys
import time
from statistics import median

from shared import INNER, OUT, answer, broken, run, unfit

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
PREPARE = ""  # run once, before the clock starts: a build
COMMAND = ""
RUNS = 7
SAME_OUTPUT = True  # False for a command that prints times or dates: then only its lines are counted

# -- here comes the text of shared.py


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
    else:
        result["lines"] = min(sum(map(bool, output.split(b"\n"))) for _, output in runs)
    answer(**result)


if __name__ == "__main__":
    main()
