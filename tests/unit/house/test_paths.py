"""The two paths of the architecture page, walked: a key is pressed, an event comes in."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import msgspec
import pytest
from cockpit_widgets import ConfirmDialog

from cockpit.model.batch import Batch
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.unit.house.test_architecture import PAGE, ROOT, _has
from tests.unit.house.test_import_circles import read_graph

KEY, EVENT = "**A key, to its audit line**", "**An event, from bytes to pixel**"
MOST_HOPS = 12
ENDS = ("plan_kill", "ask", "append", "perform")
"""Where the plan is made, the question put, the audit line written and the call sent."""
PACKAGES = (ROOT / "cockpit", ROOT / "widgets" / "cockpit_widgets")


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


# ---- what can be read


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


# ---- what is seen when it is walked


class Walk:
    """Who called whom while it lasted, by files of the product; `passed` are those on the stack over calls of
    the functions `ends`."""

    def __init__(self, ends: tuple[str, ...] = ()) -> None:
        self.passed: set[Path] = set()
        self._ends = ends
        self.calls: dict[tuple[Path, str], set[Path | None]] = defaultdict(set)
        self._files: dict[CodeType, Path | None] = {}

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call" or (file := self._file(frame.f_code)) is None:
            return
        above = self.above(frame)
        nearest = next((one for one in above if one != file), None)
        if frame.f_code.co_name in self._ends:
            self.passed.update(above)
        for name in frame.f_code.co_qualname.split("."):  # of a function in a function, both
            self.calls[file, name].add(nearest)

    def above(self, frame: FrameType) -> list[Path]:
        """The product's files on the stack over this call, the nearest first."""
        found, at = [], frame.f_back
        while at is not None:
            if (file := self._file(at.f_code)) is not None:
                found.append(file)
            at = at.f_back
        return found

    def _file(self, code: CodeType) -> Path | None:
        if code not in self._files:
            path = Path(code.co_filename)
            is_ours = any(path.is_relative_to(one) for one in PACKAGES)
            self._files[code] = path if is_ours else None
        return self._files[code]


@contextmanager
def walked(*ends: str) -> Iterator[Walk]:
    walk = Walk(ends)
    before = sys.getprofile()
    sys.setprofile(walk.note)
    try:
        yield walk
    finally:
        sys.setprofile(before)


def untrue(path: list[Hop], walk: Walk, first: int, last: int) -> list[str]:
    """Hops that were not called, or not by whom the page says."""
    found = []
    for one in path[first - 1 : last]:
        callers = walk.calls.get((one.path, one.function))
        if callers is None:
            found.append(f"{one.file} {one.function} was not called")
        elif one.number > first and one.caller and path[one.caller - 1].path not in callers:
            found.append(f"{one.file} {one.function} was called by {callers}")
    return found


async def press_kill(folder: Path) -> Walk:
    """The walk of one kill, from the key to the outcome."""
    app = ScriptedApp(Estate(), write=True, place="jobs", state_folder=folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        with walked(*ENDS) as walk:
            await pilot.press("K")
            await settle(pilot)
            assert isinstance(app.screen, ConfirmDialog)
            for _ in range(20):
                await settle(pilot)
            await pilot.press("y")
            for _ in range(20):
                await settle(pilot)
        assert not isinstance(app.screen, ConfirmDialog)
    assert (folder / "audit.jsonl").exists()
    return walk


async def test_the_key_goes_the_way_of_the_page(tmp_path: Path) -> None:
    path = path_of(KEY)
    walk = await press_kill(tmp_path)
    # the transport is scripted: the last hop is read, not walked
    assert untrue(path, walk, 1, len(path) - 1) == []
    spine = {
        one.path for one in path if one.function in ("begin", "carry_verb", "carry_replanned", "carry_out")
    }
    assert walk.passed >= spine
    assert walk.passed <= {one.path for one in path}, (
        "a file on the way to the audit line that the page does not name"
    )


async def test_an_event_goes_the_way_of_the_page() -> None:
    path = path_of(EVENT)
    first = next(one.number for one in path if one.file == "attach")
    app = ScriptedApp(Estate(), place="jobs")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        pod = next(one for one in app.attachment.store.records(Kind.POD).values() if isinstance(one, Pod))
        newer = msgspec.structs.replace(pod, resource_version="999999", phase="Failed")
        app.clock.advance(60.0)  # type: ignore[attr-defined]
        with walked() as walk:
            app.attachment.sink(Batch(kind=Kind.POD, changed=(newer,)))
    assert untrue(path, walk, first, len(path)) == []
