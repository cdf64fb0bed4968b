"""Text for one terminal line: made harmless, measured in cells, cut and filled. No Textual here.

Widths come from `rich.cells`, the same tables that Textual measures with. Characters whose width no two
terminals agree on (joiners, variation selectors) are taken out, so that what is measured is what is drawn.
"""

import re
from functools import lru_cache
from typing import Literal

from rich.cells import cell_len, get_character_cell_size

ELLIPSIS = "…"
_STAND_IN = "·"
_SEAMS = "/-.:,_=@"
"""Behind these a long name, path or command is broken."""
_LEAST_HEAD = 1 / 3
"""Share of a line that a word up to its seam fills at least; one without such a seam is broken inside."""
_MARKS_PER_CELL = 2
"""Combining marks kept on one character: what scripts need; more would grow over the lines around it."""

_SIMPLE = re.compile(
    "[ -~\xa1-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2190-\u27bf\u2800-\u28ff"
    "\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fff\uac00-\ud7a3]*"
)
"""Texts without marks, joiners and selectors: harmless as they are when they are printable."""

_SELECTORS = re.compile("[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]")
"""Variation selectors, and colours of skin: they join the letter before them, or stand beside it."""
_FLAGS = {0x1F1E6 + at: chr(ord("A") + at) for at in range(26)}
"""Letters of which two make a flag in two cells, or in four."""


@lru_cache(4096)
def _harmless(text: str) -> str:
    out: list[str] = []
    marks = 0
    for char in _SELECTORS.sub("", text).translate(_FLAGS):
        if char == "\t" or (char.isspace() and not char.isprintable() and ord(char) > 0x1F):
            out.append(" ")
            marks = 0
        elif not char.isprintable():
            out.append(_STAND_IN)
            marks = 0
        elif get_character_cell_size(char) == 0:
            # A mark with nothing before it would sit on the border of the cell to the left.
            marks += 1
            if out and marks <= _MARKS_PER_CELL:
                out.append(char)
        else:
            out.append(char)
            marks = 0
    return "".join(out)


def plain(text: str) -> str:
    """`text` as one harmless line: control, bidi and other unprintable characters become `·`, tabs a space.

    Second line of defence: the texts handed to widgets are meant to be clean already.
    """
    if text.isprintable() and (text.isascii() or _SIMPLE.fullmatch(text)):
        return text
    return _harmless(text)


def width_of(text: str) -> int:
    """Terminal cells that `plain(text)` takes."""
    if text.isascii():
        return len(text)
    return cell_len(plain(text))


def cut(text: str, width: int) -> str:
    """`text` made plain, at most `width` cells; what does not fit ends in an ellipsis."""
    if width <= 0:
        return ""
    if text.isascii() and text.isprintable():
        return text if len(text) <= width else text[: width - 1] + ELLIPSIS
    text = plain(text)
    if cell_len(text) <= width:
        return text
    room = width - 1
    kept: list[str] = []
    for char in text:
        room -= get_character_cell_size(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept) + ELLIPSIS


def cut_middle(text: str, width: int) -> str:
    """Like `cut`, but the end stays, too: names of a family differ there. Under eight cells it is `cut`."""
    text = plain(text)
    if width < 8 or cell_len(text) <= width:
        return cut(text, width)
    tail: list[str] = []
    room = width * 2 // 5
    for char in reversed(text):
        room -= get_character_cell_size(char)
        if room < 0:
            break
        tail.append(char)
    end = "".join(reversed(tail)).lstrip()
    return cut(text, width - cell_len(end)) + end


def fit(text: str, width: int, align: Literal["left", "right"] = "left") -> str:
    """`text` made plain, in exactly `width` cells (none when `width` is not positive)."""
    if width <= 0:
        return ""
    if text.isascii() and text.isprintable() and len(text) <= width:
        return text.ljust(width) if align == "left" else text.rjust(width)
    text = plain(text)
    room = width - cell_len(text)
    if room < 0:
        text = cut(text, width)
        room = width - cell_len(text)
    space = " " * room
    return text + space if align == "left" else space + text


def window(text: str, start: int, width: int) -> str:
    """The cells `start` to `start + width` of plain `text`; half characters and missing ones are spaces."""
    text = plain(text)
    if text.isascii():
        return text[start : start + width].ljust(width)
    out: list[str] = []
    at = 0
    used = 0
    for char in text:
        size = get_character_cell_size(char)
        if at + size > start + width and size:
            break
        if at >= start:
            if size or out:
                out.append(char)
                used += size
        elif at + size > start:
            out.append(" ")
            used += 1
        at += size
    return "".join(out) + " " * (width - used)


def wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """`text` made plain and broken into lines of at most `width` cells; at least one line. A word that is
    longer than a line is broken behind a `/ - . : , _ =` or `@`, and inside only where it has none.

    Spaces at its start indent every line, and all but the first stand `hang` cells deeper.
    """
    text = plain(text)
    inner = text.lstrip(" ")
    first = " " * min(len(text) - len(inner), max(0, width // 3))
    deeper = " " * min(len(first) + hang, max(0, width // 3))
    start, *more = _wrapped(inner, max(1, width - len(first)), max(1, width - len(deeper)))
    return [first + start, *(deeper + line for line in more)]


def wrap_phrases(text: str, width: int) -> list[str]:
    """`text` made plain and broken between phrases (three spaces), a phrase longer than a line also within
    (two spaces); at least one line. What has no such place stays whole, however long."""
    lines: list[str] = []
    for phrase in plain(text).split("   "):
        if lines and cell_len(lines[-1]) + 3 + cell_len(phrase) <= width:
            lines[-1] += "   " + phrase
            continue
        parts = [phrase] if cell_len(phrase) <= width else phrase.split("  ")
        lines.append(parts[0])
        for part in parts[1:]:
            if cell_len(lines[-1]) + 2 + cell_len(part) <= width:
                lines[-1] += "  " + part
            else:
                lines.append(part)
    return lines


def _wrapped(text: str, first_width: int, width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    room = first_width
    for word in text.split(" "):
        size = cell_len(word)
        if line and size + 1 <= room:
            line += " " + word
            room -= size + 1
            continue
        if line:
            lines.append(line)
        rest, whole = word, width if lines else first_width
        while size > whole:
            head = _head(rest, whole)
            lines.append(head)
            rest, whole = rest[len(head) :], width
            size = cell_len(rest)
        line = rest
        room = whole - size
    if line or not lines:
        lines.append(line)
    return lines


def _head(word: str, width: int) -> str:
    """The start of a word that has no room: up to its last seam, where that leaves no line nearly empty."""
    used = 0
    for index, char in enumerate(word):
        used += get_character_cell_size(char)
        if used > width and index:
            seam = max(word.rfind(mark, 0, index) for mark in _SEAMS) + 1
            return word[: seam if seam > index * _LEAST_HEAD else index]
    return word
