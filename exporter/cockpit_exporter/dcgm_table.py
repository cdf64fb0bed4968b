"""dcgm-exporter's names, units and types: the rows of `dcgm_table.toml`."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from cockpit_exporter.families import Kind


class Name(NamedTuple):
    """A name, what one of its units is worth in ours, and the type that dcgm-exporter declares."""

    name: str
    unit: float
    kind: Kind


class Names(NamedTuple):
    """One number under both generations; None where a generation has no known name."""

    a: Name | None
    c: Name | None


def _names(kind: Kind, a: str, unit: float, c: str) -> Names:
    return Names(Name(a, unit, kind) if a else None, Name(c, 1.0, kind) if c else None)


TABLE: dict[tuple[str, ...], Names] = {
    tuple(key): _names(kind, a, unit, c)
    for key, kind, unit, a, c in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    )["rows"]
}
"""By our family and the values of its labels (without the link's: links are added up)."""

XID = _names("gauge", "DCGM_FI_DEV_XID_ERRORS", 1.0, "DCGM_FI_DEV_XID_ERROR")
"""The last code, not a count."""
