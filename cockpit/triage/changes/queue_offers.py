"""Quota that would let the subject in, and what else an engine waits for before it lets a job in: another
queue, a resumed queue or job, more nominal quota, a flavor, a check, a group of the right size."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from cockpit.catalogue.cause import Cause
from cockpit.fit.demand import asked_of
from cockpit.gangs import registry
from cockpit.gangs.offers import QueueCase
from cockpit.gangs.sentence import counted
from cockpit.gangs.wording import short
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.k8s.kubectl import applied, merge_patch
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import ClusterQueue, LocalQueue, PodGroup
from cockpit.model.listing import Incomplete, listing
from cockpit.model.record import Kind, condition
from cockpit.triage.changes.in_line import turn_of
from cockpit.triage.changes.job_edits import (
    DROPS,
    edit_each,
    edit_offer,
    own_object,
    smaller_for_quota,
    toleration,
)
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OTHERS,
    OWN_LINE,
    ChangeOffer,
    ChangeOffers,
    Desk,
    Records,
    amount_text,
    made,
)
from cockpit.triage.wanted import job_of

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
        on["records"] = ((Kind.WORKLOAD, replace(workload, is_active=True, conditions=())),)
        on["queue"] = workload.queue
    target = Subject("job", job.namespace, job.name)
    words = f"resume {short(desk.name)}"
    yield made(desk, FREE + 1, "resume", words, (desk.name,), verb="job.resume", target=target, **on)


def is_open(queue: ClusterQueue) -> bool:
    """False where the queue says itself that it admits nobody."""
    told = condition(queue.conditions, "Active")
    return told is None or told.status != "False"


def _resumed_queue(desk: Desk) -> ChangeOffers:
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
        records=((kind, replace(queue, stop_policy="None")),),
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
            command, kind = (desk.name, "--queue", one.name), "other_queue"
            then: dict[str, Any] = {"target": Subject("queue", one.namespace, one.name), "queue": one.name}
            yield made(desk, OWN_LINE, kind, words, command, verb="job.prioritise", **then)


def _raised(desk: Desk) -> ChangeOffers:
    """The least nominal quota with which the subject gets its turn: what it lacks, and what those take that
    stand before it, of every resource."""
    queue = desk.queue
    if queue is None:
        return
    more: dict[tuple[str, str], int] = {}
    then = queue
    for _ in range(_MOST_RAISES):
        after = replace(desk.base, records=((Kind.CLUSTER_QUEUE, then),))
        lacks = turn_of(desk, after, is_last=desk.is_anew).lacks
        if any(not one.flavor for one in lacks):
            return
        if not lacks:
            break
        for one in lacks:
            place = (one.flavor, one.resource)
            more[place] = more.get(place, 0) + one.asked - one.left
        rows = (
            replace(row, nominal=row.nominal + more.get((row.flavor, row.resource), 0))
            for row in queue.quotas
        )
        then = replace(queue, quotas=tuple(rows))
    else:
        return
    if more:
        yield _raise(desk, queue, then, more)


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


_COSTS: Final[Mapping[str, int]] = {
    "create": FREE + 2,
    "label_namespace": OWN_LINE,
    "prefer_topology": OWN_LINE,
    "raise_quota": MONEY,
    "let_pass": MONEY,
    "pass_check": OTHERS,
    "drop_gate": OTHERS,
}
"""What a change of an engine's objects costs, by its kind."""


def by_engine(desk: Desk, blocker: Finding) -> ChangeOffers:
    """What the engine knows that would mend it: an object of its own, or a line of the job about it."""
    wanted, queue, workload = desk.wanted, desk.queue, desk.workload
    if workload is not None:
        engine = registry.engine_of_workload(workload)
    else:
        engine = registry.NONE if queue is None else registry.engine_of_queue(queue)
    if engine.offers is None:
        return
    tree, asked = own_object(desk), asked_of(wanted.parts)
    case = QueueCase(wanted.namespace, desk.view.trees, queue, workload, wanted.job, tree, asked)
    for one in engine.offers.changes(blocker, case):
        cost = _COSTS[one.kind] + one.amount
        if not one.command:
            yield from edit_offer(desk, cost, one.kind, one.words, one.operations, one.target)
            continue
        then: dict[str, Any] = {"records": one.records} if one.records else {}
        yield made(desk, cost, one.kind, one.words, one.command, target=one.target, trees=one.trees, **then)


