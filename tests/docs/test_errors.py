"""docs/errors.md lists every error code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r'"(E\d{3})"')


def test_the_documented_codes_are_the_codes_of_the_source() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "siddhi").rglob("*.py")]
    raised = {code for text in sources for code in CODE.findall(text)} - {"E000", "E200"}  # bases, never raised
    rows = re.findall(
        r"^\| (E\d{3}(?:, E\d{3})*) \|", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {code for row in rows for code in row.split(", ")} == raised
