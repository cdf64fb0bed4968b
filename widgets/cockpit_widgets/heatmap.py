"""A fleet of GPUs as one widget: a glyph per GPU, a block per node, a row of blocks per pool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from cockpit_widgets.glyphs import TOP_LEVEL, heat_glyph, worst_level
from cockpit_widgets.heat_layout import FOLDS, Fold, HeatLine, HeatPlan, Spot, plan_fold, plan_heat
from cockpit_widgets.heat_look import HEAT_CSS, LEVEL_CLASSES
from cockpit_widgets.line_scroll import LineScroll
from cockpit_widgets.palette import Palette
from cockpit_widgets.text import fit
from cockpit_widgets.types import HeatGroup

CAPTION_LINES = 1


class Heatmap(LineScroll, can_focus=True):
    """Groups of blocks of cells, folded until they fit.

    `fold` says what one cell stands for: "gpu", "node" or "group". Folded, the worst wins: lost, not
    collected, stale, then the highest level, then free. Under the map a caption says so, with the legend.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "heatmap--name",
        "heatmap--caption",
        "heatmap--cursor",
        *LEVEL_CLASSES.values(),
    }
    DEFAULT_CSS = HEAT_CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Block to the left", show=False),
        Binding("right", "step(1)", "Block to the right", show=False),
        Binding("up", "line(-1)", "Line up", show=False),
        Binding("down", "line(1)", "Line down", show=False),
        Binding("home", "end(False)", "First block", show=False),
        Binding("end", "end(True)", "Last block", show=False),
        Binding("enter", "activate", "open", id="open", key_display="enter"),
        Binding("z", "zoom", "Fold or unfold", show=False),
    ]

    @dataclass
    class BlockHighlighted(Message):
        """The cursor stands on this block; folded to groups, on the worst block of the group."""

        heatmap: "Heatmap"
        key: str

        @property
        def control(self) -> "Heatmap":
            return self.heatmap

    @dataclass
    class BlockActivated(Message):
        """Enter or a double click on this block; folded to groups, on the worst block of the group."""

        heatmap: "Heatmap"
        key: str

        @property
        def control(self) -> "Heatmap":
            return self.heatmap

    @dataclass
    class FoldChanged(Message):
        """One cell now stands for something else; `caption` is the sentence that says so."""

        heatmap: "Heatmap"
        fold: Fold
        caption: str

        @property
        def control(self) -> "Heatmap":
            return self.heatmap

    def __init__(
        self,
        *,
        nouns: tuple[str, str, str] = ("GPU", "node", "pool"),
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        """`nouns` name a cell, a block and a group in the caption."""
        super().__init__(name=name, id=id, classes=classes)
        self._nouns = nouns
        self._palette = Palette(self)
        self._groups: tuple[HeatGroup, ...] = ()
        self._shape: object = None
        self._legend = ""
        self._plan = HeatPlan("gpu", ())
        self._forced: Fold | None = None
        self._spots: list[tuple[int, Spot]] = []
        self._looks: dict[tuple[int, bool], tuple[str, Style]] = {}
        self._at = 0
        self._cursor_key: str | None = None
        self._drawn: dict[int, object] = {}

    @property
    def fold(self) -> Fold:
        """What one cell stands for now."""
        return self._plan.fold

    @property
    def cursor_key(self) -> str | None:
        """Key of the block that enter would open; None when there is none."""
        return self._key_of(self._spots[self._at][1]) if self._spots else None

    @property
    def caption(self) -> str:
        """One sentence: what a cell stands for, then the legend."""
        cell, block, group = self._nouns
        said = {
            "gpu": f"one cell per {cell}, a block per {block}",
            "node": f"one cell per {block}, worst {cell} wins",
            "group": f"one cell per {group}, worst {cell} wins",
        }[self.fold]
        return f"{said} · {self._legend}" if self._legend else said

    def set_groups(
        self,
        groups: Sequence[HeatGroup],
        legend: str = "",
        *,
        ramp: Literal["calm", "alarm"] = "calm",
    ) -> None:
        """Swap the whole map; only lines that look different are painted again.

        `ramp` "calm" is for values where much is good, "alarm" for values where much is bad.
        """
        self._groups = tuple(groups)
        self._legend = legend
        self.set_class(ramp == "alarm", "-alarm")
        shape = tuple(
            (group.name, tuple((block.key, len(block.levels)) for block in group.blocks)) for group in groups
        )
        if shape != self._shape:
            self._shape = shape
            self._lay_out()
        else:
            self._repaint_changed()
        self._tell_cursor()

    def set_fold(self, fold: Fold | None) -> None:
        """Hold one fold, scrolling when it is too high; None folds by the room again."""
        if fold != self._forced:
            self._forced = fold
            self._lay_out()

    def full_lines(self, width: int) -> int:
        """Lines that the map takes unfolded in `width` cells, its caption included."""
        return len(plan_fold(self._groups, max(1, width), "gpu").lines) + CAPTION_LINES

    # Keys and mouse

    def action_step(self, spots: int) -> None:
        self._move_to(self._at + spots)

    def action_line(self, lines: int) -> None:
        if not self._spots:
            return
        here, spot = self._spots[self._at]
        row = here + lines
        while 0 <= row < len(self._plan.lines) and not self._plan.lines[row].spots:
            row += lines
        if 0 <= row < len(self._plan.lines):
            near = [at for at, (line, _) in enumerate(self._spots) if line == row]
            self._move_to(min(near, key=lambda at: abs(self._spots[at][1].x - spot.x)))

    def action_end(self, last: bool) -> None:
        self._move_to(len(self._spots) - 1 if last else 0)

    def action_activate(self) -> None:
        key = self.cursor_key
        if key is not None:
            self.post_message(self.BlockActivated(self, key))

    def action_zoom(self) -> None:
        """One fold finer than what is shown; from the finest back to what fits."""
        at = FOLDS.index(self.fold)
        self.set_fold(FOLDS[at - 1] if at else None)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or at.y >= self._body_lines:
            return
        row = at.y + self.scroll_offset.y
        for index, (line, spot) in enumerate(self._spots):
            if line == row and spot.x <= at.x <= spot.x + spot.stop - spot.start:
                self._move_to(index)
                if event.chain == 2:
                    self.action_activate()
                return

    def on_resize(self) -> None:
        self.measure_lines()
        self._lay_out()

    def on_focus(self) -> None:
        self._repaint_changed()

    def on_blur(self) -> None:
        self._repaint_changed()

    # Drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette.clear()
        self._looks.clear()

    def render_line(self, y: int) -> Strip:
        width = self.line_width
        self._drawn[y] = self._token(y)
        if y == self._caption_line:
            return Strip([Segment(fit(self.caption, width), self._palette.style("heatmap--caption"))], width)
        row = y + self.scroll_offset.y
        if row >= len(self._plan.lines):
            return Strip.blank(width, self._palette.style())
        return self._line_strip(row, self._plan.lines[row], width)

    def _line_strip(self, row: int, line: HeatLine, width: int) -> Strip:
        base = self._palette.style()
        cursor = self._spots[self._at][1] if self._spots and self._spots[self._at][0] == row else None
        name = self._palette.style("heatmap--name")
        labels = {label.x: label for label in line.labels}
        segments: list[Segment] = []
        run, style, at = "", base, 0
        for spot in line.spots or (None,):
            x = spot.x if spot is not None else width
            for label in (labels.pop(start) for start in sorted(labels) if start < x):
                text = fit(self._groups[label.group].name, label.width)
                segments += [Segment(run + " " * (label.x - at), style), Segment(text, name)]
                run, style, at = "", base, label.x + label.width
            if spot is None:
                break
            run += " " * (x - at)
            ground = self.has_focus and spot is cursor
            for level in self._levels(spot):
                glyph, look = self._look(level, ground)
                if look is not style:
                    segments.append(Segment(run, style))
                    run, style = "", look
                run += glyph
            if ground:
                segments.append(Segment(run, style))
                run, style = "", base
            at = x + spot.stop - spot.start
        segments.append(Segment(run, style))
        return Strip([segment for segment in segments if segment.text]).adjust_cell_length(width, base)

    def _look(self, level: int, under_cursor: bool) -> tuple[str, Style]:
        """Glyph and style of a level, on the cursor's ground or not."""
        look = self._looks.get((level, under_cursor))
        if look is None:
            name = LEVEL_CLASSES[max(-4, min(level, TOP_LEVEL))]
            ground = ("heatmap--cursor",) if under_cursor else ()
            look = heat_glyph(level), self._palette.style(name, *ground)
            self._looks[level, under_cursor] = look
        return look

    def _levels(self, spot: Spot) -> tuple[int, ...]:
        """The levels drawn for a spot."""
        if spot.block < 0:
            return (worst_level(self._worst_in(spot.group)),)
        block = self._groups[spot.group].blocks[spot.block]
        if self.fold == "node":
            return (worst_level(block.levels),)
        return block.levels[spot.start : spot.stop] or (-3,)

    def _worst_in(self, group: int) -> list[int]:
        """The worst level of each block of a group."""
        return [worst_level(block.levels) for block in self._groups[group].blocks]

    def _token(self, y: int) -> object:
        if y == self._caption_line:
            return self.caption
        row = y + self.scroll_offset.y
        if row >= len(self._plan.lines):
            return None
        cursor = self._at if self._spots and self.has_focus and self._spots[self._at][0] == row else None
        return (row, cursor, tuple(self._levels(spot) for spot in self._plan.lines[row].spots))

    # Changes

    @property
    def _body_lines(self) -> int:
        return max(1, self.size.height - CAPTION_LINES)

    @property
    def _caption_line(self) -> int:
        """Right under the map, and at the bottom of the view when the map fills it."""
        return min(self._body_lines, len(self._plan.lines))

    def _lay_out(self) -> None:
        width = self.line_width or self.size.width
        if width <= 0:
            return
        before = self.fold
        plan = plan_fold(self._groups, width, self._forced) if self._forced else None
        self._plan = plan or plan_heat(self._groups, width, self._body_lines)
        self._spots = [(row, spot) for row, line in enumerate(self._plan.lines) for spot in line.spots]
        self._at = self._find(self._cursor_key)
        self.resize_lines(len(self._plan.lines) + CAPTION_LINES)
        self.refresh()
        if self.fold != before:
            self.post_message(self.FoldChanged(self, self.fold, self.caption))

    def _find(self, key: str | None) -> int:
        """Number of the spot that shows block `key`, else the nearest to where the cursor was."""
        for at, (_, spot) in enumerate(self._spots):
            blocks = self._groups[spot.group].blocks
            shown = blocks if spot.block < 0 else (blocks[spot.block],)
            if any(block.key == key for block in shown):
                return at
        return max(0, min(self._at, len(self._spots) - 1))

    def _key_of(self, spot: Spot) -> str | None:
        blocks = self._groups[spot.group].blocks
        if spot.block >= 0:
            return blocks[spot.block].key
        if not blocks:
            return None
        worst = self._worst_in(spot.group)
        return blocks[worst.index(worst_level(worst))].key

    def _move_to(self, at: int) -> None:
        if not self._spots:
            return
        self._at = max(0, min(at, len(self._spots) - 1))
        row = self._spots[self._at][0]
        top = self.scroll_offset.y
        if row < top:
            self.jump(row)
        elif row >= top + self._body_lines:
            self.jump(row - self._body_lines + 1)
        self._repaint_changed()
        self._tell_cursor()

    def _tell_cursor(self) -> None:
        key = self.cursor_key
        if key is not None and key != self._cursor_key:
            self.post_message(self.BlockHighlighted(self, key))
        self._cursor_key = key

    def _repaint_changed(self) -> None:
        if not self.is_attached:
            return
        drawn = self._drawn
        self.repaint_lines([y for y in range(self.size.height) if y in drawn and drawn[y] != self._token(y)])
