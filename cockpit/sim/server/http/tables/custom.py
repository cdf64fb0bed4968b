"""Columns that a custom resource definition asks for: `additionalPrinterColumns` with their JSON paths."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables.columns import AGE, NAME, Printer, TableColumn, age, since

_STEP = re.compile(
    r"""\.(?P<name>(?:[^.\[\]\\]|\\.)+)
      | \[\s*(?P<index>-?\d+)\s*\]
      | \[\s*'(?P<quoted>[^']*)'\s*\]
      | \[\s*(?P<all>\*)\s*\]
      | \[\?\(\s*@\.(?P<field>[^=!<>\s]+)\s*(?P<op>==|!=)\s*["']?(?P<value>[^"')]*)["']?\s*\)\]""",
    re.VERBOSE,
)

Step = tuple[str, str, str]
_MOST_COLUMNS = 64


def parse(path: str) -> tuple[Step, ...]:
    """The steps of a JSON path as `kubectl` knows it: names, indexes, `[*]` and `[?(@.a=="b")]`.

    Raises ValueError for another notation.
    """
    steps: list[Step] = []
    at = 0
    text = path.strip().removeprefix("{").removesuffix("}")
    text = text if text.startswith((".", "[")) else f".{text}"
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise ValueError(f"the JSON path {path!r} is not understood at {text[at:]!r}")
        steps.append(_step(found))
        at = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["name"] is not None:
        return ("*", "", "") if found["name"] == "*" else ("name", found["name"].replace("\\.", "."), "")
    if found["quoted"] is not None:
        return ("name", found["quoted"], "")
    if found["index"] is not None:
        return ("index", found["index"], "")
    if found["all"]:
        return ("*", "", "")
    parse(found["field"])
    return (found["op"], found["field"], found["value"])


def values(tree: Any, steps: Sequence[Step]) -> Iterator[Any]:
    """All values at a path."""
    if not steps:
        yield tree
        return
    (how, what, value), rest = steps[0], steps[1:]
    for one in _next(tree, how, what, value):
        yield from values(one, rest)


def _next(tree: Any, how: str, what: str, value: str) -> Iterator[Any]:
    if how == "name":
        if isinstance(tree, Mapping) and what in tree:
            yield tree[what]
    elif how == "*":
        yield from tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ()
    elif how == "index":
        if isinstance(tree, list) and -len(tree) <= int(what) < len(tree):
            yield tree[int(what)]
    elif isinstance(tree, list):
        inner = parse(what)
        for one in tree:
            held = [str(found) for found in values(one, inner)]
            if (value in held) is (how == "=="):
                yield one


def _cell(found: list[Any], kind: str, now_seconds: float) -> Any:
    """One cell (apiextensions-apiserver `pkg/registry/customresource/tableconvertor`)."""
    if not found or found[0] is None:
        return None
    first = found[0]
    if kind == "date":
        return since(first, now_seconds) if isinstance(first, str) else "<invalid>"
    if kind == "string":
        return ",".join(_text(one) for one in found) if len(found) > 1 else _text(first)
    if kind == "boolean":
        return first if isinstance(first, bool) else None
    if isinstance(first, bool) or not isinstance(first, int | float):
        return None
    return int(first) if kind == "integer" else float(first) if isinstance(first, float) else first


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def custom_printer(columns: Sequence[Tree]) -> Printer:
    """The printer of a version of a definition. It shows name and age without columns of its own, or with one
    that is not understood (apiextensions-apiserver `pkg/apiserver/customresource_handler.go`)."""
    plain = Printer((NAME, AGE), lambda tree, now: [tree["metadata"]["name"], age(tree, now)])
    if not columns or len(columns) > _MOST_COLUMNS:
        return plain
    try:
        parsed = [(parse(one["jsonPath"]), one.get("type", "string")) for one in columns]
    except ValueError:
        return plain

    def cells(tree: Tree, now_seconds: float) -> list[Any]:
        name = [tree["metadata"]["name"]]
        return name + [_cell(list(values(tree, steps)), kind, now_seconds) for steps, kind in parsed]

    shown = (
        TableColumn(
            one["name"],
            one.get("type", "string"),
            one.get("priority", 0),
            one.get("format", ""),
            one.get("description", ""),
        )
        for one in columns
    )
    return Printer((NAME, *shown), cells)
