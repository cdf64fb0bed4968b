"""A fleet of GPUs as one widget: a glyph per GPU, a block per node, a row of blocks per pool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from cockpit_widgets.captioned_map import CaptionedMap
from cockpit_widgets.glyphs import IMPLAUSIBLE_LEVEL, TOP_LEVEL, heat_glyph, worst_level
from cockpit_widgets.heat_layout import FOLDS, Fold, HeatLine, HeatPlan, Spot, plan_fold, plan_heat
from cockpit_widgets.heat_look import HEAT_CSS, LEVEL_CLASSES
from cockpit_widgets.text import fit
from cockpit_widgets.types import HeatGroup


class Heatmap(CaptionedMap, can_focus=True):
    """Groups of blocks of cells, folded until they fit.

    `fold` says what one cell stands for: "gpu", "node" or "group". Folded, the worst wins: lost, not
    collected, stale, then the highest level, then free. Under the map a caption says so, with the legend.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"heatmap--cursor"}
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
        self._groups: tuple[HeatGroup, ...] = ()
        self._shape: object = None
        self._legend = ""
        self._plan = HeatPlan("gpu", ())
        self._forced: Fold | None = None
        self._spots: list[tuple[int, Spot]] = []
        self._looks: dict[tuple[int, bool], tuple[str, Style]] = {}

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
        """What a cell stands for, then the legend; of a map without a cell the legend alone."""
        return self._caption_of(self.fold) if self._groups else self._legend

    @property
    def _captions(self) -> tuple[str, ...]:
        return tuple(self._caption_of(fold) for fold in FOLDS) if self._groups else (self._legend,)

    def _caption_of(self, fold: Fold) -> str:
        cell, block, group = self._nouns
        said = {
            "gpu": f"one cell per {cell}, a block per {block}",
            "node": f"one cell per {block}, worst {cell} wins",
            "group": f"one cell per {group}, worst {cell} wins",
        }[fold]
        return f"{said}   {self._legend}" if self._legend else said

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
        if shape != self._shape or self._caption_lines != self._needed_caption_lines():
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

    def needed_lines(self, width: int, most: int) -> int:
        """Lines that the finest fold for `most` lines takes in `width` cells, its caption included."""
        width = max(1, width)
        caption_lines = self.caption_lines(width)
        return len(plan_heat(self._groups, width, most - caption_lines).lines) + caption_lines

    # Keys and mouse

    def action_line(self, lines: int) -> None:
        if not self._spots:
            return
        here, spot = self._spots[self._at]
        row = here + lines
        while 0 <= row < len(self._plan.lines) and not self._plan.lines[row].spots:
            row += lines
        if 0 <= row < len(self._plan.lines):
            near = [at for at, (line, _) in enumerate(self._spots) if line == row]
            self._move(min(near, key=lambda at: abs(self._spots[at][1].x - spot.x)))

    def action_zoom(self) -> None:
        """One fold finer than what is shown; from the finest back to what fits."""
        at = FOLDS.index(self.fold)
        self.set_fold(FOLDS[at - 1] if at else None)

    # Drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()

    def _row_strip(self, row: int, width: int) -> Strip:
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
            name = LEVEL_CLASSES[max(IMPLAUSIBLE_LEVEL, min(level, TOP_LEVEL))]
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

    # What the ground asks

    @property
    def _rows(self) -> int:
        return len(self._plan.lines)

    @property
    def _stops(self) -> int:
        return len(self._spots)

    @property
    def _cursor_row(self) -> int:
        return self._spots[self._at][0]

    def _row_token(self, row: int) -> object:
        cursor = self._at if self._spots and self.has_focus and self._cursor_row == row else None
        return (row, cursor, tuple(self._levels(spot) for spot in self._plan.lines[row].spots))

    def _stop_at(self, row: int, x: int) -> int | None:
        for index, (line, spot) in enumerate(self._spots):
            if line == row and spot.x <= x <= spot.x + spot.stop - spot.start:
                return index
        return None

    def _highlighted(self, key: str) -> Message:
        return self.BlockHighlighted(self, key)

    def _activated(self, key: str) -> Message:
        return self.BlockActivated(self, key)

    # Changes

    def _lay_out(self) -> None:
        width = self.line_width or self.size.width
        if width <= 0:
            return
        self._caption_lines = self._needed_caption_lines()
        before = self.fold
        plan = plan_fold(self._groups, width, self._forced) if self._forced else None
        self._plan = plan or plan_heat(self._groups, width, self._body_lines)
        self._spots = [(row, spot) for row, line in enumerate(self._plan.lines) for spot in line.spots]
        self._at = self._find(self._cursor_key)
        self.resize_lines(len(self._plan.lines) + self._caption_lines)
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
