"""What the catalogue knows of a cause, for `cockpit why --explain`, and where to read it."""

from typing import Any

from cockpit.catalogue import CatalogueRow, Permanence, by_cause

LASTS = {
    Permanence.NEVER: "never passes as the job is written",
    Permanence.ACTS: "passes when it is acted upon",
    Permanence.PASSES: "passes by itself",
}
"""What `permanence` means, behind a name of the cause."""
PAGE = "causes/{}.html"
"""Path of a cause's page in the site of the documents."""
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
        ("page", f"{PAGE.format(row.cause)} of the documents"),
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
        "page": PAGE.format(row.cause),
        "texts": [{"place": item.place.value, "regex": item.regex} for item in row.wordings],
    }


def more_of(cause: str, docs_url: str = "") -> str:
    """Where a person reads on about a cause: its page, where `docs_url` is the site of the documents, else a
    command. "" for what the catalogue does not have."""
    if cause not in by_cause():
        return ""
    page = PAGE.format(cause)
    if docs_url:
        return f"More: {docs_url.rstrip('/')}/{page}"
    return f"More: cockpit why --explain {cause} ({page} of the documents)"


def _yields_to(row: CatalogueRow) -> list[str]:
    """Causes; of a gate all that it has, by its words."""
    return [str(item) for item in row.yields_to]


def _roots(row: CatalogueRow) -> list[str]:
    """Kinds of the object that its subjects share, the first that is known counts; none: the subject."""
    kinds = ("object" if root.kind.startswith("{") else root.kind for root in row.roots)
    return list(dict.fromkeys(kinds))
