"""Objects that nobody would write: real ones with something wrong, and values that ask for trouble."""

import copy
from random import Random
from typing import Any

Tree = dict[str, Any]

ODD_TEXTS = (
    "",
    " ",
    "\x00",
    "-",
    ".",
    "..",
    "../../etc/passwd",
    "a/b",
    "a%2fb",
    "\u202e",
    "\x1b[2J",
    "é",
    "🙂" * 5,
    "NaN",
    "null",
    "true",
    "0",
    "-1",
    "1e9",
    "1e999999999",
    "1" * 400,
    "1" * 5000 + "x",
    "0.000000000000000000001",
    "9999999999Ei",
    "10Gi",
    "100m",
    "1.5Gix",
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00Z",
    "2026-01-01",
    "20260101T000000Z",
    "127.0.0.1",
    "^(a+)+$",
    "(",
    "(?i)x",
    "a" * 70,
    "a." * 130,
    "{{.x}}",
    "$(X)",
    "$patch",
    "local",
    "kube-system",
    "999999999999999999999",
    "🙂\ufffe",
)
ODD_NUMBERS = (
    0,
    -1,
    1,
    2**31,
    -(2**31),
    2**32,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    0.5,
    -0.0,
    1e300,
    1e-300,
)
ODD_KEYS = (
    "",
    ".",
    "$patch",
    "$retainKeys",
    "$setElementOrder/x",
    "a/b/c",
    "~1",
    "é",
    "x" * 300,
    "metadata",
    "spec",
)
AMOUNTS = (1, 2, 3, 10, 100, 1000)


def deep(dice: Random, most: int = 3000) -> Any:
    """A chain of objects or lists."""
    tree: Any = dice.choice((1, "x", None, {}, []))
    key = dice.choice(("a", "spec", "properties", "items"))
    for _ in range(dice.choice((2, 50, 150, 199, 250, most))):
        tree = [tree] if dice.random() < 0.5 else {key: tree}
    return tree


def wide(dice: Random) -> Any:
    """Many values on one level."""
    count = dice.choice((10, 1000, 20_000))
    value: Any = dice.choice((0, "", {}, [], None, {"name": "a"}))
    return [value] * count if dice.random() < 0.5 else {f"k{at}": value for at in range(count)}


def odd(dice: Random) -> Any:
    """A value of any type."""
    kind = dice.randrange(13)
    if kind < 4:
        return dice.choice(ODD_TEXTS)
    if kind < 6:
        return dice.choice(ODD_NUMBERS)
    if kind < 10:
        return dice.choice((None, True, False, [], {}, [None], {"": None}, [[]], [{}], {"name": 1}))
    return (
        deep(dice)
        if dice.random() < 0.4
        else wide(dice)
        if dice.random() < 0.3
        else "x" * dice.choice((300, 70_000))
    )


def places(tree: Any, most: int = 400) -> list[tuple[Any, Any]]:
    """(container, key) of what is in a tree."""
    found: list[tuple[Any, Any]] = []
    level = [tree]
    while level and len(found) < most:
        one = level.pop(0)
        items = one.items() if isinstance(one, dict) else enumerate(one)
        for key, item in items:
            found.append((one, key))
            if isinstance(item, dict | list):
                level.append(item)
    return found


def spoiled(dice: Random, tree: Tree) -> Tree:
    """A copy with some things wrong."""
    made: Tree = _copied(tree)
    for _ in range(dice.choice((0, 0, 1, 1, 1, 2, 8))):
        parts = {key: value for key, value in made.items() if key not in ("kind", "apiVersion", "metadata")}
        # mostly what a kind is about: with another name or type it would not come far
        known = places(parts if parts and dice.random() < 0.8 else made)
        known = [(made if container is parts else container, key) for container, key in known]
        if not known:
            break
        container, key = dice.choice(known)
        match dice.randrange(8):
            case 0 | 1 | 2:
                container[key] = odd(dice)
            case 3:
                del container[key]
            case 4 if isinstance(container, list):
                container.extend([_copied(container[key])] * dice.choice(AMOUNTS))
            case 5 if isinstance(container, dict):
                container[dice.choice(ODD_KEYS)] = odd(dice)
            case 6 if isinstance(container, dict):
                container[dice.choice(ODD_KEYS)] = container.pop(key)
            case _:
                other, name = dice.choice(known)
                if isinstance(other, dict) and name in other:
                    container[key] = _copied(other[name])
    return made


def _copied(value: Any) -> Any:
    """A value once more; of what is too deep to be copied its beginning."""
    try:
        return copy.deepcopy(value)
    except RecursionError:
        return type(value)()


def clean(tree: Tree) -> Tree:
    """An object as somebody would create it."""
    made = copy.deepcopy(tree)
    for key in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"):
        made.get("metadata", {}).pop(key, None)
    return made


