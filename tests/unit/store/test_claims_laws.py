"""In whatever order nodes, pods, slices and claims come and go: only what is left counts."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cockpit.model.batch import Batch
from cockpit.model.claim import Consumer, DeviceClaim, DeviceSlice, OfferedDevice, TakenDevice
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.scheduling import Traits
from cockpit.store.store import Store

DRIVER = "gpu.nvidia.com"
NODES, PODS = ("n0", "n1"), ("p0", "p1", "p2")


@st.composite
def records(draw: st.DrawFn) -> tuple[str, Any]:
    match draw(st.sampled_from([Kind.NODE, Kind.POD, Kind.DEVICE_SLICE, Kind.DEVICE_CLAIM])):
        case Kind.NODE:
            name, shown = draw(st.sampled_from(NODES)), draw(st.sampled_from([None, 0, 2, 8]))
            return Kind.NODE, Node(uid=name, name=name, gpu_capacity=shown, gpu_allocatable=shown)
        case Kind.POD:
            name = draw(st.sampled_from(PODS))
            asked = draw(st.integers(0, 2))
            return Kind.POD, Pod(
                uid=name,
                name=name,
                namespace="a",
                node=draw(st.sampled_from(("", *NODES))),
                phase=draw(st.sampled_from(["Pending", "Running", "Succeeded"])),
                gpus=asked,
                gpu_resource="nvidia.com/gpu" if asked else "",
                traits=draw(st.sampled_from([Traits(), Traits(device_claims=("gpus",))])),
            )
        case Kind.DEVICE_SLICE:
            node = draw(st.sampled_from(NODES))
            cards = range(draw(st.integers(0, 3)))
            uid = draw(st.sampled_from(["s0", "s1", "s2"]))
            return Kind.DEVICE_SLICE, DeviceSlice(
                uid=uid,
                name=uid,
                driver=DRIVER,
                pool=node,
                node=node,
                generation=draw(st.integers(1, 2)),
                slices=draw(st.integers(1, 2)),
                devices=tuple(OfferedDevice(name=f"gpu-{one}", uuid=f"{node}-{one}") for one in cards),
            )
        case _:
            uid = draw(st.sampled_from(["c0", "c1"]))
            taken = draw(st.lists(st.tuples(st.sampled_from(NODES), st.integers(0, 3)), max_size=2))
            users = draw(st.lists(st.sampled_from(PODS), unique=True, max_size=2))
            return Kind.DEVICE_CLAIM, DeviceClaim(
                uid=uid,
                name=uid,
                namespace="a",
                consumers=tuple(Consumer(one, one) for one in users),
                is_allocated=bool(taken),
                taken=tuple(TakenDevice(DRIVER, pool, f"gpu-{one}") for pool, one in taken),
                is_request=draw(st.booleans()),
            )


def told(store: Store) -> dict[str, Any]:
    """What the store says of nodes and pods."""
    return {
        "nodes": dict(store.records(Kind.NODE)),
        "pods": dict(store.records(Kind.POD)),
        "sums": {name: store.requests_on(name) for name in NODES},
        "named": {
            name: {key: count for key, count in store.named_requests_on(name).items() if count}
            for name in NODES
        },
        "cards": {name: store.devices_on(name) for name in NODES},
        "with gpus": {pod.uid: pod for pod in store.gpu_pods()},
        "uses": store.uses_claims,
    }


@given(st.lists(st.tuples(records(), st.booleans()), max_size=14))
def test_only_what_is_left_counts(steps: list[tuple[tuple[str, Any], bool]]) -> None:
    store = Store()
    left: dict[tuple[str, str], Any] = {}
    for (kind, record), is_removed in steps:
        if is_removed:
            store.apply(Batch(kind=kind, removed=(record.uid,)))
            left.pop((kind, record.uid), None)
        else:
            former = [key for key, one in left.items() if key[0] == kind and one.key == record.key]
            for key in former:
                left.pop(key)
            store.apply(Batch(kind=kind, changed=(record,)))
            left[kind, record.uid] = record
    fresh = Store()
    for (kind, _), record in left.items():
        fresh.apply(Batch(kind=kind, changed=(record,)))
    assert told(store) == told(fresh)
