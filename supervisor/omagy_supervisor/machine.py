"""Which machine this is, which of its lives, and how long that has lasted."""

import contextlib
import os
import time
from pathlib import Path

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def this_machine() -> tuple[str, str]:
    """Host name and, where the system has one, the id of this boot."""
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return os.uname().nodename, boot


def monotonic_s() -> float:
    """Seconds on a clock that nobody sets, and that goes on while the machine sleeps where the system has one."""
    return time.clock_gettime(_BOOT_CLOCK)


def awake_s() -> float:
    """As ``monotonic_s``, on a clock that stands still while the machine sleeps where the system has one."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)
