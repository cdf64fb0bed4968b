"""Quota that would let the subject in: another queue, a resumed queue, more nominal quota; a resumed job."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from cockpit.gangs import registry
from cockpit.gangs.wording import short
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.listing import Incomplete, listing
from cockpit.model.record import Kind, condition
from cockpit.triage.changes.in_line import turn_of
from cockpit.triage.changes.job_edits import smaller_for_quota
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OWN_LINE,
    ChangeOffer,
    ChangeOffers,
    Desk,
    amount_text,
    made,
)

_MOST_RAISES: Final = 32


def quotas(desk: Desk) -> ChangeOffers:
    """About the queue that has yet to admit the subject."""
    if not desk.wanted.queue:
        return
    yield from _resumed_queue(desk)
    yield from created(desk)
    yield from other_queues(desk)
    yield from _raised(desk)
    yield from smaller_for_quota(desk)


def resumed(desk: Desk, blocker: Finding) -> ChangeOffers:
    """A job that is suspended, or switched off, goes on."""
    job, workload = desk.wanted.job, desk.workload
    if job is None:
        return
    on: dict[str, Any] = {}
    if workload is not None and not workload.is_active:
        on["records"] = ((Kind.WORKLOAD, msgspec.structs.replace(workload, is_active=True, conditions=())),)
        on["queue"] = workload.queue
    target = Subject("job", job.namespace, job.name)
    words = f"resume {short(desk.name)}"
    yield made(desk, FREE + 1, "resume", words, (desk.name,), verb="job.resume", target=target, **on)


def is_open(queue: ClusterQueue) -> bool:
    """False where the queue says itself that it admits nobody."""
    told = condition(queue.conditions, "Active")
    return told is None or told.status != "False"


def _resumed_queue(desk: Desk) -> ChangeOffers:
    """A stopped queue runs again; where both kinds are stopped that is a step for each."""
    local, queue = desk.local, desk.queue
    if local is None or queue is None:
        return
    if local.is_stopped:
        yield _runs_again(desk, local.key, Kind.LOCAL_QUEUE, local, local.namespace)
    if queue.is_stopped:
        namesake = any(one.name == queue.name for one in desk.view.store.records(Kind.LOCAL_QUEUE).values())
        name = registry.queue_name(queue) if namesake else queue.name
        yield _runs_again(desk, name, Kind.CLUSTER_QUEUE, queue, "")


def _runs_again(
    desk: Desk, name: str, kind: str, queue: LocalQueue | ClusterQueue, namespace: str
) -> ChangeOffer:
    return made(
        desk,
        FREE + 1,
        "resume_queue",
        f"resume queue {short(name)}",
        (name,),
        verb="queue.resume",
        target=Subject("queue", namespace, queue.name),
        records=((kind, msgspec.structs.replace(queue, stop_policy="None")),),
    )


def created(desk: Desk) -> ChangeOffers:
    """The LocalQueue that is named, where only one ClusterQueue could stand behind it."""
    name, space = desk.wanted.queue, desk.wanted.namespace
    store = desk.view.store
    queues: Mapping[str, ClusterQueue] = store.records(Kind.CLUSTER_QUEUE)
    open_ = [one for one in queues.values() if is_open(one)]
    lists = listing(store, Kind.LOCAL_QUEUE, space), listing(store, Kind.CLUSTER_QUEUE)
    if desk.local is not None or len(open_) != 1 or any(isinstance(one, Incomplete) for one in lists):
        return
    behind = open_[0].name
    local = LocalQueue(uid=f"new {name}", name=name, namespace=space, cluster_queue=behind)
    yield made(
        desk,
        FREE + 2,
        "create",
        f"create queue {short(name)} in {short(space)}, on {short(behind)}",
        ("kubectl", "apply", "-n", space, "-f", f"{name}.yaml"),
        target=Subject("queue", space, name),
        records=((Kind.LOCAL_QUEUE, local),),
    )


def other_queues(desk: Desk) -> ChangeOffers:
    """Queues of the same namespace that could take it."""
    job, queue = desk.wanted.job, desk.queue
    is_behind = job is not None and job.position is not None and job.position > 1
    if queue is not None and is_open(queue) and not is_behind and not turn_of(desk, desk.base).lacks:
        return
    locals_: Mapping[str, LocalQueue] = desk.view.store.records(Kind.LOCAL_QUEUE)
    for one in sorted(locals_.values(), key=lambda each: each.key):
        if one.namespace == desk.wanted.namespace and one.name != desk.wanted.queue:
            words = f"queue {short(one.name)} instead of {short(desk.wanted.queue)}"
            command = (desk.name, "--queue", one.name)
            target = Subject("queue", one.namespace, one.name)
            yield made(
                desk,
                OWN_LINE,
                "other_queue",
                words,
                command,
                verb="job.prioritise",
                target=target,
                queue=one.name,
            )


def _raised(desk: Desk) -> ChangeOffers:
    """The least nominal quota with which the subject gets its turn: what it lacks, and what those take that
    stand before it, of every resource."""
    queue = desk.queue
    if queue is None:
        return
    more: dict[tuple[str, str], int] = {}
    then = queue
    for _ in range(_MOST_RAISES):
        after = msgspec.structs.replace(desk.base, records=((Kind.CLUSTER_QUEUE, then),))
        lacks = turn_of(desk, after, is_last=desk.is_anew).lacks
        if any(not one.flavor for one in lacks):
            return
        if not lacks:
            break
        for one in lacks:
            place = (one.flavor, one.resource)
            more[place] = more.get(place, 0) + one.asked - one.left
        then = _with_more(queue, more)
    else:
        return
    if more:
        yield _raise(desk, queue, then, more)


def _with_more(queue: ClusterQueue, more: Mapping[tuple[str, str], int]) -> ClusterQueue:
    rows = tuple(
        msgspec.structs.replace(row, nominal=row.nominal + more.get((row.flavor, row.resource), 0))
        for row in queue.quotas
    )
    return msgspec.structs.replace(queue, quotas=rows)


def _raise(
    desk: Desk, queue: ClusterQueue, then: ClusterQueue, more: Mapping[tuple[str, str], int]
) -> ChangeOffer:
    rows = [row for row in then.quotas if more.get((row.flavor, row.resource))]
    rows.sort(key=lambda row: not is_gpu_resource(row.resource))
    amounts = " and ".join(
        f"{resource_word(row.resource)} in flavor {short(row.flavor)}"
        f" to {amount_text(row.resource, row.nominal)}"
        for row in rows
    )
    offers = registry.engine_of_queue(queue).offers
    command = () if offers is None else offers.quota_command(queue, rows, desk.view.trees)
    of_gpus = (more[row.flavor, row.resource] for row in rows if is_gpu_resource(row.resource))
    return made(
        desk,
        MONEY + (sum(of_gpus) or 1),
        "raise_quota",
        f"raise {short(queue.name)}'s quota of {amounts}",
        command,
        target=Subject("queue", "", queue.name),
        records=((Kind.CLUSTER_QUEUE, then),),
    )
