"""How far a reader has to go from the question to the place where its sentence is made."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from cockpit.model.finding import Finding
from cockpit.triage.engine import explain
from tests.triage.case import CASES, read_case
from tests.triage.world import view_of

MOST_FILES = 12
"""In the engine and below; the command, what it reads and what it prints are eight more at most."""


def calls(frame: FrameType | None) -> Iterator[str]:
    """Files of the product from the innermost call out, each as often as it is entered."""
    last = ""
    while frame is not None:
        name = frame.f_code.co_filename.rpartition("/cockpit/")[2]
        if "/cockpit/" in frame.f_code.co_filename and name != last:
            last = name
            yield name
        frame = frame.f_back


@pytest.mark.parametrize("place", sorted(CASES.glob("*/case.json")), ids=lambda place: place.parent.name)
def test_the_way_to_a_sentence_enters_few_files_and_none_twice(place: Path) -> None:
    case = read_case(place.parent)
    view = view_of(case)
    told = explain(case.file.subject, view)
    way: list[str] = []

    def look(frame: FrameType, event: str, made: object) -> None:
        if event == "return" and not way and isinstance(made, Finding) and made.sentence == told.sentence:
            way.extend(calls(frame))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        explain(case.file.subject, view)
    finally:
        sys.setprofile(before)
    assert way
    assert len(way) <= MOST_FILES
    assert len(way) == len(set(way)), way
