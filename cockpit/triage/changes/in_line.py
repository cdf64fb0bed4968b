"""Who starts before the subject does: those that wait before it in its queue take quota and seats first."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from cockpit.catalogue import Lift, row_of
from cockpit.catalogue.cause import Cause
from cockpit.fit.demand import asked_of, parts_of_sets
from cockpit.fit.quota import QuotaLedger, Shortage
from cockpit.fit.shape import Part
from cockpit.fit.what_if import WhatIf, changed_store
from cockpit.gangs import registry
from cockpit.k8s.admission.admission_specs import STRICT
from cockpit.k8s.tolerations import taint_of, tolerations_of, untolerated
from cockpit.model.gang import ClusterQueue, LocalQueue, QuotaRow, Workload
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.changes.offer import Desk
from cockpit.triage.changes.waiting_pods import on_flavors
from cockpit.triage.wanted import queue_named


class QueueTurn(NamedTuple):
    """What the line of the subject's queue comes to: its members as the flavors that it gets make them, those
    that are let in before it, and what is lacking, of it or of `behind`, the job that nobody passes."""

    parts: tuple[Part, ...]
    rivals: tuple[Part, ...] = ()
    lacks: tuple[Shortage, ...] = ()
    behind: str = ""


def turn_of(desk: Desk, then: WhatIf, *, is_last: bool = False) -> QueueTurn:
    """The line played on the changed cluster; `is_last` where the subject is made anew and stands at the end
    of its priority. Nothing is lacking where its queue is not known."""
    seen = store_after(desk.view.store, then)
    _, queue = queue_named(seen, desk.wanted.namespace, then.queue)
    if queue is None:
        return QueueTurn(then.parts)
    ledger = QuotaLedger(seen, desk.cohorts)
    rivals: list[Part] = []
    for one in ahead(desk, queue, seen, is_last=is_last):
        parts = tuple(parts_of_sets(one.pod_sets, one.namespace))
        asked = asked_of(parts)
        given, lacks = ledger.flavors(queue, asked, lambda name: _suits(desk, queue, parts, name))  # noqa: B023
        if lacks and queue.strategy == STRICT:
            return QueueTurn(then.parts, tuple(rivals), lacks, one.job_key)
        if not lacks:
            ledger.take(queue, asked, given)
            rivals += parts
    given, lacks = ledger.flavors(
        queue, asked_of(then.parts), lambda name: _suits(desk, queue, then.parts, name)
    )
    parts = tuple(on_flavors(one, given, desk.flavors) for one in then.parts)
    return QueueTurn(then.parts if lacks else parts, tuple(rivals), lacks)


def on_flavors_of(desk: Desk, turn: QueueTurn) -> tuple[Part, ...]:
    """Its members on the nodes of the flavors of which its queue lacks quota."""
    given = {one.resource: one.flavor for one in turn.lacks if one.flavor}
    return tuple(on_flavors(one, given, desk.flavors) for one in turn.parts)


def store_after(store: StoreReader, then: WhatIf) -> StoreReader:
    """The store after the change: what workloads no longer hold is free in their queues."""
    freed: Counter[tuple[str, str, str]] = Counter()
    for kind, record in then.records:
        was = store.get(kind, record.uid) if kind == Kind.WORKLOAD else None
        if isinstance(was, Workload) and isinstance(record, Workload) and not record.cluster_queue:
            for part in was.pod_sets if was.cluster_queue else ():
                flavors = dict(part.flavors)
                held = {(was.cluster_queue, flavors.get(name, ""), name): n for name, n in part.resources}
                freed.update(held)
    seen = changed_store(store, then.records, then.without)
    names = dict.fromkeys(name for name, _, _ in freed)
    queues = [queue for name in names if (queue := seen.by_key(Kind.CLUSTER_QUEUE, name)) is not None]
    less = [(Kind.CLUSTER_QUEUE, _with_freed(queue, freed)) for queue in queues]
    return changed_store(store, (*then.records, *less), then.without) if less else seen


def _with_freed(queue: ClusterQueue, freed: Counter[tuple[str, str, str]]) -> ClusterQueue:

    def less(row: QuotaRow, amount: int | None) -> int | None:
        return None if amount is None else amount - freed[queue.name, row.flavor, row.resource]

    rows = (replace(row, used=less(row, row.used), reserved=less(row, row.reserved)) for row in queue.quotas)
    return replace(queue, quotas=tuple(rows))


def selector_off_flavors(desk: Desk, queue: ClusterQueue, parts: Iterable[Part]) -> str:
    """The node selector of these pods that no flavor of the queue has, "" where none is the only reason."""
    known = [desk.flavors[row.flavor] for row in queue.quotas if row.flavor in desk.flavors]
    keys = {key for each in known for key in each.labels}
    for part in parts:
        for key, value in part.shape.node_selector:
            if key in keys and all(each.labels.get(key) != value for each in known):
                return f"{key}={value}"
    return ""


def _suits(desk: Desk, queue: ClusterQueue, parts: Iterable[Part], name: str) -> bool:
    """Whether pods may use a flavor: its taints, and its labels where a selector has such a key; True where
    it was not read."""
    flavor = desk.flavors.get(name)
    if flavor is None:
        return True
    known = (desk.flavors.get(row.flavor) for row in queue.quotas)
    keys = {key for one in known if one is not None for key in one.labels}
    added, taints = tolerations_of(list(flavor.tolerations)), [taint_of(one) for one in flavor.taints]
    return all(
        all(flavor.labels.get(key) == value for key, value in one.shape.node_selector if key in keys)
        and untolerated(taints, (*one.shape.tolerations, *added)) is None
        for one in parts
    )


def ahead(desk: Desk, queue: ClusterQueue, seen: StoreReader, *, is_last: bool = False) -> list[Workload]:
    """Those that wait in the queue before the subject, the first one first. What cannot start whatever quota
    there is takes none, but nobody passes it in a strict line."""
    own = seen.get(Kind.WORKLOAD, desk.workload.uid) if desk.workload is not None else None
    turn = (-desk.rank, float("inf")) if own is None else _order(own)
    if is_last:
        turn = (turn[0], float("inf"))
    found: list[Workload] = []
    for one in seen.records(Kind.WORKLOAD).values():
        engine = registry.admits_of(one)
        # of the same second either may come first
        if one.cluster_queue or _order(one) > turn or (own is not None and one.uid == own.uid):
            continue
        local: LocalQueue | None = seen.by_key(Kind.LOCAL_QUEUE, f"{one.namespace}/{one.queue}")
        if local is None or local.cluster_queue != queue.name or not engine.is_in_line(one) or one.gated_by:
            continue
        cause = "" if queue.strategy == STRICT else engine.admission(one, seen, None, False).why.cause
        is_out = local.is_stopped or cause == Cause.BACKS_OFF
        if not is_out and (not cause or row_of(cause).lifted_by is not Lift.COMPONENT):
            found.append(one)
    return sorted(found, key=_order)


def _order(one: Workload) -> tuple[int, float]:
    return -one.priority, one.created_seconds or 0.0
