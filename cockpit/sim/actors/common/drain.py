"""What a drain has to move: as `kubectl drain` and cluster-autoscaler see it."""

from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.sim.port import Tree

_MIRROR = "kubernetes.io/config.mirror"
_ENDED = ("Succeeded", "Failed")


def owner_kind(pod: Mapping[str, Any]) -> str:
    """The kind of the controller of a pod, "" for a bare one."""
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner.get("kind", ""))
    return ""


def is_in_the_way(pod: Mapping[str, Any]) -> bool:
    """True for a pod that a drain must evict: not ended, no mirror, not a DaemonSet's."""
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return False
    if _MIRROR in (pod["metadata"].get("annotations") or {}):
        return False
    return owner_kind(pod) != "DaemonSet"


def to_evict(pods: Iterable[Tree]) -> list[Tree]:
    """Those pods of a node that keep it from being empty, in the order of their names."""
    found = [pod for pod in pods if is_in_the_way(pod)]
    return sorted(found, key=lambda pod: (pod["metadata"].get("namespace", ""), pod["metadata"]["name"]))
