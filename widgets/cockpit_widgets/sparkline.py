"""A line of values over time. `spark` is the pure function for table cells."""

from collections.abc import Sequence

from rich.segment import Segment

from cockpit_widgets.glyphs import bounds, braille, spark
from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.types import Tone

__all__ = ["Sparkline", "spark"]


class Sparkline(OneLine):
    """One line of blocks, or of braille with two values in a cell; None is a gap, not a zero."""

    DEFAULT_CSS = "Sparkline {" + ONE_LINE_CSS + "}"

    def __init__(
        self,
        values: Sequence[float | None] = (),
        *,
        lo: float | None = None,
        hi: float | None = None,
        tone: Tone = "info",
        dots: bool = False,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        """`lo` and `hi` pin the bounds; without them the values' own are used. `dots` draws braille."""
        super().__init__(name=name, id=id, classes=classes)
        self._values = tuple(values)
        self._lo, self._hi, self._tone, self._dots = lo, hi, tone, dots

    @property
    def bounds(self) -> tuple[float, float]:
        """What the lowest and the highest glyph stand for."""
        least, most = bounds(self._values)
        return (least if self._lo is None else self._lo, most if self._hi is None else self._hi)

    def segments(self, width: int) -> list[Segment]:
        draw = braille if self._dots else spark
        return [Segment(draw(self._values, width, *self.bounds), self.palette.tone(self._tone))]
