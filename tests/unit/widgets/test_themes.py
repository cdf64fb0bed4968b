"""Every widget under every kind of theme: dark, light, the terminal's own sixteen colours, and none."""

import pytest
from cockpit_widgets.calm_themes import CALM, MONO
from cockpit_widgets.flow_text import Paragraphs
from cockpit_widgets.form import Form
from cockpit_widgets.form_fields import ChoiceField, SwitchField
from cockpit_widgets.form_words import FieldLabel, FieldNote
from cockpit_widgets.heatmap import Heatmap
from cockpit_widgets.help_dialog import HelpText
from cockpit_widgets.key_footer import KeyFooter
from cockpit_widgets.key_values import KeyValues
from cockpit_widgets.log_view import LogView
from cockpit_widgets.meter import Meter
from cockpit_widgets.resource_table import ResourceTable
from cockpit_widgets.sparkline import Sparkline
from cockpit_widgets.status_line import StatusLine
from cockpit_widgets.types import (
    Cell,
    FieldSpec,
    HeatBlock,
    HeatGroup,
    HelpEntry,
    KeyHint,
    Pair,
    StatusSegment,
    Tone,
)
from rich.color import ColorType
from textual.widget import Widget

from tests.unit.widgets.builders import Host, assert_sound, contrast, lines_of, rows

TONES: tuple[Tone, ...] = ("", "dim", "good", "warn", "bad", "accent", "strong", "info")
CSS = "ResourceTable, Heatmap, LogView, Form { height: 6; }"


def _widgets() -> list[Widget]:
    heatmap = Heatmap()
    heatmap.set_groups([HeatGroup("pool", (HeatBlock("a", tuple(range(-4, 9))),))], "legend", ramp="alarm")
    log = LogView()
    log.append(["one", "two"])
    log.set_search("t")
    return [
        StatusLine([StatusSegment(tone or "plain", tone) for tone in TONES]),
        ResourceTable(rows(9)),
        heatmap,
        log,
        Meter(1, 2),
        Sparkline([1, 2]),
        KeyValues([Pair("n", "v", tone) for tone in TONES]),
        Paragraphs([Cell("p", tone) for tone in TONES]),
        HelpText([HelpEntry("k", "t", "g", True)]),
        Form([FieldSpec("c", "C", "choice", "a", choices=("a",)), FieldSpec("s", "S", "switch", "true")]),
        KeyFooter([KeyHint("a", "on"), KeyHint("b", "off", enabled=False)]),
    ]


def _drawn(app: Host) -> list[Widget]:
    kinds = (StatusLine, ResourceTable, Heatmap, LogView, Meter, Sparkline, KeyValues, Paragraphs, HelpText)
    parts = (KeyFooter, ChoiceField, SwitchField, FieldLabel, FieldNote)
    return [widget for kind in (*kinds, *parts) for widget in app.query(kind)]


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light"])
async def test_every_widget_draws_under_every_kind_of_theme(theme: str) -> None:
    app = Host(*_widgets(), css=CSS)
    async with app.run_test(size=(120, 80)) as pilot:
        app.theme = theme
        await pilot.pause()
        drawn = _drawn(app)
        assert len(drawn) >= 14
        for widget in drawn:
            if widget.size.width > widget.scrollbar_size_vertical:
                assert_sound(widget)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_a_terminal_of_sixteen_colours_is_given_no_others(theme: str) -> None:
    app = Host(*_widgets(), css=CSS)
    async with app.run_test(size=(120, 80)) as pilot:
        app.theme = theme
        await pilot.pause()
        for widget in _drawn(app):
            for strip in lines_of(widget):
                for segment in strip:
                    style = segment.style
                    colors = (style.color, style.bgcolor) if style is not None else ()
                    assert all(color is None or color.type is not ColorType.TRUECOLOR for color in colors)


@pytest.mark.parametrize("name", [name for name in CALM if name != MONO.name])
async def test_a_calm_theme_tells_all_tones_apart(name: str) -> None:
    line = StatusLine([StatusSegment(tone or "plain", tone) for tone in TONES])
    app = Host(line)
    async with app.run_test(size=(120, 5)) as pilot:
        app.register_theme(CALM[name])
        app.theme = name
        await pilot.pause()
        styles = {segment.text: segment.style for segment in lines_of(line)[0] if segment.text.isalpha()}
        assert len(styles) == len(TONES)
        assert len({str(style) for style in styles.values()}) == len(TONES)


@pytest.mark.parametrize("name", list(CALM))
async def test_every_text_of_a_calm_theme_can_be_read(name: str) -> None:
    """At least 4.5 to 1 (WCAG 2.2, 1.4.3) on every ground in use: line, cursor, hit, focus."""
    app = Host(*_widgets(), css=CSS)
    faint: set[tuple[str, str, float]] = set()
    async with app.run_test(size=(120, 80)) as pilot:
        app.register_theme(CALM[name])
        app.theme = name
        for widget in _drawn(app):
            if widget.focusable:
                widget.focus()
            await pilot.pause()
            for strip in lines_of(widget):
                for segment in strip:
                    is_text = any(char.isalnum() for char in segment.text)
                    if is_text and segment.style is not None and contrast(segment.style) < 4.5:
                        faint.add((type(widget).__name__, segment.text, round(contrast(segment.style), 2)))
    assert not faint


async def test_without_colours_the_cursor_the_mark_and_the_bad_still_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    table = ResourceTable(rows(5))
    line = StatusLine([StatusSegment("fine"), StatusSegment("lost", "bad")])
    app = Host(table, line)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("space")
        await pilot.pause()
        assert lines_of(table)[1].text.startswith("● ")
        assert lines_of(table)[2].text.startswith("▌ ")
        bold = {segment.text: segment.style for segment in lines_of(line)[0]}
        assert bold["lost"] is not None
        assert bold["lost"].bold
