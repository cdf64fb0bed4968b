"""Why Karpenter leaves a node where it is.

Sources: karpenter pkg/controllers/state/statenode.go (ValidateNodeDisruptable, ValidatePodsDisruptable: also
pods of DaemonSets and static ones hold a node by their annotation), pkg/utils/pod/scheduling.go
(IsDisruptable: the annotation is `true`, or a duration from the start of the pod), pkg/utils/pdb/pdb.go,
pkg/controllers/disruption/emptiness.go, consolidation.go.
"""

from collections.abc import Iterator

from cockpit.k8s.durations import go_seconds
from cockpit.k8s.tolerations import is_tolerated
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Kind, condition, label
from cockpit.model.store_reader import StoreReader
from cockpit.pools.karpenter.budgets import allowed, in_force
from cockpit.pools.keepers import Budgets, Keeper, KeeperKind, keeping_budget
from cockpit.pools.truth import nodes_of

KEEP = "karpenter.sh/do-not-disrupt"
_GOING = Taint("karpenter.sh/disrupted", "", "NoSchedule")
_OF_OBJECTS = (KEEP, "Pdb ")
"""Stand in messages about annotations and budgets, which the objects tell as they are now."""
_EVENT_SECONDS = 300.0
"""It repeats the event every two minutes while it is so (pkg/events/recorder.go)."""
_POLL_SECONDS = 10.0
"""It looks again after so long, by what it saw then (pkg/controllers/disruption/controller.go)."""


def keepers_of_node(
    node: Node, truth: StoreReader, now_seconds: float, budgets: Budgets
) -> tuple[Keeper, ...]:
    """What on the node and its pods holds it, whatever its pool says."""
    if label(node.annotations, KEEP) == "true":
        return (Keeper(KeeperKind.NODE_NOTE, KEEP),)
    there = [one for one in truth.pods_on(node.name) if not one.is_finished and one.deleting_seconds is None]
    found = [
        *(hold for one in there if (hold := keeping_pod(one, now_seconds)) is not None),
        *_budgets_over(there, budgets),
    ]
    return tuple(found) or tuple(_said(node, truth, now_seconds))


def keeping_pod(pod: Pod, now_seconds: float) -> Keeper | None:
    """Whether the pod bids it leave the node alone now, and how long still."""
    value = label(pod.stay_notes, KEEP)
    if value == "true":
        return Keeper(KeeperKind.POD_NOTE, KEEP, pod.key)
    lasts = go_seconds(value)
    if not lasts:
        return None  # not understood: Karpenter takes it for none
    if pod.started_seconds is None:
        return Keeper(KeeperKind.POD_NOTE, KEEP, pod.key)
    left = pod.started_seconds + lasts - now_seconds
    return Keeper(KeeperKind.POD_NOTE, KEEP, pod.key, left_seconds=left) if left > 0 else None


def _budgets_over(pods: list[Pod], budgets: Budgets) -> Iterator[Keeper]:
    evicted = [
        one
        for one in pods
        if one.owner_kind != "Node" and not is_tolerated(_GOING, one.traits.wishes.tolerations)
    ]
    if budgets is None:
        if evicted:
            yield Keeper(KeeperKind.BUDGETS_UNREAD)
        return
    for one in evicted:
        if (hold := keeping_budget(one, budgets)) is not None:
            yield hold


def _said(node: Node, truth: StoreReader, now_seconds: float) -> Iterator[Keeper]:
    """What is seen nowhere else: that a pod is about to come to it."""
    blocked = [
        one
        for one in truth.events_of(node.uid)
        if one.reason == "DisruptionBlocked" and now_seconds - (one.last_seconds or 0.0) < _EVENT_SECONDS
        if not any(words in one.message for words in _OF_OBJECTS)
    ]
    if not blocked:
        return
    newest = max(blocked, key=lambda one: one.last_seconds or 0.0)
    if (newest.last_seconds or 0.0) > _initialized_seconds(node, truth) + _POLL_SECONDS:
        yield Keeper(KeeperKind.OTHER, said=newest.message)


def _initialized_seconds(node: Node, truth: StoreReader) -> float:
    """Since when it is no new node any more, which blocks it as well; 0.0 where that is not known."""
    claims = truth.records(Kind.MACHINE).values()
    return next((one.initialized_seconds or 0.0 for one in claims if one.node == node.name), 0.0)


def keepers_of_pool(
    node: Node, claim: Machine | None, found: PoolObject, truth: StoreReader, now_seconds: float
) -> tuple[Keeper, ...]:
    """What of its NodePool holds it: a node that has drifted waits for the budget alone."""
    name, one = f"NodePool {found.name}", found.disruption
    total = sum(label(each.labels, "karpenter.sh/nodepool") == found.name for each in nodes_of(truth))
    drifted = condition(claim.conditions, "Drifted") if claim is not None else None
    if drifted is not None and drifted.status == "True":
        return _pool_budget(found, "Drifted", total, now_seconds)
    if found.replicas is not None:
        return (Keeper(KeeperKind.FIXED_SIZE, name),)
    if one is None:
        return ()
    if one.after == "Never":
        return (Keeper(KeeperKind.OTHER, said=f"{name} says consolidateAfter Never"),)
    work = len(work_on(node, truth))
    if work and one.policy == "WhenEmpty":
        return (Keeper(KeeperKind.IN_USE, name, pods=work),)
    return _pool_budget(found, "Underutilized" if work else "Empty", total, now_seconds)


def takes_none(found: PoolObject) -> bool:
    """Whether no node of it goes but by hand, or because it has drifted."""
    return found.replicas is not None or (found.disruption is not None and found.disruption.after == "Never")


def _pool_budget(found: PoolObject, reason: str, total: int, now_seconds: float) -> tuple[Keeper, ...]:
    one = found.disruption
    if one is None or allowed(in_force(one), reason, total, now_seconds) != 0:
        return ()
    return (Keeper(KeeperKind.POOL_BUDGET, f"NodePool {found.name}"),)


def work_on(node: Node, truth: StoreReader) -> list[Pod]:
    """Pods for which it would have to find another node."""
    return [
        one
        for one in truth.pods_on(node.name)
        if not one.is_finished
        and one.deleting_seconds is None
        and one.owner_kind not in ("DaemonSet", "Node")
    ]
