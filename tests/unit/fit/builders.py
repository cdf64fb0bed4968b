"""Small fleets for the fit tests."""

from typing import Any

from cockpit.model.batch import Batch
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind
from cockpit.store.store import Store

NVIDIA = "nvidia.com/gpu"
READY = (Condition("Ready", "True"),)


def node(name: str, gpus: int | None = 8, **fields: Any) -> Node:
    fields.setdefault("conditions", READY)
    fields.setdefault("gpu_resource", NVIDIA if gpus is not None else "")
    return Node(uid=f"n-{name}", name=name, gpu_capacity=gpus, gpu_allocatable=gpus, **fields)


def holder(name: str, on: str, gpus: int, **fields: Any) -> Pod:
    fields.setdefault("phase", "Running")
    return Pod(uid=f"p-{name}", name=name, namespace="t", node=on, gpus=gpus, **fields)


def fleet(*records: Node | Pod) -> Store:
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=tuple(one for one in records if isinstance(one, Node))))
    store.apply(Batch(kind=Kind.POD, changed=tuple(one for one in records if isinstance(one, Pod))))
    return store
