"""What wakes a pod that fits nowhere: only what may have cured one of the refusals it got.

Source: the queueing hints of kube-scheduler 1.36's plugins, in coarser form for volumes.
"""

from collections.abc import Callable

from cockpit.k8s.tolerations import is_tolerated, untolerated
from cockpit.sim.actors.scheduler.nodeinfo import CORDON, NodeInfo, insufficient, matches_labels
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.port import Tree

Hint = Callable[[PodInfo, str], bool]
"""Whether what happened may help a waiting pod that a plugin (by name) refused."""

GANG_PLUGIN = "Coscheduling"
NATIVE_PLUGIN = "GangScheduling"
DEVICE_PLUGIN = "DynamicResources"
_GROUPS = (GANG_PLUGIN, NATIVE_PLUGIN)
_VOLUME_PLUGINS = ("VolumeBinding", "VolumeZone", "VolumeRestrictions")


def _is_open(node: NodeInfo, pod: PodInfo) -> bool:
    return not node.is_cordoned or is_tolerated(CORDON, pod.tolerations)


def _passes(plugin: str, pod: PodInfo, node: NodeInfo) -> bool:
    """Whether the empty node would satisfy one plugin."""
    if plugin == "NodeResourcesFit":
        return insufficient(pod, node) is None
    if plugin == "NodeAffinity":
        return matches_labels(pod, node.name, node.labels)
    if plugin == "TaintToleration":
        return untolerated(node.taints, pod.tolerations) is None
    if plugin == "NodeUnschedulable":
        return _is_open(node, pod)
    return True


def node_added(tree: Tree) -> Hint:
    """A node came: it helps where it alone would do."""
    node = NodeInfo(tree)

    def hint(pod: PodInfo, plugin: str) -> bool:
        if plugin == "PodTopologySpread":
            return all(spread.key in node.labels for spread in pod.spreads)
        return plugin not in _GROUPS and _passes(plugin, pod, node)

    return hint


def node_changed(before: Tree, after: Tree) -> Hint | None:
    """A node changed; None where nothing did that any plugin looks at."""
    old, new = NodeInfo(before), NodeInfo(after)
    relabelled = old.labels != new.labels
    grown = {name for name, value in new.allocatable.items() if value > old.allocatable.get(name, 0)}
    if not (relabelled or grown or old.taints != new.taints or old.is_cordoned != new.is_cordoned):
        return None

    def hint(pod: PodInfo, plugin: str) -> bool:
        if plugin == "NodeResourcesFit":
            asked = "pods" in grown or any(name in grown for name in pod.requests)
            return asked and insufficient(pod, new) is None
        if plugin in ("NodeAffinity", "TaintToleration", "NodeUnschedulable"):
            return _passes(plugin, pod, new) and not _passes(plugin, pod, old)
        return plugin not in (*_GROUPS, "NodePorts") and relabelled

    return hint


def pod_gone(gone: PodInfo) -> Hint:
    """A pod left its node."""

    def hint(pod: PodInfo, plugin: str) -> bool:
        if plugin == "NodeResourcesFit":
            return True
        if plugin == "NodePorts":
            given_back = {(one.port, one.protocol) for one in gone.ports}
            return any((one.port, one.protocol) in given_back for one in pod.ports)
        if plugin == "VolumeRestrictions":
            return pod.namespace == gone.namespace and bool(set(pod.claims) & set(gone.claims))
        return _is_company(pod, gone, plugin)

    return hint


def pod_came(come: PodInfo) -> Hint:
    """A pod was put on a node, or one there was relabelled."""

    def hint(pod: PodInfo, plugin: str) -> bool:
        return plugin == GANG_PLUGIN or _is_company(pod, come, plugin)

    return hint


def _is_company(pod: PodInfo, other: PodInfo, plugin: str) -> bool:
    """Whether `other` counts for the waiting pod's spreading or (anti-)affinity."""
    if plugin == "PodTopologySpread":
        mine = pod.namespace == other.namespace
        return mine and any(spread.selector.matches(other.labels) for spread in pod.spreads)
    if plugin == "InterPodAffinity":
        terms = (*pod.affinity, *pod.anti_affinity)
        return bool(other.anti_affinity) or any(term.selector.matches(other.labels) for term in terms)
    return False


def pod_made(_: PodInfo, plugin: str) -> bool:
    """A pod that waits was created: siblings of a gang look again."""
    return plugin in _GROUPS


def group_touched(_: PodInfo, plugin: str) -> bool:
    """A PodGroup was created or changed."""
    return plugin in _GROUPS


def storage_changed(_: PodInfo, plugin: str) -> bool:
    """A claim, a volume or a class came or changed."""
    return plugin in _VOLUME_PLUGINS


def devices_changed(_: PodInfo, plugin: str) -> bool:
    """A claim on devices or a class of them came or changed."""
    return plugin == DEVICE_PLUGIN
