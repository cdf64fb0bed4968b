"""Pods of others that may take their seats first, wherever the scheduler puts them."""

from collections.abc import Mapping, Sequence

from cockpit.fit.node_filters import NodeFit, fit_nodes
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot


def seats_at_most(shape: Shape, rivals: Sequence[Part]) -> int:
    """The most members of that shape that competing pods can keep from a seat, on any nodes."""
    asked = _asked(shape)
    lost = 0
    for item in rivals:
        taken = _asked(item.shape)
        lost += item.count * max((-(-taken[name] // each) for name, each in asked.items() if name in taken))
    return lost


def seats_lost(
    snapshot: ClusterSnapshot, shape: Shape, node_fits: Sequence[NodeFit], rivals: Sequence[Part]
) -> int:
    """The same, where these nodes take members of that shape: what a rival leaves of a node may still do, and
    some nodes it cannot go to."""
    looks = [item for item in node_fits if not item.blocks and item.room > 0]
    names = {item.node.name for item in looks}
    asked = _asked(shape)
    taken: dict[str, dict[str, int]] = {}
    for rival in rivals:
        for at in fit_nodes(snapshot, rival.shape, rival.count, names):
            if at.blocks or not at.room:
                continue
            held = taken.setdefault(at.node.name, {})
            for name, each in _asked(rival.shape).items():
                held[name] = held.get(name, 0) + each * at.room
    lost = 0
    for look in looks:
        if held := taken.get(look.node.name, {}):
            free = zip(asked.items(), look.free, strict=True)
            left = min(max(0, there - held.get(name, 0)) // each for (name, each), there in free)
            lost += max(0, look.room - left)
    return min(lost, seats_at_most(shape, rivals))


def _asked(shape: Shape) -> Mapping[str, int]:
    """In the order of `NodeFit.free`."""
    return {**dict(shape.requests), "pods": 1}
