"""Where each block of a heatmap stands, and how far it is folded. Pure: structure and size in, lines out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cockpit_widgets.text import width_of
from cockpit_widgets.types import HeatGroup

Fold = Literal["gpu", "node", "group"]
"""What one cell stands for: one GPU, one block (a node), or one group (a pool)."""

FOLDS: tuple[Fold, ...] = ("gpu", "node", "group")

_FLOW_GAP = 3


@dataclass(frozen=True, slots=True)
class Spot:
    """A run of cells at `x` on its line: cells `start` to `stop` of block `block` of group `group`.

    Folded to one cell, `start` is 0 and `stop` 1; folded to groups, `block` is -1.
    """

    group: int
    block: int
    x: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Label:
    """The name of group `group` at cell `x`, at most `width` cells."""

    group: int
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class HeatLine:
    """One line of the map."""

    labels: tuple[Label, ...]
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class HeatPlan:
    """All lines of one fold."""

    fold: Fold
    lines: tuple[HeatLine, ...]


def name_width(groups: Sequence[HeatGroup], width: int) -> int:
    """Cells of the column of names: the longest name, at most a fifth of the width but eight at least."""
    longest = max((width_of(group.name) for group in groups), default=0)
    return min(longest, max(8, width // 5))


def _run_lines(groups: Sequence[HeatGroup], width: int, *, folded: bool) -> tuple[HeatLine, ...]:
    names = name_width(groups, width)
    left = names + 1
    room = max(1, width - left)
    lines: list[HeatLine] = []
    for number, group in enumerate(groups):
        row: list[Spot] = []
        labels: tuple[Label, ...] = (Label(number, 0, names),)
        x = 0

        def wrap_line() -> None:
            nonlocal row, labels, x
            lines.append(HeatLine(labels, tuple(row)))
            row, labels, x = [], (), 0

        for index, block in enumerate(group.blocks):
            cells = 1 if folded else max(1, len(block.levels))
            if x and x + min(cells, room) > room:
                wrap_line()
            start = 0
            while cells - start > room:
                row.append(Spot(number, index, left, start, start + room))
                start += room
                wrap_line()
            row.append(Spot(number, index, left + x, start, cells))
            x += cells - start + (0 if folded else 1)
        if row or labels:
            wrap_line()
    return tuple(lines)


def _group_lines(groups: Sequence[HeatGroup], width: int) -> tuple[HeatLine, ...]:
    names = name_width(groups, width)
    step = names + 2 + _FLOW_GAP
    per_line = max(1, (width + _FLOW_GAP) // step)
    lines: list[HeatLine] = []
    for first in range(0, len(groups), per_line):
        numbers = range(first, min(first + per_line, len(groups)))
        labels = tuple(Label(number, (number - first) * step, names) for number in numbers)
        spots = tuple(Spot(number, -1, (number - first) * step + names + 1, 0, 1) for number in numbers)
        lines.append(HeatLine(labels, spots))
    return tuple(lines)


def plan_fold(groups: Sequence[HeatGroup], width: int, fold: Fold) -> HeatPlan:
    """The lines of `groups` at `fold` in `width` cells."""
    if fold == "group":
        return HeatPlan(fold, _group_lines(groups, width))
    return HeatPlan(fold, _run_lines(groups, width, folded=fold == "node"))


def plan_heat(groups: Sequence[HeatGroup], width: int, height: int) -> HeatPlan:
    """The finest fold whose lines fit `height`; one cell per group when none does (that one may scroll)."""
    for fold in FOLDS[:-1]:
        plan = plan_fold(groups, width, fold)
        if len(plan.lines) <= height:
            return plan
    return plan_fold(groups, width, "group")
