"""What the documents say in tables is what the code says."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLES = _tables()


@pytest.mark.parametrize("document", TABLES.DOCUMENTS, ids=lambda path: path.name)
def test_every_table_is_as_the_code_has_it(document: Path) -> None:
    """``bin/dev fix`` writes what differs."""
    text = document.read_text(encoding="utf-8")
    assert text == TABLES.written(text)
    assert len(re.findall(r"<!-- table: ", text)) == len(re.findall(r"<!-- end: ", text))


def test_every_table_stands_in_a_document() -> None:
    """A table that nobody shows is dead."""
    shown = {name for path in TABLES.DOCUMENTS for name in re.findall(r"<!-- table: ([\w-]+) -->", path.read_text())}
    assert shown == set(TABLES.TABLES)


def test_a_changed_table_is_seen_and_written() -> None:
    """Between the markers the code wins; around them nothing changes."""
    before = "above\n<!-- table: stop-terms -->\nstale\n<!-- end: stop-terms -->\nbelow\n"
    after = TABLES.written(before)
    assert "needs_reconcile" in after
    assert "stale" not in after
    assert (after.startswith("above\n"), after.endswith("\nbelow\n")) == (True, True)
    assert TABLES.written(after) == after
