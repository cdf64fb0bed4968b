"""A gang that waits: where it stands, the engine that holds it, or the member that finds no node and why;
two that hold what the other waits for; one that runs with fewer pods than it asks for."""

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from cockpit.catalogue import Gate, TextPlace, row_of, understand
from cockpit.catalogue.cause import Cause
from cockpit.fit.demand import shape_of_pod
from cockpit.gangs import pod_group, registry, scheduler
from cockpit.gangs.draft import joined, tell
from cockpit.gangs.pod_group import SET_ASIDE, refused_why
from cockpit.gangs.sentence import SENTENCE_LIMIT, counted
from cockpit.gangs.standing import GangStanding
from cockpit.gangs.wording import say
from cockpit.jobs.row import SliceGrowth
from cockpit.k8s.evictions import PREEMPTED_BY
from cockpit.model.batch import Phase
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import PodGroup, SchedulerQueue
from cockpit.model.job import Job, JobObject
from cockpit.model.listing import Complete, listing
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.triage import controllers, creation
from cockpit.triage.context import Context, Walk
from cockpit.triage.judgement import judged, of_event, of_pod
from cockpit.triage.placing import unplaced


def standing(job: Job, pods: tuple[Pod, ...], store: StoreReader) -> GangStanding | None:
    """By the job's engine, None where none holds it or there is none."""
    queued = None
    workload = registry.workload_of(job, store)
    if workload is not None:
        told = {} if job.position is None else {workload.uid: job.position}
        admits = registry.admits_of(workload)
        queued = admits.admission(workload, store, told or None, not job.is_position_estimate)
        if queued.is_waiting:
            return queued
    group = pod_group.group_of(pods, store)
    own = registry.own_job(job.api_version, job.kind)
    if own is not None:
        object_: JobObject | None = store.get(own.table, job.uid)
        if object_ is not None and object_.is_suspended:
            return None
        if group is None and not pods:
            group = pod_group.of_own_job(own, job.namespace, job.name, job.uid, store)
    if group is None:
        return queued
    placed = pod_group.standing(group, pods, job.position)
    if placed is None or not placed.is_waiting:
        return queued
    if placed.why.cause == Cause.GROUP_NOT_LET_IN:
        why = _of_queue(group, store) or _of_events(group, store)
        return placed if why is None else pod_group.held_by(why, group, job.position)
    return placed


def _of_queue(group: PodGroup, store: StoreReader) -> Finding | None:
    engine = registry.engine_named(group.engine)
    if not group.queue or engine.enqueues is None:
        return None
    table, reason_of_queue = engine.queues.cluster, engine.enqueues.reason_of_queue
    queue: SchedulerQueue | None = store.by_key(table, group.queue)
    status, known = store.status(table), listing(store, table)
    is_served = status is not None and status.phase is not Phase.ABSENT and isinstance(known, Complete)
    return reason_of_queue(group, queue) if queue is not None or is_served else None


def _of_events(group: PodGroup, store: StoreReader) -> Finding | None:
    """The newest word about the group that its engine understands."""
    enqueues = registry.engine_named(group.engine).enqueues
    if enqueues is None:
        return None
    for event in store.events_of(group.uid):
        why = enqueues.reason_of_event(group, event.message)
        if why is not None:
            return replace(why, evidence=(of_event(event),), since_seconds=event.first_seconds)
    return None


def held_by_gang(walk: Walk, gang: GangStanding) -> list[Finding]:
    """The engine's own word; where it leaves the cause to the members, theirs."""
    found = None
    if gang.why.cause == Cause.GANG_MEMBERS_MISSING:
        found = creation.counts_its_launcher(walk, gang) or _counts_a_later_part(walk, gang)
    elif not gang.why.sentence or gang.why.cause in _OF_MEMBERS:
        found = _of_members(walk, gang)
    return [found or _as_told(walk, gang)]


def _counts_a_later_part(walk: Walk, gang: GangStanding) -> Finding | None:
    """A JobSet's group counts a part that is made only once another one, which the group holds, has come."""
    found = controllers.waits(walk.job, walk.store)
    if found is None:
        return None
    made = joined(found, "", "; their group waits for {all} pods: deadlock", all=gang.why.fact("all"))
    return replace(made, facts=(*found.facts, *gang.why.facts), also=(Cause.GANG_MEMBERS_MISSING,))


_OF_MEMBERS = (Cause.GANG_FINDS_NO_ROOM, Cause.GANG_NOT_PLACED)
"""Rows that say no more than that the gang finds no room: what is missing stands on a member."""
_SILENT = ("", Cause.NO_SUCH_SCHEDULER, Cause.NOT_LOOKED_AT)
"""What is said of a pod that no scheduler has spoken of."""