def flavor_for_it(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The job tolerates the flavor's taint or drops its selector, or the queue covers the resource."""
    if taint := blocker.fact("taint"):
        words, cost = f"tolerating the taint {taint}", OWN_LINE + 2
        yield from edit_each(desk, cost, "tolerate", words, lambda place: toleration(place, taint))
    if selector := blocker.fact("selector"):
        words, drop = f"without the node selector {selector}", DROPS["drop_selector"]
        yield from edit_each(desk, OWN_LINE + 4, "drop_selector", words, lambda place: drop(place, selector))
    yield from by_engine(desk, blocker)


def usable_queue(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The queue is created, or another one is taken, or what it lacks is made."""
    yield from created(desk)
    yield from other_queues(desk)
    yield from by_engine(desk, blocker)


def _other(text: str) -> Subject | None:
    space, slash, name = text.partition("/")
    return Subject("job", space, name) if slash else None


def past_the_head(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The head of the queue steps aside, or the queue lets those pass that fit."""
    head = _other(blocker.fact("head"))
    if head is not None:
        waits = registry.workload_of(job_of(head, desk.view), desk.view.store)
        records = () if waits is None else ((Kind.WORKLOAD, replace(waits, is_active=False)),)
        yield _suspended(desk, head, "which is first in line", records)
    yield from by_engine(desk, blocker)


def _suspended(desk: Desk, job: Subject, why: str, records: Records) -> ChangeOffer:
    words = f"suspend {short(job.key)}, {why}"
    then: dict[str, Any] = {"records": records} if records else {}
    return made(desk, OTHERS, "suspend", words, (job.key,), verb="job.suspend", target=job, **then)


def without_the_one_before(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The job whose pods do not become ready, for which all others wait, is suspended."""
    other = _other(blocker.fact("other"))
    if other is not None:
        yield _suspended(desk, other, "whose pods are not ready", ())


def group_of_its_size(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The group that the pods name is created, or asks for as many pods as there are."""
    job, pods = desk.wanted.job, desk.wanted.pods
    names = {pod.gang for pod in pods}
    if job is None or len(names) != 1 or not (name := names.pop()):
        return
    groups = registry.engine_named(job.engine).groups
    if groups is None:
        return
    wanted = groups.spec(len(pods))
    space = desk.wanted.namespace
    group: PodGroup | None = desk.view.store.by_key(Kind.POD_GROUP, f"{space}/{name}")
    target = Subject("gang", space, name)
    if group is None:
        manifest = {"apiVersion": groups.api_version, "kind": "PodGroup", "spec": wanted}
        manifest["metadata"] = {"name": name, "namespace": space}
        words = f"create pod group {short(name)} of {len(pods)} in {short(space)}"
        yield made(desk, FREE + 2, "create", words, applied(manifest), target=target)
    elif group.min_member is not None and group.min_member > len(pods) and groups.minimum:
        resource = f"podgroups.{group.api_version.rpartition('/')[0]}"
        fewer = f"{counted(len(pods), 'pod')} instead of {group.min_member}"
        words = f"let group {short(name)} start with {fewer}"
        command = merge_patch((resource, name, "-n", space), {"spec": {groups.minimum: len(pods)}})
        yield made(desk, OWN_LINE, "smaller_group", words, command, target=target)


ADMISSIONS: Final[Mapping[str, Callable[[Desk, Finding], ChangeOffers]]] = {
    Cause.SUSPENDED_BY_HAND: resumed,
    Cause.SWITCHED_OFF: resumed,
    Cause.LAUNCHER_NOT_MADE: group_of_its_size,
    Cause.NO_FLAVOR_FITS: flavor_for_it,
    Cause.QUEUE_UNUSABLE: usable_queue,
    Cause.ADMISSION_CHECK: by_engine,
    Cause.OTHERS_NOT_READY: without_the_one_before,
    Cause.TOPOLOGY_FULL: by_engine,
    Cause.ADMISSION_GATED: by_engine,
    Cause.BEHIND_THE_HEAD: past_the_head,
    Cause.GANG_MEMBERS_MISSING: group_of_its_size,
    Cause.GANG_MISSING: group_of_its_size,
}
"""By the cause that they mend."""
