"""Why machines of a pool do not come: what its owners say, and what its nodes show."""

from cockpit.model.pool import Machine, Pool
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.index import pool_object
from cockpit.pools.owner import FailureClass, Nodes, PoolFailure
from cockpit.pools.stage import GPUS_LIMIT_SECONDS, NodeStage, node_stage, ready_since
from cockpit.pools.truth import has_lost_its_node, objects_of

MOST_KEPT_SECONDS = 6 * 3_600.0
"""What was said longer ago says nothing of now."""


def failures_of(pool: Pool, store: StoreReader, now_seconds: float) -> tuple[PoolFailure, ...]:
    """All of them, the newest first; each cause of one machine once, and none that a later machine healed."""
    found = pool_object(store, pool)
    nodes = tuple(one for name in pool.node_names if (one := store.by_key(Kind.NODE, name)) is not None)
    machines = registry.machines(found, nodes, store)
    told = [
        *registry.failures(found, nodes, store, now_seconds),
        *(_without_node(one) for one in machines if has_lost_its_node(one, store)),
        *_without_gpus(nodes, store, now_seconds),
    ]
    told = [
        one
        for one in told
        if one.since_seconds is None or now_seconds - one.since_seconds <= MOST_KEPT_SECONDS
    ]
    came = max((one.created_seconds or 0.0 for one in nodes if one.ready == "True"), default=0.0)
    told = [one for one in told if not one.is_past or one.since_seconds is None or one.since_seconds >= came]
    told.sort(key=lambda one: -(one.since_seconds or 0.0))
    once = {(one.kind, one.machine, one.sentence): one for one in reversed(told)}
    return tuple(reversed(once.values()))


def failure_of_machine(machine: Machine, store: StoreReader, now_seconds: float) -> PoolFailure | None:
    """Why this machine does not become a node, None where it may still."""
    owners = (
        one for one in objects_of(store) if (one.kind, one.key) == (machine.pool_kind, machine.pool_key)
    )
    told = registry.failures(next(owners, None), (), store, now_seconds)
    return next((one for one in told if one.machine == machine.uid and not one.is_past), None)


def _without_node(machine: Machine) -> PoolFailure:
    told = next((one for one in machine.conditions if one.status == "False" and "Node" in one.type), None)
    return PoolFailure(
        kind=FailureClass.NODE_DELETED,
        sentence=f"node {machine.node} was deleted, and its {machine.kind} {machine.name} is still there",
        remedy=f"delete {machine.kind} {machine.name}: its owner makes another one",
        source=f"{machine.kind} {machine.key}",
        since_seconds=None if told is None else told.changed_seconds,
        machine=machine.uid,
    )


def _without_gpus(nodes: Nodes, store: StoreReader, now_seconds: float) -> list[PoolFailure]:
    found = []
    for node in nodes:
        since = ready_since(node)
        if since is None or now_seconds - since <= GPUS_LIMIT_SECONDS:
            continue
        if node_stage(node, store) == NodeStage.NOT_ADVERTISED:
            found.append(
                PoolFailure(
                    kind=FailureClass.NO_GPUS,
                    sentence=f"node {node.name} joined, its GPUs never came",
                    remedy="look at the pods of driver and device plugin on it",
                    source=f"node {node.name}",
                    since_seconds=since,
                    machine=node.uid,
                )
            )
    return found
