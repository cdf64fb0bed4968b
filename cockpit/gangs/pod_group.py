"""Where a gang of a placement engine stands: from its group object and its members, never from a phase alone.

A phase may be stale (a group of scheduler-plugins whose pods were deleted still counts them), and a condition
may be final (the native PodGroup never takes its True back). What is bound is counted from the pods.
"""

from collections.abc import Iterable, Mapping

from cockpit.gangs import coscheduling, kai, native, volcano
from cockpit.gangs.sentence import one_line
from cockpit.gangs.verdict import GangState, GangVerdict
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod
from cockpit.store.store import Store

_REASONS = {
    coscheduling.NAME: coscheduling.reason,
    volcano.NAME: volcano.reason,
    native.NAME: native.reason,
    kai.NAME: kai.reason,
}
_ENDED = ("Finished", "Completed", "Failed", "Succeeded")


def group_of(pods: Iterable[Pod], store: Store) -> PodGroup | None:
    """The group object that the pods name, None where they name none or it does not exist."""
    for pod in pods:
        if not pod.gang:
            continue
        found = store.pod_groups_named(f"{pod.namespace}/{pod.gang}")
        fitting = [one for one in found if _belongs(one, pod)]
        if fitting:
            return fitting[0]
    return None


def _belongs(group: PodGroup, pod: Pod) -> bool:
    """Names may be the same in two engines: the scheduler of the pod tells them apart where it is known."""
    if group.engine == volcano.NAME:
        return pod.scheduler == volcano.SCHEDULER
    if group.engine == kai.NAME:
        return pod.scheduler == kai.SCHEDULER
    return pod.scheduler not in (volcano.SCHEDULER, kai.SCHEDULER)


def bound(pods: Iterable[Pod]) -> int:
    """Members that have a node, ended ones included: they were there."""
    return sum(1 for pod in pods if pod.node)


def is_in_line(group: PodGroup, members: int | None = None) -> bool:
    """True while the engine has not placed it. `members` are bound pods, where they are known."""
    if group.phase in _ENDED or group.deleting_seconds is not None:
        return False
    if members is not None:
        return members < (group.min_member or 1)
    return group.phase in ("", "Pending", "Inqueue", "PreScheduling", "Scheduling")


def verdict(group: PodGroup, pods: tuple[Pod, ...], position: int | None = None) -> GangVerdict | None:
    """The gang's standing; None where its pods tell more than the group does: all there, or ended.

    `reason` "" means that the members' own sentences hold the cause. A gang that lost members after it was
    bound, or that bound a part of itself, is judged by its pods.
    """
    alive = tuple(pod for pod in pods if not pod.is_finished)
    if not alive and pods:
        return None
    placed = bound(pods)
    if placed:
        state = GangState.ADMITTED
        return GangVerdict(state=state, queue=group.queue) if placed >= (group.min_member or 1) else None
    if not is_in_line(group, placed):
        return None
    return GangVerdict(
        state=GangState.QUEUED,
        reason=one_line(_REASONS[group.engine](group, pods)),
        position=position,
        is_estimate=position is not None,
        queue=group.queue,
    )


def estimate_positions(store: Store, keys: Iterable[str]) -> dict[str, int]:
    """Place in line (1 is next) by uid of the groups named "namespace/name", by engine and queue.

    No engine tells it: oldest first, an estimate (priorities and fair shares reorder).
    """
    lines: dict[tuple[str, str], list[PodGroup]] = {}
    for key in set(keys):
        for group in store.pod_groups_named(key):
            if is_in_line(group):
                lines.setdefault((group.engine, group.queue), []).append(group)
    return {
        group.uid: place
        for line in lines.values()
        for place, group in enumerate(sorted(line, key=_order), start=1)
    }


def _order(group: PodGroup) -> tuple[float, str]:
    return (group.created_seconds or 0.0, group.key)


def meaning(engine: str) -> str:
    """What all or nothing means with this engine, in one sentence; "" for an engine that is not known."""
    return MEANINGS.get(engine, "")


MEANINGS: Mapping[str, str] = {
    "Kueue": (
        "Kueue admits the whole gang by quota, not by place: within the quota but beyond the free GPUs it can"
        " half-bind; with topology-aware scheduling it binds together or not at all."
    ),
    coscheduling.NAME: coscheduling.MEANING,
    volcano.NAME: volcano.MEANING,
    native.NAME: native.MEANING,
    kai.NAME: kai.MEANING,
    "none": (
        "Nothing holds the gang together: each pod starts when it fits, and what started waits for the rest."
    ),
}
