"""Where a node stands between being asked for and being used, in one word or two.

The ladder is the same for every provider; the GPU step is its own because the driver and the device plugin
come minutes after the kubelet (source: cluster-autoscaler models the same gap as `resourceUnready`).
"""

from cockpit.k8s.labels import RECLAIM_TAINTS
from cockpit.model.node import Node
from cockpit.model.pool import Pool
from cockpit.model.record import condition
from cockpit.model.store_reader import StoreReader
from cockpit.pools.promise import gpus_promised
from cockpit.pools.registry import going_taints
from cockpit.pools.truth import gpus_allocated


class NodeStage:
    """The words. JOINED to USED are the way up, the rest are states of a node that is there."""

    JOINED = "joined"  # the Node object exists, its kubelet was not Ready yet
    READY = "ready"  # kubelet Ready; a node without GPUs stays here
    NOT_ADVERTISED = "GPUs not advertised"  # Ready, but allocatable shows no GPU that labels promise
    GPUS_UP = "GPUs up"
    USED = "used"
    CORDONED = "cordoned"
    DRAINING = "draining"
    NOT_READY = "not ready"  # was Ready and is not, or its kubelet fell silent
    LEAVING = "leaving"  # being deleted

    # by the clock, as `cockpit.triage.node_walk.stage_at` tells them
    NEVER_CAME = "GPUs never came"  # NOT_ADVERTISED, and it had its time
    GONE = "GPUs gone"  # the device plugin had shown them
    UNHEALTHY = "GPUs unhealthy"  # capacity shows them, allocatable none

    COMING = (JOINED, READY, NOT_ADVERTISED)


GPUS_LIMIT_SECONDS = 2_700.0
"""A driver usually takes up to twelve minutes and a restart of the node: three quarters of an hour are too
many. A part of the GPU stack that fails is told before."""
# A node whose Ready condition is False since within this time of its birth has never been Ready.
_BIRTH_SECONDS = 90.0


def node_stage(node: Node, store: StoreReader) -> str:
    """One of the words of NodeStage for this node."""
    if node.deleting_seconds is not None:
        return NodeStage.LEAVING
    if node.ready != "True":
        return NodeStage.JOINED if _was_never_ready(node) else NodeStage.NOT_READY
    if node.taints and any(taint.key in going_taints() for taint in node.taints):
        return NodeStage.DRAINING
    if node.unschedulable:
        leaving = any(pod.deleting_seconds is not None for pod in store.pods_on(node.name))
        return NodeStage.DRAINING if leaving else NodeStage.CORDONED
    if gpus_allocated(store, node.name):
        return NodeStage.USED
    if node.gpu_allocatable:
        return NodeStage.GPUS_UP
    return NodeStage.READY if gpus_promised(node, store) is None else NodeStage.NOT_ADVERTISED


def takes_away(taint: str) -> bool:
    """Whether a taint of that key says that its node is about to go."""
    return taint in RECLAIM_TAINTS or taint in going_taints()


def is_going(node: Node) -> bool:
    """Whether a taint says that the node is about to go; most GPU nodes have one that says nothing of the
    kind."""
    return any(takes_away(taint.key) for taint in node.taints)


def ready_since(node: Node) -> float | None:
    """Since when (epoch seconds) the node is Ready, None where it is not, or nothing dates it."""
    ready = condition(node.conditions, "Ready")
    return ready.changed_seconds if ready is not None and ready.status == "True" else None


def dark_nodes(pool: Pool, now_seconds: float) -> int:
    """How many nodes of the pool are Ready and had their time to show the GPUs that are promised."""
    return sum(now_seconds - since > GPUS_LIMIT_SECONDS for since in pool.unadvertised_since)


def nodes_coming(pool: Pool, now_seconds: float) -> int:
    """Nodes that are on their way, without those whose GPUs never came."""
    return max(0, pool.nodes_joining - dark_nodes(pool, now_seconds))


def _was_never_ready(node: Node) -> bool:
    if node.ready == "":
        return True
    ready = condition(node.conditions, "Ready")
    if node.ready != "False" or ready is None:
        return False
    if ready.changed_seconds is None:
        return True  # a kubelet dates its conditions: whoever made the object wrote this one
    if node.created_seconds is None:
        return False
    return ready.changed_seconds - node.created_seconds <= _BIRTH_SECONDS
