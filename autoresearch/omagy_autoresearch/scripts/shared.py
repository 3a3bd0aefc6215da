"""What all evaluator scripts have in common: how a command is run, and how an answer is given.

Its text becomes a part of each of them, so that a script stands alone in somebody's repository.
"""

import atexit
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

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
