"""Ctrl-C as something that is looked for at safe points, so that none is lost.

Python raises KeyboardInterrupt wherever the program happens to be; in a finaliser or a weakref's callback it is
printed and dropped.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether Ctrl-C was pressed since it was last looked for."""

    def __init__(self) -> None:
        self._pressed = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Until the end Ctrl-C only shows in ``check``; the end is such a point, too. Raises KeyboardInterrupt.

        At a second one that nobody looked for in between it is raised wherever the program is: something hangs there.
        """
        before = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        self.check()

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Ctrl-C that came meanwhile is raised at the end, and counts for nothing after it."""
        self.check()
        try:
            yield
        finally:
            self.check()

    def check(self) -> None:
        """Raises KeyboardInterrupt once for what was pressed."""
        if self._pressed:
            self._pressed = False
            raise KeyboardInterrupt

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.check()
        self._pressed = True
