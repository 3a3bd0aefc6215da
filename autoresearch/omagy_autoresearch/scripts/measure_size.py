"""Measure the size of what a build makes. The score is bytes, and less is better.

- The outputs of earlier builds are removed first, so that a build that makes nothing is not measured by old files.
- `pass` needs a build that works, and SMOKE (if there is one) to exit with 0: a program has to run to be small.
- A build tool that cannot be started, or a build that makes none of the outputs, has measured nothing: then this
  script exits with a status other than 0 and says why.
- What it cannot see: a part that was moved to where OUTPUTS does not look. Name everything that is shipped.
"""

import atexit
import glob
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# -- yours to edit: commands are run by sh in the root of the worktree; {out} is a new temporary folder
BUILD = ""
OUTPUTS = ()  # files, folders or patterns that the build makes
COMPRESSED = False  # True: as gzip makes them, for what is sent over a network
SMOKE = ""

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
