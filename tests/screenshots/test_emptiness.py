"""No picture is more than a third empty while something in it is cut."""

import html
import re
from pathlib import Path

import pytest

from tests.screenshots.scenes import SCENES, Scene

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"
CELL = 12.2
"""Width of a cell in the pictures."""
GAP_CELLS = 10
"""Fewer blanks in a row stand between words or columns; more are empty."""
MOST_EMPTY = 1 / 3
CUT = "…"
_TEXT = re.compile(r'<text[^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>')
_STEP = re.compile(rf"── \w+(?: \d+/\d+)? {CUT} (?:──|usually)")
"""A step of a ladder that is under way, not a cut."""

_FOLDED = "a long command is folded where the whole does not fit the screen, until its key unfolds it"
_PODS = "the list is as long as the screen; its names are cut in the middle"
CUT_STILL = {
    "acknowledge-80x24": "the list behind the dialog",
    "pods": _PODS,
    "light-pods": _PODS,
    "light-events": "the detail is as high as the screen",
    "fleet-80x24": "names of idle jobs beyond three are counted, where the screen ends",
    "ask-plan": _FOLDED,
    "reclaim-80x24": _FOLDED,
}
"""Pictures in which something is cut or folded beside free cells, with the reason. It only gets shorter."""


def lines(svg: str, width: int) -> list[str]:
    """The rows of a picture that show anything, as text."""
    rows: dict[float, list[tuple[int, str]]] = {}
    for x, y, text in _TEXT.findall(svg):
        rows.setdefault(float(y), []).append(
            (round(float(x) / CELL), html.unescape(text).replace("\xa0", " "))
        )
    found = []
    for _, pieces in sorted(rows.items()):
        line = ""
        for at, text in sorted(pieces):
            line = line.ljust(at) + text
        found.append(line.ljust(width))
    return found


def empty_share(drawn: list[str], size: tuple[int, int]) -> float:
    """Cells in runs of blanks, of all cells."""
    width, height = size
    blank = sum(len(run) for line in drawn for run in re.findall(f" {{{GAP_CELLS},}}", line))
    return (blank + width * max(0, height - len(drawn))) / (width * height)


def cut_lines(drawn: list[str]) -> list[str]:
    """Lines on which something is cut."""
    return [line for line in drawn if CUT in _STEP.sub("", line)]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_nothing_is_cut_beside_empty_cells(scene: Scene) -> None:
    drawn = lines((FOLDER / f"{scene.name}.svg").read_text(encoding="utf-8"), scene.size[0])
    share, cut = empty_share(drawn, scene.size), cut_lines(drawn)
    is_wasteful = share > MOST_EMPTY and bool(cut)
    told = "\n".join(line.strip() for line in cut)
    assert is_wasteful == (scene.name in CUT_STILL), f"{share:.0%} empty, and cut:\n{told}"


def test_blanks_between_words_are_not_empty() -> None:
    assert empty_share(["one two  three".ljust(24), " " * 24], (24, 2)) == (24 + 10) / 48
    assert empty_share([], (10, 2)) == 1.0


def test_a_step_under_way_is_not_cut() -> None:
    steps = ["asked ? ── accepted … ── launching", "── launched ── joined 1/2 … usually 1m ── ready"]
    assert cut_lines([*steps, "a long na…", "whole"]) == ["a long na…"]
