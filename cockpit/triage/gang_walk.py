"""A gang that waits: the engine that holds it, or the member that finds no node and why."""

import math
from collections.abc import Sequence

import msgspec

from cockpit.catalogue import Gate, TextPlace, gate_of, understand
from cockpit.catalogue.cause import Cause
from cockpit.gangs import registry, scheduler
from cockpit.gangs.draft import joined
from cockpit.gangs.pod_group import SET_ASIDE, refused_why
from cockpit.gangs.sentence import SENTENCE_LIMIT
from cockpit.gangs.standing import GangStanding
from cockpit.model.finding import Finding
from cockpit.model.pod import Pod
from cockpit.model.sureness import Sureness
from cockpit.triage import composed, creation
from cockpit.triage.evidence import of_event, of_pod
from cockpit.triage.judgement import judged
from cockpit.triage.placing import unplaced
from cockpit.triage.walk import Walk


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
    found = composed.waits(walk.job, walk.store)
    if found is None:
        return None
    made = joined(found, "", "; their group waits for {all} pods: deadlock", all=gang.why.fact("all"))
    return msgspec.structs.replace(
        made, facts=(*found.facts, *gang.why.facts), also=(Cause.GANG_MEMBERS_MISSING,)
    )


_OF_MEMBERS = (Cause.GANG_FINDS_NO_ROOM, Cause.GANG_NOT_PLACED)
"""Rows that say no more than that the gang finds no room: what is missing stands on a member."""
_SILENT = ("", Cause.NO_SUCH_SCHEDULER, Cause.NOT_LOOKED_AT)
"""What is said of a pod that no scheduler has spoken of."""


def _of_members(walk: Walk, gang: GangStanding) -> Finding | None:
    """The member that finds no node, or what the group's own message says of one."""
    found = unplaced_member(walk)
    if found is None or found.cause in _SILENT or gate_of(found.cause) is Gate.QUEUE:
        found = _by_message(walk, gang) or found
    if found is None or gang.why.cause not in _OF_MEMBERS:
        return found
    if found.cause in _SILENT or gate_of(found.cause) is Gate.QUEUE:
        return None
    then = tuple(one for one in found.then if one.cause not in _SILENT)  # its scheduler has looked at it
    found = msgspec.structs.replace(found, then=then)
    if gang.why.cause == Cause.GANG_FINDS_NO_ROOM:
        return msgspec.structs.replace(found, also=(*found.also, Cause.GANG_FINDS_NO_ROOM))
    made = _for_its_group(found, gang.why.fact("all") or "?")
    also = (found.cause, *(one for one in found.also if one != gang.why.cause))
    return msgspec.structs.replace(
        made, cause=gang.why.cause, also=also, facts=(*found.facts, *gang.why.facts)
    )


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
    known = msgspec.structs.replace(first, scheduled_message=said, scheduled_reason="Unschedulable")
    return unplaced(known, msgspec.structs.replace(walk, waiting=sum(1 for pod in waiting if pod.gpus)))


def _again(walk: Walk, gang: GangStanding) -> int | None:
    """Minutes until it is tried again, None where no time was told or it has come."""
    if gang.again_seconds is None or walk.now_seconds is None or gang.again_seconds <= walk.now_seconds:
        return None
    return math.ceil((gang.again_seconds - walk.now_seconds) / 60)


def _as_told(walk: Walk, gang: GangStanding) -> Finding:
    """What the engine says of the gang as a whole."""
    found = gang.why
    also = found.also
    if found.cause != Cause.PREEMPTED and any(pod.disruption_reason for pod in walk.pods):
        also = (Cause.PREEMPTED, *also)
    if found.cause == Cause.GANG_MEMBERS_MISSING and not any(pod.scheduled_message for pod in walk.pods):
        also = (*also, Cause.HELD_BEFORE_QUEUE)
    if not found.sentence:
        found = msgspec.structs.replace(found, sentence=_WORDLESS.get(found.cause, "waits for its queue"))
    minutes = _again(walk, gang)
    if minutes is not None:
        found = joined(found, "", " (in {minutes} min)", minutes=minutes)
    return msgspec.structs.replace(found, also=also)


_WORDLESS: dict[str, str] = {Cause.GANG_NOT_PLACED: "its group cannot be placed as a whole"}


def unplaced_member(walk: Walk) -> Finding | None:
    """What keeps members without a node from one: of each that is a cause, not of those that wait for it."""
    waiting = [pod for pod in walk.pods if not pod.node and not pod.is_finished]
    if not waiting:
        return None
    context = msgspec.structs.replace(walk, waiting=sum(1 for pod in waiting if pod.gpus))
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
                known = msgspec.structs.replace(pod, scheduled_message=event.message)
                older = msgspec.structs.replace(unplaced(known, context), also=(Cause.GANG_REFUSED,))
                if aside:
                    older = joined(older, "", f"; {SET_ASIDE}")
                return msgspec.structs.replace(older, evidence=(of_event(event), *older.evidence[1:]))
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
    if not waits or gate_of(found.cause) is not Gate.PLACEMENT:
        return found
    return msgspec.structs.replace(found, also=tuple(dict.fromkeys((*found.also, Cause.GANG_REFUSED))))


def _set_aside(told: list[Pod], waiting: list[Pod]) -> Finding:
    """All were refused for their group: it backs off after a failure, or one of them found no node."""
    meant = (understand(TextPlace.POD, pod.scheduled_message) for pod in told)
    cause = next(
        (one.cause for one in meant if one is not None and one.cause == Cause.GANG_BACKS_OFF),
        Cause.GANG_REFUSED,
    )
    said = of_pod(told[0], "PodScheduled", told[0].scheduled_message)
    sureness = Sureness.SAID if cause == Cause.GANG_BACKS_OFF else Sureness.INFERRED
    return Finding(cause=cause, sentence=refused_why(waiting), sureness=sureness, evidence=(said,))
