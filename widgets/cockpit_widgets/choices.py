"""The entries of a choice, searched, as rows of a table. Pure."""

from collections.abc import Collection, Sequence

from cockpit_widgets.columns import GAP_CELLS, GUTTER_CELLS, MARGIN_CELLS
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Cell, ChoiceItem, Column


def search(items: Sequence[ChoiceItem], words: str) -> list[ChoiceItem]:
    """Entries that hold every word of `words` in label, note or value, in any case.

    Entries whose label begins with the first word stand first, then entries with the first word in the label,
    then the rest; within each the given order stays.
    """
    wanted = words.lower().split()
    if not wanted:
        return list(items)
    ranked: list[tuple[int, int, ChoiceItem]] = []
    for number, item in enumerate(items):
        label = (item.label or item.value).lower()
        whole = f"{label} {item.note.lower()} {item.value.lower()}"
        if all(word in whole for word in wanted):
            rank = 0 if label.startswith(wanted[0]) else 1 if wanted[0] in label else 2
            ranked.append((rank, number, item))
    ranked.sort(key=lambda entry: entry[:2])
    return [item for _, _, item in ranked]


_BOX_CELLS, _MOST_BOX_CELLS = 78, 120
"""Width of every dialog, and the most that entries widen one to."""
_SIDE_CELLS = 7
"""Frame, padding and scroll bar of a dialog at both sides of its table."""


def box_cells(items: Sequence[ChoiceItem]) -> int:
    """Width of a dialog that cuts nothing of these entries, within its bounds."""
    labels = max((width_of(item.label or item.value) for item in items), default=0)
    notes = max((width_of(item.note) for item in items), default=0)
    table = GUTTER_CELLS + labels + 2 + (GAP_CELLS + notes if notes else 0) + MARGIN_CELLS
    return max(_BOX_CELLS, min(table + _SIDE_CELLS, _MOST_BOX_CELLS))


class ChoiceRows:
    """A `TableSource` over entries; the key of a row is the entry's value."""

    def __init__(self, items: Sequence[ChoiceItem], ticked: Collection[str] = ()) -> None:
        """`ticked` are values that have a tick behind them."""
        self._items = tuple(items)
        self._ticked = frozenset(ticked) - {""}
        self._index = {item.value: number for number, item in enumerate(self._items)}
        widest = max((width_of(item.label or item.value) for item in self._items), default=0) + 2
        notes = any(item.note for item in self._items)
        # names of clouds begin alike: what has no room is cut in its middle
        label = Column("label", "", min(36, widest), grow=3, most=widest if notes else 0, keeps_end=True)
        self._columns = (label, Column("note", "", 8, grow=3, priority=2)) if notes else (label,)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    def __len__(self) -> int:
        return len(self._items)

    def key(self, index: int) -> str:
        return self._items[index].value

    def index(self, key: str) -> int | None:
        return self._index.get(key)

    def cells(self, index: int) -> tuple[Cell, ...]:
        item = self._items[index]
        here = item.value in self._ticked
        label = Cell(f"{item.label or item.value}{' ✓' if here else ''}", "strong" if here else "")
        return (label, Cell(item.note, "dim"))

    def version(self, index: int) -> object:
        return (self._items[index], self._items[index].value in self._ticked)
