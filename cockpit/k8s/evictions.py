"""Why a kubelet evicted a pod, in plain words, from its message.

Source: Kubernetes 1.36 pkg/kubelet/eviction/helpers.go (nodeLowMessageFmt, containerMessageFmt).
"""

import re

EVICTED = "Evicted"
"""status.reason of such a pod. The exit code beside it is that of the kill, and tells nothing."""
PREEMPTED_BY = "PreemptionByScheduler"
EVICTED_BY = ("EvictionByEvictionAPI", "DeletionByTaintManager", "DeletionByPodGC")
"""Reasons of the condition DisruptionTarget: the last three are of pods whose node goes, or is drained."""
_LOW = re.compile(
    r"node (?:was|had) (?:low on resource|condition): *\[?(?P<resource>[A-Za-z-]+)", re.IGNORECASE
)
_LIMIT = re.compile(
    r"(?P<what>ephemeral local storage|emptyDir|local ephemeral storage)\b.*exceed", re.IGNORECASE
)
_CONDITIONS = {
    "memorypressure": "memory",
    "diskpressure": "local disk",
    "pidpressure": "process ids",
    "ephemeral-storage": "local disk",
}


def eviction_words(message: str) -> str:
    """ "evicted: node low on memory"; "" where the kubelet's message tells nothing that is known."""
    low = _LOW.search(message)
    if low is not None:
        resource = low["resource"].lower()
        return f"evicted: node low on {_CONDITIONS.get(resource, resource)}"
    if _LIMIT.search(message):
        return "evicted: it wrote more to local disk than its limit"
    return ""
