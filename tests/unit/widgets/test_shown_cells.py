"""What is written is less, what is seen the same: two emulated terminals, one told everything."""

import random

import pyte
from cockpit_widgets.shown_cells import Piece, ShownCells
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

SIZES = ((20, 6), (80, 24), (33, 11))
STYLES = (
    Style.parse("default on default"),
    Style.parse("#c0c0c0 on #101010"),
    Style.parse("bold #c0c0c0 on #101010"),
    Style.parse("#ff0000 on #101010"),
    Style.parse("underline #c0c0c0 on #101010"),
    Style.parse("reverse #c0c0c0 on #202020"),
    Style.parse("strike on #202020"),
)
WORDS = (" ", "    ", "a", "live", "12m", "▁▂▃", "·", "日本", "é", "e\u0301", "界x", "━", "            ")


class Screens:
    """A terminal that is told everything, and one that is told what differs."""

    def __init__(self, width: int, height: int, *, erases_in_colour: bool = False) -> None:
        self.console = Console(color_system="truecolor", force_terminal=True)
        self.full, self.least = pyte.Screen(width, height), pyte.Screen(width, height)
        for screen in (self.full, self.least):
            screen.reset_mode(pyte.modes.DECAWM >> 5, private=True)
        self.cells = ShownCells(erases_in_colour=erases_in_colour)
        self.cells.resize(width, height)
        self.sent = 0

    def show(self, pieces: list[Piece]) -> str:
        for y, x, strip in pieces:
            pyte.Stream(self.full).feed(Control.move_to(x, y).segment.text + strip.render(self.console))
        text = self.cells.paint(pieces, ColorSystem.TRUECOLOR)
        pyte.Stream(self.least).feed(text)
        return text

    def looks(self, screen: pyte.Screen) -> list[list[tuple[object, ...]]]:
        """What a person sees: of a blank the background alone, unless it is marked."""
        seen = []
        for y in range(screen.lines):
            line = screen.buffer[y]
            seen.append([_look(line[x]) for x in range(screen.columns)])
        return seen

    def same(self) -> None:
        pairs = zip(self.looks(self.least), self.looks(self.full), strict=True)
        for y, (least, full) in enumerate(pairs):
            for x, (shown, wanted) in enumerate(zip(least, full, strict=True)):
                assert shown == wanted, (y, x)


def _look(cell: pyte.screens.Char) -> tuple[object, ...]:
    marks = (cell.underscore, cell.reverse, cell.strikethrough)
    if cell.data == "":
        return ("",)
    if cell.data == " " and not any(marks):
        return (" ", cell.bg)
    return (cell.data, cell.fg, cell.bg, cell.bold, *marks)


def strip_of(rng: random.Random, width: int, wide: bool) -> Strip:
    words = WORDS if wide else [word for word in WORDS if word.isascii() or word in ("▁▂▃", "·", "━")]
    segments = [Segment(rng.choice(words), rng.choice(STYLES)) for _ in range(rng.randrange(1, 12))]
    return Strip(segments).adjust_cell_length(width, STYLES[1])


