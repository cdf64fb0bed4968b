"""Status line, key footer, meter, sparkline: one line each, whole pieces, exact widths."""

from typing import ClassVar

import pytest
from cockpit_widgets.key_footer import KeyFooter, fitting_hints
from cockpit_widgets.meter import Meter
from cockpit_widgets.sparkline import Sparkline
from cockpit_widgets.status_line import SEPARATOR, StatusLine, fitting_segments
from cockpit_widgets.text import width_of
from cockpit_widgets.types import KeyHint, StatusSegment
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from tests.unit.widgets.builders import HOSTILE, SIZES, Host, assert_sound, lines_of, texts_of

SEGMENTS = st.lists(
    st.builds(StatusSegment, st.text("ab日 ", max_size=12), st.just(""), st.integers(1, 5)), max_size=6
)
HINTS = st.lists(
    st.builds(
        KeyHint, st.text("aN/日", min_size=1, max_size=8), st.text("ab ", max_size=12), st.integers(1, 5)
    ),
    max_size=9,
)


def _width(pieces: list[StatusSegment]) -> int:
    return sum(width_of(p.text) for p in pieces) + len(SEPARATOR) * max(0, len(pieces) - 1)


@settings(deadline=None, max_examples=200)
@given(SEGMENTS, SEGMENTS, st.integers(0, 60))
def test_status_pieces_fit_and_leave_by_priority(
    left: list[StatusSegment], right: list[StatusSegment], width: int
) -> None:
    shown_left, shown_right = fitting_segments(left, right, width)
    assert _width(shown_left) + _width(shown_right) <= width
    whole = [piece for piece in (*left, *right) if piece.text]
    shown = [*shown_left, *shown_right]
    missing = [piece for piece in whole if piece not in shown]
    if len(shown) > 1 and missing:
        assert max(piece.priority for piece in shown) <= min(piece.priority for piece in missing)
    if len(shown) > 1:
        assert all(piece in whole for piece in shown)


@settings(deadline=None, max_examples=200)
@given(HINTS, st.integers(0, 60))
def test_hints_are_whole_and_fit(hints: list[KeyHint], width: int) -> None:
    shown = fitting_hints(hints, width)
    assert all(hint in hints for hint in shown)
    assert sum(width_of(h.key) + 1 + width_of(h.label) for h in shown) + 2 * max(0, len(shown) - 1) <= width
    assert [hint.priority for hint in shown] == sorted(hint.priority for hint in shown)


def test_status_drops_the_least_important_first() -> None:
    left = [StatusSegment("prod"), StatusSegment("312 nodes", "", 3), StatusSegment("28 lost", "bad", 2)]
    right = [StatusSegment("api 12 ms", "dim", 4), StatusSegment("ro", "warn")]
    said = [
        [[p.text for p in side] for side in fitting_segments(left, right, width)]
        for width in (80, 36, 20, 8, 3)
    ]
    assert said == [
        [["prod", "312 nodes", "28 lost"], ["api 12 ms", "ro"]],
        [["prod", "312 nodes", "28 lost"], ["ro"]],
        [["prod", "28 lost"], ["ro"]],
        [["prod"], ["ro"]],
        [["pr…"], []],
    ]


@pytest.mark.parametrize("size", SIZES)
async def test_the_status_line_fills_its_line_and_updates_without_layout(size: tuple[int, int]) -> None:
    line = StatusLine(
        [StatusSegment("prod-eu", "strong"), StatusSegment("28 lost", "bad")], [StatusSegment("ro")]
    )
    async with Host(line).run_test(size=size) as pilot:
        await pilot.pause()
        assert_sound(line)
        assert texts_of(line) == ["prod-eu · 28 lost" + " " * (size[0] - 2 - 19) + "ro"]
        line.set_segments([StatusSegment(text) for text in HOSTILE], [StatusSegment(HOSTILE[0])])
        await pilot.pause()
        assert_sound(line)
        line.set_segments([])
        await pilot.pause()
        assert texts_of(line) == [""]


