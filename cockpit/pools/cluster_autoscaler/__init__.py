"""The cluster autoscaler: it sets the size of other owners' pools from the demand of pending pods.

Sources: kubernetes-sigs/cluster-autoscaler pkg/utils/taints/taints.go.
"""

from collections.abc import Mapping
from typing import ClassVar

from cockpit.pools.owner import PoolOwner


class ClusterAutoscaler(PoolOwner):
    """No pool object is its own: it takes over the size of those of others."""

    name = "the cluster autoscaler"
    going_taints = ("ToBeDeletedByClusterAutoscaler",)
    step_limits: ClassVar[Mapping[str, float]] = {"joined": 900.0}
    """`--max-node-provision-time`; source: cluster-autoscaler pkg/FAQ.md."""
    taint_words: ClassVar[Mapping[str, str]] = {
        "ToBeDeletedByClusterAutoscaler": "cluster-autoscaler is about to delete it",
        "DeletionCandidateOfClusterAutoscaler": "cluster-autoscaler considers it for deletion",
    }
