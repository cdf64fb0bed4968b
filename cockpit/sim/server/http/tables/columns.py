"""Columns, cells and the ways in which the real server writes ages, selectors and images.

The columns are those of kubernetes `pkg/printers/internalversion/printers.go`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.times import seconds_of

NONE = "<none>"
UNKNOWN = "<unknown>"
INVALID = "<invalid>"


class TableColumn(msgspec.Struct, frozen=True):
    """One column; `priority` 0 is always shown, 1 only when asked for `-o wide`."""

    name: str
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""

    def definition(self) -> Tree:
        """As an entry of `columnDefinitions`."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


class Printer(msgspec.Struct, frozen=True):
    """How objects of one resource become rows: `cells(tree, now_seconds)` answers a cell for each column."""

    columns: tuple[TableColumn, ...]
    cells: Callable[[Tree, float], list[Any]]
    conditions: Callable[[Tree], list[Tree]] | None = None


NAME = TableColumn("Name", format="name")
AGE = TableColumn("Age")


def part(tree: Tree, *path: str) -> Any:
    """What lies at `path`; an empty tree where nothing does."""
    found: Any = tree
    for key in path:
        if not isinstance(found, Mapping):
            return {}
        found = found.get(key)
    return {} if found is None else found


def human_duration(seconds: float) -> str:
    """A span as `kubectl` writes it (apimachinery `duration.HumanDuration`)."""
    whole = int(seconds)
    if whole < -1:
        return INVALID
    if whole < 0:
        return "0s"
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    return _long_duration(minutes)


def _long_duration(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, rest = divmod(hours, 24)
    if hours < 192:
        return f"{days}d{rest}h" if rest else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, rest = divmod(days, 365)
    return f"{years}y{rest}d" if rest and years < 8 else f"{years}y"


def since(text: Any, now_seconds: float) -> str:
    """How long ago an RFC 3339 time was; `<unknown>` without one."""
    if not isinstance(text, str) or not text:
        return UNKNOWN
    return human_duration(now_seconds - seconds_of(text))


def age(tree: Tree, now_seconds: float) -> str:
    """How long ago the object was created."""
    return since(part(tree, "metadata").get("creationTimestamp"), now_seconds)


def joined(words: Iterable[Any]) -> str:
    """Words with commas, `<none>` for no word."""
    return ",".join(str(word) for word in words) or NONE
