"""One line that says how things stand: pieces left and right, the least important leave first."""

from collections.abc import Sequence

from rich.segment import Segment

from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.text import cut, cut_middle, width_of
from cockpit_widgets.types import StatusSegment

SEPARATOR = " · "
_SIDE_GAP = 2
LEAST_CELLS = 20
"""A piece of the first rank is cut to this before another one leaves."""


def _side_width(pieces: Sequence[StatusSegment]) -> int:
    if not pieces:
        return 0
    return sum(width_of(piece.text) for piece in pieces) + len(SEPARATOR) * (len(pieces) - 1)


def fitting_segments(
    left: Sequence[StatusSegment], right: Sequence[StatusSegment], width: int
) -> tuple[list[StatusSegment], list[StatusSegment]]:
    """The pieces that fit `width` cells.

    The highest priority number leaves first, the right side before the left, the later before the earlier.
    Pieces of priority 1 leave only when nothing else is left and those on the left are cut, longest first.
    """
    kept = [[piece for piece in left if piece.text], [piece for piece in right if piece.text]]

    def total() -> int:
        return sum(map(_side_width, kept)) + (_SIDE_GAP if kept[0] and kept[1] else 0)

    while total() > width:
        optional = [
            (piece.priority, side, at)
            for side in (0, 1)
            for at, piece in enumerate(kept[side])
            if piece.priority > 1
        ]
        if not optional:
            break
        _, side, at = max(optional)
        del kept[side][at]
    for at in sorted(range(len(kept[0])), key=lambda at: -width_of(kept[0][at].text)):
        # a long name is cut in its middle before anything of the first rank leaves
        text = kept[0][at].text
        if (over := total() - width) > 0 and width_of(text) > LEAST_CELLS:
            shorter = cut_middle(text, max(LEAST_CELLS, width_of(text) - over))
            kept[0][at] = kept[0][at]._replace(text=shorter)
    while total() > width and len(kept[0]) + len(kept[1]) > 1:
        kept[1 if kept[1] else 0].pop()
    if total() > width:
        side = 0 if kept[0] else 1
        kept[side] = [kept[side][0]._replace(text=cut_middle(kept[side][0].text, width))]
    return kept[0], kept[1]


class StatusLine(OneLine):
    """One line of toned pieces, separated by a middle dot; an update never asks for layout."""

    DEFAULT_CSS = "StatusLine {" + ONE_LINE_CSS + "background: $panel; padding: 0 1; }"

    def __init__(
        self,
        left: Sequence[StatusSegment] = (),
        right: Sequence[StatusSegment] = (),
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._left = tuple(left)
        self._right = tuple(right)

    def set_segments(self, left: Sequence[StatusSegment], right: Sequence[StatusSegment] = ()) -> None:
        """Show these pieces; the same pieces again cost nothing."""
        if (tuple(left), tuple(right)) != (self._left, self._right):
            self._left, self._right = tuple(left), tuple(right)
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        left, right = fitting_segments(self._left, self._right, width)
        out = self._side(left)
        if right:
            gap = width - _side_width(left) - _side_width(right)
            out.append(Segment(" " * gap, self.palette.style()))
            out += self._side(right)
        return out

    def _side(self, pieces: Sequence[StatusSegment]) -> list[Segment]:
        out: list[Segment] = []
        for piece in pieces:
            if out:
                out.append(Segment(SEPARATOR, self.palette.tone("dim")))
            text = cut(piece.text, width_of(piece.text))
            out.append(Segment(text, self.palette.tone(piece.tone)))
        return out
