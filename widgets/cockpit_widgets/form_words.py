"""What stands around an editor of a form: its name before it, its help or its fault below."""

from rich.segment import Segment
from textual.strip import Strip

from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.text import cut, width_of, wrap
from cockpit_widgets.types import FieldSpec


class FieldLabel(OneLine):
    """The name of a field with its unit; a star after it says that a value is required."""

    DEFAULT_CSS = "FieldLabel {" + ONE_LINE_CSS + "}"

    def __init__(self, spec: FieldSpec, width: int) -> None:
        super().__init__()
        self._spec = spec
        self._active = False
        self.styles.width = width

    def set_active(self, active: bool) -> None:
        """Stand out while the field has the focus."""
        if active != self._active:
            self._active = active
            self.refresh()

    @staticmethod
    def words(spec: FieldSpec) -> str:
        """Name and unit."""
        return spec.label + FieldLabel._unit(spec)

    @staticmethod
    def _unit(spec: FieldSpec) -> str:
        is_told = spec.unit.lower() in spec.label.lower()  # "GPUs each (GPUs)" says nothing more
        return "" if is_told else f" ({spec.unit})"

    @classmethod
    def least_width(cls, spec: FieldSpec) -> int:
        """Cells the label takes, its star and a space included."""
        return width_of(cls.words(spec)) + 3

    def segments(self, width: int) -> list[Segment]:
        unit = self._unit(self._spec)
        room = width - 3 - width_of(unit)
        # half of a unit says nothing: the name gives way first
        words = cut(self._spec.label, room) + unit if room > 0 else cut(self._spec.label, max(1, width - 3))
        style = self.palette.tone("accent") if self._active else self.palette.style()
        out = [Segment(words, style)]
        if self._spec.required:
            out.append(Segment(" *", self.palette.tone("dim")))
        return out


_LEAST_NOTE = 20
"""With fewer cells right of the labels a note begins at the left."""


class FieldNote(OneLine):
    """The help of a field, or the sentence about what is wrong with it: whole, in lines under its editor."""

    DEFAULT_CSS = "FieldNote {" + ONE_LINE_CSS + "}"

    def __init__(self, text: str, indent: int) -> None:
        super().__init__()
        self._help = text
        self._indent = indent
        self.fault = ""

    def set_help(self, text: str) -> None:
        """Another help text."""
        if text != self._help:
            self._help = text
            self._fit_height()
            self.refresh()

    def set_fault(self, sentence: str) -> None:
        """Say what is wrong; empty shows the help again."""
        if sentence != self.fault:
            self.fault = sentence
            self._fit_height()
            self.refresh()

    def on_resize(self) -> None:
        self._fit_height()

    def _fit_height(self) -> None:
        """As many lines as the words need."""
        lines = max(1, len(self._lines(self.size.width))) if self.size.width else 1
        if self.styles.height is None or self.styles.height.value != lines:
            self.styles.height = lines

    def _lines(self, width: int) -> list[str]:
        text = f"× {self.fault}" if self.fault else self._help
        indent = self._indent if width - self._indent >= _LEAST_NOTE else 0
        return [" " * indent + line for line in wrap(text, max(1, width - indent))] if text else []

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.palette.style()
        lines = self._lines(width)
        if y >= len(lines):
            return Strip.blank(width, base)
        tone = self.palette.tone("bad" if self.fault else "dim")
        return Strip([Segment(lines[y], tone)]).adjust_cell_length(width, base)


class FormHelp(OneLine):
    """The help of the field that has the focus, at the foot of a form with sections; two lines at most."""

    DEFAULT_CSS = "FormHelp {" + ONE_LINE_CSS + "dock: bottom; height: 2; }"

    def __init__(self) -> None:
        super().__init__()
        self._shown = ""

    def show(self, text: str) -> None:
        """Draw this help."""
        if text != self._shown:
            self._shown = text
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.palette.style()
        lines = wrap(self._shown, max(1, width))
        if len(lines) > self.size.height:
            lines = [lines[0], cut(" ".join(lines[1:]), width)]
        if y >= len(lines):
            return Strip.blank(width, base)
        return Strip([Segment(lines[y], self.palette.tone("dim"))]).adjust_cell_length(width, base)
