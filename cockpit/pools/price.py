"""What machines cost, by the prices that the user wrote down. None where one of them has no price."""

from collections.abc import Iterable

from cockpit.k8s.labels import SPOT
from cockpit.model.node import Node
from cockpit.model.pool import Pool
from cockpit.model.price import Prices


def is_spot(node: Node) -> bool:
    """Whether the cloud may reclaim it at any time."""
    return not SPOT.isdisjoint(node.labels)


def pool_hourly(pool: Pool, prices: Prices) -> float | None:
    """Money an hour for the machines that are there, each by its type, spot ones at their price."""
    if not pool.kinds:
        return None if prices.hourly(pool.machine) is None else 0.0
    parts = [
        (count, prices.hourly(kind.machine, is_spot=is_spot))
        for kind in pool.kinds
        for count, is_spot in ((kind.nodes - kind.spot, False), (kind.spot, True))
        if count
    ]
    found = [count * hourly for count, hourly in parts if hourly is not None]
    return sum(found) if len(found) == len(parts) else None


def node_hourly(pool: Pool, prices: Prices) -> float | None:
    """Money an hour for one more machine; also None where its machines differ in type."""
    return prices.hourly(pool.machine, is_spot=pool.nodes_spot * 2 > pool.nodes_now)


def nodes_hourly(nodes: Iterable[Node], prices: Prices) -> float | None:
    """Money an hour for these."""
    found = [prices.hourly(node.instance_type, is_spot=is_spot(node)) for node in nodes]
    known = [hourly for hourly in found if hourly is not None]
    return sum(known) if len(known) == len(found) else None


def types_unpriced(pool: Pool, prices: Prices) -> str:
    """What a person adds to the setting `prices` first: its machine types without a price."""
    types = dict.fromkeys(kind.machine for kind in pool.kinds) or {pool.machine: None}
    missing = [name for name in types if name and prices.hourly(name) is None]
    return ", ".join(missing) or "its machine type"
