"""How changes of the cluster reach the scheduler's cache and its queue, and whom they wake."""

from collections.abc import Iterator
from typing import TypeVar

from cockpit.kube.resource import NAMESPACES, NODES, PODS, Resource
from cockpit.sim.actors.scheduler import hints
from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.device_claims import lacks_claims
from cockpit.sim.actors.scheduler.gangs import GangRules, Gangs, GroupKey, group_of
from cockpit.sim.actors.scheduler.native_gangs import NativeGangs, native_group_of
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.queue import SchedulingQueue, by_priority
from cockpit.sim.port import ChangeType, ObjectChange, Tree
from cockpit.sim.resources import (
    BUDGETS,
    DEVICE_CLASSES,
    NATIVE_POD_GROUPS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_GROUPS,
    RESOURCE_CLAIMS,
)

DEFAULT_NAME = "default-scheduler"
K = TypeVar("K")
V = TypeVar("V")
_EAGER = 32
_OVER = ("Succeeded", "Failed")


class EventHandlers:
    """What one scheduler knows: the cache, its queue and, with Coscheduling, its groups."""

    def __init__(self, name: str, gangs: GangRules | None, *, is_native: bool = False) -> None:
        self.name = name
        self.cache = SchedulerCache()
        self.gangs = None if gangs is None else Gangs(gangs, self.cache, self.members)
        if self.gangs is None:
            self.queue = SchedulingQueue(by_priority, eager=_EAGER)
        else:
            # A group that is rejected frees room, which would wake it again at the same instant.
            self.queue = SchedulingQueue(self.gangs.order())
        self.native = NativeGangs(self.native_members) if is_native else None
        self.queue.holds = self._holds

    def _holds(self, pod: PodInfo) -> bool:
        is_gang_short = self.native is not None and self.native.holds(pod)
        return is_gang_short or lacks_claims(self.cache, pod)

    def take(self, change: ObjectChange, before: Tree | None, now: float) -> None:
        """Take one change over; `before` is the object as it was, `now` in seconds since the epoch."""
        gone = change.type is ChangeType.DELETED
        tree = change.tree
        if change.resource == PODS:
            self._take_pod(tree, before, gone or _is_over(tree), now)
        elif change.resource == NODES:
            self._take_node(tree, before, gone, now)
        elif change.resource == NAMESPACES:
            labels = None if gone else tree["metadata"].get("labels") or {}
            self.cache.put_namespace(tree["metadata"]["name"], labels)
        elif change.resource == POD_GROUPS:
            self._take_group(tree, gone, now)
        elif change.resource == NATIVE_POD_GROUPS:
            self._take_native_group(tree, gone, now)
        else:
            self._take_object(change.resource, tree, gone, now)

    def members(self, key: GroupKey) -> Iterator[PodInfo]:
        """Pods that name a group; those that wait with their room count as not placed."""
        for pod in self.cache.spaces.get(key[0], {}).values():
            if pod.uid not in self.queue.entries and group_of(pod) == key:
                yield pod
        for entry in self.queue.entries.values():
            if group_of(entry.pod) == key:
                yield entry.pod

    def native_members(self, key: GroupKey) -> Iterator[PodInfo]:
        """Pods that name a group of kube-scheduler's own."""
        for pod in self.cache.spaces.get(key[0], {}).values():
            if pod.uid not in self.queue.entries and native_group_of(pod) == key:
                yield pod
        for entry in self.queue.entries.values():
            if native_group_of(entry.pod) == key:
                yield entry.pod

    def _take_node(self, tree: Tree, before: Tree | None, gone: bool, now: float) -> None:
        name = tree["metadata"]["name"]
        if gone:
            self.cache.drop_node(name)
            return
        if before is None or name not in self.cache.nodes:
            self.cache.put_node(tree)
            self.queue.move(hints.node_added(tree), now)
        elif hint := hints.node_changed(before, tree):
            self.cache.put_node(tree)
            self.queue.move(hint, now)
        elif _counts_otherwise(before, tree):
            self.cache.put_node(tree)

    def _take_pod(self, tree: Tree, before: Tree | None, gone: bool, now: float) -> None:
        metadata = tree["metadata"]
        uid = metadata.get("uid") or f"{metadata['namespace']}/{metadata['name']}"
        if gone:
            self._lose_pod(uid, now)
        elif tree["spec"].get("nodeName"):
            self._take_placed(uid, tree, before, now)
        elif tree["spec"].get("schedulerName", DEFAULT_NAME) == self.name and uid not in self.cache.pods:
            pod = PodInfo(tree)
            if self.queue.put(pod, now):
                self.queue.move(hints.pod_made, now, pod.uid)
            if self.native is not None and native_group_of(pod) is not None:
                self.queue.let_in(now)
            if pod.nominated:
                self.cache.nominate(pod, pod.nominated)

    def _lose_pod(self, uid: str, now: float) -> None:
        entry = self.queue.entries.get(uid)
        if entry is not None:
            self.queue.drop(uid)
            self.cache.nominate(entry.pod, "")
            if self.gangs is not None:
                self.gangs.forget(entry.pod)
        pod = self.cache.drop_pod(uid)
        if pod is not None:
            self.queue.move(hints.pod_gone(pod), now)

    def _take_placed(self, uid: str, tree: Tree, before: Tree | None, now: float) -> None:
        pod = self.cache.pods.get(uid)
        has_come = before is None or not before["spec"].get("nodeName")
        if pod is not None and before is not None and _is_same(before, tree, pod.node):
            pod.renew(tree)
        else:
            known, pod = pod, PodInfo(tree)
            has_come = has_come or known is None or known.labels != pod.labels
            self.cache.put_pod(pod)
            if known is not None and not pod.is_leaving and known.requests != pod.requests:
                self.queue.move(hints.pod_gone(pod), now)
        if has_come:
            entry = self.queue.entries.get(uid)
            if entry is not None:
                self.queue.drop(uid)
                self.cache.nominate(entry.pod, "")
            self.queue.move(hints.pod_came(pod), now)

    def _take_object(self, resource: Resource, tree: Tree, gone: bool, now: float) -> None:
        metadata = tree["metadata"]
        name, key = metadata["name"], (metadata.get("namespace", ""), metadata["name"])
        self.cache.touch()
        if resource == BUDGETS:
            _put(self.cache.budgets, key, tree, gone)
            return
        if resource in (RESOURCE_CLAIMS, DEVICE_CLASSES):
            if resource == RESOURCE_CLAIMS:
                _put(self.cache.device_claims, key, tree, gone)
                self.queue.let_in(now)
            else:
                _put(self.cache.device_classes, name, tree, gone)
            self.queue.move(hints.devices_changed, now)
            return
        if resource == PERSISTENT_VOLUME_CLAIMS:
            _put(self.cache.claims, key, tree, gone)
        elif resource == PERSISTENT_VOLUMES:
            _put(self.cache.volumes, name, tree, gone)
        else:
            _put(self.cache.classes, name, tree, gone)
        if not gone:
            self.queue.move(hints.storage_changed, now)

    def _take_group(self, tree: Tree, gone: bool, now: float) -> None:
        if self.gangs is not None:
            metadata = tree["metadata"]
            _put(self.gangs.groups, (metadata["namespace"], metadata["name"]), tree, gone)
            if not gone:
                self.queue.move(hints.group_touched, now)

    def _take_native_group(self, tree: Tree, gone: bool, now: float) -> None:
        if self.native is not None:
            metadata = tree["metadata"]
            _put(self.native.groups, (metadata["namespace"], metadata["name"]), tree, gone)
            if not gone:
                self.queue.move(hints.group_touched, now)
                self.queue.let_in(now)


def _is_over(tree: Tree) -> bool:
    return (tree.get("status") or {}).get("phase") in _OVER


def _is_same(before: Tree, after: Tree, node: str) -> bool:
    """Whether a placed pod changed in nothing that counts."""
    old, new = before["metadata"], after["metadata"]
    return (
        after["spec"]["nodeName"] == node
        and (
            before["spec"] is after["spec"]
            or before["spec"] == after["spec"]
            or not before["spec"].get("nodeName")
        )
        and old.get("labels") == new.get("labels")
        and old.get("deletionTimestamp") == new.get("deletionTimestamp")
    )


def _counts_otherwise(before: Tree, after: Tree) -> bool:
    old, new = before.get("status") or {}, after.get("status") or {}
    return old.get("allocatable") != new.get("allocatable") or before.get("spec") != after.get("spec")


def _put(into: dict[K, V], key: K, value: V, gone: bool) -> None:
    if gone:
        into.pop(key, None)
    else:
        into[key] = value
