"""How far the autoscaler is with taking a node away, by the taints that it puts on it.

Sources: kubernetes-sigs/cluster-autoscaler pkg/utils/taints/taints.go (the value of both taints is the
second at which it was put there), pkg/FAQ.md (a node is unneeded for ten minutes by default before it goes).
"""

from cockpit.model.node import Node
from cockpit.model.record import label
from cockpit.pools.owner import Removal

GOING = "ToBeDeletedByClusterAutoscaler"
THINKING = "DeletionCandidateOfClusterAutoscaler"
KEEP = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
UNNEEDED_SECONDS = 600.0


def removal_of(node: Node, now_seconds: float) -> Removal | None:
    """None where it does not mean to take it."""
    found = {one.key: one.value for one in node.taints}
    if GOING in found:
        since = _second(found[GOING])
        return Removal(stage="being drained and deleted by the cluster autoscaler", since_seconds=since)
    if label(node.annotations, KEEP) == "true":
        return Removal(stage="", kept=f"annotation {KEEP}: the cluster autoscaler does not take it")
    if THINKING not in found:
        return None
    since = _second(found[THINKING])
    left = None if since is None else max(0.0, since + UNNEEDED_SECONDS - now_seconds)
    return Removal(
        stage="unneeded: the cluster autoscaler means to remove it (10 min unless it is told otherwise)",
        since_seconds=since,
        left_seconds=left,
    )


def _second(value: str) -> float | None:
    return float(value) if value.isascii() and value.isdigit() and len(value) < 12 else None
