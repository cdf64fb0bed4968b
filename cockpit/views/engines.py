"""Queueing and gang engines: what is served, what is at work, what all or nothing means in each."""

from collections.abc import Sequence

from cockpit_widgets.types import Pair, Tone

from cockpit.gangs import registry
from cockpit.gangs.engine import InstalledEngine

_LOOK: dict[bool | None, tuple[str, Tone]] = {True: ("●", "good"), False: ("×", "bad"), None: ("?", "dim")}


def engine_pairs(present: Sequence[InstalledEngine]) -> tuple[Pair, ...]:
    """One line for each engine that is installed, and one for those that are not; () before discovery."""
    installed = [item for item in present if item.is_served]
    absent = [item.engine for item in present if not item.is_served]
    pairs = []
    for item in installed:
        glyph, tone = _LOOK[item.is_alive]
        pairs.append(Pair(item.engine, f"{glyph} {item.said}", tone))
    if absent:
        pairs.append(Pair("not installed", ", ".join(absent), "dim"))
    return tuple(pairs)


def engine_grid(present: Sequence[InstalledEngine]) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of the same for a table on the command line."""
    words = {True: "yes", False: "no", None: "unknown"}
    rows = [
        [
            item.engine,
            "yes" if item.is_served else "no",
            words[item.is_alive] if item.is_served else "-",
            item.sentence,
            registry.engine_named(item.engine).meaning if item.is_served else "",
        ]
        for item in present
    ]
    return ["engine", "installed", "active", "evidence", "all or nothing"], rows
