"""Bodies of requests: patches that unfold, JSON that nests, YAML that laughs."""

import json
from random import Random
from typing import Any

from tests.fuzz import trees
from tests.fuzz.trees import Tree


def operations(dice: Random, example: Tree) -> list[Any]:
    pointers = [
        "",
        "/",
        "/metadata",
        "/metadata/annotations",
        "/metadata/labels",
        "/spec",
        "/status",
        "/-",
    ]
    pointers += _pointers(example)
    if dice.random() < 0.25:
        return _doubling(dice)
    if dice.random() < 0.05:
        one = {"op": "add", "path": "/metadata/labels/a", "value": "1"}
        return [one] * dice.choice((9_999, 10_001, 20_000))
    made: list[Any] = []
    for _ in range(dice.choice((1, 3, 30, 300))):
        op: Tree = {
            "op": dice.choice(("add", "remove", "replace", "move", "copy", "copy", "test", "x")),
            "path": dice.choice(pointers),
        }
        if op["op"] in ("copy", "move"):
            op["from"] = dice.choice(pointers)
        else:
            value = odd_json(dice)
            op["value"] = value
        if dice.random() < 0.05:
            op[dice.choice(("op", "path", "from"))] = odd_json(dice)
        made.append(op)
    return made


def odd_json(dice: Random) -> Any:
    """An odd value that can be written as JSON at once."""
    value = trees.odd(dice)
    return value if is_shallow(value) else [[[[]]]]


def is_shallow(tree: Any) -> bool:
    level, depth = [tree], 0
    while level and depth < 150:
        depth += 1
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, dict | list)
        ]
    return not level


def deep_json(tree: Any) -> bytes:
    """JSON of a tree as deep as it likes, without recursion."""
    out: list[str] = []
    todo: list[Any] = [tree]
    while todo:
        one = todo.pop()
        if isinstance(one, _Text):
            out.append(one)
        elif isinstance(one, dict):
            parts: list[Any] = [_Text("{")]
            for at, (key, value) in enumerate(one.items()):
                parts += [_Text(("," if at else "") + json.dumps(key) + ":"), value]
            todo += reversed([*parts, _Text("}")])
        elif isinstance(one, list):
            parts = [_Text("[")]
            for at, value in enumerate(one):
                parts += [*([_Text(",")] if at else []), value]
            todo += reversed([*parts, _Text("]")])
        else:
            out.append(json.dumps(one))
    return "".join(out).encode("utf-8", "replace")


class _Text(str):
    """A piece of JSON that is written already."""

    __slots__ = ()


def _pointers(tree: Any) -> list[str]:
    found = []
    for first, value in tree.items() if isinstance(tree, dict) else ():
        found.append(f"/{first}")
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        found += [f"/{first}/{second}".replace("~", "~0") for second, _ in items][:20]
    return found


def _doubling(dice: Random) -> list[Any]:
    """Copies of copies: what took 24 GB, in breadth or in depth."""
    begin: list[Any] = [{"op": "add", "path": "/metadata/annotations", "value": {"a": "x" * 100}}]
    place = dice.choice(("/metadata/annotations", "/metadata/labels", "/data", "/spec", "/status"))
    begin = [{"op": "add", "path": place, "value": {"a": {"b": "x" * dice.choice((1, 1000))}}}]
    count = dice.choice((5, 12, 40, 400))
    if dice.random() < 0.5:
        return [*begin, *({"op": "copy", "from": place, "path": f"{place}/c{at}"} for at in range(count))]
    deeper, path = [], place
    for _ in range(min(count, 40)):
        path += "/a"
        deeper.append({"op": "copy", "from": place, "path": path})
    return [*begin, *deeper]


def laughs(dice: Random) -> bytes:
    """A billion laughs in YAML."""
    lines = ["apiVersion: v1", "kind: ConfigMap", "metadata: {name: laughs}", "a0: &a0 [lol, lol]"]
    lines += [
        f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * dice.choice((2, 9)))}]"
        for at in range(1, dice.choice((3, 9, 30)))
    ]
    return "\n".join(lines).encode()
