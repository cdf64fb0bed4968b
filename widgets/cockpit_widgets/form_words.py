"""What stands around an editor of a form: its name before it, its help or its fault below."""

from rich.segment import Segment

from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.text import cut, width_of
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


class FieldNote(OneLine):
    """The help of a field, or the sentence about what is wrong with it."""

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
            self.refresh()

    def set_fault(self, sentence: str) -> None:
        """Say what is wrong; empty shows the help again."""
        if sentence != self.fault:
            self.fault = sentence
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        text = f"× {self.fault}" if self.fault else self._help
        # A sentence needs room more than it needs to stand under its field.
        indent = min(self._indent, max(0, width - width_of(text)))
        tone = self.palette.tone("bad" if self.fault else "dim")
        return [Segment(" " * indent + cut(text, width - indent), tone)] if text else []
