"""Objects as a Table, and the part of an object that travels with its row."""

import functools
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Any

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables import cells
from cockpit.sim.server.http.tables.columns import Printer, TableColumn, age, part
from cockpit.sim.server.http.tables.pods import PODS

META = "meta.k8s.io/v1"
_ABSENT: Mapping[str, Any] = {"string": "", "integer": 0, "boolean": False, "date": None}

Cell = Callable[[Tree, float], Any]


def printer_of(resource: Resource) -> Printer:
    """The printer of a built-in resource; name and creation time for what has none of its own."""
    printers = _printers()
    return printers.get(resource.label, printers["default"])


@functools.cache
def _printers() -> Mapping[str, Printer]:
    """By label: those of `columns.txt`, and that of pods."""
    text = resources.files("cockpit.sim.server.http.tables").joinpath("columns.txt").read_text("utf-8")
    rows: dict[str, list[str]] = {}
    labels = ""
    for line in text.splitlines():
        if line.startswith("  "):
            rows[labels].append(line)
        elif not line.startswith("#"):
            labels = line
            rows[labels] = []
    made = {labels: _printer(lines) for labels, lines in rows.items()}
    return {"pods": PODS} | {label: made[labels] for labels in made for label in labels.split()}


def _printer(lines: Iterable[str]) -> Printer:
    columns, shown = [], []
    for line in lines:
        name, how, flags = ([word.strip() for word in line.split("|")] + [""])[:3]
        kind = flags.removeprefix("wide").strip() or "string"
        column_format = "name" if name == "Name" else ""
        columns.append(TableColumn(name, kind, int(flags.startswith("wide")), column_format))
        shown.append(_cell(how, _ABSENT[kind]))
    return Printer(tuple(columns), lambda tree, now_seconds: [cell(tree, now_seconds) for cell in shown])


def _cell(how: str, absent: Any) -> Cell:
    """The function that a line of `columns.txt` names, or that reads its path."""
    if how.endswith("()"):
        function: Cell = age if how == "age()" else getattr(cells, how[:-2])
        return function
    path, _, word = how.partition(" ? ")
    *within, last = path.split(".")
    otherwise = word or absent
    return lambda tree, _: part(tree, *within).get(last) or otherwise


def partial(tree: Tree) -> Tree:
    """A PartialObjectMetadata of an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": tree.get("metadata") or {}}


def row(printer: Printer, tree: Tree, now_seconds: float, include: str = "Metadata") -> Tree:
    """One row; `include` is the query's `includeObject`: None, Metadata or Object."""
    made: Tree = {"cells": printer.cells(tree, now_seconds)}
    conditions = printer.conditions(tree) if printer.conditions else []
    if conditions:
        made["conditions"] = conditions
    if include == "Object":
        made["object"] = tree
    elif include == "None":
        made["object"] = None
    else:
        made["object"] = partial(tree)
    return made


def table(
    printer: Printer,
    trees: Iterable[Tree],
    now_seconds: float,
    *,
    metadata: Mapping[str, Any],
    include: str = "Metadata",
    with_columns: bool = True,
) -> Tree:
    """A Table of objects; further events of a watch leave the columns out."""
    columns = [column.definition() for column in printer.columns] if with_columns else None
    rows = [row(printer, tree, now_seconds, include) for tree in trees]
    # Of what has no printer of its own the real server answers null: Go writes a list so that was never made.
    is_null = not rows and printer is _printers()["default"]
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": dict(metadata),
        "columnDefinitions": columns,
        "rows": None if is_null else rows,
    }
