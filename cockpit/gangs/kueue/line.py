"""Who stands before whom: the line of each ClusterQueue, its head, and who is alike.

Since 0.18 Kueue evaluates one of several workloads that are alike and says nothing of the others; with
StrictFIFO only the head is evaluated. What holds those can be read from the one that was.
Sources: kueue pkg/cache/queue/cluster_queue.go, pkg/controller/core/workload_controller.go.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

from cockpit.gangs.kueue import standing, texts
from cockpit.model.gang import Workload
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader


class Lines(NamedTuple):
    """`heads`: ClusterQueue to the workload that is next. `evaluated`: of those alike one that Kueue judged.
    `waits_for_pods`: one that Kueue holds until the pods of another are ready."""

    heads: dict[str, Workload]
    evaluated: dict[tuple[str, int, int], Workload]
    waits_for_pods: Workload | None


_LAST: WeakKeyDictionary[StoreReader, tuple[int, Lines]] = WeakKeyDictionary()
"""Of each store, at its last revision: hundreds of rows ask between two changes."""


def lines_of(store: StoreReader) -> Lines:
    """The lines as they stand now."""
    last = _LAST.get(store)
    if last is None or last[0] != store.revision:
        last = (store.revision, _lines(store))
        _LAST[store] = last
    return last[1]


def _lines(store: StoreReader) -> Lines:
    heads: dict[str, Workload] = {}
    evaluated: dict[tuple[str, int, int], Workload] = {}
    waits_for_pods: Workload | None = None
    for one in store.records(Kind.WORKLOAD).values():
        if not standing.is_in_line(one):
            continue
        queue = standing.cluster_queue_name(one, store)
        head = heads.get(queue)
        if head is None or standing.queue_order(one) < standing.queue_order(head):
            heads[queue] = one
        if not is_unheard(one):
            evaluated.setdefault(_likeness(one, queue), one)
            reserved = condition(one.conditions, "QuotaReserved")
            if reserved is not None and texts.is_about_pods_ready(reserved.reason, reserved.message):
                waits_for_pods = one
    heads.pop("", None)
    return Lines(heads, evaluated, waits_for_pods)


def _likeness(workload: Workload, queue: str) -> tuple[str, int, int]:
    return queue, workload.shape, workload.priority


def is_unheard(workload: Workload) -> bool:
    """True where Kueue has told nothing of its own about it: no condition, or that it was passed over."""
    reserved = condition(workload.conditions, "QuotaReserved")
    if reserved is None:
        return True
    return texts.SAYS_NOTHING.search(reserved.message) is not None


def twin_of(workload: Workload, store: StoreReader) -> Workload | None:
    """One that asks for the same in the same queue and of which Kueue has said why it waits."""
    if not workload.shape:
        return None
    found = lines_of(store).evaluated.get(_likeness(workload, standing.cluster_queue_name(workload, store)))
    return None if found is None or found.uid == workload.uid else found


def head_before(workload: Workload, store: StoreReader) -> Workload | None:
    """The head of its ClusterQueue, None where it is the head itself or has no queue."""
    found = lines_of(store).heads.get(standing.cluster_queue_name(workload, store))
    return None if found is None or found.uid == workload.uid else found
