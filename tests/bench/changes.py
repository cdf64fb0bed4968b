"""Changes of one object each, drawn from what a store holds: what `tests.bench.changing` makes of a fleet."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.event import Event
from cockpit.model.gang import QuotaRow
from cockpit.model.record import Condition, Kind, OwnerRef, Record
from cockpit.store.store import Store
from tests.bench import fleets
from tests.bench.fleets import GPU, NOW, READY

Change = Callable[[Store, Random, int], Batch | None]
"""(store, rng, number of the change) -> the batch; None where the store has no such object."""


def _drawn(store: Store, kind: str, rng: Random) -> Any | None:
    every = list(store.records(kind).values())
    return rng.choice(every) if every else None


def _edits(kind: str, fields: Callable[[Any, Random, int], dict[str, Any]]) -> Change:
    """One object of the kind gets other fields."""

    def change(store: Store, rng: Random, number: int) -> Batch | None:
        one = _drawn(store, kind, rng)
        return None if one is None else Batch(kind=kind, changed=(replace(one, **fields(one, rng, number)),))

    return change


def _removes(kind: str) -> Change:
    def change(store: Store, rng: Random, _number: int) -> Batch | None:
        one = _drawn(store, kind, rng)
        return None if one is None else Batch(kind=kind, removed=(one.uid,))

    return change


def _creates(kind: str, make: Callable[[Random, int], Record], *, needs: str = "") -> Change:
    def change(store: Store, rng: Random, number: int) -> Batch | None:
        if needs and not store.records(needs):
            return None
        return Batch(kind=kind, changed=(make(rng, 9_000_000 + number),))

    return change


# ---- what changes of an object


def _heartbeat(_one: Any, _rng: Random, number: int) -> dict[str, Any]:
    """A condition of another time: what a kubelet writes every five minutes."""
    return {"conditions": (replace(READY[0], message=f"kubelet is posting ready status {number}"),)}


def _unready(_one: Any, _rng: Random, number: int) -> dict[str, Any]:
    return {"conditions": (Condition("Ready", "False", "KubeletNotReady", "container runtime is down", NOW),)}


def _admitted(one: Any, _rng: Random, _number: int) -> dict[str, Any]:
    told = tuple(Condition(kind, "True", kind, "admitted", NOW) for kind in ("QuotaReserved", "Admitted"))
    return {"conditions": told, "cluster_queue": one.queue.replace("q-", "cq-")}


def _evicted(_one: Any, _rng: Random, number: int) -> dict[str, Any]:
    waits = Condition("QuotaReserved", "False", "Pending", f"evicted {number}", NOW)
    return {"conditions": (waits, Condition("Evicted", "True", "PodsReadyTimeout", "too late", NOW + number))}


def _told_again(one: Any, _rng: Random, number: int) -> dict[str, Any]:
    waits = one.conditions[0]
    return {"conditions": (replace(waits, message=f"{waits.message} {number}"), *one.conditions[1:])}


def _used(one: Any, _rng: Random, number: int) -> dict[str, Any]:
    return {"quotas": (QuotaRow("h100", GPU, 80, used=number % 81, reserved=80),), "admitted": number}


# ---- further kinds


def _workload(rng: Random, number: int) -> Record:
    owner = OwnerRef("batch/v1", "Job", f"new-{number}", f"new-{number}")
    return fleets.workload(number, owner, "q-0", 4, rng)


def _event(kind: str, reason: str, type_: str) -> Change:
    """An event about an object of the kind."""

    def change(store: Store, rng: Random, number: int) -> Batch | None:
        one = _drawn(store, kind, rng)
        if one is None:
            return None
        event = Event(
            uid=f"e{number}",
            name=f"e{number}",
            namespace=one.namespace or "default",
            type=type_,
            reason=reason,
            message=f"{reason} of {one.name}",
            component="kubelet",
            first_seconds=NOW - 60.0,
            last_seconds=NOW,
            object_kind={Kind.POD: "Pod", Kind.NODE: "Node", Kind.JOB: "Job"}[kind],
            object_namespace=one.namespace,
            object_name=one.name,
            object_uid=one.uid,
        )
        return Batch(kind=Kind.EVENT, changed=(event,))

    return change


def _member(store: Store, rng: Random, number: int) -> Batch | None:
    """A pod of a job is made."""
    job = _drawn(store, Kind.JOB, rng)
    if job is None:
        return None
    pod = fleets.pod(9_500_000 + number, rng, job, 1_000 + number, **fleets.waiting(2_500))
    return Batch(kind=Kind.POD, changed=(pod,))


def _sample(store: Store, rng: Random, number: int) -> Batch | None:
    """The cards of a node have worked on, or one of them has failed."""
    node = _drawn(store, Kind.NODE, rng)
    cards = () if node is None else store.gpus_on(node.name)
    some = {"sampled_seconds": NOW + number, "duty_ratio": 0.9, "xid": 79 if number % 3 == 0 else 0}
    return Batch(kind=Kind.GPU, changed=tuple(replace(one, **some) for one in cards)) if cards else None


def _stale(store: Store, _rng: Random, number: int) -> Batch | None:
    phase = Phase.STALE if number % 2 else Phase.LIVE
    return Batch(kind=Kind.EVENT, status=StreamStatus(kind=Kind.EVENT, phase=phase, since_seconds=NOW))


CHANGES: Final[dict[str, Change]] = {
    "pod restarts": _edits(Kind.POD, lambda one, _rng, _n: {"restarts": one.restarts + 1}),
    "pod runs": _edits(Kind.POD, lambda one, _rng, _n: fleets.running(one.node or "gpu-1")),
    "pod fails": _edits(
        Kind.POD, lambda one, _rng, _n: {"phase": "Failed", "node": one.node or "gpu-2", "exit_code": 1}
    ),
    "pod ends": _edits(Kind.POD, lambda _one, _rng, n: {"deleting_seconds": NOW + n}),
    "pod pulls": _edits(
        Kind.POD, lambda one, _rng, n: fleets.pulling(one.node or "gpu-3", f"r{n % 3}.example/train:1")
    ),
    "pod waits again": _edits(
        Kind.POD, lambda _one, _rng, n: {**fleets.waiting(2_500 - n % 7), "node": "", "waiting_reason": ""}
    ),
    "pod removed": _removes(Kind.POD),
    "bare pod created": _creates(
        Kind.POD, lambda rng, n: fleets.pod(n, rng, **fleets.waiting(2_500)), needs=Kind.NODE
    ),
    "member created": _member,
    "node heartbeat": _edits(Kind.NODE, _heartbeat),
    "node cordoned": _edits(Kind.NODE, lambda one, _rng, _n: {"unschedulable": not one.unschedulable}),
    "node not ready": _edits(Kind.NODE, _unready),
    "node ready": _edits(Kind.NODE, lambda _one, _rng, _n: {"conditions": READY}),
    "node loses cards": _edits(Kind.NODE, lambda _one, rng, _n: {"gpu_allocatable": rng.randrange(8)}),
    "node removed": _removes(Kind.NODE),
    "node created": _creates(Kind.NODE, lambda _rng, n: fleets.node(n)),
    "job status": _edits(Kind.JOB, lambda one, _rng, _n: {"failed": one.failed + 1}),
    "job suspended": _edits(Kind.JOB, lambda one, _rng, _n: {"is_suspended": not one.is_suspended}),
    "job removed": _removes(Kind.JOB),
    "job created": _creates(Kind.JOB, lambda rng, n: fleets.job(n, 8, rng)),
    "workload told again": _edits(Kind.WORKLOAD, _told_again),
    "workload admitted": _edits(Kind.WORKLOAD, _admitted),
    "workload evicted": _edits(Kind.WORKLOAD, _evicted),
    "workload priority": _edits(Kind.WORKLOAD, lambda _one, _rng, n: {"priority": n}),
    "workload removed": _removes(Kind.WORKLOAD),
    "workload created": _creates(Kind.WORKLOAD, _workload, needs=Kind.WORKLOAD),
    "cluster queue used": _edits(Kind.CLUSTER_QUEUE, _used),
    "cluster queue stopped": _edits(
        Kind.CLUSTER_QUEUE, lambda one, _rng, _n: {"stop_policy": "" if one.stop_policy else "Hold"}
    ),
    "cluster queue removed": _removes(Kind.CLUSTER_QUEUE),
    "cluster queue created": _creates(
        Kind.CLUSTER_QUEUE, lambda _rng, n: fleets.cluster_queue(n), needs=Kind.CLUSTER_QUEUE
    ),
    "local queue counts": _edits(Kind.LOCAL_QUEUE, lambda _one, _rng, n: {"pending": n}),
    "local queue moved": _edits(Kind.LOCAL_QUEUE, lambda _one, _rng, n: {"cluster_queue": f"cq-{n % 20}"}),
    "local queue removed": _removes(Kind.LOCAL_QUEUE),
    "pool grows": _edits(Kind.POOL, lambda _one, _rng, n: {"replicas": n}),
    "pool removed": _removes(Kind.POOL),
    "namespace created": _creates(Kind.NAMESPACE, lambda _rng, n: Record(uid=f"ns{n}", name=f"ns-{n}")),
    "namespace removed": _removes(Kind.NAMESPACE),
    "warning of a pod": _event(Kind.POD, "FailedMount", "Warning"),
    "event of a pod": _event(Kind.POD, "Pulling", "Normal"),
    "warning of a node": _event(Kind.NODE, "NodeNotReady", "Warning"),
    "warning of a job": _event(Kind.JOB, "FailedCreate", "Warning"),
    "event removed": _removes(Kind.EVENT),
    "cards of a node": _sample,
    "stream stale": _stale,
}
