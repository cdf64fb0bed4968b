"""Groups that another server answers: what a real kube-apiserver hands on by an APIService."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from cockpit.sim.port import Tree


class AggregatedGroup(msgspec.Struct, frozen=True, eq=False):
    """One group and version. `resources` is its APIResourceList; `answer` is asked with the rest of the path
    and the query of a GET, and raises PortError."""

    group: str
    version: str
    resources: Callable[[], Tree]
    answer: Callable[[str, Mapping[str, str]], Tree]

    @property
    def prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}"


def mount_of(mounts: Sequence[AggregatedGroup], path: str) -> AggregatedGroup | None:
    """The mount that a path belongs to; the root of its version belongs to discovery."""
    for one in mounts:
        if path.startswith(f"{one.prefix}/") and path.rstrip("/") != one.prefix:
            return one
    return None


def aggregated_item(mount: AggregatedGroup) -> dict[str, Any]:
    """Its entry in an APIGroupDiscoveryList, from its APIResourceList."""
    resources: list[dict[str, Any]] = []
    for one in mount.resources()["resources"]:
        name, _, subresource = one["name"].partition("/")
        kind = {"group": mount.group, "version": mount.version, "kind": one["kind"]}
        if subresource:
            parent = next(each for each in resources if each["resource"] == name)
            inner = {"subresource": subresource, "responseKind": kind, "verbs": list(one["verbs"])}
            parent.setdefault("subresources", []).append(inner)
            continue
        resources.append(
            {
                "resource": name,
                "responseKind": kind,
                "scope": "Namespaced" if one["namespaced"] else "Cluster",
                "singularResource": one["singularName"],
                "verbs": list(one["verbs"]),
            }
        )
    version = {"version": mount.version, "resources": resources, "freshness": "Current"}
    return {"metadata": {"name": mount.group}, "versions": [version]}
