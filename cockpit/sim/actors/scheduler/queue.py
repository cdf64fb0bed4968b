"""The scheduling queue: active by priority, backing off, and waiting for something to happen.

Source: kubernetes 1.36 pkg/scheduler/backend/queue: first back-off 1 s, doubled up to 10 s; what waits for
more than 5 minutes is looked at again, checked every 30 s. While nothing else is active, pods are taken out
of their back-off early (errors are not); here only while few rest, because a crowd that is tried at every
event would cost more than it shows.
"""

import heapq
from collections.abc import Callable, Iterable
from enum import Enum

from cockpit.sim.actors.scheduler.hints import Hint
from cockpit.sim.actors.scheduler.podinfo import PodInfo

_FIRST_BACKOFF_SECONDS = 1.0
_LAST_BACKOFF_SECONDS = 10.0
_FLUSH_AFTER_SECONDS = 300.0
_FLUSH_EVERY_SECONDS = 30.0

Kind = tuple[bytes, frozenset[str], str]
"""Pods of one kind get the same hint: shape, refusing plugins, namespace."""
Order = Callable[[PodInfo, float], tuple[float, ...]]
"""The smaller the earlier, of a pod and the time it was first seen."""


class PodStage(Enum):
    """Where a pod is."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    STUCK = "unschedulable"
    GATED = "gated"
    FLYING = "in flight"


class Waiting:
    """One pod that wants a node."""

    __slots__ = ("due", "first_seen", "place", "plugins", "pod", "refusals", "tried")

    def __init__(self, pod: PodInfo, now: float) -> None:
        self.pod = pod
        self.first_seen = now
        self.tried = now
        self.refusals = 0
        self.plugins: frozenset[str] = frozenset()
        self.place = PodStage.FLYING
        self.due = 0.0

    @property
    def backoff_seconds(self) -> float:
        """How long it rests after its last try."""
        if not self.refusals:
            return 0.0
        return min(_LAST_BACKOFF_SECONDS, _FIRST_BACKOFF_SECONDS * 2.0 ** min(self.refusals - 1, 8))

    @property
    def kind(self) -> Kind:
        """What it shares with pods that the same events help."""
        return (self.pod.shape, self.plugins, self.pod.namespace)


def by_priority(pod: PodInfo, first_seen: float) -> tuple[float, ...]:
    """PrioritySort: the most important first, then the one that waits the longest."""
    return (-pod.priority, first_seen)


class SchedulingQueue:
    """Every pod of this scheduler that has no node."""

    def __init__(self, order: Order = by_priority, *, eager: int = 0) -> None:
        """`eager` is how many may rest so that they are still taken out early; 0 for never."""
        self.entries: dict[str, Waiting] = {}
        self.eager = eager
        self._early: dict[str, Waiting] = {}
        self._order = order
        self._active: list[tuple[tuple[float, ...], int, str]] = []
        self._resting: list[tuple[float, int, str]] = []
        self._stuck: dict[Kind, dict[str, Waiting]] = {}
        self._count = 0
        self._flushed = 0.0
        self.holds: Callable[[PodInfo], bool] = _holds_nothing
        """PreEnqueue of a plugin: whether a pod may not even wait in line yet; `let_in` asks anew."""

    def __len__(self) -> int:
        return len(self.entries)

    def put(self, pod: PodInfo, now: float) -> bool:
        """A new pod, or a known one after a change; True when it is new."""
        entry = self.entries.get(pod.uid)
        is_gated = self._is_gated(pod)
        if entry is None:
            entry = self.entries[pod.uid] = Waiting(pod, now)
            self._settle(entry, PodStage.GATED if is_gated else PodStage.ACTIVE)
            return True
        before = entry.pod
        if entry.place is PodStage.STUCK:
            # It may be filed under another kind from now on.
            self._unfile(entry)
            entry.pod = pod
            self._file(entry)
        entry.pod = pod
        if entry.place is PodStage.GATED and not is_gated:
            entry.first_seen = now
            self._settle(entry, PodStage.ACTIVE)
        elif entry.place is PodStage.STUCK and _is_other(before, pod):
            self._wake(entry, now)
        return False

    def _is_gated(self, pod: PodInfo) -> bool:
        return bool(pod.tree["spec"].get("schedulingGates")) or self.holds(pod)

    def let_in(self, now: float) -> None:
        """Whom nothing holds any more waits in line from now on."""
        for entry in list(self.entries.values()):
            if entry.place is PodStage.GATED and not self._is_gated(entry.pod):
                entry.first_seen = now
                self._settle(entry, PodStage.ACTIVE)

    def collect(self, uids: Iterable[str], now: float) -> list[Waiting]:
        """These out of turn, in their order, without those that are gated or in flight already."""
        found = [self.entries[uid] for uid in uids if uid in self.entries]
        found = [entry for entry in found if entry.place not in (PodStage.GATED, PodStage.FLYING)]
        for entry in found:
            if entry.place is PodStage.STUCK:
                self._unfile(entry)
            self._settle(entry, PodStage.FLYING)
            entry.tried = now
        return sorted(found, key=lambda entry: self._order(entry.pod, entry.first_seen))

    def drop(self, uid: str) -> None:
        """The pod is gone or has a node."""
        entry = self.entries.pop(uid, None)
        self._early.pop(uid, None)
        if entry is not None and entry.place is PodStage.STUCK:
            self._unfile(entry)

    def pop(self, now: float) -> Waiting | None:
        """The next pod to try, or None; it is in flight until `refuse` or `drop`."""
        while self._active:
            _, _, uid = heapq.heappop(self._active)
            entry = self.entries.get(uid)
            if entry is not None and entry.place is PodStage.ACTIVE:
                entry.place = PodStage.FLYING
                entry.tried = now
                return entry
        if not self._takes_early:
            return None
        entry = min(self._early.values(), key=lambda each: (each.due, self._order(each.pod, each.first_seen)))
        self._settle(entry, PodStage.FLYING)
        entry.tried = now
        return entry

    @property
    def _takes_early(self) -> bool:
        return 0 < len(self._early) <= self.eager

    @property
    def has_active(self) -> bool:
        """True when `pop` may answer a pod."""
        return bool(self._active) or self._takes_early

    def refuse(self, entry: Waiting, plugins: frozenset[str], now: float) -> None:
        """Put a pod back that was not placed; without plugins (an error) it only rests."""
        if self.entries.get(entry.pod.uid) is not entry:
            return
        entry.plugins = plugins
        entry.refusals += 1
        entry.tried = now
        if plugins:
            entry.place = PodStage.STUCK
            self._file(entry)
        else:
            self._settle(entry, PodStage.BACKOFF)

    def move(self, hint: Hint, now: float, but: str = "") -> None:
        """Wake every stuck pod that what happened may help; `but` is a uid that is left alone."""
        for kind in list(self._stuck):
            held = self._stuck.get(kind, {})
            sample = next(iter(held.values()), None)
            if sample is not None and any(hint(sample.pod, plugin) for plugin in sorted(kind[1])):
                for entry in [each for uid, each in held.items() if uid != but]:
                    self._wake(entry, now)

    def activate(self, uids: Iterable[str]) -> None:
        """Try these at once, whatever they wait for."""
        for uid in uids:
            entry = self.entries.get(uid)
            if entry is not None and entry.place in (PodStage.STUCK, PodStage.BACKOFF):
                if entry.place is PodStage.STUCK:
                    self._unfile(entry)
                self._settle(entry, PodStage.ACTIVE)

    def flush(self, now: float) -> None:
        """End back-offs that are over, and wake what waited too long."""
        while self._resting and self._resting[0][0] <= now:
            due, _, uid = heapq.heappop(self._resting)
            entry = self.entries.get(uid)
            if entry is not None and entry.place is PodStage.BACKOFF and entry.due == due:
                self._settle(entry, PodStage.ACTIVE)
        if now - self._flushed >= _FLUSH_EVERY_SECONDS:
            self._flushed = now
            old = [e for e in self._all_stuck() if now - e.tried > _FLUSH_AFTER_SECONDS]
            for entry in old:
                self._wake(entry, now)

    def next_due(self, now: float) -> float | None:
        """When `flush` has something to do, in seconds since the epoch; None for never."""
        dues = [self._resting[0][0]] if self._resting else []
        if self._stuck:
            dues.append(max(self._flushed, now) + _FLUSH_EVERY_SECONDS)
        return min(dues, default=None)

    def _all_stuck(self) -> list[Waiting]:
        return [entry for held in self._stuck.values() for entry in held.values()]

    def _wake(self, entry: Waiting, now: float) -> None:
        self._unfile(entry)
        rests = entry.tried + entry.backoff_seconds > now
        self._settle(entry, PodStage.BACKOFF if rests else PodStage.ACTIVE)

    def _settle(self, entry: Waiting, place: PodStage) -> None:
        entry.place = place
        self._count += 1
        uid = entry.pod.uid
        self._early.pop(uid, None)
        if place is PodStage.ACTIVE:
            key = self._order(entry.pod, entry.first_seen)
            heapq.heappush(self._active, (key, self._count, uid))
        elif place is PodStage.BACKOFF:
            entry.due = entry.tried + entry.backoff_seconds
            heapq.heappush(self._resting, (entry.due, self._count, uid))
            if entry.plugins:
                self._early[uid] = entry

    def _file(self, entry: Waiting) -> None:
        self._stuck.setdefault(entry.kind, {})[entry.pod.uid] = entry

    def _unfile(self, entry: Waiting) -> None:
        held = self._stuck.get(entry.kind)
        if held is not None and held.pop(entry.pod.uid, None) is not None and not held:
            del self._stuck[entry.kind]


def _is_other(before: PodInfo, after: PodInfo) -> bool:
    """Whether a change of the waiting pod itself may place it."""
    return before.shape != after.shape or before.labels != after.labels


def _holds_nothing(_: PodInfo) -> bool:
    return False
