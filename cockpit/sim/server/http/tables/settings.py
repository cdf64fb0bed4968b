"""Rows of settings, services and rights: config maps, secrets, services, roles and what is bound to them."""

from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables.columns import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    UNSET,
    Printer,
    TableColumn,
    age,
    joined,
    labels_text,
    part,
)

_MOST_ENDPOINTS = 3


def _config_map(tree: Tree, now_seconds: float) -> list[Any]:
    count = len(tree.get("data") or ()) + len(tree.get("binaryData") or ())
    return [tree["metadata"]["name"], count, age(tree, now_seconds)]


def _secret(tree: Tree, now_seconds: float) -> list[Any]:
    return [
        tree["metadata"]["name"],
        tree.get("type", ""),
        len(tree.get("data") or ()),
        age(tree, now_seconds),
    ]


def _external(tree: Tree, kind: str) -> str:
    spec = part(tree, "spec")
    outside = list(spec.get("externalIPs") or ())
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind != "LoadBalancer":
        return ",".join(outside) or NONE
    entries = part(tree, "status", "loadBalancer").get("ingress") or ()
    found = [one.get("ip") or one.get("hostname", "") for one in entries] + outside
    return ",".join(found) or "<pending>"


def _ports(ports: Any) -> str:
    written = []
    for one in ports or ():
        protocol = one.get("protocol", "TCP")
        outside = f":{one['nodePort']}" if one.get("nodePort") else ""
        written.append(f"{one['port']}{outside}/{protocol}")
    return ",".join(written) or NONE


def _service(tree: Tree, now_seconds: float) -> list[Any]:
    spec = part(tree, "spec")
    kind = spec.get("type", "ClusterIP")
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP")]
    return [
        tree["metadata"]["name"],
        kind,
        addresses[0] or NONE,
        _external(tree, kind),
        _ports(spec.get("ports")),
        age(tree, now_seconds),
        labels_text(spec.get("selector")),
    ]


def _endpoints(tree: Tree, now_seconds: float) -> list[Any]:
    pairs = [
        f"{address['ip']}:{port['port']}"
        for subset in tree.get("subsets") or ()
        for port in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
    ]
    more = f" + {len(pairs) - _MOST_ENDPOINTS} more..." if len(pairs) > _MOST_ENDPOINTS else ""
    shown = joined(pairs[:_MOST_ENDPOINTS]) + more
    return [tree["metadata"]["name"], shown, age(tree, now_seconds)]


def _slice(tree: Tree, now_seconds: float) -> list[Any]:
    ports = [str(one.get("port", "*")) for one in tree.get("ports") or ()]
    found = [address for one in tree.get("endpoints") or () for address in one.get("addresses") or ()]
    more = f" + {len(found) - _MOST_ENDPOINTS} more..." if len(found) > _MOST_ENDPOINTS else ""
    return [
        tree["metadata"]["name"],
        tree.get("addressType", ""),
        ",".join(ports) or UNSET,
        (",".join(found[:_MOST_ENDPOINTS]) + more) or UNSET,
        age(tree, now_seconds),
    ]


def _created(tree: Tree, now_seconds: float) -> list[Any]:
    return [tree["metadata"]["name"], tree["metadata"].get("creationTimestamp")]


def _binding(tree: Tree, now_seconds: float) -> list[Any]:
    subjects = tree.get("subjects") or ()
    role = tree.get("roleRef") or {}

    def of(kind: str) -> str:
        found = [one for one in subjects if one.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{one.get('namespace', '')}/{one['name']}" for one in found)
        return ", ".join(one["name"] for one in found)

    return [
        tree["metadata"]["name"],
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(tree, now_seconds),
        *(of(kind) for kind in ("User", "Group", "ServiceAccount")),
    ]


CONFIG_MAPS = Printer((NAME, TableColumn("Data"), AGE), _config_map)
SECRETS = Printer((NAME, TableColumn("Type"), TableColumn("Data"), AGE), _secret)
SERVICES = Printer(
    (
        *(
            NAME,
            TableColumn("Type"),
            TableColumn("Cluster-IP"),
            TableColumn("External-IP"),
            TableColumn("Port(s)"),
            AGE,
        ),
        TableColumn("Selector", priority=1),
    ),
    _service,
)
ENDPOINTS = Printer((NAME, TableColumn("Endpoints"), AGE), _endpoints)
SLICES = Printer(
    (NAME, TableColumn("AddressType"), TableColumn("Ports"), TableColumn("Endpoints"), AGE), _slice
)
CREATED = Printer((NAME, CREATED_AT), _created)
BINDINGS = Printer(
    (
        *(NAME, TableColumn("Role"), AGE),
        *(TableColumn(name, priority=1) for name in ("Users", "Groups", "ServiceAccounts")),
    ),
    _binding,
)
