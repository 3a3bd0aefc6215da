"""Fixtures that all tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.workspace import Workspace, workspace


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    """A scratch repository, without a commit yet."""
    with workspace(tmp_path) as made:
        yield made
