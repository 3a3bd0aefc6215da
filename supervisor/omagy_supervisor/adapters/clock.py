"""The clocks of the machine."""

import time
from datetime import UTC, datetime

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """Implements ports.Clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        return time.clock_gettime(_BOOT_CLOCK)
