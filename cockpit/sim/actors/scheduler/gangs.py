"""All-or-nothing groups as the Coscheduling plugin of scheduler-plugins v0.33.5 does them.

A pod belongs to the PodGroup (`scheduling.x-k8s.io/v1alpha1`) that its label names. Members that fit wait,
holding their room, until `minMember` have room; then all are bound together. One that fits nowhere rejects
those that wait, and the group backs off. A blocked group is not looked at again when room appears, only when
a pod or its PodGroup comes or changes, or after five minutes: so does the real plugin.

The groups of kube-scheduler itself are in `native_gangs`.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.hints import GANG_PLUGIN
from cockpit.sim.actors.scheduler.pod_groups import GROUP_LABEL, resource_gap
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.queue import Order, Waiting
from cockpit.sim.actors.scheduler.verdict import Status, unresolvable
from cockpit.sim.port import Tree
from cockpit.sim.times import seconds_of

NOT_FOUND = "PodGroup not found"
OPTIMISTIC = "optimistic rejection in PostFilter"
UNRESERVED = "rejection in Unreserve"
_CLOSE_ENOUGH = 0.1
"""With at most this share of `minMember` missing the others go on waiting (podGroupRejectPercentage)."""

GroupKey = tuple[str, str]
"""Namespace and name of a PodGroup."""


class GangRules(NamedTuple):
    """The plugin's arguments, in seconds."""

    permit_seconds: float = 60.0
    backoff_seconds: float = 0.0


class PermittedPod(NamedTuple):
    """A member that has room on `node` and waits for the others until `deadline`."""

    entry: Waiting
    node: str
    deadline: float
    patience_seconds: float


def group_of(pod: PodInfo) -> GroupKey | None:
    """The group that the pod names, or None."""
    name = pod.labels.get(GROUP_LABEL)
    return (pod.namespace, name) if name else None


class Gangs:
    """The groups of one scheduler, and their members that wait."""

    def __init__(
        self, rules: GangRules, cache: SchedulerCache, members: Callable[[GroupKey], Iterable[PodInfo]]
    ) -> None:
        """`members` answers every pod, placed or not, that names a group."""
        self._cache = cache
        self._permitted: dict[GroupKey, float] = {}
        self.rules = rules
        self.groups: dict[GroupKey, Tree] = {}
        self.held: dict[GroupKey, dict[str, PermittedPod]] = {}
        self._members = members
        self._resting: dict[GroupKey, float] = {}

    def minimum(self, key: GroupKey) -> int:
        """`minMember`."""
        return int((self.groups[key].get("spec") or {}).get("minMember") or 1)

    def refusal(self, pod: PodInfo, now: float) -> Status | None:
        """PreFilter: why the pod is not even tried."""
        key = group_of(pod)
        if key is None or key not in self.groups:
            return None
        if self._resting.get(key, 0.0) > now:
            return unresolvable(GANG_PLUGIN, f"podGroup {key[0]}/{key[1]} failed recently")
        self._resting.pop(key, None)
        count = sum(1 for _ in self._members(key))
        if count < (minimum := self.minimum(key)):
            text = (
                f"pre-filter pod {pod.name} cannot find enough sibling pods, current pods number: {count}, "
            )
            return unresolvable(GANG_PLUGIN, f"{text}minMember of group: {minimum}")
        return self._gap(key, now)

    def _gap(self, key: GroupKey, now: float) -> Status | None:
        """Whether `minResources` are free at all; once they were, not asked again for the time to wait."""
        if self._permitted.get(key, 0.0) > now:
            return None
        self._permitted.pop(key, None)
        if text := resource_gap(self._cache, self.groups[key]):
            return unresolvable(GANG_PLUGIN, text)
        if (self.groups[key].get("spec") or {}).get("minResources"):
            self._permitted[key] = now + self.rules.permit_seconds
        return None

    def assigned(self, key: GroupKey) -> int:
        """Members that have a node; those that wait are not counted."""
        return sum(1 for pod in self._members(key) if pod.node)

    def may_bind(self, pod: PodInfo) -> bool:
        """Permit: True when with this pod the group is complete, or where there is no group."""
        key = group_of(pod)
        if key is None:
            return True
        return self.assigned(key) + len(self.held.get(key, ())) + 1 >= self.minimum(key)

    def hold(self, entry: Waiting, node: str, now: float) -> float:
        """Let a member wait with its room; answers its deadline."""
        key = group_of(entry.pod)
        assert key is not None
        stated = (self.groups[key].get("spec") or {}).get("scheduleTimeoutSeconds")
        patience = float(stated) if stated else self.rules.permit_seconds
        held = PermittedPod(entry, node, now + patience, patience)
        self.held.setdefault(key, {})[entry.pod.uid] = held
        return held.deadline

    def take(self, key: GroupKey) -> list[PermittedPod]:
        """Those that wait, who wait no longer."""
        return list(self.held.pop(key, {}).values())

    def forget(self, pod: PodInfo) -> bool:
        """A pod is gone; True when it was waiting with its room."""
        key = group_of(pod)
        if key is None or self.held.get(key, {}).pop(pod.uid, None) is None:
            return False
        if not self.held[key]:
            del self.held[key]
        return True

    def expired(self, now: float) -> list[PermittedPod]:
        """Those whose patience ended."""
        return [held for waiting in self.held.values() for held in waiting.values() if held.deadline <= now]

    def next_deadline(self) -> float | None:
        """When `expired` has something to answer."""
        deadlines = [held.deadline for waiting in self.held.values() for held in waiting.values()]
        return min(deadlines, default=None)

    def gives_up(self, pod: PodInfo, now: float) -> str | None:
        """PostFilter after `pod` found no room: what is said of the group, None where the others go on.

        The caller then rejects those that wait.
        """
        key = group_of(pod)
        if key is None or key not in self.groups:
            return None
        minimum = self.minimum(key)
        ready = self.assigned(key) + len(self.held.get(key, ()))
        if ready >= minimum or (minimum - ready) / minimum <= _CLOSE_ENOUGH:
            return None
        self._permitted.pop(key, None)
        if sum(1 for _ in self._members(key)) >= minimum and self.rules.backoff_seconds:
            self._resting[key] = now + self.rules.backoff_seconds
        text = f"PodGroup {key[0]}/{key[1]} gets rejected due to Pod {pod.name}"
        return f"{text} is unschedulable even after PostFilter"

    def order(self) -> Order:
        """Priority, then the group's age (a single pod's own), then the name."""

        def key(pod: PodInfo, first_seen: float) -> tuple[float, ...]:
            group = self.groups.get(group_of(pod) or ("", ""))
            if group is None:
                return (-pod.priority, first_seen)
            made = group["metadata"].get("creationTimestamp")
            return (-pod.priority, seconds_of(made) if made else first_seen)

        return key
