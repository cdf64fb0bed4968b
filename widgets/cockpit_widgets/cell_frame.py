"""The bytes of one frame: runs of cells in an order, with moves and pens, that takes few of them."""

from collections.abc import Sequence
from itertools import groupby

from cockpit_widgets.looks import Look, change
from cockpit_widgets.shifts import Shift

_LEAST_ERASED = 12
"""Blanks from which they are erased instead of written."""
_FEW_CELLS = 2_000
"""Of more a person sees in which order they come."""
_COLUMN = 8
"""Runs of up to this many columns are written downwards: most that change stand in a column of a table."""


class _Chunk:
    """Texts that stand side by side and are written with one pen; `cells` is how many they take."""

    __slots__ = ("cells", "is_blank", "look", "text", "x", "y")

    def __init__(self, y: int, x: int, look: Look, text: str, cells: int) -> None:
        self.y, self.x, self.look, self.text, self.cells = y, x, look, text, cells
        self.is_blank = look.is_plain_on_blanks and not text.strip(" ")


class Frame:
    """The bytes of one frame, with the pen and the place of the cursor as the terminal will have them."""

    def __init__(self, width: int, height: int, pen: Look | None, erases_in_colour: bool) -> None:
        self._width, self._height = width, height
        self._erases_in_colour = erases_in_colour
        self._out: list[str] = []
        self._chunks: list[_Chunk] = []
        self._cells = 0
        self._has_moved = False
        self._at: tuple[int, int] | None = None  # line, column
        self.pen = pen

    @property
    def text(self) -> str:
        return "".join(self._out)

    def move_lines(self, shift: Shift) -> None:
        """Let the terminal move lines, by what a VT100 knew already: margins, line feed, reverse index."""
        top, bottom, count = shift
        by = "\n" * count if count > 0 else "\x1bM" * -count
        line = bottom if count > 0 else top
        self._out.append(f"\x1b[{top + 1};{bottom + 1}r\x1b[{line + 1}H{by}\x1b[r")
        self._has_moved = True
        self._at = None

    def put(self, y: int, x: int, texts: Sequence[str], looks: Sequence[Look | None]) -> None:
        """Write cells from column `x` of line `y` on, now or later: each text takes one cell."""
        self._chunks += self._cut(y, x, texts, looks)
        self._cells += len(texts)

    def odd(self, y: int, x: int, texts: Sequence[str], looks: Sequence[Look | None]) -> None:
        """Write them at once and in their order: terminals do not agree on how many cells each text takes."""
        self._go(y, x)
        for chunk in self._cut(y, x, texts, looks):
            self._pick(chunk)
            is_rest = self._erases_in_colour and chunk.is_blank and chunk.x + chunk.cells == self._width
            self._out.append("\x1b[K" if is_rest and chunk.cells >= _LEAST_ERASED else chunk.text)
        self._at = None

    def finish(self) -> None:
        """Write what was put: few cells pen by pen, which takes the fewest codes, many from top to bottom."""
        chunks = self._chunks
        if self._cells <= _FEW_CELLS and not self._has_moved:
            pens = {self.pen: 0} if self.pen is not None else {}
            for look in sorted({chunk.look for chunk in chunks}, key=self._nearness):
                pens.setdefault(look, len(pens))
            chunks = sorted(chunks, key=lambda one: (pens[one.look], one.x // _COLUMN, one.y, one.x))
        for chunk in chunks:
            self._write(chunk)

    def _nearness(self, look: Look) -> tuple[bool, str, tuple[str, ...], str]:
        """Pens on one background stand together, the present one's first."""
        is_far = self.pen is None or look.background != self.pen.background
        return is_far, look.background, look.attributes, look.foreground

    def _cut(self, y: int, x: int, texts: Sequence[str], looks: Sequence[Look | None]) -> list[_Chunk]:
        """The cells by the pens that they need; blanks go with a neighbour on the same background."""
        chunks: list[_Chunk] = []
        last: _Chunk | None = None
        at = 0
        for look, same in groupby(looks):
            assert look is not None, "only what is shown can be unknown"
            cells = len(list(same))
            fresh = _Chunk(y, x + at, look, "".join(texts[at : at + cells]), cells)
            at += cells
            if last is None or not self._joins(last, fresh):
                chunks.append(fresh)
                last = fresh
                continue
            last.text += fresh.text
            last.cells += cells
            if last.is_blank and not fresh.is_blank:
                last.look, last.is_blank = look, False
        return chunks

    def _joins(self, left: _Chunk, right: _Chunk) -> bool:
        if right.is_blank:
            goes = right.look is left.look.ground
        else:
            goes = left.is_blank and left.look is right.look.ground
        return goes and not self._is_erased(left) and not self._is_erased(right)

    def _is_erased(self, chunk: _Chunk) -> bool:
        return self._erases_in_colour and chunk.cells >= _LEAST_ERASED and chunk.is_blank

    def _write(self, chunk: _Chunk) -> None:
        self._go(chunk.y, chunk.x)
        self._pick(chunk)
        end = chunk.x + chunk.cells
        if self._is_erased(chunk):
            self._out.append("\x1b[K" if end == self._width else f"\x1b[{chunk.cells}X")
            return
        self._out.append(chunk.text)
        self._at = (chunk.y, end) if end < self._width else None

    def _pick(self, chunk: _Chunk) -> None:
        """Take the pen for a text, for blanks the nearest one."""
        look, pen = chunk.look, self.pen
        if pen is not None and pen.is_plain_on_blanks and chunk.is_blank:
            look = pen.over(look)
        if look is not pen:
            self._out.append(change(pen, look))
            self.pen = look

    def _go(self, y: int, x: int) -> None:
        """Move the cursor by the fewest bytes."""
        if self._at == (y, x):
            return
        ways = [f"\x1b[{y + 1};{x + 1}H" if x else f"\x1b[{y + 1}H"]
        if self._at is not None:
            line, column = self._at
            down, right = y - line, x - column
            if down == 0:
                ways.append(_along(right))
                if x == 0:
                    ways.append("\r")
            elif down > 0:
                ways.append(("\x1b[B" if down == 1 else f"\x1b[{down}B") + _along(right))
                if down == 1 and x == 0:
                    ways.append("\r\n")
        self._out.append(min(ways, key=len))
        self._at = (y, x)


def _along(columns: int) -> str:
    if columns == 0:
        return ""
    if columns < 0:
        return "\b" * -columns if columns >= -4 else f"\x1b[{-columns}D"
    return "\x1b[C" if columns == 1 else f"\x1b[{columns}C"
