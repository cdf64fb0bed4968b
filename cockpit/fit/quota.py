"""Does the quota of a queue leave room for the whole gang.

One flavor has to hold all of the resources that share it. What cohorts lend, borrowing and lending limits are
counted as `cockpit.k8s.admission.quota_tree` does; preemption inside the cohort is not looked at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.demand import asked_of
from cockpit.fit.shape import Part
from cockpit.k8s.admission.quota_tree import FlavorResource, Forest, Quota
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.model.gang import ClusterQueue, LocalQueue, QuotaRow
from cockpit.model.listing import Incomplete, listing
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

Cohorts = Mapping[str, tuple[str, Mapping[FlavorResource, Quota]]]
"""Parent and own quota of each Cohort object, by name."""
Flavors = Mapping[str, str]
"""The flavor of each resource."""


class Shortage(NamedTuple):
    """The resource that the queue's quota lacks most plainly; amounts in base units."""

    queue: str  # the ClusterQueue, or the LocalQueue where it leads nowhere
    resource: str
    asked: int
    left: int  # in the flavor that has most left
    flavor: str
    words: str = ""  # instead of numbers: what is wrong with the queue itself


class QuotaLedger:
    """What queues may still reserve, with what their cohorts lend. `add` and `take` count in it."""

    def __init__(self, store: StoreReader, cohorts: Cohorts | None = None) -> None:
        queues: Mapping[str, ClusterQueue] = store.records(Kind.CLUSTER_QUEUE)
        self._queues = {one.name: one for one in queues.values()}
        rows = {one.name: (one.cohort, _quotas(one)) for one in queues.values()}
        self._forest = Forest.grown(rows, cohorts or {})
        for one in queues.values():
            for row in one.quotas:
                self._forest.queues[one.name].add((row.flavor, row.resource), _used(row))

    def left(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """What the queue may still reserve of it; below zero where its quota was reduced."""
        return self._forest.queues[queue.name].free((flavor, resource))

    def most(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """What the queue may reserve where no quota is in use."""
        return self._forest.queues[queue.name].capacity((flavor, resource))

    def flavors(
        self, queue: ClusterQueue, asked: Mapping[str, int], suits: Callable[[str], bool] = lambda _: True
    ) -> tuple[Flavors, tuple[Shortage, ...]]:
        """The flavors by which the queue holds all that is asked for, or else what it lacks, GPUs first: in
        each group of resources the first flavor with room. `suits`: whether its pods may use a flavor."""
        given: dict[str, str] = {}
        lacks: list[Shortage] = []
        for resources, names in _groups(queue).items():
            wanted = {name: asked[name] for name in resources if asked.get(name)}
            suiting = [name for name in names if suits(name)]
            tried = {name: self._lacks(queue, wanted, name) for name in suiting}
            chosen = next((name for name in suiting if not tried[name]), "")
            given.update(dict.fromkeys(wanted, chosen))
            if wanted and not chosen:
                none = (Shortage(queue.name, min(wanted, key=_order), 0, 0, "", "no flavor suits its pods"),)
                lacks += min(tried.values(), key=_lacking) if tried else none
        bare = [name for name in asked if name not in _covered(queue) and name != "pods"]
        lacks += (Shortage(queue.name, name, asked[name], 0, "") for name in bare if queue.quotas)
        return given, tuple(sorted(lacks, key=lambda one: _order(one.resource)))

    def _lacks(self, queue: ClusterQueue, wanted: Mapping[str, int], flavor: str) -> tuple[Shortage, ...]:
        left = {name: self.left(queue, flavor, name) for name in wanted}
        return tuple(
            Shortage(queue.name, name, amount, max(0, left[name]), flavor)
            for name, amount in wanted.items()
            if left[name] < amount
        )

    def take(self, queue: ClusterQueue, asked: Mapping[str, int], given: Flavors) -> None:
        """Count as reserved what a gang was given."""
        for name, flavor in given.items():
            self._forest.queues[queue.name].add((flavor, name), asked[name])


def _quotas(queue: ClusterQueue) -> dict[FlavorResource, Quota]:
    return {
        (row.flavor, row.resource): Quota(row.nominal, row.borrowing_limit, row.lending_limit)
        for row in queue.quotas
    }


def _covered(queue: ClusterQueue) -> set[str]:
    return {row.resource for row in queue.quotas}


def _groups(queue: ClusterQueue) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Resources that share their flavors -> these flavors, in the order in which they are tried."""
    flavors: dict[str, tuple[str, ...]] = {}
    for row in queue.quotas:
        flavors[row.resource] = (*flavors.get(row.resource, ()), row.flavor)
    groups: dict[tuple[str, ...], tuple[str, ...]] = {}
    for names in dict.fromkeys(flavors.values()):
        groups[tuple(resource for resource, some in flavors.items() if some == names)] = names
    return groups


def _lacking(lacks: Iterable[Shortage]) -> tuple[int, int]:
    """Devices first, then the rest."""
    missing = [(is_gpu_resource(one.resource), one.asked - one.left) for one in lacks]
    return sum(more for is_gpu, more in missing if is_gpu), sum(more for _, more in missing)


def _order(resource: str) -> tuple[bool, str]:
    return not is_gpu_resource(resource), resource


def shortage(store: StoreReader, parts: Sequence[Part], queue: str) -> Shortage | None:
    """What the quota lacks, GPUs first; None where it suffices, or where no queue is named or known."""
    if not queue:
        return None
    local: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{parts[0].shape.namespace}/{queue}")
    if local is None:
        return None
    found: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
    queues = listing(store, Kind.CLUSTER_QUEUE)
    if found is None and isinstance(queues, Incomplete):
        return None
    if found is None:
        words = f"queue {queue} leads to {local.cluster_queue or 'no cluster queue'}, which is not there"
        return Shortage(queue, "", 0, 0, "", words)
    for one in (found, local):
        if one.is_stopped:
            return Shortage(found.name, "", 0, 0, "", f"queue {queue} is stopped ({one.stop_policy})")
    _, lacks = QuotaLedger(store).flavors(found, asked_of(parts))
    return lacks[0] if lacks else None


def _used(row: QuotaRow) -> int:
    """Reserved quota decides; a queue that has told nothing yet holds nothing."""
    return row.reserved if row.reserved is not None else row.used or 0
