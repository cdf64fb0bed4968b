"""How far Karpenter is with taking a node away: its NodeClaim's conditions, its taint.

Sources: karpenter pkg/apis/v1/nodeclaim_status.go (lastPodEventTime), pkg/controllers/nodeclaim/disruption/
consolidation.go (Consolidatable is True once the NodePool's consolidateAfter has passed since then, or since
the claim was initialized), taints.go.
"""

from cockpit.model.node import Node
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import condition
from cockpit.pools.owner import Removal

GOING = "karpenter.sh/disrupted"


def going(node: Node, claim: Machine | None) -> Removal | None:
    """On its way out: nothing holds it any more."""
    if claim is not None and claim.deleting_seconds is not None:
        return Removal(stage=_leaving(claim), since_seconds=claim.deleting_seconds)
    if any(one.key == GOING for one in node.taints):
        return Removal(stage="chosen by Karpenter: no new pods, being drained")
    return None


def coming(claim: Machine | None, found: PoolObject | None, now_seconds: float) -> Removal | None:
    """What is meant to happen to a node that nothing holds, with the time left where that is known."""
    if claim is None:
        return None
    drifted, idle = condition(claim.conditions, "Drifted"), condition(claim.conditions, "Consolidatable")
    if drifted is not None and drifted.status == "True":
        stage = "drifted from its NodePool: Karpenter means to replace it"
        return Removal(stage=stage, since_seconds=drifted.changed_seconds)
    if idle is not None and idle.status == "True":
        stage = "idle for consolidateAfter of its NodePool: Karpenter may remove it at any time"
        return Removal(stage=stage, since_seconds=idle.changed_seconds)
    after = None if found is None or found.disruption is None else found.disruption.after_seconds
    quiet = claim.pod_moved_seconds or claim.initialized_seconds
    if after is None or quiet is None:
        return None
    stage = "no pod came or went: Karpenter may remove it once its consolidateAfter has passed"
    return Removal(stage=stage, since_seconds=quiet, left_seconds=max(0.0, quiet + after - now_seconds))


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
