"""omagy, killed at one boundary of its journal, again and again without paying for its imports each time.

Each line on stdin is a JSON object: ``args`` of a command line, ``cwd``, ``environment``, ``out`` and ``err``
(files), and where it dies: ``moment`` and ``number``. A child of this process runs omagy so and kills itself
at its ``number``-th append to a journal: ``before`` anything of the line is written, ``torn`` with half of it
written, ``after`` it is durable; ``never`` runs omagy undisturbed. The answer is the child's exit status, or its
signal as a negative number.
"""

import json
import os
import signal
import sys
from typing import Any

from omagy_autoresearch.events import Record
from omagy_supervisor import bootstrap, daemon
from omagy_supervisor.adapters.journal import FileJournal, encode_line
from omagy_supervisor.cli import main
from omagy_supervisor.commands import launch, resume, steer

_LOADED = (launch, resume, steer)  # cli imports them late; here they are loaded once


class KillingJournal(FileJournal):
    """A journal that takes its process with it."""

    moment = "never"
    left = 0

    def append(self, record: Record) -> None:
        KillingJournal.left -= 1
        moment = self.moment if self.left == 0 else "never"
        if moment == "torn":
            line = encode_line(record)
            os.write(self._fd, line[: len(line) // 2])
        if moment in ("before", "torn"):
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(record)
        if moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)


def live(order: dict[str, Any]) -> None:
    """One life of omagy, in this process."""
    KillingJournal.moment, KillingJournal.left = order["moment"], order["number"]
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
    for module in (bootstrap, daemon):
        vars(module)["FileJournal"] = KillingJournal
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
