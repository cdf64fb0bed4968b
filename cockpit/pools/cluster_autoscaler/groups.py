"""Which of the autoscaler's groups is which pool: it calls them by the provider's ids. And those that only
its status names.

Sources: kubernetes/autoscaler cluster-autoscaler/cloudprovider/clusterapi/clusterapi_unstructured.go
(`MachineDeployment/NAMESPACE/NAME`); ids of others hold the pool's name among other words (an auto scaling
group `eks-NAME-UUID`, a scale set `aks-NAME-NUMBER-vmss`, the url of an instance group
`gke-CLUSTER-NAME-HASH-grp`, one in each zone of the pool, each with its own hash).
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


def groups_of(status: AutoscalerStatus, found: PoolObject | None, nodes: Nodes) -> tuple[ScaledGroup, ...]:
    """The groups that are this pool, one in each of its zones; () where none is, or where they may be of
    several pools."""
    alike = _alike(status.groups, found, nodes)
    if len(_pools(alike)) > 1:
        mine = _pools(one for one in alike if any(_has(one, node.name) for node in nodes))
        alike = [one for one in alike if _pool_of(one) in mine] or alike
    if len(_pools(alike)) > 1 and found is not None:
        bounds = (found.min_replicas, found.max_replicas)
        alike = [one for one in alike if (one.minimum, one.maximum) == bounds]
    return tuple(alike) if len(_pools(alike)) == 1 else ()


def may_grow(group: ScaledGroup) -> bool:
    """Whether it may get more nodes, as far as its status says."""
    is_full = None not in (group.target, group.maximum) and (group.target or 0) >= (group.maximum or 0)
    return not is_full and group.up not in ("Backoff", "Unhealthy")


def sum_of(numbers: Iterable[int | None]) -> int | None:
    """None where one of them is not known."""
    known = list(numbers)
    return None if not known or None in known else sum(one or 0 for one in known)


def coming_of(groups: Iterable[ScaledGroup]) -> int | None:
    """How many nodes are to come, below 0 to go: both numbers are of one moment, of nodes that it counted."""
    return sum_of(
        None if one.target is None or one.registered is None else one.target - one.registered
        for one in groups
    )


def _pools(groups: Iterable[ScaledGroup]) -> set[str]:
    return {_pool_of(one) for one in groups}


def _pool_of(group: ScaledGroup | str) -> str:
    """What all groups of one pool have in common: the id without the hash of the zone."""
    name = group if isinstance(group, str) else group.name
    zonal = _GKE.search(name)
    return name if zonal is None else f"gke-{zonal[1]}"


def _has(group: ScaledGroup, node: str) -> bool:
    """Whether the node's name says that it is of that group: it begins with the last part of the id."""
    return node.startswith(f"{group.name.rpartition('/')[2].removesuffix('-grp')}-")


def group_of_node(status: AutoscalerStatus, node: str) -> ScaledGroup | None:
    """The group whose pool's name the node's name begins with, before or after the provider's prefix; the
    longest of several."""
    for group in status.groups:
        if _GKE.search(group.name) and _has(group, node):
            return group
    held = [
        one
        for one in status.groups
        if any(re.search(rf"(?:^|-){re.escape(name)}-", node) for name in _names(one.name) if "/" not in name)
    ]
    return max(held, key=lambda one: len(_short(one.name)), default=None)


def told_groups(status: AutoscalerStatus, known: Iterable[KnownPool]) -> Iterator[PoolObject]:
    """What stands for groups without a node that shows what it has, and that are none of these pools."""
    bare = [one for one in status.groups if _is_bare(one)]
    taken = _pools(one for found, nodes in known for one in _alike(bare, found, nodes)) if bare else set()
    left = {_pool_of(one): one for one in reversed(bare)}
    names = [_short(one.name) for one in left.values()]
    for (pool, group), name in zip(left.items(), names, strict=True):
        if pool not in taken:
            zones = [one for one in status.groups if _pool_of(one) == pool]
            own = name if len(zones) == 1 else pool
            yield PoolObject(
                uid=f"group {group.name}",
                name=own if names.count(name) == 1 else group.name,
                api_version=STATUS_OBJECT,
                kind="",
                resource_path="",
                replicas=sum_of(one.target for one in zones),
                min_replicas=sum_of(one.minimum for one in zones),
                max_replicas=sum_of(one.maximum for one in zones),
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
        own = _pool_of(found.uid.removeprefix("group "))
        return [one for one in groups if _pool_of(one) == own]
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
    return [one for one in holding if not _whole_name(one.name) and _may_be(one.name, name, held)]


def _may_be(group: str, pool: str, held: re.Pattern[str]) -> bool:
    return pool in _names(group) if _GKE.search(group) else held.search(group) is not None


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
