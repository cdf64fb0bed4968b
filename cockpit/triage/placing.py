"""Why a pod has no node. The scheduler's text, crossed with what the nodes really have.

What both say is proved; where they disagree the scheduler's newest condition counts, for it has looked at
more than is known here (reservations, nominated pods, devices of claims)."""

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from cockpit.catalogue import Cause, Gate, TextPlace, Trait, is_a, row_of, understand
from cockpit.fit.demand import shape_of_pod
from cockpit.fit.shape import Shape
from cockpit.gangs import registry, scheduler
from cockpit.gangs.draft import draft, joined, not_understood, tell
from cockpit.gangs.sentence import counted
from cockpit.model.event import Event
from cockpit.model.finding import Evidence, Finding
from cockpit.model.gpu_share import GpuShare
from cockpit.model.listing import Incomplete, listing
from cockpit.model.pod import DEFAULT_SCHEDULERS, Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.triage import autoscaling, claims, controllers, filters, shortage
from cockpit.triage.context import Context
from cockpit.triage.funnel import Sifted
from cockpit.triage.judgement import judged, of_event, of_pod
from cockpit.triage.shortage import SchedulerWord

UNSEEN_SECONDS = 25.0
"""A scheduler that runs has looked at a pod after so long."""


def unplaced(pod: Pod, context: Context) -> Finding:
    """Why the pod has no node: what lasts longest, and behind it what blocks besides."""
    found = judged(_blockers(pod, context))
    assert found is not None  # each way ends with one
    if not context.knows_nodes:
        found = replace(found, funnel=None)
    if context.now_seconds is None:
        return found
    return took_its_place(found, pod, context.store)


def _blockers(pod: Pod, context: Context) -> list[Finding]:
    """Everything that keeps the pod from a node, as far as it can be told; at least one."""
    store, shape = context.store, shape_of_pod(pod)
    if pod.traits.wishes.gates:
        return [_gated(pod, context), *_of_nodes(shape, context)]
    if pod.nominated_node:
        return [_waits_for_victims(pod, store)]
    message, said = _newest(pod, store)
    absent = list(claims.absent(pod, context))
    if absent:
        return [*absent, *_unheard(pod, message, context), *_of_nodes(claims.without(shape, absent), context)]
    if not message:
        unheard = _unheard(pod, message, context)
        if not unheard:
            return [_by_scheduler(pod, Cause.NOT_LOOKED_AT)]
        return [*unheard, *_of_nodes(shape, context)]
    if pod.scheduled_reason == "SchedulerError":
        return [tell(Cause.SCHEDULER_FAILED, {"why": message}, said)]
    text = scheduler.parse(message)
    if not text.parts:
        return _whole(pod, text, message, said, context)
    if scheduler.is_consequence(message):
        found = understand(TextPlace.POD, message)
        cause = Cause.GANG_REFUSED if found is None else found.cause
        return [Finding(cause=cause, sentence=scheduler.plain(message, gpus=pod.gpus), evidence=(said,))]
    return _parted(pod, text, said, context)


def _of_nodes(shape: Shape, context: Context) -> list[Finding]:
    """What the nodes would say, had the scheduler come to them."""
    if context.now_seconds is None or not context.knows_nodes:
        return []
    return list(filters.blockers(shape, context))


def _unheard(pod: Pod, message: str, context: Context) -> list[Finding]:
    """Why no scheduler has spoken of the pod, beyond that it may be slow."""
    found = None if message else _without_group(pod, context.store) or _unseen(pod, context)
    return [] if found is None else [found]


def _without_group(pod: Pod, store: StoreReader) -> Finding | None:
    """It names a group of pods that does not exist: no scheduler takes it up."""
    name = registry.group_of_pod(pod)
    groups = listing(store, Kind.POD_GROUP, pod.namespace)
    is_told = store.status(Kind.POD_GROUP) is not None  # else nothing was asked for groups yet
    if (
        not name
        or not is_told
        or isinstance(groups, Incomplete)
        or not groups.lacks(f"{pod.namespace}/{name}")
    ):
        return None
    said, also = of_pod(pod, "its group", name, pod.created_seconds), (Cause.HELD_BEFORE_QUEUE,)
    return tell(Cause.GANG_MISSING, {"group": name}, said, since_seconds=pod.created_seconds, also=also)


def _newest(pod: Pod, store: StoreReader) -> tuple[str, Evidence]:
    """The scheduler's newest word: the condition, for it is current; an event only where there is none."""
    message = pod.scheduled_message
    failed = [event for event in store.events_of(pod.uid) if event.reason == "FailedScheduling"]
    if message:
        first = (event.first_seconds for event in failed if event.message == message)
        return message, of_pod(pod, "PodScheduled", message, next(first, pod.created_seconds))
    if failed:
        return failed[0].message, of_event(failed[0])
    return "", of_pod(pod, "PodScheduled", "")


