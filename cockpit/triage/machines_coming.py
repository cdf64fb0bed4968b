"""Machines that are on their way to some pools, and how long such machines took before.

How long is read from the objects: of a node that came for a pod, the pod's own times tell when a machine was
wished for and when its GPUs could be used. A machine whose node has joined is older than its node by what
others took to join.
"""

from collections.abc import Collection
from statistics import median
from typing import Final, NamedTuple

from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.index import pools_of
from cockpit.pools.stage import NodeStage, node_stage

LONGEST_SECONDS: Final = 3_600.0
"""A pod that started so long after it was made waited for something else than a machine."""
MOST_SAMPLES: Final = 200
_READY: Final = (NodeStage.JOINED, NodeStage.READY, NodeStage.NOT_ADVERTISED)


class MachinesComing(NamedTuple):
    """`ages` are of machines that were asked for and have no GPUs yet, in seconds since the wish; `growths`
    what machines of these pools took, () where nobody has seen one come."""

    ages: tuple[float, ...] = ()
    growths: tuple[float, ...] = ()


def machines_coming(store: StoreReader, pools: Collection[str], now_seconds: float) -> MachinesComing:
    """Of the pools of these names; nothing without a name."""
    names = frozenset(one for one in pools if one)
    if not names:
        return MachinesComing()
    nodes = [one for one in store.records(Kind.NODE).values() if one.pool in names]
    took = _took(store, nodes)
    joining = [one for one in nodes if one.has_gpus and node_stage(one, store) in _READY]
    to_join = median(join for join, _ in took) if took else 0.0
    ages = [to_join + max(0.0, now_seconds - (one.created_seconds or now_seconds)) for one in joining]
    for pool in pools_of(store):
        if pool.name in names:
            asked = pool.nodes_joining - sum(one.pool == pool.name for one in joining)
            ages += [0.0] * max(0, asked)  # since when nobody tells: as if it was asked for just now
    return MachinesComing(tuple(ages), tuple(whole for _, whole in took[-MOST_SAMPLES:]))


def _took(store: StoreReader, nodes: Collection[Node]) -> list[tuple[float, float]]:
    """Of each node that came for a pod that is on it: seconds from the wish to the node, and to its GPUs."""
    made = {one.name: one.created_seconds for one in nodes if one.created_seconds is not None}
    found: dict[str, tuple[float, float]] = {}
    for pod in store.gpu_pods():
        joined = made.get(pod.node)
        times = None if joined is None else _times(pod, joined)
        if times is not None and (pod.node not in found or times[1] < found[pod.node][1]):
            found[pod.node] = times
    return [found[name] for name in sorted(found, key=lambda one: made[one])]


def _times(pod: Pod, joined_seconds: float) -> tuple[float, float] | None:
    """None where the pod did not wait for this node: made after it, or started long after."""
    wished, started = pod.created_seconds, pod.started_seconds
    if wished is None or started is None or not wished <= joined_seconds <= started:
        return None
    whole = started - wished
    return (joined_seconds - wished, whole) if whole <= LONGEST_SECONDS else None
