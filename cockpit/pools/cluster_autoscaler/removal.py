"""How far the autoscaler is with taking a node away, by the taints that it puts on it, and what holds it.

Sources: kubernetes-sigs/cluster-autoscaler pkg/utils/taints/taints.go (the value of both taints is the
second at which it was put there), pkg/FAQ.md (a node is unneeded for ten minutes by default before it goes),
pkg/simulator/drainability/rules (pods of DaemonSets and static ones hold nothing; `safe-to-evict` is `false`,
a budget allows no eviction, or, unless `safe-to-evict` is `true`, a pod has no controller, keeps files on the
node, or is of kube-system and under no budget; a flag switches off each of the last two).
"""

from collections.abc import Iterable

from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import label
from cockpit.pools.cluster_autoscaler.flags import UNKNOWN, ScaleDownTerms
from cockpit.pools.keepers import Budgets, Keeper, KeeperKind, budgets_over, keeping_budget
from cockpit.pools.owner import Removal

GOING = "ToBeDeletedByClusterAutoscaler"
THINKING = "DeletionCandidateOfClusterAutoscaler"
POD_KEEP = "cluster-autoscaler.kubernetes.io/safe-to-evict"
POD_FILES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
KEEP = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
_EXEMPT = ("DaemonSet", "Node")
_SYSTEM = "kube-system"


def removal_of(node: Node, terms: ScaleDownTerms | None, now_seconds: float) -> Removal | None:
    """None where it does not mean to take it. Without `terms` it is not known how long the node has left."""
    found = {one.key: one.value for one in node.taints}
    if GOING in found:
        since = _second(found[GOING])
        return Removal(stage="being drained and deleted by the cluster autoscaler", since_seconds=since)
    if THINKING not in found:
        return None
    since = _second(found[THINKING])
    limit = None if terms is None else terms.unneeded.number
    when = UNKNOWN if limit is None else f"after {limit / 60:g} min"
    when += " by default" if terms is not None and terms.unneeded.is_default else ""
    return Removal(
        stage=f"unneeded to the cluster autoscaler (removed {when})",
        may_stay=True,
        since_seconds=since,
        left_seconds=None if limit is None or since is None else max(0.0, since + limit - now_seconds),
    )


def is_going(node: Node) -> bool:
    """Nothing holds it any more."""
    return any(one.key == GOING for one in node.taints)


def keepers_of(node: Node, pods: Iterable[Pod], budgets: Budgets) -> tuple[Keeper, ...]:
    """`pods`: those on it, where they count."""
    if label(node.annotations, KEEP) == "true":
        return (Keeper(KeeperKind.NODE_NOTE, KEEP),)
    counted = [
        one
        for one in pods
        if not one.is_finished and one.deleting_seconds is None and one.owner_kind not in _EXEMPT
    ]
    noted = [hold for one in counted if (hold := _keeping_pod(one)) is not None]
    is_thought_of = any(one.key == THINKING for one in node.taints)  # then flags say that some hold nothing
    if not is_thought_of:
        noted += [
            Keeper(KeeperKind.LOCAL_FILES, pod=one.key)
            for one in counted
            if one.traits.wishes.keeps_files and not _is_free(one) and not label(one.stay_notes, POD_FILES)
        ]
    if budgets is None:
        return tuple(noted) or ((Keeper(KeeperKind.BUDGETS_UNREAD),) if counted else ())
    held = [hold for one in counted if (hold := keeping_budget(one, budgets)) is not None]
    if not is_thought_of:
        held += [
            Keeper(KeeperKind.SYSTEM_POD, pod=one.key)
            for one in counted
            if one.namespace == _SYSTEM and not _is_free(one) and not budgets_over(one, budgets)
        ]
    return (*noted, *held)


def _keeping_pod(pod: Pod) -> Keeper | None:
    if label(pod.stay_notes, POD_KEEP) == "false":
        return Keeper(KeeperKind.POD_NOTE, POD_KEEP, pod.key)
    if pod.owner_kind or _is_free(pod):
        return None
    return Keeper(KeeperKind.NO_CONTROLLER, pod=pod.key)


def _is_free(pod: Pod) -> bool:
    return label(pod.stay_notes, POD_KEEP) == "true"


def _second(value: str) -> float | None:
    return float(value) if value.isascii() and value.isdigit() and len(value) < 12 else None
