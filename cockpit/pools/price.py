"""What a pool costs, by the prices that the user wrote down."""

from cockpit.model.pool import Pool
from cockpit.model.price import Prices


def pool_hourly(pool: Pool, prices: Prices) -> float | None:
    """Money an hour for the machines that are there, spot ones at their price; None where it is unknown."""
    steady = pool.nodes_now - pool.nodes_spot
    parts = [
        (count, prices.hourly(pool.machine, is_spot=is_spot))
        for count, is_spot in ((steady, False), (pool.nodes_spot, True))
        if count
    ]
    if not parts and prices.hourly(pool.machine) is None:
        return None
    found = [count * hourly for count, hourly in parts if hourly is not None]
    return sum(found) if len(found) == len(parts) else None


def node_hourly(pool: Pool, prices: Prices) -> float | None:
    """Money an hour for one more machine like most of the pool's."""
    return prices.hourly(pool.machine, is_spot=pool.nodes_spot * 2 > pool.nodes_now)
