"""``omagy state`` commands, each killed just before its n-th effect on the state folder.

Each line on stdin is a JSON object: ``cwd``, ``args`` of a command line, and ``number``. A child of this process runs
it and kills itself right before its ``number``-th call that makes, replaces, renames or removes something in
``.omagy`` or ``.git/omagy``. The answer is the child's exit status, or its signal as a negative number.
"""

import json
import os
import signal
import sys

from omagy_supervisor.cli import main
from omagy_supervisor.commands import state

_LOADED = state  # cli imports it late; here it is loaded once
_EFFECTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir"}


def die_before(number: int) -> None:
    left = number

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR)
        if (writes or event in _EFFECTS) and "omagy/" in os.fsdecode(str(args[0])):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def serve() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(order["cwd"])
            for descriptor in (1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            die_before(order["number"])
            os._exit(main(order["args"]))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
