"""The tabs: all of them at every width, the current one told from the others without colours."""

from cockpit_widgets.tab_line import CURRENT_GLYPH, TabLine, fitting_tabs
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Tab
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.widgets.builders import Host, texts_of

TABS = (
    Tab("1", "Now", note="4", tone="bad"),
    Tab("2", "Jobs", note="3◔"),
    Tab("3", "Nodes", note="2▲"),
    Tab("4", "Queues", note="1‖"),
    Tab("5", "Pools", note="+2"),
    Tab("6", "Events", "Ev"),
    Tab("7", "Pods"),
    Tab("8", "Fleet"),
)
NOTES = st.text("0123456789,◔▲?", max_size=12)


def text(tabs: tuple[Tab, ...], current: str, width: int) -> str:
    return "".join(cell.text for pieces in fitting_tabs(tabs, current, width) for cell in pieces)


def test_names_are_whole_where_there_is_room_and_short_at_80_columns() -> None:
    wide = text(TABS, "1", 120)
    assert (
        wide == "  ▎1 Now 4   2 Jobs 3◔   3 Nodes 2▲   4 Queues 1‖   5 Pools +2   6 Events   7 Pods   8 Fleet"
    )
    small = text(TABS, "3", 80)
    assert small == "  1 Now 4  2 Jobs 3◔ ▎3 Nodes 2▲  4 Queues 1‖  5 Pools +2  6 Ev  7 Pods  8 Fleet"


@settings(deadline=None, max_examples=200)
@given(st.lists(NOTES, min_size=8, max_size=8), st.integers(0, 7), st.integers(24, 200))
def test_every_tab_keeps_its_key_and_the_current_one_its_name(notes: list[str], at: int, width: int) -> None:
    tabs = tuple(tab._replace(note=note) for tab, note in zip(TABS, notes, strict=True))
    current = tabs[at]
    found = fitting_tabs(tabs, current.key, width)
    assert sum(width_of(cell.text) for pieces in found for cell in pieces) <= width
    for tab, pieces in zip(tabs, found, strict=True):
        words = [cell.text.strip() for cell in pieces]
        assert tab.key in words
        assert (CURRENT_GLYPH in words) is (tab is current)
        if tab is current:
            assert (current.short or current.name) in words or current.name in words


async def test_a_click_presses_the_key_of_its_tab() -> None:
    line = TabLine()
    pressed: list[str] = []
    app = Host(line)
    app.simulate_key = pressed.append  # type: ignore[assignment,method-assign]
    async with app.run_test(size=(80, 5)) as pilot:
        line.set_tabs(TABS, "3")
        await pilot.pause()
        assert texts_of(line)[0].startswith("  1 Now 4  2 Jobs 3◔ ▎3 Nodes 2▲")
        for column in (2, 13, 22, 79):
            await pilot.click(line, offset=(column, 0))
    assert pressed == ["1", "2", "3", "8"]
