"""A cluster of filled nodes and bursts of like pods, for a test of what is placed and for the bench."""

from collections.abc import Callable

from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.port import Tree
from tests.differential.scheduling_situations import ZONE, near, node, pod, spread

FITS_NOWHERE = "that fits nowhere"
BURSTS: dict[str, Callable[[], Tree]] = {
    "plain": lambda: pod(cpu="8", gpus=1),
    FITS_NOWHERE: lambda: pod(cpu="8", gpus=8),
    "spread over zones": lambda: pod(labels={"app": "s"}, topologySpreadConstraints=spread("s")),
    "away from its like": lambda: pod(labels={"app": "w"}, affinity=near("w", away=True)),
    "near its like": lambda: pod(labels={"app": "z"}, affinity=near("z", ZONE)),
}


def filled(nodes: int) -> SchedulerCache:
    """Nodes of 8 GPUs in three zones with four pods of one GPU on each."""
    one = SchedulerCache()
    for number in range(nodes):
        labels = {ZONE: "abc"[number % 3]}
        one.put_node(node(f"n{number:04}", cpu="96", memory="768Gi", gpus=8, labels=labels))
    for number in range(4 * nodes):
        one.put_pod(named(pod(cpu="8", gpus=1, on=f"n{number % nodes:04}"), f"filler-{number}"))
    return one


def named(tree: Tree, name: str) -> PodInfo:
    metadata = {**tree["metadata"], "name": name, "uid": name}
    return PodInfo({**tree, "metadata": metadata})