def _of_members(walk: Walk, gang: GangStanding) -> Finding | None:
    """The member that finds no node, or what the group's own message says of one."""
    found = unplaced_member(walk)
    if found is None or found.cause in _SILENT or row_of(found.cause).gate is Gate.QUEUE:
        found = _by_message(walk, gang) or found
    if found is None or gang.why.cause not in _OF_MEMBERS:
        return found
    if found.cause in _SILENT or row_of(found.cause).gate is Gate.QUEUE:
        return None
    then = tuple(one for one in found.then if one.cause not in _SILENT)  # its scheduler has looked at it
    found = replace(found, then=then)
    if gang.why.cause == Cause.GANG_FINDS_NO_ROOM:
        return replace(found, also=(*found.also, Cause.GANG_FINDS_NO_ROOM))
    made = _for_its_group(found, gang.why.fact("all") or "?")
    also = (found.cause, *(one for one in found.also if one != gang.why.cause))
    return replace(made, cause=gang.why.cause, also=also, facts=(*found.facts, *gang.why.facts))


_OF_A_GROUP = ("; its group of {} is placed whole or not at all", "; group of {}: all or none", "")


def _for_its_group(found: Finding, members: str) -> Finding:
    """The member's cause whole, and behind it as many words as there is room for: all of them wait for it."""
    room = SENTENCE_LIMIT - len(found.sentence)
    tail = next(one.format(members) for one in _OF_A_GROUP if len(one.format(members)) <= room)
    return joined(found, "", tail)


def _by_message(walk: Walk, gang: GangStanding) -> Finding | None:
    """Why a member finds no node, as the group tells it: engines that place a group may tell only there."""
    waiting = [pod for pod in walk.pods if not pod.node and not pod.is_finished]
    said = next((one.value for one in gang.why.evidence if scheduler.parse(one.value).parts), "")
    if not waiting or not said:
        return None
    first = next((pod for pod in waiting if pod.gpus), waiting[0])
    known = replace(first, scheduled_message=said, scheduled_reason="Unschedulable")
    return unplaced(known, replace(walk, waiting=sum(1 for pod in waiting if pod.gpus)))


def _as_told(walk: Walk, gang: GangStanding) -> Finding:
    """What the engine says of the gang as a whole."""
    found = gang.why
    also = found.also
    if found.cause != Cause.PREEMPTED and any(pod.disruption_reason == PREEMPTED_BY for pod in walk.pods):
        also = (Cause.PREEMPTED, *also)
    if found.cause == Cause.GANG_MEMBERS_MISSING and not any(pod.scheduled_message for pod in walk.pods):
        also = (*also, Cause.HELD_BEFORE_QUEUE)
    if not found.sentence:
        is_group = found.cause == Cause.GANG_NOT_PLACED
        found = replace(
            found, sentence="its group cannot be placed as a whole" if is_group else "waits for its queue"
        )
    again, now = gang.again_seconds, walk.now_seconds
    if again is not None and now is not None and again > now:
        found = joined(found, "", " (in {minutes} min)", minutes=math.ceil((again - now) / 60))
    return replace(found, also=also)


def unplaced_member(walk: Walk) -> Finding | None:
    """What keeps members without a node from one: of each that is a cause, not of those that wait for it."""
    waiting = [pod for pod in walk.pods if not pod.node and not pod.is_finished]
    if not waiting:
        return None
    context = replace(walk, waiting=sum(1 for pod in waiting if pod.gpus))
    told = [pod for pod in waiting if pod.scheduled_message and pod.scheduled_reason != "SchedulingGated"]
    causes = [pod for pod in told if not scheduler.is_consequence(pod.scheduled_message)]
    if causes:
        found = judged([unplaced(pod, context) for pod in _unlike(causes)])
        assert found is not None
        return _with_consequences(found, told)
    for pod in waiting:  # the cause may survive only in an older event of one member of the group
        for event in walk.store.events_of(pod.uid):
            if event.reason == "FailedScheduling" and not scheduler.is_consequence(event.message):
                aside = any(registry.is_set_aside(one.scheduled_message) for one in told)
                known = replace(pod, scheduled_message=event.message)
                older = replace(unplaced(known, context), also=(Cause.GANG_REFUSED,))
                if aside:
                    older = joined(older, "", f"; {SET_ASIDE}")
                return replace(older, evidence=(of_event(event), *older.evidence[1:]))
    if told and all(registry.is_set_aside(pod.scheduled_message) for pod in told):
        return _set_aside(told, waiting)
    return judged([unplaced(pod, context) for pod in _unlike(told or waiting)])


_MOST_UNLIKE = 8


def _unlike(pods: Sequence[Pod]) -> list[Pod]:
    """A few that differ in what they ask for or in what was said of them: pods alike share their traits."""
    found = {(id(pod.traits), pod.gpus, pod.cpu_millicores, pod.memory_bytes): pod for pod in reversed(pods)}
    return list(reversed(found.values()))[:_MOST_UNLIKE]


