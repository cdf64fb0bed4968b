"""Two jobs of which each holds what the other waits for: neither starts, and waiting does not help."""

from collections.abc import Iterator, Sequence

from cockpit.catalogue.cause import Cause
from cockpit.gangs.draft import draft
from cockpit.gangs.sentence import counted
from cockpit.model.finding import Finding, Subject
from cockpit.model.pod import Pod
from cockpit.model.sureness import Sureness
from cockpit.triage.context import Context
from cockpit.triage.evidence import of_pod
from cockpit.triage.pod_shape import shape_of_pod
from cockpit.triage.walk import Walk

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
    """Whether each of those members could take GPUs that these pods hold."""
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
    gpus = sum(pod.gpus_allocated for pod in held)
    return draft(
        Cause.HALF_PLACED,
        "half placed, holds {gpus} for nothing: it and {other} wait for each other's GPUs",
        names={"gpus": counted(gpus, "GPU"), "other": other},
        sureness=Sureness.PROVED,
        evidence=tuple(
            of_pod(pod, "PodScheduled", pod.scheduled_message or pod.scheduled_reason) for pod in unbound[:2]
        ),
        also=(Cause.GPUS_SHORT,),
        root=Subject("jobs", "", " and ".join(sorted((name, other)))),
    )
