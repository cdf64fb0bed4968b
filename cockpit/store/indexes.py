"""Secondary indexes: each is told of every put and drop of its kind and holds uids, never a second truth."""

import heapq
from collections.abc import Mapping, Sequence, ValuesView
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType

from cockpit.model.event import Event
from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.store_reader import DutyMean, Requests, Slowdown
from cockpit.model.throttle import WARM_CELSIUS, harm_of
from cockpit.store.moves import RecordMoves
from cockpit.store.multimap import Multimap

NO_REQUESTS = Requests()
_NOTHING: Mapping[str, int] = MappingProxyType({})
_owner = attrgetter("owner_uid")


class PodIndex:
    """Pods by node and by owner, those that ask for GPUs, and the sums each node carries."""

    def __init__(self) -> None:
        self.by_node = Multimap()
        self.by_owner = Multimap()
        self._with_gpus: dict[str, Pod] = {}
        self._restrictive: dict[str, Pod] = {}
        self._leaving: dict[str, Pod] = {}
        self.claiming: set[str] = set()  # uids of those with devices by claim
        self._sums: dict[str, list[int]] = {}
        self._named: dict[str, dict[str, int]] = {}
        self.moves = RecordMoves()  # nodes on which what is asked for changed, by a count of such changes

    def put(self, old: Pod | None, new: Pod) -> None:
        """Enter `new`, which replaces `old` (same uid)."""
        if new.deleting_seconds is not None:
            self._leaving[new.uid] = new
        if old is not None:
            if (
                old.node == new.node
                and old.phase == new.phase
                and old.owner_uid == new.owner_uid
                and old.gpus == new.gpus
                and old.gpus_claimed == new.gpus_claimed
                and old.gpu_resource == new.gpu_resource
                and old.cpu_millicores == new.cpu_millicores
                and old.memory_bytes == new.memory_bytes
                and old.traits == new.traits
            ):  # nothing that is indexed moved: by far the most common change
                if new.gpus:
                    self._with_gpus[new.uid] = new
                if new.uid in self._restrictive:
                    self._restrictive[new.uid] = new
                return
            self._forget(old)
        uid = new.uid
        self.by_owner.add(new.owner_uid, uid)
        if new.gpus:
            self._with_gpus[uid] = new
        if new.traits.keeps_away or new.traits.host_ports:
            self._restrictive[uid] = new
        if new.traits.device_claims:
            self.claiming.add(uid)
        if new.node:
            self.by_node.add(new.node, uid)
            self._charge((new,), 1)

    def put_new(self, pods: Sequence[Pod]) -> None:
        """Enter pods of which none is known. Siblings, which stand together in a list, go in at once: in the
        first list of a big cluster this costs half of what one by one does."""
        for owner_uid, some in groupby(pods, _owner):
            self.by_owner.add_all(owner_uid, [pod.uid for pod in some])
        self._with_gpus.update({pod.uid: pod for pod in pods if pod.gpus})
        self._restrictive.update(
            {pod.uid: pod for pod in pods if (traits := pod.traits).keeps_away or traits.host_ports}
        )
        self.claiming.update([pod.uid for pod in pods if pod.traits.device_claims])
        self._leaving.update({pod.uid: pod for pod in pods if pod.deleting_seconds is not None})
        bound = [pod for pod in pods if pod.node]
        for pod in bound:
            self.by_node.add(pod.node, pod.uid)
        self._charge(bound, 1)

    def drop(self, old: Pod) -> None:
        """Forget `old` as it was put."""
        self._leaving.pop(old.uid, None)
        self._forget(old)

    def _forget(self, old: Pod) -> None:
        uid = old.uid
        self.by_owner.discard(old.owner_uid, uid)
        if old.gpus:
            self._with_gpus.pop(uid, None)
        self._restrictive.pop(uid, None)
        self.claiming.discard(uid)
        if old.node:
            self.by_node.discard(old.node, uid)
            self._charge((old,), -1)

    def _charge(self, pods: Sequence[Pod], sign: int) -> None:
        """Add what pods on nodes ask for to the sums of these, or with `sign` -1 take it away."""
        all_sums, all_named = self._sums, self._named
        self.moves.note_all(self.moves.revision + 1, [pod.node for pod in pods])
        for pod in pods:
            if pod.phase in ("Succeeded", "Failed"):  # a finished pod holds nothing
                continue
            node, gpus, named = pod.node, pod.gpus, pod.traits.resources
            sums = all_sums.get(node)
            if sums is None:
                sums = all_sums[node] = [0, 0, 0, 0]
            sums[0] += sign * pod.cpu_millicores
            sums[1] += sign * pod.memory_bytes
            sums[2] += sign * gpus
            sums[3] += sign
            if named or gpus:
                held = all_named.get(node)
                if held is None:
                    held = all_named[node] = {}
                for name, count in named or ((pod.gpu_resource, gpus),):
                    held[name] = held.get(name, 0) + sign * count
                if named and pod.gpus_claimed:
                    held[pod.gpu_resource] = held.get(pod.gpu_resource, 0) + sign * pod.gpus_claimed
            if not sums[3]:
                del all_sums[node]
                all_named.pop(node, None)

    def named(self, node: str) -> Mapping[str, int]:
        """Requests on the node by resource, without cpu and memory."""
        return self._named.get(node, _NOTHING)

    def restrictive(self) -> ValuesView[Pod]:
        return self._restrictive.values()

    def leaving(self) -> ValuesView[Pod]:
        return self._leaving.values()

    def with_gpus(self) -> ValuesView[Pod]:
        return self._with_gpus.values()

    def requests(self, node: str) -> Requests:
        sums = self._sums.get(node)
        return NO_REQUESTS if sums is None else Requests(*sums)


