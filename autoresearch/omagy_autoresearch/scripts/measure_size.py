"""Measure the size of what a build makes. The score is bytes, and less is better.

- The outputs of earlier builds are removed first, so that a build that makes nothing is not measured by old files.
- `pass` needs a build that works, and SMOKE (if there is one) to exit with 0: a program has to run to be small.
- A build tool that cannot be started, or a build that makes none of the outputs, has measured nothing: then this
  script exits with a status other than 0 and says why.
- What it cannot see: a part that was moved to where OUTPUTS does not look. Name everything that is shipped.
"""

import gzip
from pathlib import Path

from shared import answer, broken, files_of, remove_old, run, unfit

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
BUILD = ""
OUTPUTS = ()  # files, folders or patterns that the build makes
COMPRESSED = False  # True: as gzip makes them, for what is sent over a network
SMOKE = ""

# -- here comes the text of shared.py


def size_of(path):
    data = Path(path).read_bytes()
    return len(gzip.compress(data, 9, mtime=0)) if COMPRESSED else len(data)


def main():
    if not OUTPUTS:
        broken("say at the top of this script what is measured: OUTPUTS is empty")
    remove_old(OUTPUTS)
    if run(BUILD)[0] != 0:
        unfit("it does not build")
    sizes = [size_of(path) for path in files_of(OUTPUTS)]
    if not sum(sizes):
        broken(f"the build made nothing of {', '.join(OUTPUTS)}")
    if SMOKE and run(SMOKE)[0] != 0:
        unfit(f"what was built does not run: {SMOKE}")
    answer(**{"pass": True, "score": sum(sizes), "files": len(sizes)})


if __name__ == "__main__":
    main()
