"""Count what a linter, type checker or compiler complains of. The count is the score, and less is better.

- `suppressions` in the answer counts the comments that silence it. A constraint on it (sandbox.md) discards a
  candidate that has more of them than the baseline; the configuration is kept by `protected`.
- Code that cannot even be parsed is `pass: false`, because it hides what else is wrong with it.
- A checker that cannot start, crashes, or fails without a complaint that PROBLEM matches has measured nothing:
  then this script exits with a status other than 0 and says why.
- What it cannot see: code that was deleted (a guard that runs the tests sees that), or types that were made vague.
"""

import os
import re
from pathlib import Path

from shared import MISSION, answer, broken, run, unfit

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
COMMAND = ""
PROBLEM = r"^\S[^:\n]*:\d+:\d+: "  # a regular expression that matches once for each complaint on stdout
FATAL = ""  # one that matches when something could not be parsed or compiled
STATUSES = (0, 1)  # exit statuses of a checker that has done its work
SUPPRESSION = ""  # a regular expression for a comment that silences it
SOURCES = (".py",)  # ends of the names of files that may hold one

# -- here comes the text of shared.py


OWN = (f"{MISSION}/", f"./{MISSION}/")  # what it says of this folder is not counted
ELSEWHERE = {"node_modules", "target", "build", "dist", "vendor", "venv", "__pycache__"}


def suppressions():
    pattern, count = re.compile(SUPPRESSION), 0
    for top, folders, names in os.walk("."):
        folders[:] = [name for name in folders if name not in ELSEWHERE and not name.startswith(".")]
        for path in (Path(top, name) for name in names if name.endswith(SOURCES)):
            if path.is_file() and not path.is_symlink() and not str(path).startswith(OWN):
                count += len(pattern.findall(path.read_text(encoding="utf-8", errors="replace")))
    return count


def main():
    status, printed = run(COMMAND)
    output = "\n".join(line for line in printed.splitlines() if not line.startswith(OWN))
    count = len(re.findall(PROBLEM, output, re.MULTILINE))
    if FATAL and re.search(FATAL, output, re.MULTILINE):
        unfit("something cannot be parsed or compiled")
    if status not in STATUSES:
        broken(f"the checker ended with status {status}")
    if status != 0 and not re.search(PROBLEM, printed, re.MULTILINE):
        broken(f"the checker ended with status {status}, but nothing it printed matches PROBLEM")
    answer(**{"pass": True, "score": count, **({"suppressions": suppressions()} if SUPPRESSION else {})})


if __name__ == "__main__":
    main()