class Keys(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", id="filter"),
        Binding("N", "new", "new job", id="new"),
        Binding("K", "kill", "kill"),
        Binding("x", "hidden", "hidden", show=False),
        Binding("D", "gone", "drain"),
        Binding("w,W", "why", "why"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.writable = False
        self.pressed: list[str] = []

    def compose(self) -> ComposeResult:
        yield Input()
        yield KeyFooter(order=["new", "filter"])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "gone":
            return False
        return None if action == "kill" and not self.writable else True

    def action_filter(self) -> None:
        self.pressed.append("filter")

    def action_new(self) -> None:
        self.pressed.append("new")


async def test_the_footer_shows_the_active_bindings_in_the_order_asked_for() -> None:
    app = Keys()
    async with app.run_test(size=(80, 24)) as pilot:
        app.set_focus(None)
        await pilot.pause()
        footer = app.query_one(KeyFooter)
        assert texts_of(footer)[0].startswith("N new job  / filter  K×kill  w why")
        assert "hidden" not in texts_of(footer)[0]
        assert "drain" not in texts_of(footer)[0]
        dim = [hint.enabled for hint in footer.hints if hint.label == "kill"]
        assert dim == [False]
        app.writable = True
        app.refresh_bindings()
        await pilot.pause()
        assert all(hint.enabled for hint in footer.hints)
        assert texts_of(footer)[0].startswith("N new job  / filter  K kill  w why")


async def test_a_click_on_an_entry_presses_its_key() -> None:
    app = Keys()
    async with app.run_test(size=(80, 24)) as pilot:
        app.set_focus(None)
        await pilot.pause()
        await pilot.click(KeyFooter, offset=(1 + 12, 0))
        await pilot.click(KeyFooter, offset=(2, 0))
        await pilot.pause()
        assert app.pressed == ["filter", "new"]


async def test_a_click_on_a_barred_entry_presses_its_key_too_so_that_it_can_say_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Keys()
    heard: list[str] = []
    async with app.run_test(size=(80, 24)) as pilot:
        app.set_focus(None)
        monkeypatch.setattr(app, "simulate_key", heard.append)
        await pilot.pause()
        at = texts_of(app.query_one(KeyFooter))[0].index("K×kill")
        await pilot.click(KeyFooter, offset=(1 + at, 0))
        await pilot.pause()
        assert heard == ["K"]


@pytest.mark.parametrize("width", [1, 7, 10, 24, 25, 80])
async def test_the_footer_never_cuts_an_entry(width: int) -> None:
    hints = [KeyHint("enter", "open", 1), KeyHint("w", "why", 2), KeyHint("slash", "filter", 3, display="/")]
    footer = KeyFooter(hints)
    async with Host(footer).run_test(size=(width, 5)) as pilot:
        await pilot.pause()
        assert_sound(footer)
        left = texts_of(footer)[0]
        for whole in ("enter open", "w why", "/ filter"):
            left = left.replace(whole, "")
        assert left.strip() == ""


@pytest.mark.parametrize("width", [1, 5, 12, 40, 200])
async def test_meters_and_sparklines_fill_their_line(width: int) -> None:
    parts = (
        Meter(22, 40, label="h100"),
        Meter(None, None, label=HOSTILE[0]),
        Meter(3, 0),
        Sparkline([1, None, 3]),
        Sparkline([1, None, 3], dots=True, lo=0, hi=3),
    )
    async with Host(*parts).run_test(size=(width, 10)) as pilot:
        await pilot.pause()
        for part in parts:
            assert_sound(part)


async def test_a_meter_shows_its_label_bar_and_numbers() -> None:
    meter, line = Meter(22, 40, label="h100"), Sparkline([0, None, 8], lo=0, hi=8)
    async with Host(meter, line).run_test(size=(20, 5)) as pilot:
        await pilot.pause()
        assert texts_of(meter) == ["h100 ━━━━╸──── 22/40"]
        assert texts_of(line) == ["▁ █".rjust(20)]
        meter.set_value(None, 40)
        await pilot.pause()
        assert texts_of(meter) == ["h100 ┄┄┄┄┄┄┄┄┄┄ ?/40"]
        assert line.bounds == (0, 8)
        tones = [segment.style for segment in lines_of(meter)[0]]
        assert len(set(map(str, tones))) >= 2
