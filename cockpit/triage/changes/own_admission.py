"""What an engine waits for before it lets a job in, and who can give it: a flavor, a label, a check, a place
at the head of the queue, a group of the right size."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from cockpit.catalogue.cause import Cause
from cockpit.fit.quota import asked_of
from cockpit.gangs import registry
from cockpit.gangs.offers import QueueCase
from cockpit.gangs.sentence import counted
from cockpit.gangs.wording import short
from cockpit.k8s.kubectl import applied, merge_patch
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import PodGroup, Workload
from cockpit.model.record import Kind
from cockpit.triage.changes.job_edits import edit_offer, in_each, own_object
from cockpit.triage.changes.line_drops import DROPS, toleration
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OTHERS,
    OWN_LINE,
    ChangeOffers,
    Desk,
    Records,
    made,
)
from cockpit.triage.changes.quotas import created, other_queues, resumed
from cockpit.triage.wanted import job_of

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
        found = in_each(desk, lambda place: toleration(place, taint))
        yield from edit_offer(
            desk, OWN_LINE + 2, "tolerate", f"made anew tolerating the taint {taint}", found
        )
    if selector := blocker.fact("selector"):
        found = in_each(desk, lambda place: DROPS["drop_selector"](place, selector))
        words = f"made anew without the node selector {selector}"
        yield from edit_offer(desk, OWN_LINE + 4, "drop_selector", words, found)
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
        yield made(
            desk,
            OTHERS,
            "suspend",
            f"suspend {short(head.key)}, which is first in line",
            (head.key,),
            verb="job.suspend",
            target=head,
            records=_held(desk, head),
        )
    yield from by_engine(desk, blocker)


def _held(desk: Desk, other: Subject) -> Records:
    """The Workload of a job that waits, as it reads once the job is suspended."""
    job = job_of(other, desk.view)
    found: Workload | None = (
        desk.view.store.get(Kind.WORKLOAD, job.workload_uid) if job is not None and job.workload_uid else None
    )
    return () if found is None else ((Kind.WORKLOAD, msgspec.structs.replace(found, is_active=False)),)


def without_the_one_before(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The job whose pods do not become ready, for which all others wait, is suspended."""
    other = _other(blocker.fact("other"))
    if other is not None:
        words = f"suspend {short(other.key)}, whose pods are not ready"
        yield made(desk, OTHERS, "suspend", words, (other.key,), verb="job.suspend", target=other)


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
        metadata = {"name": name, "namespace": space}
        manifest = {
            "apiVersion": groups.api_version,
            "kind": "PodGroup",
            "metadata": metadata,
            "spec": wanted,
        }
        words = f"create pod group {short(name)} of {len(pods)} in {short(space)}"
        yield made(desk, FREE + 2, "create", words, applied(manifest), target=target)
    elif group.min_member is not None and group.min_member > len(pods) and groups.minimum:
        resource = f"podgroups.{group.api_version.rpartition('/')[0]}"
        words = (
            f"let group {short(name)} start with {counted(len(pods), 'pod')} instead of {group.min_member}"
        )
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
