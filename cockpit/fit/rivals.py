"""Pods of others that may take their seats first, wherever the scheduler puts them."""

from collections.abc import Mapping, Sequence

from cockpit.fit.node_filters import NodeFit
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.model.node import Node


def seats_at_most(shape: Shape, rivals: Sequence[Part]) -> int:
    """The most members of that shape that rivals can keep from a seat, whatever the nodes are."""
    asked = _asked(shape)
    lost = 0
    for one in rivals:
        taken = _asked(one.shape)
        lost += one.count * max((-(-taken[name] // each) for name, each in asked.items() if name in taken))
    return lost


def seats_lost(
    snapshot: ClusterSnapshot, shape: Shape, node_fits: Sequence[NodeFit], rivals: Sequence[Part]
) -> int:
    """The same, where these nodes take members of that shape: what a rival leaves of a node may still do, and
    some nodes it cannot go to. A rival's taints are not looked at: it is taken to tolerate all."""
    asked = _asked(shape)
    lost = 0
    for look in node_fits:
        if look.blocks or look.room <= 0:
            continue
        taken = dict.fromkeys(asked, 0)
        for one in rivals:
            count = _room(snapshot, look.node, one)
            for name, each in _asked(one.shape).items():
                if name in taken:
                    taken[name] += count * each
        left = min(
            max(0, free - taken[name]) // each
            for (name, each), free in zip(asked.items(), look.free, strict=True)
        )
        lost += max(0, look.room - left)
    return min(lost, seats_at_most(shape, rivals))


def _asked(shape: Shape) -> Mapping[str, int]:
    """In the order of `NodeFit.free`."""
    return {**dict(shape.requests), "pods": 1}


def _room(snapshot: ClusterSnapshot, node: Node, rival: Part) -> int:
    labels = snapshot.labels(node.name)
    if any(labels.get(key) != value for key, value in rival.shape.node_selector):
        return 0
    asked = _asked(rival.shape)
    free = snapshot.free(node, asked)
    return min(rival.count, *(max(0, left) // each for left, each in zip(free, asked.values(), strict=True)))
