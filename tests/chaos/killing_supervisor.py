"""omagy, killed at one of its effects, again and again without paying for its imports each time.

Each line on stdin is a JSON object: ``args`` of a command line, ``cwd``, ``environment``, ``out`` and ``err``
(files), and where it dies: ``moment``, ``number``, ``at``. A child of this process runs omagy so and kills itself at
its ``number``-th append to a journal: ``before`` anything of the line is written, ``torn`` with half of it written,
``after`` it is durable; ``never`` runs omagy undisturbed. ``at`` names a function (``module:name``) to die before or
after instead. The answer is the child's exit status, or its signal as a negative number.
"""

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import git

from omagy_autoresearch.events import Record
from omagy_supervisor import bootstrap, daemon
from omagy_supervisor.adapters.journal import FileJournal, encode_line
from omagy_supervisor.cli import main
from omagy_supervisor.commands import launch, resume, steer

_LOADED = (launch, resume, steer, git)  # they are imported late; here they are loaded once


class Death:
    """Counts effects down to the one that it comes with."""

    def __init__(self, moment: str, number: int) -> None:
        self._moment = moment
        self._left = number

    def around(self, effect: Callable[[], Any], torn: Callable[[], Any] = lambda: None) -> Any:
        self._left -= 1
        moment = self._moment if self._left == 0 else "never"
        if moment == "torn":
            torn()
        if moment in ("before", "torn"):
            os.kill(os.getpid(), signal.SIGKILL)
        result = effect()
        if moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result


def killing_journal(death: Death) -> type[FileJournal]:
    class KillingJournal(FileJournal):
        def append(self, record: Record) -> None:
            line = encode_line(record)
            torn = partial(os.write, self._fd, line[: len(line) // 2])
            death.around(partial(super().append, record), torn)

    return KillingJournal


def prepare(at: str, death: Death) -> None:
    """Put ``death`` where it is to be met."""
    if at:
        module, name = at.split(":")
        target = vars(importlib.import_module(f"omagy_supervisor.{module}"))
        target[name] = partial(
            lambda real, *args, **kwargs: death.around(partial(real, *args, **kwargs)), target[name]
        )
        return
    for opener in (bootstrap, daemon):
        vars(opener)["FileJournal"] = killing_journal(death)


def live(order: dict[str, Any]) -> None:
    """One life of omagy, in this process."""
    prepare(order["at"], Death(order["moment"], order["number"]))
    os.setsid()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    for descriptor, name in ((0, os.devnull), (1, order["out"]), (2, order["err"])):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644), descriptor)
    status = main(order["args"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def serve() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                live(json.loads(line))
            finally:
                os._exit(70)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
