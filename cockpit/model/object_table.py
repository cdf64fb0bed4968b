"""Objects of any kind: where one is, how the API server prints many, and which own it."""

from typing import NamedTuple

import msgspec

from cockpit.model.record import Condition, Labels, OwnerRef


class ObjectAddress(NamedTuple):
    """Where one object is. Of `api_version` the group counts; the version is what the server prefers."""

    api_version: str
    kind: str
    namespace: str
    name: str


class ObjectKind(NamedTuple):
    """A kind that the server lists. `names` are its plural, kind and short names, in small letters."""

    api_version: str
    kind: str
    plural: str
    names: tuple[str, ...]
    is_namespaced: bool


class PrintedColumn(msgspec.Struct, frozen=True):
    """One column. `priority` 0 is shown by `kubectl get`, more only by `-o wide`; `is_number` says that the
    server declares it an integer or a number."""

    name: str
    priority: int = 0
    is_number: bool = False


class PrintedRow(msgspec.Struct, frozen=True):
    """One object. `cells` are as many as there are columns; `created_seconds` is None where unknown."""

    namespace: str
    name: str
    cells: tuple[str, ...]
    uid: str = ""
    created_seconds: float | None = None

    @property
    def key(self) -> str:
        """`namespace/name`, or `name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class ObjectTable(msgspec.Struct, frozen=True):
    """What was read. `left_out` says that there are more objects than were read."""

    columns: tuple[PrintedColumn, ...]
    rows: tuple[PrintedRow, ...]
    left_out: bool = False


class OwnedObject(msgspec.Struct, frozen=True):
    """One object in a tree of owners. `state` is "" where it is not known here; `error` says why what is
    above it cannot be read."""

    address: ObjectAddress
    state: str = ""
    children: tuple["OwnedObject", ...] = ()
    error: str = ""


class ObjectDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What one object says of itself. `sections` are its other parts (spec, data, status without conditions),
    each a name and lines of YAML. `created_seconds` is None where unknown."""

    address: ObjectAddress
    uid: str
    created_seconds: float | None
    deleting_seconds: float | None
    labels: Labels
    annotations: Labels
    finalizers: tuple[str, ...]
    owners: tuple[OwnerRef, ...]
    conditions: tuple[Condition, ...]
    sections: tuple[tuple[str, tuple[str, ...]], ...]
