"""What the catalogue knows of a cause, for `cockpit why --explain`."""

from typing import Any

from cockpit.catalogue import CatalogueRow, Permanence

LASTS = {
    Permanence.NEVER: "never passes as the job is written",
    Permanence.ACTS: "passes when it is acted upon",
    Permanence.PASSES: "passes by itself",
}
"""What `permanence` means, behind a name of the cause."""
_NAME_CELLS = 14


def cause_lines(row: CatalogueRow) -> list[str]:
    """The row for a person: a line each, and the texts by which components tell it."""
    pairs = [
        ("cause", str(row.cause)),
        ("means", row.meaning),
        ("gate", str(row.gate)),
        ("permanence", LASTS[row.permanence]),
        ("what helps", f"{row.remedy.sentence} ({row.mender})"),
        ("yields to", ", ".join(_yields_to(row)) or "none"),
        ("root", ", else ".join(_roots(row)) or "the subject itself"),
        ("seen in", row.where),
        ("source", row.source),
    ]
    texts = [f"  {item.place.value}: {item.regex}" for item in row.wordings]
    told = ["", "Texts by which components tell it (regular expressions):", *texts] if texts else []
    return [*(f"{name:<{_NAME_CELLS}}{text}" for name, text in pairs), *told]


def cause_tree(row: CatalogueRow) -> dict[str, Any]:
    """The same as data."""
    return {
        "kind": "cause",
        "cause": str(row.cause),
        "meaning": row.meaning,
        "gate": str(row.gate),
        "permanence": row.permanence.name.lower(),
        "mender": str(row.mender),
        "remedy": row.remedy.sentence,
        "yields_to": _yields_to(row),
        "roots": _roots(row),
        "where": row.where,
        "source": row.source,
        "texts": [{"place": item.place.value, "regex": item.regex} for item in row.wordings],
    }


def _yields_to(row: CatalogueRow) -> list[str]:
    """Causes; of a gate all that it has, by its words."""
    return [str(item) for item in row.yields_to]


def _roots(row: CatalogueRow) -> list[str]:
    """Kinds of the object that its subjects share, the first that is known counts; none: the subject."""
    kinds = ("object" if root.kind.startswith("{") else root.kind for root in row.roots)
    return list(dict.fromkeys(kinds))
