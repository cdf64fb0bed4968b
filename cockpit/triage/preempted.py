"""Somebody of higher priority took the place of a pod, and what came in its place finds none.

The pod that was preempted is gone; what is left of it is the scheduler's event about it, which names the pod
that took its place.
"""

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import msgspec

from cockpit.catalogue import TextPlace, understand
from cockpit.catalogue.cause import Cause
from cockpit.gangs.draft import joined
from cockpit.model.event import Event
from cockpit.model.finding import Finding
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.triage.evidence import of_event

_OF_ROOM = (Cause.GPUS_SHORT, Cause.NO_VICTIMS, Cause.GPUS_IN_PIECES)
"""Causes that a preemption explains: room is all that is missing."""
_Preemptions = Mapping[tuple[str, str], Event]
_LAST: WeakKeyDictionary[StoreReader, tuple[int, _Preemptions]] = WeakKeyDictionary()
"""Of each store, at its last revision: all jobs that wait ask between two changes."""


def took_its_place(found: Finding, pod: Pod, store: StoreReader) -> Finding:
    """Who has the place now, where the pod's forerunner was preempted and that pod is still there."""
    if found.cause not in _OF_ROOM:
        return found
    event = _event_of(pod, store)
    known = None if event is None else understand(TextPlace.POD, event.message)
    if event is None or known is None or known.cause != Cause.PREEMPTED:
        return found
    named = known.names["preemptor"]
    other: Pod | None = store.get(Kind.POD, named) or store.by_key(Kind.POD, named)
    if other is None or other.is_finished:
        return msgspec.structs.replace(found, also=(*found.also, Cause.PREEMPTED))
    whom = other.owner_name or other.name
    whom = whom if other.namespace == pod.namespace else f"{other.namespace}/{whom}"
    return msgspec.structs.replace(
        joined(found, "preempted by {preemptor}; ", preemptor=whom),
        cause=Cause.PREEMPTED,
        sureness=Sureness.SAID,
        facts=(("preemptor", whom), ("node", known.names["node"]), *found.facts),
        evidence=(of_event(event), *found.evidence),
        also=(found.cause, *found.also),
    )


def _event_of(pod: Pod, store: StoreReader) -> Event | None:
    """The newest preemption of a pod of that name, or of one that its controller named as it did this one."""
    last = _LAST.get(store)
    if last is None or last[0] != store.revision:
        last = (store.revision, _preemptions(store))
        _LAST[store] = last
    found = last[1].get((pod.namespace, pod.name))
    return found or (last[1].get((pod.namespace, _stem(pod.name))) if pod.owner_uid else None)


def _preemptions(store: StoreReader) -> _Preemptions:
    found: dict[tuple[str, str], Event] = {}
    for event in store.records(Kind.EVENT).values():
        if event.reason != "Preempted" or event.object_kind != "Pod":
            continue
        for name in (event.object_name, _stem(event.object_name)):
            key = event.object_namespace, name
            if key not in found or (found[key].last_seconds or 0.0) < (event.last_seconds or 0.0):
                found[key] = event
    return found


def _stem(name: str) -> str:
    """`bert-7b-` of `bert-7b-pflq6`: what a controller names its pods by."""
    return f"{name.rpartition('-')[0]}-"
