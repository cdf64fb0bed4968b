"""Queueing and gang engines: what is served, what is at work, what all or nothing means in each."""

from collections.abc import Sequence

from cockpit_widgets.types import Pair, Tone

from cockpit.gangs import registry
from cockpit.gangs.engine import InstalledEngine

_LOOK: dict[bool | None, tuple[str, Tone]] = {True: ("●", "good"), False: ("×", "bad"), None: ("?", "dim")}


def engine_pairs(present: Sequence[InstalledEngine]) -> tuple[Pair, ...]:
    """One line for each engine that is installed, and one for those that are not; () before discovery."""
    installed = [one for one in present if one.is_served]
    absent = [one.engine for one in present if not one.is_served]
    pairs = []
    for one in installed:
        glyph, tone = _LOOK[one.is_alive]
        pairs.append(Pair(one.engine, f"{glyph} {one.said}", tone))
    if absent:
        pairs.append(Pair("not installed", ", ".join(absent), "dim"))
    return tuple(pairs)


def engine_grid(present: Sequence[InstalledEngine]) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of the same for a table on the command line."""
    words = {True: "yes", False: "no", None: "unknown"}
    rows = [
        [
            one.engine,
            "yes" if one.is_served else "no",
            words[one.is_alive] if one.is_served else "-",
            one.sentence,
            registry.engine_named(one.engine).meaning if one.is_served else "",
        ]
        for one in present
    ]
    return ["engine", "installed", "active", "evidence", "all or nothing"], rows
