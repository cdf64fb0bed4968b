"""What an object may look like, for built-in kinds and custom ones alike."""

from typing import Any

import msgspec

SCALARS = frozenset(
    ("string", "bool", "int32", "int64", "double", "quantity", "time", "microtime", "bytes", "intorstr")
)


class SchemaShape(msgspec.Struct, frozen=True, eq=False):
    """The type of one value.

    `type` is "object" (named `fields`), "map" (any key, `items`), "list" (`items`), a scalar or "any".
    `list_type` is "atomic" (also when ""), "set" or "map" with `keys`. `atomic` is said of objects and
    maps. `open` objects keep fields that they do not name; those then have the shape `items`, or any.
    """

    type: str
    name: str = ""
    fields: "dict[str, SchemaField]" = {}
    items: "SchemaShape | None" = None
    list_type: str = ""
    keys: tuple[str, ...] = ()
    atomic: bool = False
    open: bool = False
    description: str = ""

    def below(self, key: str) -> "SchemaShape":
        """The shape of a member of an object or map."""
        field = self.fields.get(key)
        if field is not None:
            return field.shape
        return self.items or ANY

    @property
    def item(self) -> "SchemaShape":
        """The shape of a list's items."""
        return self.items or ANY


class SchemaField(msgspec.Struct, frozen=True, eq=False):
    """One named member of an object.

    `always`: written also when empty. `pointer`: told apart from its zero value. `merge_key` and `merges`
    belong to strategic merge patches; `retains` says that clients send `$retainKeys`, `replaces` that objects
    are replaced, not merged.
    """

    name: str
    shape: SchemaShape
    required: bool = False
    always: bool = False
    pointer: bool = False
    merge_key: str = ""
    merges: bool = False
    retains: bool = False
    replaces: bool = False
    default: Any = None
    values: tuple[str, ...] = ()
    description: str = ""


ANY = SchemaShape("any")