def schema(dice: Random, depth: int = 0) -> Tree:
    """An openAPIV3Schema, mostly structural."""
    kind = dice.choice(("object", "object", "array", "string", "integer", "number", "boolean"))
    if depth > 4 and kind in ("object", "array"):
        kind = "string"
    made: Tree = {"type": kind}
    if kind == "object":
        made["properties"] = {
            dice.choice("abcdef"): schema(dice, depth + 1) for _ in range(dice.randrange(4))
        }
        if dice.random() < 0.2:
            made["x-kubernetes-preserve-unknown-fields"] = True
        if dice.random() < 0.2:
            made = {"type": kind, "additionalProperties": schema(dice, depth + 1)}
        if dice.random() < 0.2:
            made["required"] = dice.sample("abc", 2)
    elif kind == "array":
        made["items"] = schema(dice, depth + 1)
        if dice.random() < 0.3:
            made["x-kubernetes-list-type"] = dice.choice(("set", "map", "atomic", "x"))
        if dice.random() < 0.2:
            made["x-kubernetes-list-map-keys"] = ["a"]
    elif kind == "string":
        if dice.random() < 0.5:
            made["pattern"] = dice.choice(PATTERNS)
        if dice.random() < 0.3:
            made["format"] = dice.choice(
                ("date-time", "duration", "uuid", "byte", "ipv4", "date", "int32", "x")
            )
    elif kind in ("integer", "number"):
        for word in ("minimum", "maximum", "multipleOf"):
            if dice.random() < 0.2:
                made[word] = dice.choice(ODD_NUMBERS)
    for word in ("anyOf", "oneOf", "allOf"):
        if dice.random() < 0.05:
            made[word] = [schema(dice, depth + 2)]
    if dice.random() < 0.1:
        made["not"] = schema(dice, 5)
    if dice.random() < 0.1:
        made["enum"] = [odd(dice) for _ in range(3)]
    if dice.random() < 0.3:
        made["x-kubernetes-validations"] = [rule(dice) for _ in range(dice.randrange(1, 4))]
    if dice.random() < 0.15:
        made["default"] = value_for(dice, made) if dice.random() < 0.7 else odd(dice)
    return made


PATTERNS = (
    "^(a+)+$",
    "^[a-z]+$",
    "(a|b)*a(a|b){500}c",
    "(?i)x",
    "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$",
    "(",
    "(?=a)",
    "\\",
    "((a*)*)*b",
    "(.*)(.*)(.*)(.*)(.*)x",
    "[",
    "a{1001}",
    "(a{10}){10}",
    "\\C",
)


RULE_PARTS = (
    *(
        "self",
        "oldSelf",
        "self.a",
        "self.b",
        "self[0]",
        "has(self.a)",
        "size(self)",
        "1",
        "'x'",
        "true",
        "null",
    ),
    *(
        "self.find('^(a+)+$')",
        "self.matches('(a|b)*a(a|b){500}c')",
        "quantity(self)",
        "duration(self)",
        "[self]",
    ),
    *("self.split('a')", "self.__namespace__", "self.?a", "isURL(self)", "[1, 2, 3]", "{'a': self}"),
)
JOINTS = ("==", "!=", "+", "<", "&&", "||", "in", "?")
LOOPS = ("all", "exists", "exists_one", "map", "filter")


def rule(dice: Random) -> Tree:
    """A rule in CEL, of whatever sense."""
    text = dice.choice(RULE_PARTS)
    for _ in range(dice.randrange(4)):
        match dice.randrange(4):
            case 0:
                text = f"{text} {dice.choice(JOINTS)} {dice.choice(RULE_PARTS)}"
            case 1:
                text = f"{dice.choice(RULE_PARTS)}.{dice.choice(LOOPS)}(x, {text})"
            case 2:
                text = f"!({text})"
            case _:
                text = dice.choice((f"{text} ? {text} : {text}", "(" * 300 + text, f"-{text}", text * 50))
    made: Tree = {"rule": text}
    for word in ("message", "messageExpression", "fieldPath", "reason"):
        if dice.random() < 0.2:
            made[word] = dice.choice(("x", ".a", "'a' + self", "FieldValueForbidden", "\x1b]0;x\x07"))
    return made


def value_for(dice: Random, known: Tree) -> Any:
    """A value that a schema might take."""
    match known.get("type"):
        case "object":
            names = known.get("properties") or {}
            made = {name: value_for(dice, inner) for name, inner in names.items() if dice.random() < 0.8}
            if isinstance(known.get("additionalProperties"), dict):
                made["k"] = value_for(dice, known["additionalProperties"])
            return made
        case "array":
            inner = known.get("items")
            return [
                value_for(dice, inner if isinstance(inner, dict) else {}) for _ in range(dice.randrange(3))
            ]
        case "string":
            return dice.choice(("a" * 40 + "!", "ab" * 5000, dice.choice(ODD_TEXTS), "abc"))
        case "integer":
            return dice.choice((0, 1, -5, 2**40))
        case "number":
            return dice.choice((0.5, 1, -5, 1e20))
        case "boolean":
            return dice.random() < 0.5
        case _:
            return odd(dice)


def definition(dice: Random, number: int) -> Tree:
    """A CustomResourceDefinition of the group `fuzz.test`."""
    plural = f"things{number}"
    whole = schema(dice)
    if dice.random() < 0.8:
        whole = {"type": "object", "properties": {"spec": whole, "status": schema(dice)}}
    version: Tree = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": whole},
    }
    if dice.random() < 0.3:
        version["subresources"] = {
            "status": {},
            "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"},
        }
    if dice.random() < 0.3:
        path = dice.choice(
            (".spec.a", ".spec[*]", ".spec.a[0]", "{.x", ".a[?(@.b==1)]", ".spec['a']", "." * 50)
        )
        version["additionalPrinterColumns"] = [{"name": "A", "type": "string", "jsonPath": path}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.fuzz.test"},
        "spec": {
            "group": "fuzz.test",
            "scope": dice.choice(("Namespaced", "Cluster")),
            "names": {"plural": plural, "singular": f"thing{number}", "kind": f"Thing{number}"},
            "versions": [version],
        },
    }
