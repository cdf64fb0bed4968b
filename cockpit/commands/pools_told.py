"""Facts of `get pools` beyond the records: the pods that wait for them, and their cost."""

from collections.abc import Sequence
from typing import Any

from cockpit.attach import Attachment
from cockpit.commands.settings import settings_in_force
from cockpit.pools.demand import NO_DEMAND, demand_by_pool
from cockpit.pools.index import pools_of
from cockpit.pools.price import pool_hourly
from cockpit.views.pools import PoolsBeside


def beside(attachment: Attachment) -> PoolsBeside:
    """As the screen shows it."""
    demand = demand_by_pool(attachment.store, pools_of(attachment.store))
    return PoolsBeside(attachment.trends, demand, settings_in_force().prices)


def with_demand_and_cost(items: Sequence[dict[str, Any]], attachment: Attachment) -> list[dict[str, Any]]:
    """`demand` counts pods that wait for a node; `only_here` are those that no other pool could take.
    `hourly_cost` is null where the prices do not name the machine."""
    pools = {item.name: item for item in pools_of(attachment.store)}
    found, prices = demand_by_pool(attachment.store, tuple(pools.values())), settings_in_force().prices
    told = []
    for item in items:
        waits = None if found is None else found.get(item["name"], NO_DEMAND)
        demand = (
            None
            if waits is None
            else {
                "only_here_gpus": waits.gpus,
                "only_here_pods": len(waits.only),
                "shared_gpus": sum(pod.gpus for pod in waits.shared),
                "shared_pods": len(waits.shared),
            }
        )
        cost = pool_hourly(pools[item["name"]], prices)
        told.append({**item, "demand": demand, "hourly_cost": cost, "currency": prices.currency})
    return told