def _gated(pod: Pod, context: Context) -> Finding:
    gates, since = pod.traits.wishes.gates, pod.created_seconds
    said = of_pod(pod, "spec.schedulingGates", ", ".join(gates), since)
    engine = next(filter(None, map(registry.engine_of_gate, gates)), None)
    if engine is not None and not any(map(context.store.workloads_of, (pod.uid, pod.owner_uid))):
        if (down := controllers.not_up(engine.controller.pods, context)) is not None:
            return joined(down, "{engine} has not taken it: ", engine=engine.name)
        names, says = {"engine": engine.name, "queue": pod.queue}, "into queue" if pod.queue else "not taken"
        return tell(Cause.NOT_TAKEN_BY_QUEUE, names, said, says=says, since_seconds=since)
    says = "" if len(gates) == 1 else "several"
    return tell(Cause.SCHEDULING_GATE, {"gate": said.value}, said, says=says, since_seconds=since)


def _waits_for_victims(pod: Pod, store: StoreReader) -> Finding:
    going = [one for one in store.pods_on(pod.nominated_node) if one.deleting_seconds is not None]
    whom = going[0].name if len(going) == 1 else f"{len(going)} pods" if going else "preempted pods"
    held = min((one for pod_ in going for one in pod_.finalizers), default="")
    return tell(
        Cause.VICTIMS_ENDING,
        {"victim": whom, "node": pod.nominated_node, "finalizer": held},
        of_pod(pod, "status.nominatedNodeName", pod.nominated_node),
        *(of_pod(one, "metadata.deletionTimestamp", one.name, one.deleting_seconds) for one in going),
        says="finalizer" if held else "",
        also=(Cause.GPUS_SHORT,),
    )


def _unseen(pod: Pod, context: Context) -> Finding | None:
    down = controllers.not_up((pod.scheduler or "default-scheduler",), context)
    if down is not None:
        return joined(down, "not looked at: ")
    if not context.is_older(pod.created_seconds, UNSEEN_SECONDS) or pod.scheduler in DEFAULT_SCHEDULERS:
        return None
    return _by_scheduler(pod, Cause.NO_SUCH_SCHEDULER)


def _by_scheduler(pod: Pod, cause: str) -> Finding:
    who, since = pod.scheduler or "default-scheduler", pod.created_seconds
    said = of_pod(pod, "spec.schedulerName", who, since)
    return tell(cause, {"scheduler": who}, said, says="of a pod", since_seconds=since)


def _whole(
    pod: Pod, text: scheduler.SchedulerText, message: str, said: Evidence, context: Context
) -> list[Finding]:
    """A sentence about the whole pod: claims by name where the text has none."""
    found = understand(TextPlace.POD, text.rest) or understand(TextPlace.POD, message)
    if found is None:
        if text.nodes is None or text.rest:
            return [not_understood(text.rest or message, said)]
        # `0/N nodes are available` and no reason at all
        sifted = context.sifted(shape_of_pod(pod))
        return [shortage.verdict(pod, sifted, context, SchedulerWord(said))]
    if found.cause == Cause.CLAIM_UNBOUND:
        return [claims.unbound(pod, context, said), *_without_claims(pod, context)]
    if found.cause == Cause.GPUS_SHORT:
        computed = _of_nodes(shape_of_pod(pod), context)
        if pod.gpu_share is None and computed:
            return [replace(computed[0], evidence=(said, *computed[0].evidence)), *computed[1:]]
        if pod.gpu_share is not None:
            return [_share_short(pod.gpu_share, said)]
    of_pods, group = context.store.events_of(pod.uid), registry.group_of_pod(pod)
    words, names = found.wording.words, dict(found.names)
    if group and not names.get("group") and found.cause == Cause.GANG_MISSING:
        words, names = row_of(Cause.GANG_MISSING).says[""].words, {"group": group}
    made = Finding(
        cause=found.cause,
        sentence=draft("", words, names).sentence,
        facts=tuple((key, value) for key, value in found.names.items() if value),
        evidence=(said, *[of_event(one) for one in of_pods if one.reason in _OF_SCALER][:1]),
        also=(Cause.HELD_BEFORE_QUEUE,) if pod.scheduled_reason == "NotReadyForScheduling" else (),
    )
    if made.cause == Cause.NO_NODES:
        return [autoscaling.said(pod, made, context)]
    if row_of(made.cause).gate is not Gate.PLACEMENT:
        return [made]
    return [made, *_of_nodes(claims.without(shape_of_pod(pod), [made]), context)]


_OF_SCALER = ("NotTriggerScaleUp", "TriggeredScaleUp", "Nominated")


def _share_short(share: GpuShare, said: Evidence) -> Finding:
    size = None if share.memory_bytes is None else share.memory_bytes >> 20
    amount = f"{share.fraction:g} of a GPU" if size is None else f"{size} MiB of GPU memory"
    each = f" on {share.devices} GPUs each" if share.devices > 1 else ""
    return draft(Cause.GPUS_SHORT, "no node has {amount} free" + each, {"amount": amount}, said)


