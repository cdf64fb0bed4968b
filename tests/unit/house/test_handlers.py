"""Textual calls the handlers of all classes of a widget by itself: one that calls `super()` runs it twice."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
_AGAIN = re.compile(r"super\(\)\._?on_\w+\(")


def test_no_handler_calls_that_of_its_base() -> None:
    files = [*(ROOT / "cockpit").rglob("*.py"), *(ROOT / "widgets").rglob("*.py")]
    assert len(files) > 100
    found = [f"{one.relative_to(ROOT)}: {call}" for one in files for call in _AGAIN.findall(one.read_text())]
    assert not found
