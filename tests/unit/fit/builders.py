"""Small fleets and gangs for the fit tests."""

from typing import Any

from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Part, Shape
from cockpit.model.batch import Batch
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind, Record
from cockpit.model.scheduling import PodTerm, Requirement, Toleration, Traits
from cockpit.store.store import Store

NVIDIA = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
READY = (Condition("Ready", "True"),)
TOLERANT = (Toleration(NVIDIA, "Exists"),)
APP_A = (Requirement("app", "In", ("a",)),)


def node(name: str, gpus: int | None = 8, *, labels: dict[str, str] | None = None, **fields: Any) -> Node:
    fields.setdefault("conditions", READY)
    fields.setdefault("gpu_resource", NVIDIA if gpus is not None else "")
    stated = {"cpu": 64_000, "memory": 1 << 38, "pods": 110} | ({NVIDIA: gpus} if gpus else {})
    fields.setdefault("allocatable", tuple(sorted(stated.items())))
    pairs = tuple(sorted({HOST: name, **(labels or {})}.items()))
    return Node(uid=f"n-{name}", name=name, gpu_capacity=gpus, gpu_allocatable=gpus, labels=pairs, **fields)


def holder(name: str, on: str, gpus: int, **fields: Any) -> Pod:
    fields.setdefault("phase", "Running")
    fields.setdefault("gpu_resource", NVIDIA if gpus else "")
    return Pod(uid=f"p-{name}", name=name, namespace="t", node=on, gpus=gpus, **fields)


def labelled(**labels: str) -> Traits:
    return Traits(labels=tuple(sorted(labels.items())))


def fleet(*records: Record) -> Store:
    store = Store()
    kinds = {"Node": Kind.NODE, "Pod": Kind.POD, "LocalQueue": Kind.LOCAL_QUEUE}
    kinds["ClusterQueue"] = Kind.CLUSTER_QUEUE
    for word, kind in kinds.items():
        store.apply(Batch(kind=kind, changed=tuple(one for one in records if type(one).__name__ == word)))
    return store


def shape(gpus: int = 1, **fields: Any) -> Shape:
    fields.setdefault("namespace", "t")
    fields.setdefault("tolerations", TOLERANT)
    more = fields.pop("more", {})
    asked = {**({NVIDIA: gpus} if gpus else {}), **more}
    return Shape(requests=tuple(sorted(asked.items())), **fields)


def apart(key: str = HOST) -> tuple[PodTerm, ...]:
    """Required (anti-)affinity to pods labelled app=a."""
    return (PodTerm(key, APP_A, ("t",)),)


def fits(
    store: Store,
    count: int,
    member: Shape,
    *,
    queue: str = "",
    surroundings: Surroundings = UNKNOWN,
) -> FitAnswer:
    return fit(store, [Part("worker", count, member)], queue=queue, surroundings=surroundings)
