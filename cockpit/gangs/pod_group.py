"""Where a gang of a placement engine stands: from its group object and its members, never from a phase alone.

A phase may be stale (some engines still count pods that were deleted), and a condition may be final (some
never take their True back). What is bound is counted from the pods.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from cockpit.gangs import registry
from cockpit.gangs.engine import OwnJob
from cockpit.gangs.sentence import counted, one_line
from cockpit.gangs.standing import NOT_HELD, GangStanding, GangState
from cockpit.model.finding import Finding
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader

_ENDED = ("Finished", "Completed", "Failed", "Succeeded")
SET_ASIDE = "waits to be tried again"
"""Said behind the cause of a group that is not looked at by itself, whatever room there is by now."""


def group_of(pods: Iterable[Pod], store: StoreReader) -> PodGroup | None:
    """The group object that the pods name, None where they name none or it does not exist."""
    for pod, name in registry.groups_named(pods):
        for group in store.pod_groups_named(f"{pod.namespace}/{name}"):
            if registry.is_of_group(pod, group):
                return group
    return None


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


def standing(group: PodGroup, pods: tuple[Pod, ...], position: int | None = None) -> GangStanding | None:
    """The gang's standing; None where its pods tell more than the group does: all there, or ended.

    No sentence means that the members' own sentences hold the cause. A gang that lost members after it was
    bound, or that bound a part of itself, is judged by its pods.
    """
    alive = tuple(pod for pod in pods if not pod.is_finished)
    if not alive and pods:
        return None
    placed = bound(pods)
    if placed:
        state = GangState.ADMITTED
        return GangStanding(state=state, queue=group.queue) if placed >= (group.min_member or 1) else None
    if not is_in_line(group, placed):
        return None
    return held_by(reason_of(group, pods), group, position)


def reason_of(group: PodGroup, pods: tuple[Pod, ...]) -> Finding:
    """Why the group waits, as its engine tells it."""
    reason = registry.engine_named(group.engine).reason
    return NOT_HELD if reason is None else reason(group, pods)


def held_by(why: Finding, group: PodGroup, position: int | None) -> GangStanding:
    """The standing of a gang that waits for that reason."""
    return GangStanding(
        state=GangState.QUEUED,
        why=replace(why, sentence=one_line(why.sentence)),
        position=position,
        is_estimate=position is not None,
        queue=group.queue,
    )


def of_own_job(own: OwnJob, namespace: str, name: str, uid: str, store: StoreReader) -> PodGroup | None:
    """The group that an engine makes for a job of its own kind before there are pods, None without one."""
    for key in group_keys(own, namespace, name, uid):
        for group in store.pod_groups_named(key):
            if group.owner is not None and group.owner.uid == uid:
                return group
    return None


def group_keys(own: OwnJob, namespace: str, name: str, uid: str) -> tuple[str, ...]:
    """What the group of such a job may be called, as "namespace/name"."""
    return tuple(f"{namespace}/{one}" for one in own.group_names(name, uid))


def estimate_positions(store: StoreReader, keys: Iterable[str]) -> dict[str, int]:
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


def refused_why(pods: Sequence[Pod]) -> str:
    """Why members wait where no sentence of the scheduler holds the cause: what they need together.

    Events of one reason are folded into the first one of a pod, so the cause may be nowhere. What is free by
    now is left out: a row is not drawn anew for that.
    """
    sizes = [pod.gpus for pod in pods if pod.gpus]
    if not sizes:
        return f"its group was refused as a whole; {SET_ASIDE}"
    alike = len(set(sizes)) == 1 and len(sizes) > 1
    asked = f"{len(sizes)} x {counted(sizes[0], 'GPU')}" if alike else counted(sum(sizes), "GPU")
    return f"needs {asked} at once and was refused; {SET_ASIDE}"
