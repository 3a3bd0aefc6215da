"""Run a program and read a number from what it writes. That number is the score.

- A program that fails, or whose number is not finite, is `pass: false`. One that cannot be started or writes no such
  number has measured nothing: then this script exits with a status other than 0 and says why.
- An old log is removed first, so that it is not read again.
- What it cannot see: whether the number is true. The program reports it about itself, so the code that works it out,
  and the data it uses, must be `protected`. A held-out check on data that no session sees is better still.
"""

import math
import re
from operator import itemgetter
from pathlib import Path
from statistics import median

from shared import answer, broken, files_of, remove_old, run, unfit

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
COMMAND = ""
LOG = ""  # the file it writes; empty: its output
METRIC = r"\bloss\s*[=:]\s*([-+.\w]+)"  # a regular expression; its first group is the number
TAKE = "last"  # last, first, min, max or median of the numbers that are found

# -- here comes the text of shared.py


CHOICES = {"last": itemgetter(-1), "first": itemgetter(0), "min": min, "max": max, "median": median}


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def main():
    logs = (LOG,) if LOG else ()
    remove_old(logs)
    status, output = run(COMMAND)
    if status != 0:
        unfit(f"the program fails with status {status}")
    texts = [Path(path).read_text(encoding="utf-8", errors="replace") for path in files_of(logs)] if LOG else [output]
    found = [number(text) for text in re.findall(METRIC, "\n".join(texts), re.MULTILINE)]
    numbers = [one for one in found if one is not None]
    if not numbers:
        broken(f"nothing in {LOG or 'its output'} is a number that METRIC matches")
    score = numbers[-1] if any(not math.isfinite(one) for one in numbers[-1:]) else CHOICES[TAKE](numbers)
    if not math.isfinite(score):
        unfit(f"the number is {score}")
    answer(**{"pass": True, "score": score, "numbers": len(numbers)})


if __name__ == "__main__":
    main()
