"""Printing: tables as plain text, trees as JSON or YAML, notes to standard error. No escape codes, ever.

With `COCKPIT_PLAIN=1` tables and pages are made to be heard: a row is one line of columns and values, words
stand in the place of signs, bars and frames are left out. What programs read stays as it is.
"""

import enum
import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from cockpit_widgets.types import Cell, TableSource

from cockpit.standard_streams import is_heard
from cockpit.yaml_text import yaml_text

_GAP = "  "
_PICTURES: Final = re.compile("[\u2500-\u27bf]+")  # frames, bars, shapes, check marks
_FREE: Final = re.compile("\u00b7{2,}")  # a dot a free card
_SIGNS: Final = {"▲": "bad", "×": "bad", "!": "amiss", "●": "warning", "○": "known", "✓": "good"}
_TONES: Final = {"good": "good", "warn": "warning", "bad": "bad", "dim": "known", "info": "note"}


def heard(text: str) -> str:
    """`run 2→4 nodes · 8s` as `run 2 to 4 nodes, 8s`: the words of a line, without what is drawn. A line
    without signs, which may be a command to copy, stays as it is."""
    words = _PICTURES.sub(" ", _FREE.sub(" ", text)).replace("\u2192", " to ").replace(" \u00b7 ", ", ")
    return text if words == text else " ".join(words.split())


def _words(text: str) -> str:
    return _SIGNS.get(text, "") or " ".join(heard(text).split())


def table_lines(source: TableSource) -> list[str]:
    """All rows and columns; widths follow the content, numbers stand right."""
    return grid(
        [column.title for column in source.columns],
        [[_text(cell) for cell in source.cells(row)] for row in range(len(source))],
        [column.align == "right" for column in source.columns],
    )


def _text(cell: Cell) -> str:
    """A sign that stands alone is heard as what its colour says."""
    is_sign = len(cell.text) == 1 and not cell.text.isalnum()
    return _TONES.get(cell.tone, "") if is_sign and is_heard() else cell.text


def grid(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> list[str]:
    """Aligned lines, the titles first in capitals; a column that is empty in every row is left out. To be
    heard: a line a row, each value behind its title."""
    if is_heard():
        named = (
            [f"{title} {words}" for title, text in zip(titles, row, strict=True) if (words := _words(text))]
            for row in rows
        )
        return ["; ".join(map(str.strip, row)) for row in named] or ["none"]
    is_right = [*right, *([False] * (len(titles) - len(right)))]
    cells = [[title.upper() for title in titles], *([_one_line(text) for text in row] for row in rows)]
    kept = [at for at in range(len(titles)) if not rows or any(row[at] for row in cells[1:])]
    widths = {at: max(width(row[at]) for row in cells) for at in kept}
    return [_GAP.join(_pad(row[at], widths[at], right=is_right[at]) for at in kept).rstrip() for row in cells]


def width(text: str) -> int:
    """Terminal cells of a text: wide characters count two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(item) else 2 if unicodedata.east_asian_width(item) in "WF" else 1
        for item in text
    )


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def _pad(text: str, cells: int, *, right: bool) -> str:
    gap = " " * (cells - width(text))
    return gap + text if right else text + gap


def plain(value: Any) -> Any:
    """Records as trees of dicts, lists and scalars."""
    return msgspec.to_builtins(value, enc_hook=_hook)


def _hook(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else str(value)


def tree_text(tree: Any, output: str) -> str:
    """A tree as `json` or `yaml`, keys in their own order; what the output's encoding lacks is escaped."""
    has_letters = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    if output == "json":
        return json.dumps(tree, ensure_ascii=not has_letters, indent=2)
    return yaml_text(tree, 1000, has_letters=has_letters).rstrip("\n")


def put(lines: Iterable[str]) -> None:
    """Lines for a person to standard output."""
    is_spoken = is_heard()
    for line in lines:
        sys.stdout.write(f"{heard(line) if is_spoken else line}\n")


def put_data(text: str) -> None:
    """What a program reads (a manifest, a script, a schema) to standard output, as it is."""
    sys.stdout.write(f"{text}\n")


def note(lines: Iterable[str]) -> None:
    """Remarks to standard error."""
    sys.stdout.flush()
    for line in lines:
        sys.stderr.write(f"cockpit: {line}\n")
