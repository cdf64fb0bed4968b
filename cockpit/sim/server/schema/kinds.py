"""Which shape a built-in kind has."""

import functools

from cockpit.sim.server.schema.notation import TABLES, blocks, named
from cockpit.sim.server.schema.shape import SchemaShape

GROUPS = {
    "": "core",
    "batch": "batch",
    "apps": "apps",
    "autoscaling": "autoscaling",
    "policy": "policy",
    "coordination.k8s.io": "coordination",
    "scheduling.k8s.io": "scheduling",
    "events.k8s.io": "events",
    "discovery.k8s.io": "discovery",
    "storage.k8s.io": "storage",
    "resource.k8s.io": "resource",
    "rbac.authorization.k8s.io": "rbac",
    "authorization.k8s.io": "authorization",
    "authentication.k8s.io": "authentication",
    "apiextensions.k8s.io": "apiextensions",
    "meta.k8s.io": "meta",
}
"""API group to table; all in version v1."""


@functools.cache
def shape_of(group: str, version: str, kind: str) -> SchemaShape | None:
    """The shape of a built-in kind, None for what is not built in (`meta.k8s.io` has Status and options)."""
    table = GROUPS.get(group)
    if version != "v1" or table is None:
        return None
    block = blocks(table).get(kind)
    return named(table, kind) if block is not None and "kind" in block.flags else None


def built_in_kinds() -> list[tuple[str, str, str]]:
    """Group, version and kind of every built-in kind, in a fixed order."""
    return [
        (group, "v1", name)
        for group, table in GROUPS.items()
        if table in TABLES
        for name, block in sorted(blocks(table).items())
        if "kind" in block.flags
    ]
