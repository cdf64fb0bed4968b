"""A panel: content under a title, its figure at the right; a border around it where the screen has room."""

from textual import events
from textual.containers import Vertical
from textual.content import Content

from cockpit_widgets.text import cut, plain, width_of

FRAMED = "framed"
"""The class of a screen on which panels have borders; on others the title stands in a rule."""
FRAMED_COLUMNS, FRAMED_LINES = 100, 30
_RULE_ENDS_CELLS, _BORDER_ENDS_CELLS = 4, 6
"""Cells of the top that no title takes: a piece of the line and a blank at each end, and corners."""
_LEAST_TITLE_CELLS = 8


def is_framed(columns: int, lines: int) -> bool:
    """Whether a screen of that size gives its panels borders."""
    return columns >= FRAMED_COLUMNS and lines >= FRAMED_LINES


def panel_title(title: str, figure: str, room: int) -> tuple[str, str, str]:
    """Title, line and figure in exactly `room` cells: the figure leaves first, then the title is cut."""
    title, figure = plain(title), plain(figure)
    if room - width_of(title) - width_of(figure) - 3 < 0:
        figure = cut(figure, room - max(_LEAST_TITLE_CELLS, width_of(title)) - 3)
        figure = figure if width_of(figure) > 3 else ""
    title = cut(title, room - width_of(figure) - 3 if figure else room)
    if not figure:
        return title, "", ""
    return title, f" {'─' * (room - width_of(title) - width_of(figure) - 2)} ", figure


class Panel(Vertical):
    """Its border says whether the focus is in it, by tone and by the weight of its title. The rule becomes a
    border where the screen says so; a `bare` one has no rule before."""

    DEFAULT_CSS = """
    Panel {
        height: auto;
        border-top: solid $border-blurred;
        border-title-color: $text-muted;
        background: $background;
    }
    Panel:focus-within { border-top: solid $primary; }
    Panel:focus-within { border-title-style: bold; border-title-color: $foreground; }
    Panel.bare { border: none; }
    Panel:ansi { border-title-color: ansi_default; }
    """

    _named: tuple[str, str] = ("", "")
    _written = (0, False)

    def set_title(self, title: str, figure: str = "") -> None:
        """What the panel is called, and its figure; the same ones again cost nothing."""
        if (title, figure) != self._named:
            self._named = (title, figure)
            self._write()

    @property
    def room(self) -> int:
        """Cells of the top border for title and figure."""
        ends = _BORDER_ENDS_CELLS if self.styles.border_left[0] else _RULE_ENDS_CELLS
        return self.outer_size.width - ends

    def on_resize(self, event: events.Resize) -> None:
        self._rewrite()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._rewrite()  # a rule became a border, or the other way round

    def _rewrite(self) -> None:
        if self._written != self._shape:
            self._write()

    @property
    def _shape(self) -> tuple[int, bool]:
        """What the title depends on other than its words: its room, and whether there are corners."""
        return self.room, bool(self.styles.border_left[0])

    def _write(self) -> None:
        self._written = room, _ = self._shape
        if room <= 0:
            return
        title, line, figure = panel_title(*self._named, room)
        end = "" if self.styles.border_left[0] else " "  # Textual puts a blank beside corners alone
        figure = f"{figure}{end}" if figure else ""
        self.border_title = Content.assemble(
            f"{end}{title}{'' if figure else end}", (line, "$border-blurred"), (figure, "$text-muted")
        )
