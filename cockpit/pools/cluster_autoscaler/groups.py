"""Which of the autoscaler's groups is which pool: it calls them by the provider's ids.

Sources: kubernetes/autoscaler cluster-autoscaler/cloudprovider/clusterapi/clusterapi_unstructured.go
(`MachineDeployment/NAMESPACE/NAME`); ids of others hold the pool's name among other words (an auto scaling
group `eks-NAME-UUID`, a scale set `aks-NAME-NUMBER-vmss`, the url of an instance group).
"""

import re

from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.pool import PoolObject
from cockpit.pools.owner import Nodes

_EDGE = r"(?:^|[^A-Za-z0-9])"
_SHORTEST = 3


def group_of(status: AutoscalerStatus, found: PoolObject | None, nodes: Nodes) -> ScaledGroup | None:
    """The group that is this pool; None where none is, or where several may be."""
    name = found.name if found is not None else next((one.pool for one in nodes if one.pool), "")
    if not name:
        return None
    exact = {f"{found.kind}/{found.namespace}/{found.name}", found.key} if found is not None else {name}
    for one in status.groups:
        if one.name in exact:
            return one
    if len(name) < _SHORTEST:
        return None
    held = re.compile(rf"{_EDGE}{re.escape(name)}(?:$|[^A-Za-z0-9])")
    alike = [one for one in status.groups if held.search(one.name) and not _is_other(one, found)]
    if len(alike) > 1 and found is not None:
        bounds = (found.min_replicas, found.max_replicas)
        alike = [one for one in alike if (one.minimum, one.maximum) == bounds]
    return alike[0] if len(alike) == 1 else None


def _is_other(group: ScaledGroup, found: PoolObject | None) -> bool:
    """A group whose id names kind and namespace is that object and no other."""
    parts = group.name.split("/")
    return found is not None and len(parts) == 3 and group.name != f"{found.kind}/{found.key}"
