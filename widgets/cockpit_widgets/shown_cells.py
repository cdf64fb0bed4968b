"""What a terminal shows, cell by cell, and the fewest bytes that turn it into what is to be shown.

Textual paints whole lines and regions. `ShownCells` compares them with what the terminal shows already and
writes only the cells that differ; lines that moved are moved by the terminal. A cell of uncertain
content (after a start, a resize, a scroll) is always written.

A line with characters that are not one character in one cell (wide ones, combining marks) is written whole
where anything in it changed: terminals do not agree on how wide all of them are, and a cell to their right
must not be addressed by number.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from operator import is_not, ne, or_

from rich.cells import cell_len, split_graphemes
from rich.color import ColorSystem
from textual.strip import Strip

from cockpit_widgets.cell_frame import Frame
from cockpit_widgets.looks import Look, look_of
from cockpit_widgets.shifts import LEAST_LINES, Shift, find_shift

Piece = tuple[int, int, Strip]
"""Line, first column, what is to stand there."""

_GAP = 4
"""Unchanged cells between two changed ones that are written again: a move costs as much."""
_MOSTLY = 0.5
"""Where more of a stretch differs, it is written from end to end."""


class _Run:
    """Cells to stand side by side in one line: texts ("" right of a wide one) and looks of equal length."""

    __slots__ = ("is_simple", "looks", "texts", "x", "y")

    def __init__(self, y: int, x: int) -> None:
        self.y, self.x = y, x
        self.texts: list[str] = []
        self.looks: list[Look | None] = []
        self.is_simple = True

    def add(self, strip: Strip, system: ColorSystem) -> None:
        """Put a strip's cells to the right."""
        for text, style, control in strip:
            if control or not text:
                continue
            before = len(self.texts)
            self._put(text)
            look = look_of(style, system)
            ground = look.ground
            if ground is look or " " not in text:
                self.looks += [look] * (len(self.texts) - before)
            elif text.isspace():
                self.looks += [ground] * (len(self.texts) - before)
            else:
                self.looks += [ground if text == " " else look for text in self.texts[before:]]

    @property
    def end(self) -> int:
        """The column right of the last cell."""
        return self.x + len(self.texts)

    def _put(self, text: str) -> None:
        if text.isascii() or (len(text) == cell_len(text) and all(cell_len(item) == 1 for item in set(text))):
            self.texts += text
            return
        self.is_simple = False
        for start, end, cells in split_graphemes(text)[0]:
            if cells:
                self.texts.append(text[start:end])
                self.texts += [""] * (cells - 1)
            elif self.texts:
                self.texts[-1] += text[start:end]

    def clip(self, width: int) -> None:
        """Leave out what lies right of the screen; half a wide character is a blank."""
        room = max(0, width - self.x)
        if len(self.texts) > room:
            if room and self.texts[room] == "":
                self.texts[room - 1] = " "
            del self.texts[room:], self.looks[room:]


