"""What the widgets are given: plain frozen values, no Textual. Text in them is clean of control codes."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

Tone = Literal["", "dim", "good", "warn", "bad", "accent", "strong", "info"]
"""What a text means; a widget maps each tone to a colour of the theme. Never the only carrier of meaning."""


class Cell(NamedTuple):
    """One cell of a table: text of one line, and its tone."""

    text: str
    tone: Tone = ""


Line = tuple[Cell, ...]
"""One line of text, in pieces of one tone each."""


class ToneLine(str):
    """One line of text that brings its tone along: who writes it knows what it means."""

    __slots__ = ("tone",)
    tone: Tone

    def __new__(cls, text: str, tone: Tone = "") -> "ToneLine":
        """A line of that tone."""
        made = super().__new__(cls, text)
        made.tone = tone
        return made


def tone_of(line: str) -> Tone:
    """The tone that a line brings along, "" where it brings none."""
    return line.tone if isinstance(line, ToneLine) else ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `width` is its least width in terminal cells; what is left over goes to columns with
    `grow` in proportion. When not all fit, columns with the highest `priority` number vanish first;
    priority 1 never vanishes."""

    id: str
    title: str
    width: int
    align: Literal["left", "right"] = "left"
    priority: int = 1
    grow: int = 0
    sortable: bool = True
    most: int = 0
    """Cells beyond which the column does not grow; 0 is no bound."""
    wish: int = 0
    """Cells the column would have before any column of priority 4 or more is shown; 0 wishes nothing."""
    folds: bool = False
    """Sentences: what does not fit goes on below, in a table with lines to spare."""
    keeps_end: bool = False
    """Names that differ at their end: what does not fit is cut in its middle."""


class TableSource(Protocol):
    """Rows for a virtual table, made on demand. Immutable once handed over: a change is a new source.

    Row keys are unique. `version(i)` changes whenever `cells(i)` would, so strips can be cached.
    """

    @property
    def columns(self) -> tuple[Column, ...]: ...
    def __len__(self) -> int: ...
    def key(self, index: int) -> str: ...
    def index(self, key: str) -> int | None: ...
    def cells(self, index: int) -> tuple[Cell, ...]: ...
    def version(self, index: int) -> object: ...


@dataclass(frozen=True, slots=True)
class HeatBlock:
    """One block of a heatmap (a node): a level per cell.

    `levels`: 0..8 shade by value; -1 free (dot), -2 lost (cross), -3 not collected (question mark),
    -4 stale (tilde). `key` is what `enter` on the block tells.
    """

    key: str
    levels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HeatGroup:
    """A named row of blocks (a pool)."""

    name: str
    blocks: tuple[HeatBlock, ...]


class GridCell(NamedTuple):
    """One cell of a grid: a glyph in a tone, or in the shade of a `level` (as of a `HeatBlock`; its own glyph
    where none is given). A row is called by the `label` of its first cell."""

    key: str
    label: str
    glyph: str = ""
    level: int | None = None
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a form. `value` is the start value as text; that of a switch is `true` or `false`.

    `group` is the title of the section it stands in; a form whose fields have none has no sections.
    """

    id: str
    label: str
    kind: Literal["text", "integer", "choice", "multiline", "switch"] = "text"
    value: str = ""
    help: str = ""
    unit: str = ""
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    required: bool = True
    group: str = ""


@dataclass(frozen=True, slots=True)
class HelpEntry:
    """One line of the help: keys as pressed, what they do, and the group they stand under.

    `barred` says why they cannot be used now, "" where they can.
    """

    keys: str
    text: str
    group: str = ""
    dangerous: bool = False
    barred: str = ""


class StatusSegment(NamedTuple):
    """One piece of a status line. When not all fit, the highest `priority` number vanishes first; 1 stays."""

    text: str
    tone: Tone = ""
    priority: int = 1


class Tab(NamedTuple):
    """One tab: the key that opens it, its name and a shorter one ("": no shorter one), and a note behind it
    (`3◔`) in a tone."""

    key: str
    name: str
    short: str = ""
    note: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class KeyHint:
    """One key of a footer: the key as Textual names it (`ctrl+n`), the label, and whether it can be pressed.

    `display` is what is drawn for the key; empty takes Textual's own way of writing it. A `barred` one is a
    binding that is there and cannot be used now: it is crossed out, and pressing it tells why.
    """

    key: str
    label: str
    priority: int = 1
    enabled: bool = True
    display: str = ""
    barred: bool = False


class ChoiceItem(NamedTuple):
    """One entry of a choice: what is handed back, what is shown, and a dim note beside it."""

    value: str
    label: str = ""
    note: str = ""


class Pair(NamedTuple):
    """One line of a list of names and values."""

    name: str
    value: str
    tone: Tone = ""
