"""Names and values in two aligned columns, values broken where they are long."""

from collections.abc import Sequence

from cockpit_widgets.flow_text import FLOW_CSS, FlowText
from cockpit_widgets.text import fit, width_of, wrap
from cockpit_widgets.types import Cell, Line, Pair

_GAP_CELLS = 2


def pair_lines(pairs: Sequence[Pair], width: int) -> list[Line]:
    """Lines in `width` cells; a name stands on the first line of its value and takes at most a third."""
    names = min(max((width_of(pair.name) for pair in pairs), default=0), max(8, width // 3))
    room = max(1, width - names - _GAP_CELLS)
    return [
        (Cell(fit("" if number else pair.name, names) + " " * _GAP_CELLS, "dim"), Cell(part, pair.tone))
        for pair in pairs
        for number, part in enumerate(wrap(pair.value, room))
    ]


class KeyValues(FlowText):
    """Aligned pairs with tones. As high as its lines when its height is auto, else it scrolls."""

    DEFAULT_CSS = "KeyValues {" + FLOW_CSS + "}"

    def __init__(
        self,
        pairs: Sequence[Pair] = (),
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._pairs = tuple(pairs)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """What is shown."""
        return self._pairs

    def set_pairs(self, pairs: Sequence[Pair]) -> None:
        """Show these pairs; the same ones again cost nothing."""
        if tuple(pairs) != self._pairs:
            self._pairs = tuple(pairs)
            self.reflow()

    def flow(self, width: int) -> list[Line]:
        return pair_lines(self._pairs, width)
