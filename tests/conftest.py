"""Fixtures that all tests share."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.workspace import Workspace, workspace

# A shell that starts the tests in the background lets them ignore Ctrl-C, and with them all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    """A scratch repository, without a commit yet."""
    with workspace(tmp_path) as made:
        yield made
