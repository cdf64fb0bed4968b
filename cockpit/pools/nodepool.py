"""Pools owned by a Karpenter NodePool.

A NodePool with `spec.replicas` is static and may be scaled; without, Karpenter sizes it from pending pods.
The mode cannot be switched, and only `limits.nodes` bounds a static one (sources: kubernetes-sigs/karpenter
designs/static-capacity.md, pkg/apis/v1/nodepool.go).
"""

from cockpit.model.pool import PoolObject
from cockpit.pools.owner import Ownership

GROUP = "karpenter.sh"
NODE_LABEL = "karpenter.sh/nodepool"


def is_karpenter(pool: PoolObject) -> bool:
    """True for a NodePool of Karpenter, whatever its version."""
    return pool.kind == "NodePool" and pool.api_version.split("/")[0] == GROUP


def ownership(pool: PoolObject) -> Ownership:
    """Static pools may be scaled within `limits.nodes`; dynamic ones say who sizes them."""
    if pool.replicas is None:
        return Ownership(
            "a dynamic NodePool: Karpenter sizes it from pending pods; submit work, or change its limits",
            pool.min_replicas,
            pool.max_replicas,
        )
    return Ownership("", pool.min_replicas, pool.max_replicas)