class ShownCells:
    """The cells of one terminal. `forget` whenever something else may have written to it or cleared it."""

    def __init__(self, *, erases_in_colour: bool = False) -> None:
        """`erases_in_colour`: what the terminal erases takes the background of the pen (terminfo's bce)."""
        self._erases_in_colour = erases_in_colour
        self._size = (0, 0)
        self.forget()

    def forget(self) -> None:
        """From now on nothing is known: neither cells nor pen."""
        width, height = self._size
        self._texts: list[list[str]] = [["?"] * width for _ in range(height)]
        self._looks: list[list[Look | None]] = [[None] * width for _ in range(height)]
        self._odd: set[int] = set()
        self._pen: Look | None = None

    def resize(self, width: int, height: int) -> None:
        """The terminal is so large; another size than before makes every cell unknown."""
        if (width, height) != self._size:
            self._size = (width, height)
            self.forget()

    def paint(self, pieces: Iterable[Piece], system: ColorSystem) -> str:
        """What to write so that the terminal shows the pieces, "" where it does already."""
        width, height = self._size
        lines: dict[int, list[_Run]] = {}
        for y, x, strip in pieces:
            if 0 <= y < height and 0 <= x < width:
                run = _Run(y, x)
                run.add(strip, system)
                run.clip(width)
                if not run.texts:
                    continue
                lines.setdefault(y, []).append(run)
        changed = {y: runs for y, runs in lines.items() if self._differs(y, runs)}
        if not changed:
            return ""
        out = Frame(width, height, self._pen, self._erases_in_colour)
        if len(changed) >= LEAST_LINES:
            changed = self._move_lines(changed, out)
        for y in sorted(changed):
            self._paint_line(y, changed[y], out)
        out.finish()
        self._pen = out.pen
        return out.text

    # ---- one line

    def _differs(self, y: int, runs: list[_Run]) -> bool:
        texts, looks = self._texts[y], self._looks[y]
        for run in runs:
            end = run.end
            if texts[run.x : end] != run.texts or looks[run.x : end] != run.looks:
                return True
        return False

    def _paint_line(self, y: int, runs: list[_Run], out: "Frame") -> None:
        texts, looks = self._texts[y], self._looks[y]
        is_whole = y in self._odd or not all(run.is_simple for run in runs)
        if is_whole and not self._differs(y, runs):
            return
        for run in runs:
            end = run.end
            if texts[run.x] == "":  # half of a wide character is lost: what stands there is anyone's guess
                looks[run.x - 1] = None
            if end < len(texts) and texts[end] == "":
                looks[end] = None
            if is_whole:
                out.odd(y, run.x, run.texts, run.looks)
            else:
                for first, last in _spans(texts[run.x : end], looks[run.x : end], run):
                    out.put(y, run.x + first, run.texts[first:last], run.looks[first:last])
            texts[run.x : end] = run.texts
            looks[run.x : end] = run.looks
        if is_whole:
            is_odd = "" in texts or len("".join(texts)) != len(texts)
            (self._odd.add if is_odd else self._odd.discard)(y)

    # ---- lines that moved

    def _move_lines(self, changed: dict[int, list[_Run]], out: "Frame") -> dict[int, list[_Run]]:
        """Move lines where that spares writing them; answers what is left to write."""
        before = ["".join(texts) for texts in self._texts]
        after = before[:]
        for y, runs in changed.items():
            texts = self._texts[y][:]
            for run in runs:
                texts[run.x : run.end] = run.texts
            after[y] = "".join(texts)
        shift = find_shift(before, after)
        if shift is None:
            return changed
        # the terminal moves lines as wide as it is: all of each has to be right afterwards
        wanted = [self._whole(y, changed.get(y, [])) for y in range(shift.top, shift.bottom + 1)]
        if any(None in line.looks for line in wanted):
            return changed
        out.move_lines(shift)
        self._move(shift)
        return {**changed, **{line.y: [line] for line in wanted}}

    def _whole(self, y: int, runs: list[_Run]) -> _Run:
        """The whole line as it will be with those runs in it."""
        whole = _Run(y, 0)
        whole.texts, whole.looks = self._texts[y][:], self._looks[y][:]
        whole.is_simple = y not in self._odd and all(run.is_simple for run in runs)
        for run in runs:
            whole.texts[run.x : run.end] = run.texts
            whole.looks[run.x : run.end] = run.looks
        return whole

    def _move(self, shift: Shift) -> None:
        width = self._size[0]
        span = range(shift.top, shift.bottom + 1)
        texts, looks, odd = self._texts[:], self._looks[:], self._odd.intersection(span)
        self._odd.difference_update(span)
        for y in span:
            source = y + shift.lines
            if source in span:
                self._texts[y], self._looks[y] = texts[source], looks[source]
                if source in odd:
                    self._odd.add(y)
            else:
                self._texts[y], self._looks[y] = ["?"] * width, [None] * width


def _spans(texts: Sequence[str], looks: Sequence[Look | None], run: _Run) -> Iterator[tuple[int, int]]:
    """First cell and the one after the last of every stretch of the run that differs from what is shown."""
    if texts == run.texts and looks == run.looks:
        return
    count = len(run.texts)
    differs = map(or_, map(ne, texts, run.texts), map(is_not, looks, run.looks))
    differing = list(compress(range(count), differs))
    if len(differing) > _MOSTLY * count:
        yield differing[0], differing[-1] + 1
        return
    first = last = differing[0]
    for at in differing:
        if at - last > _GAP + 1 or not all(
            _is_in(look, run.looks[last]) for look in run.looks[last + 1 : at]
        ):
            yield first, last + 1
            first = at
        last = at
    yield first, last + 1


def _is_in(look: Look | None, pen: Look | None) -> bool:
    """Whether a cell of that look can be written without changing the pen."""
    return look is pen or (pen is not None and look is pen.ground)
