"""Whether a node that has joined takes a pod, with all that it asks for, once its GPUs are up."""

import msgspec

from cockpit.fit.node_filters import fit_nodes
from cockpit.fit.remedies import another_node
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.model.node import Node, Taint
from cockpit.model.record import Condition, Labels
from cockpit.model.store_reader import StoreReader
from cockpit.pools.demand import lasting_taints
from cockpit.pools.promise import gpus_promised, whole_sibling

_OF_DEVICES = ("nvidia.com/", "amd.com/", "feature.node.kubernetes.io/")
"""Labels that the GPU stack puts on a node once it is up."""


def takes_when_up(node: Node, shape: Shape, store: StoreReader, around: Surroundings = UNKNOWN) -> bool:
    """Whether every filter lets the pod onto the node as it will be; False where that is not known."""
    snapshot = ClusterSnapshot(store, around)
    coming = node_to_come(node, snapshot)
    if coming is None:
        return False
    snapshot.nodes[node.name] = coming
    return any(look.is_open and look.room > 0 for look in fit_nodes(snapshot, shape, 1, {node.name}))


def node_to_come(node: Node, snapshot: ClusterSnapshot) -> Node | None:
    """The node as it will be: what it shows by now, and what a node of its pool that is up has besides; None
    where nothing promises GPUs of it, or it states no amounts and no other node does."""
    store = snapshot.store
    promise, like = gpus_promised(node, store), whole_sibling(node, store)
    offered = dict(node.allocatable)
    if like is not None:
        for name, amount in another_node(snapshot, like, 0).allocatable:
            offered[name] = max(offered.get(name, 0), amount)
    if promise is None or not offered:
        return None
    offered[promise.resource] = max(offered.get(promise.resource, 0), promise.gpus or 1)
    return msgspec.structs.replace(
        node,
        labels=_labels(node, like),
        taints=_taints(node, like),
        conditions=(Condition("Ready", "True"),),
        allocatable=tuple(sorted(offered.items())),
        gpu_resource=promise.resource,
        gpu_capacity=promise.gpus or 1,
        gpu_allocatable=promise.gpus or 1,
    )


def _labels(node: Node, like: Node | None) -> Labels:
    own = dict(node.labels)
    more = {} if like is None else {key: value for key, value in like.labels if key.startswith(_OF_DEVICES)}
    return tuple(sorted({**more, **own}.items()))


def _taints(node: Node, like: Node | None) -> tuple[Taint, ...]:
    """Those that stay: a node that is up has no startup taints any more."""
    lasting = lasting_taints(node)
    if like is None:
        return lasting
    return tuple(taint for taint in lasting if any(other.key == taint.key for other in like.taints))
