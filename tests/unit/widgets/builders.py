"""Sources, hostile texts and small apps for the tests of the widgets."""

from collections.abc import Iterable, Sequence
from typing import Any

from cockpit_widgets.types import Cell, Column, HeatBlock, HeatGroup
from rich.cells import cell_len
from rich.style import Style
from textual.app import App, ComposeResult
from textual.color import Color
from textual.strip import Strip
from textual.widget import Widget

SIZES = [(80, 24), (120, 40), (200, 60)]

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "line\nbreak\r\n",
    "bell\x07tab\tnull\x00",
    "\x9b31mc1\x85\x9d0;title\x9c",
    "bidi\u202egnorw\u2066\u2069",
    "zalgo" + "\u0301\u0302\u0303" * 30,
    "joined \U0001f468\u200d\U0001f469\u200d\U0001f467 heart \u2764\ufe0f flag \U0001f1e9\U0001f1ea",
    "[bold red]markup[/] [/nope] [",
    "[@click=app.exit]leave[/] [@click='app.bell']x[/]",
    "全角の名前がここにある",
    "\u0301leading mark",
    "surrogate \ud800 private \ue000 line\u2028sep",
]

COLUMNS = (
    Column("name", "Name", 20, grow=3),
    Column("state", "State", 9),
    Column("gpus", "GPUs", 5, "right"),
    Column("why", "Why it waits", 6, priority=2, grow=1),
    Column("age", "Age", 5, "right", priority=3),
    Column("owner", "Owner", 8, priority=4, sortable=False),
)


class Rows:
    """A `TableSource` over (key, version, cells) that counts what is asked of it."""

    def __init__(
        self, rows: Iterable[tuple[str, object, Sequence[str]]], columns: tuple[Column, ...] = COLUMNS
    ) -> None:
        self._rows = list(rows)
        self._columns = columns
        self._index = {key: index for index, (key, _, _) in enumerate(self._rows)}
        self.cells_calls: list[int] = []

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    def __len__(self) -> int:
        return len(self._rows)

    def key(self, index: int) -> str:
        return self._rows[index][0]

    def index(self, key: str) -> int | None:
        return self._index.get(key)

    def cells(self, index: int) -> tuple[Cell, ...]:
        self.cells_calls.append(index)
        name, *others = self._rows[index][2] or [""]
        return (Cell(name), *(Cell(text, "warn") for text in others))

    def version(self, index: int) -> object:
        return self._rows[index][1]


def rows(count: int, *, prefix: str = "job", version: object = 0) -> Rows:
    """`count` rows with keys `job-0`, `job-1`, ..."""
    return Rows(row(f"{prefix}-{number}", version) for number in range(count))


def row(key: str, version: object = 0) -> tuple[str, object, Sequence[str]]:
    """One row; its state cell shows its version."""
    return (key, version, (key, f"v{version}", "8", "quota is short", "5m", "ada"))


def keyed(keys: Sequence[str], versions: dict[str, object] | None = None) -> Rows:
    """Rows with these keys, in this order."""
    return Rows(row(key, (versions or {}).get(key, 0)) for key in keys)


def heat(blocks: int, *, groups: int = 1, cells: int = 8, level: int = 4) -> tuple[HeatGroup, ...]:
    """Groups of equal blocks with keys `g0-n0`, ..."""
    return tuple(
        HeatGroup(f"pool-{g}", tuple(HeatBlock(f"g{g}-n{n}", (level,) * cells) for n in range(blocks)))
        for g in range(groups)
    )


class Host(App[Any]):
    """An app that shows these widgets and keeps the messages that reach it."""

    def __init__(self, *widgets: Widget, css: str = "") -> None:
        super().__init__()
        self._widgets = widgets
        self.heard: list[Any] = []
        if css:
            self.stylesheet.add_source(css)

    def compose(self) -> ComposeResult:
        yield from self._widgets

    def hear(self, message: Any) -> None:
        """Keep a message."""
        self.heard.append(message)


def lines_of(widget: Widget) -> list[Strip]:
    """Every line of the widget's content as drawn now."""
    return [widget.render_line(y) for y in range(widget.size.height)]


def texts_of(widget: Widget) -> list[str]:
    """The text of every line, blanks at the end taken off."""
    return [strip.text.rstrip() for strip in lines_of(widget)]


def actions_of(widget: Widget) -> int:
    """Pieces of the drawn lines that do something when they are clicked."""
    pieces = (piece for strip in lines_of(widget) for piece in strip)
    return sum(piece.style is not None and "@click" in piece.style.meta for piece in pieces)


def assert_sound(widget: Widget, width: int | None = None) -> None:
    """Every line is exactly as wide as the content, by count and by measure, without control characters."""
    if width is None:
        gutter = widget.scrollbar_size_vertical
        width = widget.size.width - gutter
    for strip in lines_of(widget):
        assert strip.cell_length == width, (strip.text, strip.cell_length, width)
        assert cell_len(strip.text) == width, strip.text
        assert strip.text.isprintable(), ascii(strip.text)


def _luminance(colour: Color) -> float:
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(style: Style) -> float:
    """The ratio of WCAG 2.2, *contrast ratio*: 1 to 21."""
    both = sorted(_luminance(Color.from_rich_color(colour)) for colour in (style.color, style.bgcolor))
    return (both[1] + 0.05) / (both[0] + 0.05)