def _with_consequences(found: Finding, told: list[Pod]) -> Finding:
    """Beside the cause of one member what the others are told, who only wait for it."""
    waits = any(scheduler.is_consequence(pod.scheduled_message) for pod in told)
    if not waits or row_of(found.cause).gate is not Gate.PLACEMENT:
        return found
    return replace(found, also=tuple(dict.fromkeys((*found.also, Cause.GANG_REFUSED))))


def _set_aside(told: list[Pod], waiting: list[Pod]) -> Finding:
    meant = (understand(TextPlace.POD, pod.scheduled_message) for pod in told)
    backs_off = any(one is not None and one.cause == Cause.GANG_BACKS_OFF for one in meant)
    cause = Cause.GANG_BACKS_OFF if backs_off else Cause.GANG_REFUSED
    said = of_pod(told[0], "PodScheduled", told[0].scheduled_message)
    sureness = Sureness.SAID if backs_off else Sureness.INFERRED
    return Finding(cause=cause, sentence=refused_why(waiting), sureness=sureness, evidence=(said,))


_MOST_OTHERS = 16
"""So many jobs are looked at, for each that is half placed itself."""


def half_placed(walk: Walk, unbound: Sequence[Pod]) -> Finding | None:
    """That the job and another wait for each other's GPUs. Only where GPUs are all that the members without
    a node of both wait for, and each could take those that the other holds."""
    if walk.job.workload_uid or walk.now_seconds is None:
        return None
    held = [pod for pod in walk.pods if pod.gpus_allocated]
    if not held or all(pod.gang for pod in unbound):
        return None
    wishes = _wishes(unbound, walk)
    if not wishes:
        return None
    for other, holders, waiting in _others(walk, unbound[0].gpu_resource):
        if _takes(wishes, holders) and _takes(_wishes(waiting, walk), held):
            return _drafted(walk.job.name, held, unbound, other)
    return None


_Wishes = list[frozenset[str]]
"""For each member without a node the nodes that it could have but for the GPUs that others hold there."""


def _wishes(unbound: Sequence[Pod], context: Context) -> _Wishes:
    """[] where something else than GPUs keeps a member from a node, or its scheduler speaks of something
    else."""
    found: _Wishes = []
    alike: dict[tuple[object, ...], frozenset[str]] = {}
    for pod in unbound:
        if not pod.gpus or pod.is_gated or pod.nominated_node or pod.scheduled != "False":
            return []
        key = (id(pod.traits), pod.gpus, pod.cpu_millicores, pod.memory_bytes)
        if key not in alike:
            sifted = context.sifted(shape_of_pod(pod))
            looks = sifted.dropped.get("gpus", ()) if sifted.stopped == "gpus" else ()
            alike[key] = frozenset(look.node.name for look in looks)
        if not alike[key]:
            return []
        found.append(alike[key])
    return found


def _takes(wishes: _Wishes, holders: Sequence[Pod]) -> bool:
    nodes = {pod.node for pod in holders}
    return bool(wishes) and all(not nodes.isdisjoint(one) for one in wishes)


def _others(walk: Walk, resource: str) -> Iterator[tuple[str, list[Pod], list[Pod]]]:
    """Other controllers of which some pods hold the resource and some wait for it, by name: who holds, who
    waits. Pods of a group that is placed whole are none."""
    own = {pod.owner_uid or pod.uid for pod in walk.pods}
    waiting: dict[str, list[Pod]] = {}
    holding: dict[str, list[Pod]] = {}
    for pod in walk.store.gpu_pods():
        owner = pod.owner_uid
        if not owner or owner in own or pod.is_finished or pod.gpu_resource != resource:
            continue
        if pod.node:
            holding.setdefault(owner, []).append(pod)
        elif pod.scheduled == "False" and not pod.gang and not pod.is_placeholder:
            waiting.setdefault(owner, []).append(pod)
    both = sorted((waiting[owner][0].owner_name, owner) for owner in waiting if owner in holding)
    for name, owner in both[:_MOST_OTHERS]:
        yield name, holding[owner], waiting[owner]


def _drafted(name: str, held: Sequence[Pod], unbound: Sequence[Pod], other: str) -> Finding:
    names = {"gpus": counted(sum(pod.gpus_allocated for pod in held), "GPU"), "other": other}
    texts = ((pod, pod.scheduled_message or pod.scheduled_reason) for pod in unbound[:2])
    said = (of_pod(pod, "PodScheduled", text) for pod, text in texts)
    root = Subject("jobs", "", " and ".join(sorted((name, other))))
    return tell(Cause.HALF_PLACED, names, *said, also=(Cause.GPUS_SHORT,), root=root)


def why_not_grown(growth: SliceGrowth, store: StoreReader) -> Finding:
    """The cause of the slice that waits, and how many pods run meanwhile."""
    held = registry.admits_of(growth.then).admission(growth.then, store, {}, False).why
    text = f"{growth.pods_now} of {growth.pods_then} pods admitted; the others: {{why}}"
    return replace(held, sentence=say(text, why=held.sentence), words="")
