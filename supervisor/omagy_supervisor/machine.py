"""Which machine this is, and which of its lives."""

import contextlib
import socket
from pathlib import Path


def this_machine() -> tuple[str, str]:
    """Host name and, where the system has one, the id of this boot."""
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return socket.gethostname(), boot
