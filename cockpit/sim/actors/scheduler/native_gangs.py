"""All-or-nothing groups as kube-scheduler 1.36 does them behind its gates (KEP-4671, `scheduling.k8s.io`).

A pod names its PodGroup in `spec.schedulingGroup`. It is held before the queue, without a word, until the
group is there and has `minCount` pods. Then all members that wait are tried in one go: with enough of them
placed they are bound, with fewer nothing is, and the group waits until something may help one that found no
node.

Words, conditions and finalizer are those of a real 1.36 with `GenericWorkload` and `GangScheduling`. Not
modelled: groups that push others aside, Workload objects, and groups that the Job controller makes by itself
(gate `WorkloadWithJob`).
"""

from collections.abc import Callable, Iterable
from typing import Any

from cockpit.kube.resource import PODS
from cockpit.sim.actors.scheduler.hints import NATIVE_PLUGIN
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from cockpit.sim.resources import NATIVE_POD_GROUPS
from cockpit.sim.times import rfc3339

WAITS_FOR_OTHERS = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled,"
    " one or more plugins asked to wait and no plugin rejected pod"
)
"""What a member is told that had room while others had none."""
PROTECTION = "scheduling.k8s.io/podgroup-protection"
SCHEDULED = "PodGroupScheduled"
REFUSING = frozenset({NATIVE_PLUGIN})
_OVER = ("Succeeded", "Failed")

GroupKey = tuple[str, str]
"""Namespace and name of a PodGroup."""


def native_group_of(pod: PodInfo) -> GroupKey | None:
    """The group that the pod names, or None."""
    name = _named(pod.tree)
    return (pod.namespace, name) if name else None


def _named(tree: Tree) -> str:
    return str((tree["spec"].get("schedulingGroup") or {}).get("podGroupName") or "")


class NativeGangs:
    """The groups that one scheduler knows."""

    def __init__(self, members: Callable[[GroupKey], Iterable[PodInfo]]) -> None:
        """`members` answers every pod, placed or not, that names a group."""
        self.groups: dict[GroupKey, Tree] = {}
        self._members = members

    def minimum(self, key: GroupKey) -> int:
        """`minCount`; 0 for the policy `basic`, whose pods go one by one."""
        policy: Any = self.groups[key]["spec"].get("schedulingPolicy") or {}
        return int((policy.get("gang") or {}).get("minCount") or 0)

    def holds(self, pod: PodInfo) -> bool:
        """PreEnqueue: its group is not there, or lacks pods."""
        key = native_group_of(pod)
        if key is None:
            return False
        return key not in self.groups or sum(1 for _ in self._members(key)) < self.minimum(key)

    def assigned(self, key: GroupKey) -> int:
        """Members that have a node."""
        return sum(1 for pod in self._members(key) if pod.node)

    def is_enough(self, key: GroupKey, placed: int) -> bool:
        """Whether the gang is whole with so many more that have a place."""
        return self.assigned(key) + placed >= self.minimum(key)


def told(group: Tree, *, is_scheduled: bool, now: float) -> Tree | None:
    """The status after an attempt; None where it stays. That a group was scheduled once is final."""
    status = "True" if is_scheduled else "False"
    conditions = (group.get("status") or {}).get("conditions") or []
    held = next((one for one in conditions if one["type"] == SCHEDULED), None)
    if held is not None and held["status"] in ("True", status):
        return None
    condition = {
        "type": SCHEDULED,
        "status": status,
        "lastTransitionTime": rfc3339(now),
        "reason": "Scheduled" if is_scheduled else "Unschedulable",
        "message": "" if is_scheduled else "pod group is unschedulable",
    }
    return {"conditions": [*(one for one in conditions if one["type"] != SCHEDULED), condition]}


class PodGroupProtection(Actor):
    """Lets a group go once no pod that has not ended names it, as kube-controller-manager does."""

    name = "podgroup-protection-controller"
    watches = (NATIVE_POD_GROUPS, PODS)

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """A group itself, or the group that a pod names."""
        metadata = change.tree["metadata"]
        if change.resource == NATIVE_POD_GROUPS:
            yield (metadata["namespace"], metadata["name"])
        elif name := _named(change.tree):
            yield (metadata["namespace"], name)

    async def reconcile(self, key: Key) -> None:
        """Take the finalizer off a group that is to go and is not used."""
        namespace, name = key
        group = self.engine.cache(NATIVE_POD_GROUPS).get(namespace, name)
        if group is None or not group["metadata"].get("deletionTimestamp"):
            return
        finalizers = group["metadata"].get("finalizers") or []
        if PROTECTION not in finalizers or self._is_used(namespace, name):
            return
        rest = [one for one in finalizers if one != PROTECTION] or None
        try:
            patch = {"metadata": {"finalizers": rest}}
            await self.engine.port.patch(NATIVE_POD_GROUPS, namespace, name, patch)
        except PortError as error:
            if not error.is_gone:
                raise

    def _is_used(self, namespace: str, name: str) -> bool:
        return any(
            pod["metadata"]["namespace"] == namespace
            and _named(pod) == name
            and (pod.get("status") or {}).get("phase") not in _OVER
            for pod in self.engine.cache(PODS)
        )