class NodeIndex:
    """How many nodes offer how many GPUs: the largest is asked for with every pending pod."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}  # allocatable GPUs -> nodes
        self.moves = 0

    def put(self, old: Node | None, new: Node) -> None:
        if old is not None:
            self.drop(old)
        self.moves += 1
        size = new.gpu_allocatable or 0
        self._sizes[size] = self._sizes.get(size, 0) + 1

    def drop(self, old: Node) -> None:
        self.moves += 1
        size = old.gpu_allocatable or 0
        self._sizes[size] -= 1
        if not self._sizes[size]:
            del self._sizes[size]

    def largest(self) -> int:
        return max(self._sizes, default=0)


IDLE_DUTY_RATIO = 0.05
"""A card below this share of time is taken for idle; housekeeping of drivers stays below it."""


MEAN_SECONDS = 600.0
"""Over how long the mean duty of a card, and how it is throttled, reach back."""


class GpuIndex:
    """GPUs by node and by the pod that holds them, since when each has been idle without a break, and how
    busy it was lately."""

    def __init__(self) -> None:
        self.by_node = Multimap()
        self.by_pod = Multimap()  # "namespace/name"
        self._idle_since: dict[str, float] = {}
        self._means: dict[str, DutyMean] = {}
        self._slow: dict[str, Slowdown] = {}
        self._warm_since: dict[str, float] = {}

    def duty_mean(self, uuid: str) -> DutyMean | None:
        return self._means.get(uuid)

    def _watch_mean(self, old: Gpu | None, new: Gpu) -> None:
        """A gap in the samples or another pod resets the mean; a free card has none."""
        at, duty = new.sampled_seconds, new.duty_ratio
        is_other = old is not None and (old.pod_namespace, old.pod_name) != (new.pod_namespace, new.pod_name)
        if is_other or isinstance(duty, Absent) or at is None or not new.pod_name:
            self._means.pop(new.uuid, None)
        if isinstance(duty, Absent) or at is None or not new.pod_name:
            return
        had = self._means.get(new.uuid)
        if had is None:
            self._means[new.uuid] = DutyMean(at, at, duty)
        elif at > had.seconds:
            weight = (at - had.seconds) / max(at - had.seconds, min(at - had.since_seconds, MEAN_SECONDS))
            ratio = had.ratio + (duty - had.ratio) * weight
            self._means[new.uuid] = DutyMean(had.since_seconds, at, ratio)

    def slowdown(self, uuid: str) -> Slowdown | None:
        return self._slow.get(uuid)

    def warm_since(self, uuid: str) -> float | None:
        return self._warm_since.get(uuid)

    def _watch_warmth(self, new: Gpu) -> None:
        celsius = 0.0 if isinstance(new.temperature_celsius, Absent) else new.temperature_celsius
        if celsius < WARM_CELSIUS:
            self._warm_since.pop(new.uuid, None)
        elif new.sampled_seconds is not None:
            self._warm_since.setdefault(new.uuid, new.sampled_seconds)

    def _watch_throttle(self, old: Gpu | None, new: Gpu) -> None:
        """Each time that it begins counts; what did not come again for ten minutes is over."""
        at, bits, had = new.sampled_seconds, harm_of(new), self._slow.get(new.uuid)
        if at is None or not (bits or had):
            return
        if had is not None and at - had.last_seconds >= MEAN_SECONDS:
            del self._slow[new.uuid]
            had = None
        if bits:
            begins = had is None or old is None or not harm_of(old)
            had = had or Slowdown(0, at, at, bits, at)
            began = at if begins else had.began_seconds
            longest = max(had.longest_seconds, at - began)
            self._slow[new.uuid] = Slowdown(had.times + begins, had.first_seconds, at, bits, began, longest)

    def idle_since(self, uuid: str) -> float | None:
        return self._idle_since.get(uuid)

    def _watch_idle(self, old: Gpu | None, new: Gpu) -> None:
        """Only samples count: a gap in them ends the stretch, so does another holder."""
        if isinstance(new.duty_ratio, Absent) or new.duty_ratio >= IDLE_DUTY_RATIO:
            self._idle_since.pop(new.uuid, None)
            return
        if old is not None and (old.pod_namespace, old.pod_name) != (new.pod_namespace, new.pod_name):
            self._idle_since.pop(new.uuid, None)
        if new.sampled_seconds is not None:
            self._idle_since.setdefault(new.uuid, new.sampled_seconds)

    def put(self, old: Gpu | None, new: Gpu) -> None:
        self._watch_idle(old, new)
        self._watch_mean(old, new)
        self._watch_throttle(old, new)
        self._watch_warmth(new)
        if old is not None:
            if (
                old.node == new.node
                and old.pod_name == new.pod_name
                and old.pod_namespace == new.pod_namespace
            ):
                return
            self._forget(old)
        self.by_node.add(new.node, new.uuid)
        if new.pod_name:
            self.by_pod.add(f"{new.pod_namespace}/{new.pod_name}", new.uuid)

    def drop(self, old: Gpu) -> None:
        self._idle_since.pop(old.uuid, None)
        self._means.pop(old.uuid, None)
        self._slow.pop(old.uuid, None)
        self._warm_since.pop(old.uuid, None)
        self._forget(old)

    def _forget(self, old: Gpu) -> None:
        self.by_node.discard(old.node, old.uuid)
        if old.pod_name:
            self.by_pod.discard(f"{old.pod_namespace}/{old.pod_name}", old.uuid)


def event_age(event: Event) -> tuple[float, str]:
    """Sort key from the oldest to the newest event; the uid settles ties."""
    moment = event.last_seconds if event.last_seconds is not None else event.created_seconds
    return (moment if moment is not None else 0.0, event.uid)


class EventIndex:
    """Events by the object they regard, bounded for each object and in all: the oldest make room."""

    def __init__(self, per_object: int, in_all: int) -> None:
        self.by_object = Multimap()
        self._per_object = per_object
        self._in_all = in_all
        self._ages: list[tuple[float, str]] = []  # a heap; entries may be out of date

    def put(self, old: Event | None, new: Event) -> None:
        if old is not None and old.object_uid != new.object_uid:
            self.by_object.discard(old.object_uid, old.uid)
        self.by_object.add(new.object_uid, new.uid)
        heapq.heappush(self._ages, event_age(new))

    def drop(self, old: Event) -> None:
        self.by_object.discard(old.object_uid, old.uid)

    def surplus(self, newest: Event, table: Mapping[str, Event]) -> list[str]:
        """Uids that have to go after `newest` was put: the oldest of its object, then the oldest of all."""
        gone: list[str] = []
        if newest.object_uid and self.by_object.count(newest.object_uid) > self._per_object:
            siblings = self.by_object.get(newest.object_uid)
            gone.append(min(event_age(table[uid]) for uid in siblings)[1])
        while len(table) - len(gone) > self._in_all:
            age, uid = heapq.heappop(self._ages)
            event = table.get(uid)
            if event is not None and uid not in gone and event_age(event) == (age, uid):
                gone.append(uid)
        if len(self._ages) > 2 * len(table) + 1_000:
            self._ages = [event_age(event) for event in table.values()]
            heapq.heapify(self._ages)
        return gone
