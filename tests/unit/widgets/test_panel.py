"""Titles of panels: title at the left, figure at the right, exactly as wide as the border lets them be."""

from cockpit_widgets.panel import Panel, panel_title
from cockpit_widgets.text import width_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.widgets import Static

from tests.unit.widgets.builders import Host

WORDS = st.text("ab ·日é", max_size=40).map(str.strip)


@settings(deadline=None, max_examples=200)
@given(WORDS, WORDS, st.integers(1, 80))
@example("Needs a human", "4 causes", 40)
def test_title_and_figure_fill_the_border_and_the_figure_leaves_first(
    title: str, figure: str, room: int
) -> None:
    found = panel_title(title, figure, room)
    width = sum(map(width_of, found))
    assert width <= room
    if found[2]:
        assert width == room
        assert found[0] == title or width_of(found[0]) >= 7
    if width_of(title) + width_of(figure) + 3 <= room:
        assert (found[0], found[2]) == (title, figure)


async def test_a_rule_bears_the_title_until_the_screen_gives_panels_borders() -> None:
    panel = Panel(Static("content"))
    app = Host(panel, css=".framed Panel { border: round white; }")
    async with app.run_test(size=(40, 6)) as pilot:
        panel.set_title("Jobs", "9")
        await pilot.pause()
        top = drawn(app)[0]
        assert top.startswith("─ Jobs ──") and top.endswith("── 9 ─") and width_of(top) == 40
        panel.set_title("What it rests on")
        await pilot.pause()
        assert drawn(app)[0].startswith("─ What it rests on ──"), "a blank at each end, without a figure too"
        panel.set_title("Jobs", "9")
        app.screen.add_class("framed")
        await pilot.pause()
        top = drawn(app)[0]
        assert top.startswith("╭─ Jobs ──") and top.endswith("── 9 ─╮") and width_of(top) == 40
        await pilot.resize_terminal(30, 6)
        await pilot.pause()
        top = drawn(app)[0]
        assert top.startswith("╭─ Jobs ──") and top.endswith("── 9 ─╮") and width_of(top) == 30


def drawn(app: Host) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]
