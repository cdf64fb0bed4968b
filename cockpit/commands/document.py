"""What programs read: `gpu-cockpit/v1` as JSON and YAML, and its rows as CSV.

Each command describes its output by a subclass of `OutputDocument`, from which `docs/schema` is written
(`json_schema`) and from which the columns of CSV are known, also where there are no rows.
"""

import csv
import io
import json
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final, Literal

import msgspec

from cockpit.commands.output import tree_text

SCHEMA: Final = "gpu-cockpit/v1"
_FORMULA: Final = tuple("=+-@＝＋－＠")
"""By these a spreadsheet knows a formula at the beginning of a cell, some also in their full-width form."""


class OutputDocument(msgspec.Struct, kw_only=True):
    """An output of a command. Fields are only added in v1; null means unknown."""

    rows: ClassVar[str] = "items"
    """The list whose entries are the rows of CSV; a document without one is one row."""

    schema: Literal["gpu-cockpit/v1"]


class Telemetry(msgspec.Struct, kw_only=True):
    """State of the GPU metrics. `is_partial`: cards may be missing; `clock_ahead_seconds` is how far the
    metrics server's clock is ahead of the cluster's. Without metrics `phase` is null."""

    phase: str | None
    message: str
    is_partial: bool
    clock_ahead_seconds: float


class ClusterDocument(OutputDocument, kw_only=True):
    """An output about one cluster. `at_seconds` is epoch time by the cluster's clock."""

    context: str
    at_seconds: float


def new_document(
    name: str, about: str, fields: Sequence[tuple[str, Any]], base: type[OutputDocument] = ClusterDocument
) -> type[OutputDocument]:
    """A document that is `base` with these fields; `about` is its description in the schema."""
    made: Any = msgspec.defstruct(name, fields, bases=(base,), kw_only=True, namespace={"__doc__": about})
    document: type[OutputDocument] = made
    return document


def fields_of(record: type) -> list[tuple[str, Any]]:
    """Name and type of each field of a record."""
    return [(field.name, field.type) for field in msgspec.structs.fields(record)]


@cache
def of_clusters(document: type[OutputDocument]) -> type[OutputDocument]:
    """What `--contexts` makes of a document: the rows of several clusters, each with its `cluster`."""
    row = rows_of(document)
    assert row is not None
    item = msgspec.defstruct(
        f"{row.__name__}OfCluster",
        [("cluster", str)],
        bases=(row,),
        kw_only=True,
        namespace={"__doc__": f"{row.__doc__} `cluster` is its context."},
    )
    by_name = dict(fields_of(document))
    fields: list[tuple[str, Any]] = [
        ("kind", by_name["kind"]),
        ("contexts", list[str]),
        ("at_seconds", float),
        ("unanswered", dict[str, str]),
    ]
    of_each = [name for name in ("telemetry", "alertmanager") if name in by_name]
    fields += [(name, dict[str, by_name[name]]) for name in of_each]  # type: ignore[valid-type]
    return new_document(
        f"{document.__name__}OfClusters",
        f"{document.__doc__} Of the clusters in `contexts`, which answered; `unanswered` says"
        " why others did not. GPU metrics are by context.",
        [*fields, ("items", list[item])],  # type: ignore[valid-type]
        OutputDocument,
    )


def document_lines(document: type[OutputDocument], tree: Mapping[str, Any], output: str) -> list[str]:
    """The lines of a tree of that document as `json`, `yaml` or `csv`."""
    if output == "csv":
        return csv_lines(document, tree)
    return [tree_text({"schema": SCHEMA, **tree}, output)]


def round_lines(
    document: type[OutputDocument], tree: Mapping[str, Any], output: str, *, is_first: bool
) -> list[str]:
    """One round of a command that goes on: JSON on one line, YAML ended by `---`, CSV with `at_seconds` as
    its first column and its head in the first round."""
    if output == "json":
        return [json.dumps({"schema": SCHEMA, **tree}, ensure_ascii=False)]
    if output == "csv":
        return csv_lines(document, tree, {"at_seconds": tree["at_seconds"]}, has_head=is_first)
    return [*document_lines(document, tree, output), "---"]


# ---- CSV


def csv_lines(
    document: type[OutputDocument],
    tree: Mapping[str, Any],
    lead: Mapping[str, Any] | None = None,
    *,
    has_head: bool = True,
) -> list[str]:
    """A line for each row, below the names of the columns; `lead` are columns before those of the rows.

    Columns are the fields of a row, those of a record in it by `field.inner`. A list or a map is JSON in its
    cell, null an empty cell. A text that a spreadsheet would take for a formula begins with `'`.
    """
    row_type = rows_of(document)
    rows = [tree] if row_type is None else tree[document.rows] or ()
    paths = sorted(columns(row_type or document), key=lambda path: path != ("cluster",))
    leads = dict(lead or {})
    paths = [path for path in paths if path not in [(name,) for name in ("schema", *leads)]]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if has_head:
        writer.writerow([*leads, *(".".join(path) for path in paths)])
    for row in rows:
        writer.writerow([*map(cell, leads.values()), *(cell(_at(row, path)) for path in paths)])
    return text.getvalue().removesuffix("\n").split("\n") if text.tell() else []


def rows_of(document: type[OutputDocument]) -> type | None:
    """The type of the document's rows, None where it has no list of them."""
    declared = {item.name: item.type for item in msgspec.structs.fields(document)}.get(document.rows)
    for choice in _choices(declared):
        if typing.get_origin(choice) is list:
            row: type = typing.get_args(choice)[0]
            return row
    return None


def columns(record: type) -> Iterable[tuple[str, ...]]:
    """The path of each column of a record, in the order of its fields."""
    for field in msgspec.structs.fields(record):
        inner = [choice for choice in _choices(field.type) if choice is not type(None)]
        if len(inner) == 1 and isinstance(inner[0], type) and issubclass(inner[0], msgspec.Struct):
            yield from ((field.name, *path) for path in columns(inner[0]))
        else:
            yield (field.name,)


def _choices(declared: Any) -> Sequence[Any]:
    is_union = typing.get_origin(declared) in (typing.Union, types.UnionType)
    return typing.get_args(declared) if is_union else (declared,)


def _at(row: Any, path: Sequence[str]) -> Any:
    for name in path:
        row = row.get(name) if isinstance(row, Mapping) else None
    return row


def cell(value: Any) -> str:
    """The text of a cell; numbers and JSON as they are, no text that could be a formula."""
    if value is None:
        return ""
    if isinstance(value, str):
        is_formula = value.lstrip().startswith(_FORMULA) or value.startswith(("\t", "\r", "\n"))
        return f"'{value}" if is_formula else value
    return json.dumps(value, ensure_ascii=False)
