"""`cockpit get KIND --watch`: which rows are new, changed or gone since the last look."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from cockpit.commands.document import SCHEMA, OutputDocument, csv_lines
from cockpit.commands.output import tree_text

Row = Mapping[str, Any]


class RowChange(NamedTuple):
    """One row that is new, changed or gone, in the words of the Kubernetes API; `item` is as last seen."""

    event: Literal["ADDED", "MODIFIED", "DELETED"]
    item: Row


class RowChanges:
    """Compares each look with the one before."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def since_last(self, rows: Iterable[tuple[str, Row]], *, has_all: bool) -> list[RowChange]:
        """What changed, from the rows by their keys. Where the list may lack rows (`has_all` False) those
        that are missing are not taken for deleted."""
        seen = dict(rows)
        changes: list[RowChange] = []
        for key, item in seen.items():
            before = self._rows.get(key)
            if before is None:
                changes.append(RowChange("ADDED", item))
            elif before != item:
                changes.append(RowChange("MODIFIED", item))
        gone = [key for key in self._rows if key not in seen] if has_all else []
        changes += [RowChange("DELETED", self._rows.pop(key)) for key in gone]
        self._rows |= seen
        return changes


def change_lines(
    document: type[OutputDocument],
    about: Mapping[str, Any],
    changes: Iterable[RowChange],
    output: str,
    *,
    is_first: bool,
) -> list[str]:
    """The lines of these changes: a JSON object, a row of CSV or a YAML document each. `about` has kind,
    context and time of each of them."""
    if output == "csv":
        rows = list(changes)
        lead = {"event": "", "at_seconds": about["at_seconds"]}
        lines = csv_lines(document, {document.rows: []}, lead) if is_first else []
        for change in rows:
            lead["event"] = change.event
            lines += csv_lines(document, {document.rows: [change.item]}, lead, has_head=False)
        return lines
    trees = [{"schema": SCHEMA, **about, "event": change.event, "item": change.item} for change in changes]
    if output == "json":
        return [json.dumps(tree, ensure_ascii=False) for tree in trees]
    return [line for tree in trees for line in (tree_text(tree, output), "---")]
