"""The pods in which whoever decides a pool's size runs, for its log."""

from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.index import pool_object
from cockpit.pools.owner import OwnerTraits


def deciding(pool: Pool, store: StoreReader) -> OwnerTraits:
    """Who decides the size of the pool."""
    names = frozenset(pool.node_names)
    nodes = [one for one in store.records(Kind.NODE).values() if one.name in names]
    return registry.owner_named(registry.ownership(pool_object(store, pool), nodes, store).owner).traits


def log_pod(pool: Pool, store: StoreReader) -> Pod | None:
    """The one that runs, the newest first; None where none is seen."""
    return running_pod(deciding(pool, store), store)


def running_pod(owner: OwnerTraits, store: StoreReader) -> Pod | None:
    """The pod in which an owner runs, likewise."""
    marks = owner.log_labels
    if not marks:
        return None
    found = [
        pod
        for pod in store.records(Kind.POD).values()
        if isinstance(pod, Pod) and pod.node and not marks.isdisjoint(pod.traits.labels)
    ]
    return max(
        found, key=lambda one: (one.phase == "Running", one.created_seconds or 0.0, one.key), default=None
    )


def why_no_log(pool: Pool, store: StoreReader) -> str:
    """Why its log cannot be shown."""
    owner = deciding(pool, store)
    if not owner.decides_size:
        return "nothing in this cluster decides its size, so there is no log"
    if not owner.log_labels:
        return f"{owner.name} does not run in this cluster: there is no log of it here"
    status = store.status(Kind.POD)
    if status is not None and not status.is_whole:
        return f"no pod of {owner.name} is seen: only some namespaces are shown"
    return f"no pod of {owner.name} runs in this cluster: it may run in another one, or in the cloud"
