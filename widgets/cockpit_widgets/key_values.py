"""Names and values in two aligned columns, values broken where they are long."""

from collections.abc import Sequence

from cockpit_widgets.flow_text import FLOW_CSS, FlowText
from cockpit_widgets.pair_layout import pair_lines
from cockpit_widgets.types import Line, Pair


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
