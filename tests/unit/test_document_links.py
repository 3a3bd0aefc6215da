"""Every link between the documents leads to a file and a heading that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(document: Path) -> set[str]:
    """What the headings of ``document`` are called in a link, as code hosts make it of their words."""
    headings = re.findall(r"^#+ (.*)$", _FENCED.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    for place, anchor in _LINK.findall(document.read_text(encoding="utf-8")):
        target = (document.parent / place).resolve() if place else document
        assert target.exists(), place
        assert not anchor or anchor in anchors(target), f"{place}#{anchor}"
