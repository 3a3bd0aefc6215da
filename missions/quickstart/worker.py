"""Run a summariser in a process of its own: `python3 -I worker.py <file with summarise()>`.

It says "ready" once the file is loaded, then reads logs from stdin (one line with the length in bytes, then
the log) and answers each with one line of JSON on stdout: `{"summary": …}` or `{"error": …}`.
"""

import json
import sys
import types
from pathlib import Path


def load(file):
    """Run the file as a module. Not by import: stale bytecode of an earlier candidate could stand in for it."""
    module = types.ModuleType(file.stem)
    module.__file__ = str(file)
    sys.modules[file.stem] = module
    exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)
    return module.summarise


def answer(message):
    print(json.dumps(message), flush=True)


def serve(summarise):
    for length in sys.stdin.buffer:
        log = sys.stdin.buffer.read(int(length)).decode()
        answer({"summary": summarise(log.splitlines())})


def main():
    try:
        summarise = load(Path(sys.argv[1]))
        answer({"ready": True})
        serve(summarise)
    except BaseException as error:  # SystemExit too: a program that leaves early has not answered
        answer({"error": f"{type(error).__name__}: {error}"[:500]})


main()