def frames(rng: random.Random, width: int, height: int, *, wide: bool) -> list[list[Piece]]:
    """Screens one after the other: whole, moved by some lines, changed in places."""
    lines = [strip_of(rng, width, wide) for _ in range(height)]
    out = [[(y, 0, line) for y, line in enumerate(lines)]]
    for _ in range(8):
        kind = rng.randrange(4)
        if kind == 0:
            by = rng.choice((-3, -2, -1, 1, 2, 3))
            top, bottom = sorted(rng.sample(range(height + 1), 2))
            block = lines[top:bottom]
            fresh = [strip_of(rng, width, wide) for _ in range(abs(by))]
            moved = (block + fresh)[by:] if by > 0 else (fresh + block)[: len(block)]
            lines[top:bottom] = moved[: len(block)]
            out.append([(y, 0, line) for y, line in enumerate(lines)])
        elif kind == 1:
            lines = [line if rng.random() < 0.7 else strip_of(rng, width, wide) for line in lines]
            out.append([(y, 0, line) for y, line in enumerate(lines)])
        else:
            pieces: list[Piece] = []
            for y in sorted(rng.sample(range(height), rng.randrange(1, height))):
                left, right = sorted(rng.sample(range(width + 1), 2))
                if wide:
                    left, right = 0, width
                piece = strip_of(rng, right - left, wide)
                lines[y] = Strip.join([lines[y].crop(0, left), piece, lines[y].crop(right)])
                pieces.append((y, left, piece))
            out.append(pieces)
    return out


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from(SIZES), st.booleans(), st.booleans())
def test_a_terminal_that_is_told_the_changes_shows_what_one_shows_that_is_told_everything(
    seed: int, size: tuple[int, int], wide: bool, erases: bool
) -> None:
    rng = random.Random(seed)
    screens = Screens(*size, erases_in_colour=erases)
    for pieces in frames(rng, *size, wide=wide):
        screens.show(pieces)
        screens.same()
        assert screens.cells.paint(pieces, ColorSystem.TRUECOLOR) == ""


def plain_line(text: str, width: int = 40, style: Style = STYLES[1]) -> Strip:
    return Strip([Segment(text, style)]).adjust_cell_length(width, STYLES[1])


def told(lines: list[str], cells: ShownCells) -> str:
    pieces = [(y, 0, plain_line(text)) for y, text in enumerate(lines)]
    return cells.paint(pieces, ColorSystem.TRUECOLOR)


def test_one_character_that_changed_is_one_move_and_one_character() -> None:
    cells = ShownCells()
    cells.resize(40, 3)
    told(["age 41s", "running", "ok"], cells)
    assert told(["age 42s", "running", "ok"], cells) == "\x1b[1;6H2"
    assert told(["age 42s", "running", "ok"], cells) == ""


def test_a_blank_in_another_foreground_is_no_change() -> None:
    cells = ShownCells()
    cells.resize(40, 1)
    cells.paint([(0, 0, plain_line("a" + " " * 30, style=STYLES[1]))], ColorSystem.TRUECOLOR)
    told_blanks = [(0, 1, plain_line(" " * 30, 30, style=STYLES[3]))]
    assert cells.paint(told_blanks, ColorSystem.TRUECOLOR) == ""


def test_lines_that_moved_are_moved_by_the_terminal() -> None:
    cells = ShownCells(erases_in_colour=True)
    cells.resize(40, 12)
    lines = [f"line {number} of the log" for number in range(12)]
    told(lines, cells)
    sent = told([*lines[1:], "a new line"], cells)
    assert "\x1b[1;12r" in sent and sent.count("line") == 1 and "a new line" in sent


def test_lines_beside_a_panel_that_stays_are_not_moved() -> None:
    """A terminal moves lines as wide as it is."""
    cells = ShownCells()
    cells.resize(40, 12)
    lines = [f"line {number}" for number in range(12)]
    panel = [f"panel {number}" for number in range(12)]
    told([a.ljust(20) + b for a, b in zip(lines, panel, strict=True)], cells)
    sent = told([a.ljust(20) + b for a, b in zip([*lines[1:], "last"], panel, strict=True)], cells)
    assert "r\x1b" not in sent and "panel" not in sent


def test_of_what_is_forgotten_everything_is_written() -> None:
    cells = ShownCells()
    cells.resize(40, 1)
    first = told(["age 41s"], cells)
    cells.forget()
    assert told(["age 41s"], cells) == first
    cells.resize(40, 1)
    assert told(["age 41s"], cells) == ""
    cells.resize(41, 1)
    assert told(["age 41s"], cells) == first


def test_right_of_a_wide_character_no_cell_is_addressed_by_number() -> None:
    """Terminals disagree about widths: such a line is written whole."""
    cells = ShownCells()
    cells.resize(40, 1)
    told(["界 age 41s"], cells)
    assert "界 age 42s" in told(["界 age 42s"], cells)
