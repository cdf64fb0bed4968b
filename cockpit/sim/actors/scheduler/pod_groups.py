"""PodGroups of scheduler-plugins v0.33.5: what their `minResources` lack, and who writes their status.

The status is that of its controller: Pending until enough members exist, Scheduling until enough run, then
Running, at last Finished or Failed. Counts are not renewed while a group is Pending, as in the real one.
"""

from collections.abc import Iterable, Iterator

from cockpit.k8s.quantity import amounts_of
from cockpit.kube.resource import PODS
from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from cockpit.sim.resources import POD_GROUPS

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_FINAL = ("Finished", "Failed")


def resource_gap(cache: SchedulerCache, group: Tree) -> str:
    """`resource gap: map[...]` when all nodes together have less free than `minResources`; "" otherwise.

    Members that hold room already do not count as using it. The numbers are printed as Go prints a Quantity.
    """
    spec = group.get("spec") or {}
    stated = spec.get("minResources")
    if not stated:
        return ""
    asked = {**{name: str(value) for name, value in stated.items()}, "pods": str(spec.get("minMember") or 1)}
    lacking = amounts_of(asked)
    name, namespace = group["metadata"]["name"], group["metadata"].get("namespace", "")
    for node in cache.nodes.values():
        mine = [
            p for p in node.pods.values() if p.namespace == namespace and p.labels.get(GROUP_LABEL) == name
        ]
        for resource in list(lacking):
            free = node.allocatable.get(resource, 0) - node.requested.get(resource, 0)
            if resource == "pods":
                free = node.most_pods - len(node.pods) + len(mine)
            else:
                free += sum(pod.requests.get(resource, 0) for pod in mine)
            lacking[resource] -= free
            if lacking[resource] <= 0:
                del lacking[resource]
        if not lacking:
            return ""
    parts = [f"{each}:{_printed(each, lacking[each], asked[each])}" for each in sorted(lacking)]
    return f"resource gap: map[{' '.join(parts)}]"


def _printed(resource: str, amount: int, stated: str) -> str:
    """`{{6 0} {<nil>}  DecimalSI}`: CPU in thousandths, once a node's share was taken off."""
    scale = -3 if resource == "cpu" else 0
    form = "BinarySI" if stated.endswith(_BINARY) else "DecimalSI"
    return f"{{{{{amount} {scale}}} {{<nil>}}  {form}}}"


class PodGroupStatuses(Actor):
    """Writes the status of PodGroups. Their resource must be served when the engine starts."""

    name = "podgroup-controller"
    watches = (POD_GROUPS, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._members: dict[Key, dict[str, None]] = {}

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """A group itself, or the group that a pod names."""
        metadata = change.tree["metadata"]
        if change.resource == POD_GROUPS:
            return [(metadata["namespace"], metadata["name"])]
        return self._of_pod(change)

    def _of_pod(self, change: ObjectChange) -> Iterator[Key]:
        metadata = change.tree["metadata"]
        group = (metadata.get("labels") or {}).get(GROUP_LABEL)
        if group:
            key = (metadata["namespace"], group)
            self._members.setdefault(key, {})[metadata["name"]] = None
            yield key

    async def reconcile(self, key: Key) -> None:
        """Compute the status anew and write it where it differs."""
        namespace, name = key
        group = self.engine.cache(POD_GROUPS).get(namespace, name)
        if group is None or (group.get("status") or {}).get("phase") in _FINAL:
            return
        status = group_status(group, list(self._pods(key)))
        if status != (group.get("status") or {}):
            try:
                await self.engine.port.patch(
                    POD_GROUPS, namespace, name, {"status": status}, subresource="status"
                )
            except PortError as error:
                if not error.is_gone:
                    raise

    def _pods(self, key: Key) -> Iterator[Tree]:
        held = self._members.get(key, {})
        for name in list(held):
            pod = self.engine.cache(PODS).get(key[0], name)
            if pod is None or (pod["metadata"].get("labels") or {}).get(GROUP_LABEL) != key[1]:
                del held[name]
            else:
                yield pod


def group_status(group: Tree, pods: list[Tree]) -> Tree:
    """The status that follows from the one a group has and from its members."""
    status = dict(group.get("status") or {})
    minimum = int((group.get("spec") or {}).get("minMember") or 1)
    phase = status.get("phase", "")
    if not phase:
        status["phase"] = "Pending"
        return status
    if phase == "Pending":
        if len(pods) >= minimum:
            status["phase"] = "Scheduling"
            owners = pods[0]["metadata"].get("ownerReferences") or ()
            if owners and not status.get("occupiedBy"):
                namespace = pods[0]["metadata"]["namespace"]
                status["occupiedBy"] = ",".join(sorted(f"{namespace}/{owner['name']}" for owner in owners))
        return status
    counts = {"running": 0, "succeeded": 0, "failed": 0}
    for pod in pods:
        told = str((pod.get("status") or {}).get("phase", "")).lower()
        if told in counts:
            counts[told] += 1
    for each, count in counts.items():
        if count:
            status[each] = count
        else:
            status.pop(each, None)
    running, succeeded, failed = counts["running"], counts["succeeded"], counts["failed"]
    if len(pods) < minimum:
        status["phase"] = "Pending"
    elif failed and running + succeeded + failed >= minimum:
        status["phase"] = "Failed"
    elif succeeded >= minimum:
        status["phase"] = "Finished"
    else:
        status["phase"] = "Running" if running + succeeded >= minimum else "Scheduling"
    return status
