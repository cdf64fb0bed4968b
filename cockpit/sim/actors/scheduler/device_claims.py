"""Claims on devices: DynamicResources of kube-scheduler 1.36, as far as no device is ever allocated.

A pod waits outside the line until its claims are there. A claim that somebody has allocated is used where it
reaches; for one that nobody has, no node has a device, because no ResourceSlice is read.
"""

from collections.abc import Iterator

from cockpit.k8s.node_affinity import NodeTerms, node_terms_of
from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.hints import DEVICE_PLUGIN
from cockpit.sim.actors.scheduler.nodeinfo import NodeInfo
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.verdict import Status, unresolvable
from cockpit.sim.port import Tree

_MOST_USERS = 256
_NONE_FREE = unresolvable(DEVICE_PLUGIN, "cannot allocate all claims")
_ELSEWHERE = unresolvable(DEVICE_PLUGIN, "resourceclaim not available on the node")
_IN_USE = unresolvable(DEVICE_PLUGIN, "resourceclaim in use")


def lacks_claims(cache: SchedulerCache, pod: PodInfo) -> bool:
    """PreEnqueue: a claim that the pod names, or that is to be made for it, is missing or on its way out."""
    for name in pod.device_claims:
        claim = cache.device_claims.get((pod.namespace, name)) if name else None
        if claim is None or claim["metadata"].get("deletionTimestamp"):
            return True
    return False


class PodDevices:
    """What the device claims of one pod ask of a node; made once per attempt."""

    def __init__(self, cache: SchedulerCache, pod: PodInfo) -> None:
        claims = (cache.device_claims.get((pod.namespace, name)) for name in pod.device_claims)
        self._cache = cache
        self._pod = pod
        self.claims = [claim for claim in claims if claim is not None]
        self._free = [claim for claim in self.claims if not (claim.get("status") or {}).get("allocation")]
        self.refusal = self._refusal()

    @property
    def is_empty(self) -> bool:
        """True when nothing here can refuse a node."""
        return not self.claims

    def _refusal(self) -> Status | None:
        """PreFilter: it stands for every node."""
        for claim in self.claims:
            users = (claim.get("status") or {}).get("reservedFor") or ()
            is_mine = any(user["uid"] == self._pod.uid for user in users)
            if claim not in self._free and len(users) >= _MOST_USERS and not is_mine:
                return _IN_USE
        for name, device_class in (asked for claim in self._free for asked in _asked(claim)):
            if device_class not in self._cache.device_classes:
                text = f"request {name}: device class {device_class} does not exist"
                return unresolvable(DEVICE_PLUGIN, text)
        return None

    def look(self, node: NodeInfo) -> Status | None:
        """Whether the devices can be had on `node`."""
        for claim in self.claims:
            selector = ((claim.get("status") or {}).get("allocation") or {}).get("nodeSelector")
            if selector and not NodeTerms(node_terms_of(selector)).matches(node.name, node.labels):
                return _ELSEWHERE
        return _NONE_FREE if self._free else None

    def reservations(self) -> Iterator[tuple[str, Tree]]:
        """(name of a claim, merge patch of its status) for those that are not the pod's yet."""
        mine = {"resource": "pods", "name": self._pod.name, "uid": self._pod.uid}
        for claim in self.claims:
            users = (claim.get("status") or {}).get("reservedFor") or []
            if all(user["uid"] != self._pod.uid for user in users):
                metadata = {"uid": claim["metadata"]["uid"]}
                patch = {"metadata": metadata, "status": {"reservedFor": [*users, mine]}}
                yield claim["metadata"]["name"], patch


def _asked(claim: Tree) -> Iterator[tuple[str, str]]:
    """(name of a request, its DeviceClass), of alternatives `REQUEST/ALTERNATIVE`."""
    for request in (claim["spec"].get("devices") or {}).get("requests") or ():
        if request.get("exactly"):
            yield request["name"], request["exactly"]["deviceClassName"]
        for choice in request.get("firstAvailable") or ():
            yield f"{request['name']}/{choice['name']}", choice["deviceClassName"]
