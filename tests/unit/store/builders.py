"""Small records and batches for the store's tests."""

from typing import Any

from cockpit.model.batch import Batch, ListMark
from cockpit.model.event import Event
from cockpit.model.gpu import Gpu
from cockpit.model.pod import Pod
from cockpit.model.record import Kind


def pod(name: str = "a", uid: str = "", **fields: Any) -> Pod:
    fields.setdefault("namespace", "team-a")
    return Pod(uid=uid or f"uid-{name}", name=name, **fields)


def pods(*records: Pod, mark: ListMark = ListMark.NONE, scope: str = "") -> Batch:
    return Batch(kind=Kind.POD, changed=records, mark=mark, scope=scope)


def gone(*uids: str, kind: str = Kind.POD) -> Batch:
    return Batch(kind=kind, removed=uids)


def event(name: str, regards: str, at: float, **fields: Any) -> Event:
    return Event(
        uid=f"e-{name}", name=name, namespace="team-a", object_uid=regards, last_seconds=at, **fields
    )


def gpu(uuid: str, node: str, index: int, holder: str = "", **fields: Any) -> Gpu:
    return Gpu(
        uuid=uuid, node=node, index=index, pod_namespace="team-a" if holder else "", pod_name=holder, **fields
    )


def fleet(count: int, phase: str, version: str) -> tuple[Pod, ...]:
    """Pods over 50 namespaces and 250 nodes, four to an owner."""
    return tuple(
        Pod(
            uid=f"u{number}",
            name=f"p{number}",
            namespace=f"ns{number % 50}",
            resource_version=version,
            phase=phase,
            node=f"n{number % 250}",
            owner_uid=f"o{number // 4}",
            gpus=number % 2,
        )
        for number in range(count)
    )
