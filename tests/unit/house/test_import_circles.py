"""No circle of imports and no arrow up, wherever the import stands: in a function or for types alone, too."""

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {"cockpit": ROOT, "cockpit_widgets": ROOT / "widgets", "cockpit_exporter": ROOT / "exporter"}
GENERATED = "_pb2"

Graph = Mapping[str, frozenset[str]]
"""Module to the modules that it imports anywhere in its text."""


def imported(source: str, module: str, known: frozenset[str], *, is_package: bool) -> Iterator[str]:
    """Modules of the project that the text of `module` imports; a name of a package means its module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".") if is_package else module.split(".")[:-1]
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            origin = ".".join(part for part in (base, node.module or "") if part)
            for alias in node.names:
                inner = f"{origin}.{alias.name}"
                found = inner if inner in known else origin
                if found in known and found != module:
                    yield found


def read_graph() -> Graph:
    """The imports of every module of the product."""
    texts: dict[str, tuple[str, bool]] = {}
    for package, folder in PACKAGES.items():
        for path in (folder / package).rglob("*.py"):
            if path.stem.endswith(GENERATED):
                continue
            parts = path.relative_to(folder).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            texts[name] = (path.read_text(encoding="utf-8"), is_package)
    known = frozenset(texts)
    return {
        name: frozenset(imported(text, name, known, is_package=is_package))
        for name, (text, is_package) in texts.items()
    }


def circles(graph: Graph) -> list[tuple[str, ...]]:
    """Sets of modules that import each other in a circle, sorted (Tarjan's strong components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[tuple[str, ...]] = []

    def enter(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)

    for root in sorted(graph):
        if root in index:
            continue
        enter(root)
        work = [(root, iter(sorted(graph[root])))]
        while work:
            name, rest = work[-1]
            for other in rest:
                if other not in index:
                    enter(other)
                    work.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in stack:
                    low[name] = min(low[name], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    at = stack.index(name)
                    if len(stack) - at > 1:
                        found.append(tuple(sorted(stack[at:])))
                    del stack[at:]
    return sorted(found)


def floors() -> list[tuple[str, ...]]:
    """The rooms of each floor, the highest first, as the import contract has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    return [tuple(room.strip() for room in floor.split("|")) for floor in layers]


def floor_of(module: str, rooms: Iterable[tuple[str, ...]]) -> tuple[int, str] | None:
    """How far below the top the module stands, and its room; None for what belongs to no floor."""
    for at, names in enumerate(rooms):
        for name in names:
            if module == name or module.startswith(f"{name}."):
                return at, name
    return None


def arrows_up(graph: Graph, rooms: list[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Imports of a room above, or of another room on the same floor."""
    found = []
    for module, others in graph.items():
        here = floor_of(module, rooms)
        for other in others:
            there = floor_of(other, rooms)
            if here is None or there is None or here[1] == there[1]:
                continue
            if there[0] <= here[0]:
                found.append((module, other))
    return sorted(found)


def test_no_circle_of_imports() -> None:
    graph = read_graph()
    assert len(graph) > 300, "the walk found no code: the test would pass on nothing"
    assert circles(graph) == []


def test_no_arrow_up() -> None:
    assert arrows_up(read_graph(), floors()) == []


def test_a_circle_is_seen_in_a_function_and_for_types_alone() -> None:
    known = frozenset({"p", "p.a", "p.b", "p.c"})
    texts = {
        "p": "",
        "p.a": "def f():\n    from p.b import x\n",
        "p.b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .c import X\n",
        "p.c": "from p import a\n",
    }
    graph = {
        name: frozenset(imported(text, name, known, is_package=name == "p")) for name, text in texts.items()
    }
    assert circles(graph) == [("p.a", "p.b", "p.c")]
    assert circles({**graph, "p.c": frozenset()}) == []


def test_an_arrow_up_is_seen() -> None:
    rooms = [("p.top",), ("p.left", "p.right"), ("p.low",)]
    graph = {
        "p.top": frozenset({"p.low.x"}),
        "p.low.x": frozenset({"p.top"}),
        "p.left": frozenset({"p.right", "p.low.x"}),
    }
    assert arrows_up(graph, rooms) == [("p.left", "p.right"), ("p.low.x", "p.top")]


def reaches(source: str) -> set[str]:
    """What a screen names that only the app may hold: the attachment, the session."""
    return {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr in ("attachment", "session", "_attachment")
    }


def test_no_screen_reaches_the_session_or_the_attachment() -> None:
    found = {
        path.name: names
        for path in (ROOT / "cockpit" / "screens").glob("*.py")
        if (names := reaches(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_such_a_reach_is_seen() -> None:
    assert reaches("self.app.attachment.store") == {"attachment"}
