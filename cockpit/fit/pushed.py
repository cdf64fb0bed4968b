"""Pods that the scheduler would preempt for a gang, part by part."""

from collections.abc import Sequence

from cockpit.fit.gang import fit
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.what_if import changed_store
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader


def pushed_by(
    store: StoreReader, parts: Sequence[Part], surroundings: Surroundings = UNKNOWN
) -> tuple[Pod, ...]:
    """The victims, the part that asks for most GPUs first: each member that finds no seat preempts by itself,
    also where the whole gang does not fit."""
    gone: dict[str, Pod] = {}
    before: list[Part] = []
    for part in sorted(parts, key=lambda one: (-one.shape.gpus, -dict(one.shape.requests).get("cpu", 0))):
        seen = changed_store(store, without=gone.keys())
        push = fit(seen, (part,), surroundings=surroundings, rivals=before).push
        for key in () if push is None else push.victims:
            pod: Pod | None = store.by_key(Kind.POD, key)
            if pod is not None:
                gone[pod.uid] = pod
        before.append(part)
    return tuple(gone.values())


def outranks_some(store: StoreReader, parts: Sequence[Part], surroundings: Surroundings = UNKNOWN) -> bool:
    """Whether any pod on a node has a lower priority than one of the parts; True where that is not known."""
    snapshot = ClusterSnapshot(store, surroundings)
    ranks = [snapshot.priority(part.shape) for part in parts]
    if None in ranks:
        return True
    most = max((rank for rank in ranks if rank is not None), default=0)
    pods: Sequence[Pod] = tuple(store.records(Kind.POD).values())
    return any(pod.node and not pod.is_finished and (pod.priority or 0) < most for pod in pods)
