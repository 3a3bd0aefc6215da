"""The clocks of the machine."""

from datetime import UTC, datetime

from omagy_supervisor.machine import monotonic_s


class SystemClock:
    """Implements ports.Clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        return monotonic_s()
