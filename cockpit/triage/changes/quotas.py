"""Quota that would let the subject in: another queue, a resumed queue, more nominal quota; a resumed job."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.model.gang import ClusterQueue, LocalQueue, QuotaRow
from cockpit.model.record import Kind, Record, condition
from cockpit.triage.changes.in_line import ahead, asked_by
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OWN_LINE,
    ChangeOffer,
    ChangeOffers,
    Desk,
    cockpit,
    short,
)
from cockpit.triage.verdict import Change, Subject
from cockpit.triage.wanted import tree_of

_STOPPED = ("Hold", "HoldAndDrain")
_GIB = 1 << 30


def quotas(desk: Desk) -> ChangeOffers:
    """ChangeOffers about the queue that has yet to admit the subject."""
    if not desk.wanted.queue:
        return
    yield from _resumed_queue(desk)
    job = desk.wanted.job
    is_behind = job is not None and job.position is not None and job.position > 1
    is_dead = desk.queue is None or not is_open(desk.queue)
    if desk.answer.shortage is not None or is_behind or is_dead:
        yield from _other_queues(desk)
    yield from _more(desk)


def resumed(desk: Desk) -> ChangeOffers:
    """A job that somebody suspended goes on."""
    job = desk.wanted.job
    if job is None:
        return
    change = Change(
        kind="resume",
        words=f"resume {short(desk.name)}",
        verb="job.resume",
        command=cockpit("job.resume", desk.name),
        target=Subject("job", job.namespace, job.name),
    )
    yield ChangeOffer(FREE + 1, change, desk.base)


def is_open(queue: ClusterQueue) -> bool:
    """False where the queue says itself that it admits nobody."""
    told = condition(queue.conditions, "Active")
    return told is None or told.status != "False"


def _resumed_queue(desk: Desk) -> ChangeOffers:
    """A stopped queue runs again: of both kinds what is stopped."""
    local, queue = desk.local, desk.queue
    if local is None or queue is None:
        return
    records: list[tuple[str, Record]] = []
    names: list[str] = []
    if local.stop_policy in _STOPPED:
        records.append((Kind.LOCAL_QUEUE, msgspec.structs.replace(local, stop_policy="None")))
        names.append(f"{local.namespace}/{local.name}")
    if queue.stop_policy in _STOPPED:
        records.append((Kind.CLUSTER_QUEUE, msgspec.structs.replace(queue, stop_policy="None")))
        namesake = any(one.name == queue.name for one in desk.view.store.records(Kind.LOCAL_QUEUE).values())
        names.append(f"clusterqueue/{queue.name}" if namesake else queue.name)
    if not records:
        return
    change = Change(
        kind="resume_queue",
        words=f"resume queue {' and '.join(short(name) for name in names)}",
        verb="queue.resume",
        command=cockpit("queue.resume", *names),
        target=Subject(
            "queue", local.namespace if local.stop_policy in _STOPPED else "", names[0].split("/")[-1]
        ),
    )
    yield ChangeOffer(FREE + len(names), change, msgspec.structs.replace(desk.base, records=tuple(records)))


def _other_queues(desk: Desk) -> ChangeOffers:
    """Queues of the same namespace that could take it."""
    locals_: Mapping[str, LocalQueue] = desk.view.store.records(Kind.LOCAL_QUEUE)
    for one in sorted(locals_.values(), key=lambda each: each.key):
        leads_to: ClusterQueue | None = desk.view.store.by_key(Kind.CLUSTER_QUEUE, one.cluster_queue)
        if one.namespace != desk.wanted.namespace or one.name == desk.wanted.queue or leads_to is None:
            continue
        if not is_open(leads_to):
            continue
        change = Change(
            kind="other_queue",
            words=f"queue {short(one.name)} instead of {short(desk.wanted.queue)}",
            verb="job.prioritise",
            command=cockpit("job.prioritise", desk.name, "--queue", one.name),
            target=Subject("queue", one.namespace, one.name),
        )
        then = msgspec.structs.replace(desk.base, queue=one.name)
        yield ChangeOffer(OWN_LINE, change, then)


def _more(desk: Desk) -> ChangeOffers:
    """More nominal quota, of every resource that is short, in the flavor that has most left."""
    queue, lacked = desk.queue, desk.answer.shortage
    if queue is None or lacked is None or lacked.words or not lacked.flavor:
        return
    more = lacked.asked - lacked.left + _asked_ahead(desk, queue, lacked.resource)
    rows = tuple(
        _raised(row, more) if (row.flavor, row.resource) == (lacked.flavor, lacked.resource) else row
        for row in queue.quotas
    )
    row = next(one for one in rows if (one.flavor, one.resource) == (lacked.flavor, lacked.resource))
    change = Change(
        kind="raise_quota",
        words=f"raise {short(queue.name)}'s quota of {_what(row)} to {_amount(row.resource, row.nominal)}",
        command=_patch(desk, queue, row),
        target=Subject("queue", "", queue.name),
    )
    cost = MONEY + (more if is_gpu_resource(row.resource) else 1)
    records = ((Kind.CLUSTER_QUEUE, msgspec.structs.replace(queue, quotas=rows)),)
    yield ChangeOffer(cost, change, msgspec.structs.replace(desk.base, records=records))


def _asked_ahead(desk: Desk, queue: ClusterQueue, resource: str) -> int:
    """What those ask for that stand before the subject in the same queue: they get new quota first."""
    return sum(asked_by(one, resource) for one in ahead(desk, queue))


def _raised(row: QuotaRow, more: int) -> QuotaRow:
    return msgspec.structs.replace(row, nominal=row.nominal + more)


def _what(row: QuotaRow) -> str:
    return f"{resource_word(row.resource)} in flavor {short(row.flavor)}"


def _amount(resource: str, count: int) -> str:
    if resource == "cpu":
        return f"{count / 1000:g}"
    if resource == "memory":
        return f"{count / _GIB:g} GiB"
    return str(count)


def _quantity(resource: str, count: int) -> str:
    """As Kubernetes writes it: cpu in millicores, the others whole."""
    return f"{count}m" if resource == "cpu" else str(count)


def _patch(desk: Desk, queue: ClusterQueue, row: QuotaRow) -> tuple[str, ...]:
    """kubectl with the path of the quota, where the queue's object was read; else the object is edited."""
    path = _path(tree_of(desk.view, "ClusterQueue", "", queue.name) or {}, row)
    if not path:
        return ("kubectl", "edit", "clusterqueue", queue.name)
    patch = [{"op": "replace", "path": path, "value": _quantity(row.resource, row.nominal)}]
    return (
        *("kubectl", "patch", "clusterqueue", queue.name),
        *("--type=json", "-p", json.dumps(patch)),
    )


def _path(tree: Mapping[str, Any], row: QuotaRow) -> str:
    """JSON pointer of the nominal quota: spec.resourceGroups[].flavors[].resources[] of a ClusterQueue."""
    groups = (tree.get("spec") or {}).get("resourceGroups") or ()
    for number, group in enumerate(groups):
        for at, flavor in enumerate(group.get("flavors") or ()):
            for place, one in enumerate(flavor.get("resources") or ()):
                if (flavor.get("name"), one.get("name")) == (row.flavor, row.resource):
                    return f"/spec/resourceGroups/{number}/flavors/{at}/resources/{place}/nominalQuota"
    return ""
