"""How much of something is used, as a bar with numbers. `meter_text` is the pure function for table cells."""

from rich.segment import Segment

from cockpit_widgets.glyphs import BAR_EMPTY, meter_text
from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.text import cut, width_of
from cockpit_widgets.types import Tone

__all__ = ["Meter", "meter_text"]


class Meter(OneLine):
    """`label ━━━━━╸─── 22/40` on one line. Unknown numbers read `?`."""

    DEFAULT_CSS = "Meter {" + ONE_LINE_CSS + "}"

    def __init__(
        self,
        used: float | None = None,
        total: float | None = None,
        *,
        label: str = "",
        tone: Tone = "info",
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._used, self._total, self._label, self._tone = used, total, label, tone

    def set_value(self, used: float | None, total: float | None, *, tone: Tone | None = None) -> None:
        """Show `used` of `total`; the same numbers again cost nothing."""
        tone = self._tone if tone is None else tone
        if (used, total, tone) != (self._used, self._total, self._tone):
            self._used, self._total, self._tone = used, total, tone
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        label = cut(self._label, width // 2)
        room = width - width_of(label) - (1 if label else 0)
        out = [Segment(f"{label} ", self.palette.tone("dim"))] if label else []
        text = meter_text(self._used, self._total, room)
        full = text.rstrip().rfind(BAR_EMPTY) + 1
        empty = len(text[:full].rstrip(BAR_EMPTY))
        tone = self.palette.tone(self._tone)
        rest = Segment(text[empty:full], self.palette.tone("dim"))
        return [
            *out,
            *(part for part in (Segment(text[:empty], tone), rest, Segment(text[full:], tone)) if part.text),
        ]
