"""The notation of `tables/*.txt`: one block for each type, one line for each field.

    Name [atomic] [kind] | what it is
      field[!][*] TYPE [flags] | what it says

`!` is written also when it is empty, `*` tells an absent value from a zero. TYPE is a scalar, `any`,
`[TYPE]`, `{TYPE}` (a map from strings) or the name of a type, `table.Name` for one of another table. Flags:
`req`, `atomic`, `set`, `map(key,...)`, `merge` or `merge(key)`, `retainKeys`, `replace`, `=default`,
`in(a|b)`. A kind is a type that objects of the API have.
Names, types and flags are those of the published OpenAPI of Kubernetes 1.36 and of its types' JSON tags.
"""

import functools
from collections.abc import Iterator
from importlib import resources
from typing import Any

import msgspec

from cockpit.sim.server.schema.shape import ANY, SCALARS, SchemaField, SchemaShape

TABLES = (
    "core",
    "batch",
    "apps",
    "autoscaling",
    "policy",
    "coordination",
    "scheduling",
    "events",
    "discovery",
    "storage",
    "resource",
    "rbac",
    "authorization",
    "authentication",
    "apiextensions",
    "meta",
)


OR_NONE = "JSONSchemaPropsOr"
"""A schema, a list of them, or true or false: patches and managed fields take it as one value."""


class TypeBlock(msgspec.Struct, frozen=True):
    """The lines of one type, not read yet."""

    table: str
    name: str
    flags: frozenset[str]
    description: str
    lines: tuple[str, ...]


@functools.cache
def blocks(table: str) -> dict[str, TypeBlock]:
    """The types of one table by name."""
    text = resources.files("cockpit.sim.server.schema").joinpath("tables", f"{table}.txt").read_text("utf-8")
    found: dict[str, TypeBlock] = {}
    for paragraph in text.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        head, _, description = lines[0].partition(" | ")
        name, *flags = head.split()
        found[name] = TypeBlock(table, name, frozenset(flags), description.strip(), tuple(lines[1:]))
    return found


@functools.cache
def named(table: str, name: str) -> SchemaShape:
    """The shape of the type `name` of `table`. Raises KeyError where there is none."""
    block = blocks(table)[name]
    # A type may hold itself: its members are read when they are first asked for.
    return SchemaShape(
        "object",
        name=f"{table}.{name}",
        fields=_Members(block),
        atomic="atomic" in block.flags,
        description=block.description,
    )


class _Known(dict[str, SchemaField]):
    """The fields of a type."""


class _Members(dict[str, SchemaField]):
    """The fields of a type, read from its lines when they are first asked for; a `_Known` from then on, so
    that they are looked up as fast as in any dict."""

    def __init__(self, block: TypeBlock) -> None:
        super().__init__()
        self._block = block

    def _read(self) -> None:
        self.__class__ = _Known  # type: ignore[assignment]
        self.update((field.name, field) for field in _fields(self._block))

    def get(self, key: str, default: Any = None) -> Any:
        self._read()
        return dict.get(self, key, default)

    def __getitem__(self, key: str) -> SchemaField:
        self._read()
        return dict.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        self._read()
        return dict.__contains__(self, key)

    def __iter__(self) -> Iterator[str]:
        self._read()
        return dict.__iter__(self)

    def __len__(self) -> int:
        self._read()
        return dict.__len__(self)

    def items(self) -> Any:
        self._read()
        return dict.items(self)

    def values(self) -> Any:
        self._read()
        return dict.values(self)


def _fields(block: TypeBlock) -> list[SchemaField]:
    return [_field(block.table, line) for line in block.lines]


def _field(table: str, line: str) -> SchemaField:
    text, _, description = line.partition(" | ")
    marked, type_text, *flags = text.split()
    name = marked.rstrip("!*")
    said: dict[str, str] = {}
    for flag in flags:
        if flag.startswith("="):
            said["="] = flag[1:]
        else:
            word, _, rest = flag.partition("(")
            said[word] = rest.removesuffix(")")
    shape = _shape(table, type_text, said)
    return SchemaField(
        name,
        shape,
        required="req" in said,
        always="!" in marked,
        pointer="*" in marked,
        merge_key=said.get("merge", ""),
        merges="merge" in said,
        retains="retainKeys" in said,
        replaces="replace" in said,
        default=_default(shape, said["="]) if "=" in said else None,
        values=tuple(said["in"].split("|")) if "in" in said else (),
        description=description.strip(),
    )


def _shape(table: str, text: str, said: dict[str, str]) -> SchemaShape:
    if text.startswith("["):
        list_type = "map" if "map" in said else "set" if "set" in said else "atomic"
        keys = tuple(said["map"].split(",")) if "map" in said else ()
        return SchemaShape("list", items=_shape(table, text[1:-1], {}), list_type=list_type, keys=keys)
    if text.startswith("{"):
        return SchemaShape("map", items=_shape(table, text[1:-1], {}), atomic="atomic" in said)
    if text in SCALARS:
        return SchemaShape(text)
    if text == "any":
        return ANY
    if text == OR_NONE:
        return SchemaShape("any", name=OR_NONE)
    home, _, name = text.rpartition(".")
    return named(home or table, name)


def _default(shape: SchemaShape, text: str) -> Any:
    match shape.type:
        case "int32" | "int64":
            return int(text)
        case "bool":
            return text == "true"
        case "object":
            return {}
        case _:
            return text