def _parted(pod: Pod, text: scheduler.SchedulerText, said: Evidence, context: Context) -> list[Finding]:
    """Counts of nodes: which filter is the one that matters is told by the nodes themselves."""
    word = SchedulerWord(said, text.preemption, text.parts)
    told = word.causes
    only = next(iter(told)) if len(told) == 1 else ""
    if Cause.CLAIM_UNBOUND in told:
        return [claims.unbound(pod, context, said), *_without_claims(pod, context)]
    if told & {Cause.DEVICES_SHORT, Cause.DEVICE_ELSEWHERE}:
        cause = Cause.DEVICE_ELSEWHERE if Cause.DEVICE_ELSEWHERE in told else Cause.DEVICES_SHORT
        return [claims.devices(pod, context, said, cause), *_of_nodes(shape_of_pod(pod), context)]
    sifted = context.sifted(shape_of_pod(pod))
    named = told & {Cause.TOPOLOGY_SPREAD, Cause.VOLUME_NOT_ATTACHABLE}
    if only in named or (named and sifted.stopped in ("", "gpus", "offers", "volume", "attach", "spread")):
        cause = Cause.TOPOLOGY_SPREAD if Cause.TOPOLOGY_SPREAD in told else Cause.VOLUME_NOT_ATTACHABLE
        found = _named(pod, cause, word, sifted, context)
        mended = filters.mended_by(sifted, found) or sifted.shape
        shapes = (sifted.shape, mended)  # a volume may lie elsewhere, too, and goes with its claim
        besides = (one for shape in shapes for one in _of_nodes(shape, context))
        return [found, *(one for one in besides if one.cause != cause)]
    if Cause.VOLUME_ELSEWHERE in told:
        return [claims.elsewhere(pod, context, said, sifted), *_without_claims(pod, context)]
    found = shortage.verdict(pod, sifted, context, word)
    if context.now_seconds is None or not context.knows_nodes:
        return [found]
    return [found, *filters.behind(found, sifted, context)]


def _without_claims(pod: Pod, context: Context) -> list[Finding]:
    return _of_nodes(replace(shape_of_pod(pod), claims=()), context)


def _named(pod: Pod, cause: str, word: SchedulerWord, sifted: Sifted, context: Context) -> Finding:
    said, parts = word.said, word.parts
    count, reason = next((number, reason) for number, reason in parts if shortage.id_of(reason) == cause)
    names: dict[str, object] = {"count": count, "nodes": counted(count, "node")}
    if cause == Cause.TOPOLOGY_SPREAD:
        spreads = pod.traits.wishes.spreads
        names |= {"lack": "lacks" if count == 1 else "lack"}
        names |= {"key": spreads[0].key if spreads else "its topology"}
        says = "label" if any("missing required label" in reason for _, reason in parts) else "skew"
        return tell(cause, names, said, says=says, funnel=sifted.funnel)
    if (taken := claims.for_one_pod(pod.namespace, pod.traits.claims, context)) is not None:
        return replace(taken, evidence=(said, *taken.evidence), funnel=sifted.funnel)
    names["claim"] = ", ".join(pod.traits.claims) or "its claim"
    if "ReadWriteOncePod" in reason:
        return tell(cause, names, said, says="for one pod", funnel=sifted.funnel)
    found = understand(TextPlace.NODES, reason)
    what = reason if found is None else found.wording.words if count == 1 else found.wording.many
    return draft(cause, "volume claim {claim}: {nodes} " + what, names, said, funnel=sifted.funnel)


_Preemptions = Mapping[tuple[str, str], Event]
_LAST: WeakKeyDictionary[StoreReader, tuple[int, _Preemptions]] = WeakKeyDictionary()
"""Of each store, as its events last moved: all jobs that wait ask between two."""


def took_its_place(found: Finding, pod: Pod, store: StoreReader) -> Finding:
    """Who has the place now, where the pod's forerunner was preempted and that pod is still there."""
    if not is_a(found.cause, Trait.FOLLOWS_PREEMPTION):
        return found
    event = _event_of(pod, store)
    known = None if event is None else understand(TextPlace.POD, event.message)
    if event is None or known is None or known.cause != Cause.PREEMPTED:
        return found
    named = known.names["preemptor"]
    other: Pod | None = store.get(Kind.POD, named) or store.by_key(Kind.POD, named)
    if other is None or other.is_finished:
        return replace(found, also=(*found.also, Cause.PREEMPTED))
    whom = other.owner_name or other.name
    whom = whom if other.namespace == pod.namespace else f"{other.namespace}/{whom}"
    return replace(
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
    revision = store.revision_of(Kind.EVENT)
    if last is None or last[0] != revision:
        last = (revision, _preemptions(store))
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
