"""The two paths of the architecture page: each hop is in its file, and no room is entered twice."""

import re
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.house.test_architecture import PAGE, ROOT, _has
from tests.unit.house.test_import_circles import read_graph

KEY, EVENT = "**A key, to its audit line**", "**An event, from bytes to pixel**"
MOST_HOPS = 12


class Hop(NamedTuple):
    """One line of a path."""

    number: int
    file: str  # as the page has it
    function: str
    caller: int  # the hop that calls it; 0 where it is none of them
    is_handed: bool  # the caller has it from somebody else and does not import it

    @property
    def path(self) -> Path:
        root = ROOT / "widgets" if self.file.startswith("cockpit_widgets/") else ROOT / "cockpit"
        return root / f"{self.file}.py"

    @property
    def module(self) -> str:
        name = self.file.replace("/", ".")
        return name if name.startswith("cockpit_widgets.") else f"cockpit.{name}"

    @property
    def room(self) -> str:
        return self.file.split("/")[0]


def hops(text: str, heading: str) -> list[Hop]:
    """The lines of the table behind a heading."""
    part = text.split(heading, 1)[1]
    table = part.split("\n| ", 1)[1].split("\n\n", 1)[0]
    found = []
    for line in table.splitlines()[2:]:
        number, file, function, called_by = (one.strip() for one in line.strip("|").split("|"))
        caller = re.match(r"\d+", called_by)
        at = int(caller[0]) if caller else 0
        found.append(Hop(int(number), file.strip("`"), function.strip("`"), at, "handed in" in called_by))
    return found


def path_of(heading: str) -> list[Hop]:
    return hops(PAGE.read_text(), heading)


@pytest.mark.parametrize("heading", [KEY, EVENT])
def test_each_hop_is_there_and_its_caller_knows_it(heading: str) -> None:
    found, graph = path_of(heading), read_graph()
    assert [one.number for one in found] == list(range(1, len(found) + 1)) and len(found) > 10
    for one in found:
        assert _has(one.path, one.function), one
        if one.caller and not one.is_handed:
            caller = found[one.caller - 1].module
            is_base = caller in graph[one.module]  # it calls what a subclass of its own has put in place
            package = one.module.rpartition(".")[0]
            is_shown = package in graph[caller] and one.module in graph.get(package, ())
            assert one.module in graph[caller] or is_shown or is_base, one


def rooms(path: list[Hop]) -> list[str]:
    """The rooms in the order of the path. A value that was handed in from above is no entrance."""
    inward = [one for one in path if not (one.is_handed and returns(one, path))]
    return [room for room, _ in groupby(inward, key=lambda one: one.room)]


def returns(hop: Hop, path: list[Hop]) -> bool:
    """Whether the path goes on from another hop: nothing is called by this one."""
    return all(one.caller != hop.number for one in path)


@pytest.mark.parametrize("heading", [KEY, EVENT])
def test_no_room_is_entered_twice(heading: str) -> None:
    found = rooms(path_of(heading))
    assert len(found) == len(set(found)), found


def test_a_key_reaches_its_audit_line_in_twelve_files() -> None:
    assert len(path_of(KEY)) <= MOST_HOPS


def test_a_room_that_is_entered_twice_is_seen() -> None:
    lines = ("1 | `app` | `a` | the key", "2 | `screens/x` | `b` | 1", "3 | `app` | `c` | 2")
    text = KEY + "\n\n| hop |\n| --- |\n" + "".join(f"| {one} |\n" for one in lines) + "\n"
    assert rooms(hops(text.replace("| hop |", "| hop | file | function | called by |"), KEY)) == [
        "app",
        "screens",
        "app",
    ]
