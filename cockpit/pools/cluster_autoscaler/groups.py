"""Which of the autoscaler's groups is which pool: it calls them by the provider's ids. And those that only
its status names.

Sources: kubernetes/autoscaler cluster-autoscaler/cloudprovider/clusterapi/clusterapi_unstructured.go
(`MachineDeployment/NAMESPACE/NAME`); ids of others hold the pool's name among other words (an auto scaling
group `eks-NAME-UUID`, a scale set `aks-NAME-NUMBER-vmss`, the url of an instance group
`gke-CLUSTER-NAME-HASH-grp`).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from cockpit.k8s.labels import POOL_LABELS
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.pool import PoolObject, PoolRequirement
from cockpit.pools.owner import KnownPool, Nodes, NodeTemplate

STATUS_OBJECT: Final = "status of the cluster autoscaler"
"""`api_version` of what stands for a group that no object of the cluster is."""
_EDGE = r"(?:^|[^A-Za-z0-9])"
_SHORTEST = 3
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_WHOLE_NAMES = (
    re.compile(rf"^eks-(.+)-{_UUID}$"),
    re.compile(r"^aks-(.+)-\d+-vmss$"),
    re.compile(r"^(?:MachineDeployment|MachineSet|MachinePool)/[^/]+/(.+)$"),
)
_GKE = re.compile(r"(?:^|/)gke-(.+)-[0-9a-f]{4,}-grp$")


def group_of(status: AutoscalerStatus, found: PoolObject | None, nodes: Nodes) -> ScaledGroup | None:
    """The group that is this pool; None where none is, or where several may be."""
    alike = _alike(status.groups, found, nodes)
    if len(alike) > 1 and found is not None:
        bounds = (found.min_replicas, found.max_replicas)
        alike = [one for one in alike if (one.minimum, one.maximum) == bounds]
    return alike[0] if len(alike) == 1 else None


def group_of_node(status: AutoscalerStatus, node: str) -> ScaledGroup | None:
    """The group whose pool's name the node's name begins with, before or after the provider's prefix; the
    longest of several."""
    held = [
        one
        for one in status.groups
        if any(re.search(rf"(?:^|-){re.escape(name)}-", node) for name in _names(one.name) if "/" not in name)
    ]
    return max(held, key=lambda one: len(_short(one.name)), default=None)


def told_groups(status: AutoscalerStatus, known: Iterable[KnownPool]) -> Iterator[PoolObject]:
    """What stands for groups without a node that shows what it has, and that are none of these pools."""
    bare = [one for one in status.groups if _is_bare(one)]
    taken = {one.name for found, nodes in known for one in _alike(bare, found, nodes)} if bare else set()
    names = [_short(one.name) for one in bare]
    for group, name in zip(bare, names, strict=True):
        if group.name not in taken:
            yield PoolObject(
                uid=f"group {group.name}",
                name=name if names.count(name) == 1 else group.name,
                api_version=STATUS_OBJECT,
                kind="",
                resource_path="",
                replicas=group.target,
                min_replicas=group.minimum,
                max_replicas=group.maximum,
                is_autoscaled=True,
                read_seconds=status.read_seconds,
            )


def template_of(found: PoolObject) -> NodeTemplate:
    """Nothing is told of its nodes but what the group is called: a pod may select them by that."""
    names = _names(found.uid.removeprefix("group "))
    by_provider = (PoolRequirement(key, "In", names) for key in POOL_LABELS if "/" in key)
    return NodeTemplate(requirements=tuple(by_provider), open_prefixes=("",), names=names)


def _alike(groups: Iterable[ScaledGroup], found: PoolObject | None, nodes: Nodes) -> list[ScaledGroup]:
    """Those that may be this pool, the surest alone where one is."""
    groups = tuple(groups)
    if found is not None and found.api_version == STATUS_OBJECT:
        return [one for one in groups if found.uid == f"group {one.name}"]
    name = found.name if found is not None else next((one.pool for one in nodes if one.pool), "")
    if not name:
        return []
    exact = {f"{found.kind}/{found.namespace}/{found.name}", found.key} if found is not None else {name}
    holding = [one for one in groups if name in one.name]
    if sure := [one for one in holding if one.name in exact]:
        return sure
    holding = [one for one in holding if not _is_other(one, found)]
    if whole := [one for one in holding if _whole_name(one.name) == name]:
        return whole
    if len(name) < _SHORTEST:
        return []
    held = re.compile(rf"{_EDGE}{re.escape(name)}(?:$|[^A-Za-z0-9])")
    return [one for one in holding if not _whole_name(one.name) and held.search(one.name)]


def _is_other(group: ScaledGroup, found: PoolObject | None) -> bool:
    """A group whose id names kind and namespace is that object and no other."""
    parts = group.name.split("/")
    return found is not None and len(parts) == 3 and group.name != f"{found.kind}/{found.key}"


def _is_bare(group: ScaledGroup) -> bool:
    """Whether it has no node, or is to get some, or its nodes do not show their devices yet."""
    is_coming = group.target is not None and group.target > (group.registered or 0)
    return bool(group.name) and (not group.registered or is_coming or bool(group.without_resources))


def _whole_name(group: str) -> str:
    """The pool's name where the id tells where it begins and ends; "" elsewhere."""
    return next((found[1] for one in _WHOLE_NAMES if (found := one.match(group))), "")


def _short(group: str) -> str:
    return _whole_name(group) or group.rpartition("/")[2] or group


def _names(group: str) -> tuple[str, ...]:
    """What the pool may be called: all that its name may be where the id holds that of the cluster, too."""
    found = _GKE.search(group)
    if found is None:
        return tuple(dict.fromkeys((_short(group), group)))
    words = found[1].split("-")
    return tuple("-".join(words[at:]) for at in range(1, len(words)))
