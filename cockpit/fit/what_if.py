"""The cluster as it would be after a change: the same store with some records in other places, and a gang
that asks for something else. What is offered is tried here first."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import msgspec

from cockpit.fit.demand import held_by
from cockpit.fit.gang import FitAnswer, fit, room_elsewhere, starts
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, Record
from cockpit.model.store_reader import Requests, StoreReader


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """A gang, and how the cluster differs from what it is: `records` stand in the place of those with their
    uid or are new, pods of `without` (uids) are gone. `queue` is the LocalQueue that has yet to admit the
    gang, "" for none. `rivals` are pods of others that may take seats first."""

    parts: tuple[Part, ...]
    queue: str = ""
    around: Surroundings = UNKNOWN
    records: tuple[tuple[str, Record], ...] = ()
    without: frozenset[str] = frozenset()
    rivals: tuple[Part, ...] = ()

    def starts(self, store: StoreReader, answer: FitAnswer | None = None) -> bool:
        """True where the scheduler finds a seat for every member, in any order. `answer` is the
        fit as things are: with it only nodes that differ are looked at, where members are the same and that
        is enough."""
        seen = changed_store(store, self.records, self.without)
        if answer is not None and self._is_answered(answer):
            rooms = room_elsewhere(seen, answer, self._nodes(store), self.around, self.rivals)
            if rooms is not None:
                return rooms >= answer.wanted
        return starts(seen, self.parts, surroundings=self.around, rivals=self.rivals)

    def _is_answered(self, answer: FitAnswer) -> bool:
        return not answer.has_rivals and [part.part for part in answer.parts] == list(self.parts)

    def _nodes(self, store: StoreReader) -> set[str]:
        """Names of nodes that differ."""
        pods = (store.get(Kind.POD, uid) for uid in self.without)
        names = {record.name for kind, record in self.records if kind == Kind.NODE}
        return names | {pod.node for pod in pods if pod is not None and pod.node}


def changed_store(
    store: StoreReader, records: Collection[tuple[str, Record]] = (), without: Collection[str] = ()
) -> StoreReader:
    """The store with `records` (kind, record) in place and pods of these uids gone; it does not follow what
    comes in later. Records of pods are not taken: pods go, and members that come are put by the fit."""
    if not records and not without:
        return store
    return cast(StoreReader, _Changed(store, records, frozenset(without)))


class _Changed:
    """Answers anew what the fit asks for and depends on the change; the rest is the store's own answer."""

    def __init__(
        self, store: StoreReader, records: Collection[tuple[str, Record]], without: frozenset[str]
    ) -> None:
        self._store = store
        self._without = without
        self._kinds: dict[str, dict[str, Record]] = {}
        for kind, record in records:
            self._kinds.setdefault(kind, {})[record.uid] = record
        self._tables: dict[str, Mapping[str, Any]] = {}
        gone = (store.get(Kind.POD, uid) for uid in without)
        self._gone: dict[str, list[Pod]] = {}
        for pod in gone:
            if pod is not None and pod.node and not pod.is_finished:
                self._gone.setdefault(pod.node, []).append(pod)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def records(self, kind: str) -> Mapping[str, Any]:
        found = self._tables.get(kind)
        if found is None:
            found = self._store.records(kind)
            if kind in self._kinds:
                found = {**found, **self._kinds[kind]}
            if kind == Kind.POD and self._without:
                found = {uid: pod for uid, pod in found.items() if uid not in self._without}
            self._tables[kind] = found
        return found

    def get(self, kind: str, uid: str) -> Any | None:
        if kind == Kind.POD and uid in self._without:
            return None
        return self._kinds.get(kind, {}).get(uid) or self._store.get(kind, uid)

    def by_key(self, kind: str, key: str) -> Any | None:
        for record in self._kinds.get(kind, {}).values():
            if record.key == key:
                return record
        found = self._store.by_key(kind, key)
        return None if found is not None and kind == Kind.POD and found.uid in self._without else found

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        return tuple(pod for pod in self._store.pods_on(node) if pod.uid not in self._without)

    def restrictive_pods(self) -> Collection[Pod]:
        found = self._store.restrictive_pods()
        return [pod for pod in found if pod.uid not in self._without] if self._without else found

    def requests_on(self, node: str) -> Requests:
        sums = self._store.requests_on(node)
        for pod in self._gone.get(node, ()):
            sums = Requests(
                sums.cpu_millicores - pod.cpu_millicores,
                sums.memory_bytes - pod.memory_bytes,
                sums.gpus - pod.gpus,
                sums.pods - 1,
            )
        return sums

    def named_requests_on(self, node: str) -> Mapping[str, int]:
        held = self._store.named_requests_on(node)
        if node not in self._gone:
            return held
        left = dict(held)
        for pod in self._gone[node]:
            for name, count in held_by(pod).items():
                left[name] = left.get(name, 0) - count
        return left


def pushed_by(
    store: StoreReader, parts: Sequence[Part], surroundings: Surroundings = UNKNOWN
) -> tuple[Pod, ...]:
    """Pods that the scheduler would preempt for a gang, the part that asks for most GPUs first: each member
    that finds no seat preempts by itself, also where the whole gang does not fit."""
    gone: dict[str, Pod] = {}
    before: list[Part] = []
    for part in sorted(parts, key=lambda one: (-one.shape.gpus, -dict(one.shape.requests).get("cpu", 0))):
        seen = changed_store(store, without=gone.keys())
        push = fit(seen, (part,), surroundings=surroundings, rivals=before).push
        for key in () if push is None else push.victims:
            pod: Pod | None = store.by_key(Kind.POD, key)
            if pod is not None:
                gone[pod.uid] = pod
        before.append(part)
    return tuple(gone.values())


def outranks_some(store: StoreReader, parts: Sequence[Part], surroundings: Surroundings = UNKNOWN) -> bool:
    """Whether any pod on a node has a lower priority than one of the parts; True where that is not known."""
    snapshot = ClusterSnapshot(store, surroundings)
    ranks = [snapshot.priority(part.shape) for part in parts]
    if None in ranks:
        return True
    most = max((rank for rank in ranks if rank is not None), default=0)
    pods: Sequence[Pod] = tuple(store.records(Kind.POD).values())
    return any(pod.node and not pod.is_finished and (pod.priority or 0) < most for pod in pods)
