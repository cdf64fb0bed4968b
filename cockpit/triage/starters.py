"""Who of those that wait would start on nodes that are not there yet.

The scheduler's order is imitated: higher priority first, then who waited longer. Each takes its seats before
the next is tried, first on what is free now: whoever fits there starts without the new nodes. What only the
scheduler can place (topology spread, devices by claim) is not judged.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from cockpit.fit.demand import alike_parts, shape_of_pod
from cockpit.fit.gang import seats_for
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.what_if import changed_store
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.model.pod import DEFAULT_SCHEDULERS, Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.wanted import waits

MOST_TRIED: Final = 60
"""So many of those that wait are tried; on more a person does not look before "yes"."""


class Starters(NamedTuple):
    """`jobs` would start, first come first; `gpus` they take of the new nodes, `idle_gpus` would stay free.
    `held` wait for quota or a gate, `unjudged` were not tried."""

    jobs: tuple[Job, ...] = ()
    gpus: int = 0
    idle_gpus: int = 0
    held: int = 0
    unjudged: int = 0


def starters(
    store: StoreReader,
    jobs: Iterable[Job],
    nodes: Sequence[Node],
    around: Mapping[str, Surroundings] | None = None,
    *,
    coming: Sequence[Node] = (),
) -> Starters:
    """Who would start once these nodes are there. `around` by namespace: claims and volumes, where read.
    `coming` are nodes that will be there without them."""
    found, held = _waiting(store, jobs)
    if not nodes:
        return Starters((), 0, 0, held, len(found))
    snapshot = ClusterSnapshot(changed_store(store, [(Kind.NODE, one) for one in (*coming, *nodes)]))
    news = {one.name for one in nodes}
    olds = snapshot.nodes.keys() - news
    begun: list[Job] = []
    taken = unjudged = 0
    for job, pods in found[:MOST_TRIED]:
        parts = parts_of(pods)
        space = (around or {}).get(job.namespace, UNKNOWN)
        if parts is None or (space.claims is None and any(one.shape.claims for one in parts)):
            unjudged += 1
            continue
        snapshot.around = space
        if seats_for(snapshot, parts, olds) is not None:
            continue
        places = seats_for(snapshot, parts, snapshot.nodes.keys())
        if places is not None:
            begun.append(job)
            taken += sum(shape.gpus * count for shape, node, count in places if node in news)
    every = sum(one.gpu_allocatable or 0 for one in nodes)
    left = len(found[MOST_TRIED:])
    return Starters(tuple(begun), taken, max(0, every - taken), held, unjudged + left)


def spaces_with_claims(store: StoreReader, jobs: Iterable[Job]) -> tuple[str, ...]:
    """Namespaces of those that wait and have volumes, whoever comes first at the front."""
    found, _ = _waiting(store, jobs)
    spaces = (job.namespace for job, pods in found[:MOST_TRIED] if any(one.traits.claims for one in pods))
    return tuple(dict.fromkeys(spaces))


def _waiting(store: StoreReader, jobs: Iterable[Job]) -> tuple[list[tuple[Job, tuple[Pod, ...]]], int]:
    """Those whose pods have no node, in the scheduler's order; and how many are held by something else."""
    found: list[tuple[Job, tuple[Pod, ...]]] = []
    held = 0
    for job in jobs:
        if job.state in JobState.ENDED or job.state == JobState.FINISHING:
            continue
        members = (store.get(Kind.POD, uid) for uid in job.pod_uids)
        pods = tuple(pod for pod in members if pod is not None and waits(pod))
        if not pods:
            held += job.state == JobState.QUEUED and not job.pod_uids
        elif any(one.is_gated for one in pods):
            held += 1
        elif any(one.asks_for_gpus for one in pods):
            found.append((job, pods))

    def turn(pair: tuple[Job, tuple[Pod, ...]]) -> tuple[int, float, str]:
        priority = max(one.priority or 0 for one in pair[1])
        return -priority, min(one.created_seconds or 0.0 for one in pair[1]), pair[0].key

    return sorted(found, key=turn), held


def parts_of(pods: Sequence[Pod]) -> tuple[Part, ...] | None:
    """What pods without a node ask for together; None where only the scheduler can place one of them."""
    for pod in pods:
        wishes = pod.traits.wishes
        is_others = pod.scheduler not in DEFAULT_SCHEDULERS and pod.scheduled != "False"
        by_claim = wishes.device_claims or wishes.claim_templates or pod.has_unknown_gpus
        if wishes.spreads or by_claim or is_others:
            return None
    return alike_parts(pods, map(shape_of_pod, pods))
