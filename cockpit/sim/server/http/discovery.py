"""What is served, told in two ways: group by group, and all at once (`apidiscovery.k8s.io/v2`)."""

from collections.abc import Iterable

from cockpit.sim.port import Tree
from cockpit.sim.server.http.mounts import AggregatedGroup, aggregated_item
from cockpit.sim.server.kinds import Kinds, ServedKind

_WEIGHTS = (
    *("", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch"),
    *("networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io"),
    *("apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "discovery.k8s.io"),
    "resource.k8s.io",
)
"""The order in which kube-apiserver tells its own groups; those of definitions follow by name."""

SUBRESOURCES: dict[str, dict[str, tuple[tuple[str, str, str], tuple[str, ...]]]] = {
    "nodes": {
        "proxy": (("", "v1", "NodeProxyOptions"), ("create", "delete", "get", "patch", "update")),
    },
    "pods": {
        "attach": (("", "v1", "PodAttachOptions"), ("create", "get")),
        "binding": (("", "v1", "Binding"), ("create",)),
        "eviction": (("policy", "v1", "Eviction"), ("create",)),
        "exec": (("", "v1", "PodExecOptions"), ("create", "get")),
        "log": (("", "v1", "Pod"), ("get",)),
        "portforward": (("", "v1", "PodPortForwardOptions"), ("create", "get")),
        "proxy": (("", "v1", "PodProxyOptions"), ("create", "delete", "get", "patch", "update")),
    },
    "services": {
        "proxy": (("", "v1", "ServiceProxyOptions"), ("create", "delete", "get", "patch", "update")),
    },
}
"""Beside `status` and `scale`: by plural of the core group, the kind that is sent or answered, and verbs."""

_WRITTEN = ("get", "patch", "update")
_SCALE = ("autoscaling", "v1", "Scale")


def _version_key(version: str) -> tuple[int, int, int, str]:
    """Order of Kubernetes versions: v2, v1, v1beta2, v1beta1, v1alpha1, others by name."""
    rest = version.removeprefix("v")
    for rank, word in enumerate(("alpha", "beta")):
        major, found, minor = rest.partition(word)
        if found and major.isdigit():
            return (2 - rank, -int(major), -int(minor or 0), version)
    return (0, -int(rest), 0, version) if rest.isdigit() else (3, 0, 0, version)


def grouped(kinds: Iterable[ServedKind]) -> dict[str, dict[str, list[ServedKind]]]:
    """Group -> version, the preferred first -> kinds by plural."""
    groups: dict[str, dict[str, list[ServedKind]]] = {}
    for kind in kinds:
        resource = kind.resource
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(kind)

    def place(group: str) -> tuple[int, str]:
        return (_WEIGHTS.index(group), "") if group in _WEIGHTS else (len(_WEIGHTS), group)

    return {
        group: {
            version: sorted(groups[group][version], key=lambda kind: kind.resource.plural)
            for version in sorted(groups[group], key=_version_key)
        }
        for group in sorted(groups, key=place)
    }


def _subresources(kind: ServedKind) -> list[tuple[str, tuple[str, str, str], tuple[str, ...]]]:
    resource = kind.resource
    own = (resource.group, resource.version, resource.kind)
    found = []
    if not resource.group:
        extra = SUBRESOURCES.get(resource.plural, {})
        found = [(name, *what) for name, what in extra.items()]
    if kind.scale is not None:
        found.append(("scale", _SCALE, _WRITTEN))
    if kind.has_status:
        found.append(("status", own, _WRITTEN))
    return sorted(found)


class Discovery:
    """The documents, made anew only after a kind came or went."""

    def __init__(self, kinds: Kinds, address: str) -> None:
        self._kinds = kinds
        self._address = address
        self._groups: dict[str, dict[str, list[ServedKind]]] = {}
        self._at = -1
        self.mounts: list[AggregatedGroup] = []

    def groups(self) -> dict[str, dict[str, list[ServedKind]]]:
        """Group -> version -> kinds."""
        if self._at != self._kinds.revision:
            self._at = self._kinds.revision
            self._groups = grouped(self._kinds)
        return self._groups

    def has_own(self, group: str, version: str) -> bool:
        """True for a group and version of the server's own, which knows what is missing in it."""
        kinds = self.groups().get(group, {}).get(version, ())
        return any(not kind.is_custom for kind in kinds)

    def core(self) -> Tree:
        """`/api`."""
        return {
            "kind": "APIVersions",
            "versions": list(self.groups().get("", {})),
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}],
        }

    def others(self) -> Tree:
        """`/apis`."""
        groups = [_group(group, list(versions)) for group, versions in self.groups().items() if group]
        groups += [_group(one.group, [one.version]) for one in self.mounts]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Tree | None:
        """`/apis/GROUP`; None when there is none."""
        mounted = [one.version for one in self.mounts if one.group == name]
        versions = list(self.groups().get(name) or mounted)
        if not name or not versions:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}

    def resources(self, group: str, version: str) -> Tree | None:
        """`/api/v1` and `/apis/GROUP/VERSION`; None when there is none."""
        for one in self.mounts:
            if (one.group, one.version) == (group, version):
                return one.resources()
        kinds = self.groups().get(group, {}).get(version)
        if kinds is None:
            return None
        entries: list[Tree] = []
        for kind in kinds:
            entries.append(_resource(kind))
            entries += [_subresource(kind, *what) for what in _subresources(kind)]
        label = f"{group}/{version}" if group else version
        # Like the real one, the core group's list names no version of its own.
        head: Tree = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
        return head | {"groupVersion": label, "resources": entries}

    def aggregated(self, *, core: bool) -> Tree:
        """`/api` (core) or `/apis` as one APIGroupDiscoveryList."""
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": [
                {
                    "metadata": {"name": group} if group else {},
                    "versions": [
                        {
                            "version": version,
                            "resources": [_aggregated(kind) for kind in kinds],
                            "freshness": "Current",
                        }
                        for version, kinds in versions.items()
                    ],
                }
                for group, versions in self.groups().items()
                if (not group) is core
            ]
            + [aggregated_item(one) for one in self.mounts if not core],
        }


def _group(name: str, versions: list[str]) -> Tree:
    told = [{"groupVersion": f"{name}/{one}", "version": one} for one in versions]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def _resource(kind: ServedKind) -> Tree:
    resource = kind.resource
    entry: Tree = {
        "name": resource.plural,
        "singularName": kind.singular or resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": sorted(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return entry


def _subresource(kind: ServedKind, name: str, what: tuple[str, str, str], verbs: tuple[str, ...]) -> Tree:
    resource = kind.resource
    group, version, answered = what
    entry: Tree = {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if (group, version) != (resource.group, resource.version):
        entry |= {"group": group, "version": version}
    return entry | {"kind": answered, "verbs": list(verbs)}


def _response(kind: ServedKind, what: tuple[str, str, str]) -> Tree:
    """What is answered; group and version stay empty where they are the resource's own."""
    group, version, name = what
    if (group, version) == (kind.resource.group, kind.resource.version):
        group = version = ""
    return {"group": group, "version": version, "kind": name}


def _aggregated(kind: ServedKind) -> Tree:
    resource = kind.resource
    entry: Tree = {
        "resource": resource.plural,
        "responseKind": _response(kind, (resource.group, resource.version, resource.kind)),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": kind.singular or resource.kind.lower(),
        "verbs": sorted(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    inner = [
        {"subresource": name, "responseKind": _response(kind, what), "verbs": list(verbs)}
        for name, what, verbs in _subresources(kind)
    ]
    return entry | {"subresources": inner} if inner else entry
