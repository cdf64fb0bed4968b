"""Does the quota of a queue leave room for the whole gang.

One flavor has to hold all of a resource of one part. Borrowing reaches as far as what the rest of the cohort
leaves unused and the queue's own borrowing limit; lending limits and parents of cohorts are not in the
records and not looked at, nor is preemption inside the cohort. Source: Kueue v1beta2 ClusterQueue.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.shape import Part
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.model.gang import ClusterQueue, LocalQueue, QuotaRow
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader


class Shortage(NamedTuple):
    """The resource that the queue's quota lacks most plainly; amounts in base units."""

    queue: str  # the ClusterQueue, or the LocalQueue where it leads nowhere
    resource: str
    asked: int
    left: int  # in the flavor that has most left
    flavor: str
    words: str = ""  # instead of numbers: what is wrong with the queue itself


def shortage(store: StoreReader, parts: Sequence[Part], queue: str) -> Shortage | None:
    """What the quota lacks, GPUs first; None where it suffices, or where no queue is named or known."""
    if not queue:
        return None
    local: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{parts[0].shape.namespace}/{queue}")
    if local is None:
        return None
    found: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
    if found is None:
        words = f"queue {queue} leads to {local.cluster_queue or 'no cluster queue'}, which is not there"
        return Shortage(queue, "", 0, 0, "", words)
    for one in (found.stop_policy, local.stop_policy):
        if one not in ("", "None"):
            return Shortage(found.name, "", 0, 0, "", f"queue {queue} is stopped ({one})")
    asked = _asked(parts)
    order = sorted(asked, key=lambda name: (not is_gpu_resource(name), name))
    for name in order:
        rows = [row for row in found.quotas if row.resource == name]
        if not rows:
            if found.quotas and (is_gpu_resource(name) or name in ("cpu", "memory")):
                return Shortage(found.name, name, asked[name], 0, "")
            continue
        row = max(rows, key=lambda one: (quota_left(store, found, one), one.flavor))
        left = quota_left(store, found, row)
        if left < asked[name]:
            return Shortage(found.name, name, asked[name], max(0, left), row.flavor)
    return None


def _asked(parts: Sequence[Part]) -> dict[str, int]:
    sums: dict[str, int] = {"pods": sum(one.count for one in parts)}
    for one in parts:
        for name, each in one.shape.requests:
            sums[name] = sums.get(name, 0) + each * one.count
    return sums


def _used(row: QuotaRow) -> int:
    """Reserved quota decides; a queue that has told nothing yet holds nothing."""
    return row.reserved if row.reserved is not None else row.used or 0


def quota_left(store: StoreReader, queue: ClusterQueue, row: QuotaRow) -> int:
    """What may still be reserved of it, with what the cohort leaves; below zero where it was reduced."""
    own = row.nominal - _used(row)
    if not queue.cohort:
        return own
    queues: Mapping[str, ClusterQueue] = store.records(Kind.CLUSTER_QUEUE)
    rows = [
        each
        for one in queues.values()
        if one.cohort == queue.cohort
        for each in one.quotas
        if (each.flavor, each.resource) == (row.flavor, row.resource)
    ]
    together = sum(each.nominal - _used(each) for each in rows)
    return together if row.borrowing_limit is None else min(together, own + row.borrowing_limit)
