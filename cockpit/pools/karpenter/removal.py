"""How far Karpenter is with taking a node away: its NodeClaim's conditions, its taint.

Sources: karpenter pkg/apis/v1/nodeclaim_status.go (Consolidatable is True once the NodePool's
consolidateAfter has passed without a pod coming or going), taints.go, labels.go.
"""

from collections.abc import Iterable

from cockpit.model.node import Node
from cockpit.model.pool import Machine
from cockpit.model.record import condition, label
from cockpit.pools.owner import Removal

GOING = "karpenter.sh/disrupted"
KEEP = "karpenter.sh/do-not-disrupt"
_WHY = {
    "Drifted": "drifted from its NodePool: Karpenter means to replace it",
    "Consolidatable": "idle for consolidateAfter of its NodePool: Karpenter may remove it at any time",
}


def removal_of(node: Node, machines: Iterable[Machine]) -> Removal | None:
    """None where it does not mean to take it; how long it waits still, nobody tells."""
    claim = next((one for one in machines if one.node == node.name), None)
    if claim is not None and claim.deleting_seconds is not None:
        return Removal(stage=_leaving(claim), since_seconds=claim.deleting_seconds)
    if any(one.key == GOING for one in node.taints):
        return Removal(stage="chosen by Karpenter: no new pods, being drained")
    if label(node.annotations, KEEP) == "true":
        return Removal(stage="", kept=f"annotation {KEEP}: Karpenter does not take it")
    for kind, words in _WHY.items():
        found = condition(claim.conditions, kind) if claim is not None else None
        if found is not None and found.status == "True":
            return Removal(stage=words, since_seconds=found.changed_seconds)
    return None


def _leaving(claim: Machine) -> str:
    """Drained, volumes detached, instance terminating: in this order."""
    steps = (
        ("InstanceTerminating", "its instance ends"),
        ("VolumesDetached", "its volumes are detached; its instance ends next"),
        ("Drained", "drained; its volumes are being detached"),
    )
    for kind, words in steps:
        found = condition(claim.conditions, kind)
        if found is not None and found.status == "True":
            return f"being removed by Karpenter: {words}"
    return "being removed by Karpenter: its pods are being evicted"
