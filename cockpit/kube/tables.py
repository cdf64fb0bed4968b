"""Objects of any kind as Tables, whose columns the server or the kind's definition chooses.

Source: kubernetes.io, API concepts, *Receiving resources as Tables*; meta/v1 Table.
"""

from typing import Any, Final

from cockpit.errors import Refused
from cockpit.k8s.json_values import mappings
from cockpit.kube.decode.times import from_text
from cockpit.kube.refusal import refused
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.mask import clean_message
from cockpit.model.object_table import ObjectTable, PrintedColumn, PrintedRow
from cockpit.sanitise import SHORT, clean

TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json;q=0.5"
PAGE_OBJECTS: Final = 500
MOST_PAGES: Final = 10
_NUMBERS: Final = ("integer", "number")
_NAME_ALONE: Final = (PrintedColumn("Name"), PrintedColumn("Age"))


async def read_table(session: ApiSession, resource: Resource, namespace: str = "") -> ObjectTable:
    """The objects of a collection, in one namespace or all. A server without Tables is read for names alone.

    Raises Refused with the server's sentence, also for secrets, which are never read; NoConnection without an
    answer.
    """
    columns: tuple[PrintedColumn, ...] = ()
    rows: list[PrintedRow] = []
    token = ""
    for _ in range(MOST_PAGES):
        query = [("limit", str(PAGE_OBJECTS)), *([("continue", token)] if token else [])]
        answer = await session.request("GET", resource.path(namespace), query=query, accept=TABLE)
        if not answer.ok:
            raise refused(resource.label, answer, resource.path(namespace))
        tree = answer.json()
        if not isinstance(tree, dict):
            raise Refused(f"The server's answer for {resource.label} is no list.")
        if tree.get("kind") == "Table":
            columns = columns or _columns(tree)
            rows += [_printed(row, len(columns)) for row in mappings(tree.get("rows"))]
        else:
            columns = _NAME_ALONE
            rows += [_named(item) for item in mappings(tree.get("items"))]
        about = tree.get("metadata")
        token = str(about.get("continue") or "") if isinstance(about, dict) else ""
        if not token:
            break
    return ObjectTable(columns, tuple(rows), left_out=bool(token))


def _columns(tree: dict[str, Any]) -> tuple[PrintedColumn, ...]:
    return tuple(
        PrintedColumn(
            clean(str(column.get("name") or ""), SHORT),
            column["priority"] if isinstance(column.get("priority"), int) else 0,
            column.get("type") in _NUMBERS,
        )
        for column in mappings(tree.get("columnDefinitions"))
    )


def _printed(row: dict[str, Any], count: int) -> PrintedRow:
    cells = row.get("cells")
    texts = [_text(cell) for cell in cells][:count] if isinstance(cells, list) else []
    return _row(row.get("object"), tuple(texts + [""] * (count - len(texts))))


def _named(item: dict[str, Any]) -> PrintedRow:
    row = _row(item, ("", ""))
    return PrintedRow(row.namespace, row.name, (row.name, ""), row.uid, row.created_seconds)


def _row(item: Any, cells: tuple[str, ...]) -> PrintedRow:
    meta = item.get("metadata") if isinstance(item, dict) else None
    meta = meta if isinstance(meta, dict) else {}
    namespace, name, uid = (clean(str(meta.get(key) or ""), SHORT) for key in ("namespace", "name", "uid"))
    return PrintedRow(namespace, name, cells, uid, from_text(str(meta.get("creationTimestamp") or "")))


def _text(cell: Any) -> str:
    """A cell as kubectl prints it."""
    if cell is None:
        return "<none>"
    if isinstance(cell, bool):
        return str(cell).lower()
    return clean_message(str(cell))
