"""Devices by claim (DRA) in the store: what nodes offer, what pods hold, and that each card counts once."""

from typing import Any

import pytest

from cockpit.model.batch import Batch, ListMark
from cockpit.model.claim import Consumer, DeviceClaim, DeviceRequest, DeviceSlice, OfferedDevice, TakenDevice
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.scheduling import Traits
from cockpit.store.store import Store
from tests.unit.store.builders import gone, pod, pods

NVIDIA = "gpu.nvidia.com"
GIB = 1 << 30
ASKS = Traits(device_claims=("gpus",))


def card(index: int, **more: Any) -> OfferedDevice:
    told = {"uuid": f"GPU-{index}", "model": "H100", "memory_bytes": 80 * GIB, **more}
    return OfferedDevice(name=f"gpu-{index}", **told)


def slice_of(*devices: OfferedDevice, uid: str = "s1", **more: Any) -> DeviceSlice:
    told = {"driver": NVIDIA, "pool": "n1", "node": "n1", "devices": devices, **more}
    return DeviceSlice(uid=uid, name=uid, **told)


def claim(name: str, *devices: str, pods: tuple[str, ...] = (), **more: Any) -> DeviceClaim:
    return DeviceClaim(
        uid=f"c-{name}",
        name=name,
        namespace="team-a",
        consumers=tuple(Consumer(f"uid-{one}", one) for one in pods),
        is_allocated=bool(devices),
        taken=tuple(TakenDevice(NVIDIA, "n1", one) for one in devices),
        **more,
    )


def put(store: Store, kind: str, *records: Any, mark: ListMark = ListMark.NONE) -> None:
    store.apply(Batch(kind=kind, changed=records, mark=mark))


def node_of(store: Store) -> Node:
    found = store.by_key(Kind.NODE, "n1")
    assert isinstance(found, Node)
    return found


def pod_of(store: Store, name: str) -> Pod:
    found = store.by_key(Kind.POD, f"team-a/{name}")
    assert isinstance(found, Pod)
    return found


def filled(*records: tuple[str, Any], backwards: bool = False) -> Store:
    """A store that got these records in this order, or in the other."""
    store = Store()
    for kind, record in reversed(records) if backwards else records:
        put(store, kind, record)
    return store


BARE = Node(uid="n", name="n1", capacity=(("cpu", 64000),), allocatable=(("cpu", 64000),))
EVERYTHING = (
    (Kind.NODE, BARE),
    (Kind.POD, pod("one", node="n1", phase="Running", traits=ASKS)),
    (Kind.POD, pod("two", node="n1", phase="Running", traits=ASKS)),
    (Kind.POD, pod("other", node="n1", phase="Running")),
    (Kind.DEVICE_SLICE, slice_of(*(card(index) for index in range(8)))),
    (Kind.DEVICE_CLAIM, claim("a", "gpu-0", "gpu-1", pods=("one",))),
    (Kind.DEVICE_CLAIM, claim("b", "gpu-7", pods=("two",))),
)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_node_without_a_device_plugin_has_the_gpus_of_its_slices(backwards: bool) -> None:
    store = filled(*EVERYTHING, backwards=backwards)
    node = node_of(store)
    assert (node.gpu_capacity, node.gpu_allocatable, node.gpus_by_claim) == (8, 8, 8)
    assert (node.gpu_resource, node.gpu_model, node.gpu_memory_bytes) == ("nvidia.com/gpu", "H100", 80 * GIB)
    assert node.has_gpus
    assert store.requests_on("n1").gpus == 3
    assert dict(store.named_requests_on("n1")) == {"nvidia.com/gpu": 3}
    assert [(pod_of(store, name).gpus, pod_of(store, name).gpus_claimed) for name in ("one", "two")] == [
        (2, 2),
        (1, 1),
    ]
    assert pod_of(store, "other").gpus == 0
    assert {one.name for one in store.gpu_pods()} == {"one", "two"}
    held = {one.device.uuid: one.pods for one in store.devices_on("n1") if one.pods}
    assert held == {
        "GPU-0": (("team-a", "one"),),
        "GPU-1": (("team-a", "one"),),
        "GPU-7": (("team-a", "two"),),
    }


def test_what_goes_is_gone() -> None:
    store = filled(*EVERYTHING)
    store.take_delta()
    store.apply(gone("c-a", kind=Kind.DEVICE_CLAIM))
    assert (pod_of(store, "one").gpus, store.requests_on("n1").gpus) == (0, 1)
    assert pod_of(store, "one").has_unknown_gpus  # it asks for a claim, and nobody tells which
    delta = store.take_delta()
    assert "uid-one" in delta.changed.get(Kind.POD, ())
    store.apply(Batch(kind=Kind.DEVICE_SLICE, mark=ListMark.BEGIN))
    store.apply(Batch(kind=Kind.DEVICE_SLICE, mark=ListMark.END))
    assert node_of(store) == BARE
    assert store.devices_on("n1") == ()
    put(store, Kind.POD, pod("two", node="n1", phase="Succeeded", traits=ASKS))
    assert store.requests_on("n1").gpus == 0


def test_only_the_newest_whole_generation_counts() -> None:
    store = filled((Kind.NODE, BARE), (Kind.DEVICE_SLICE, slice_of(card(0), card(1))))
    put(store, Kind.DEVICE_SLICE, slice_of(card(0), uid="s2", generation=2, slices=2))
    assert node_of(store).gpu_capacity is None, "half of a generation is none, and the old one is over"
    put(store, Kind.DEVICE_SLICE, slice_of(card(1), card(2), uid="s3", generation=2, slices=2))
    assert node_of(store).gpu_capacity == 3


def test_a_node_with_a_device_plugin_has_the_same_cards_once() -> None:
    plugin = Node(
        uid="n", name="n1", gpu_resource="nvidia.com/gpu", gpu_capacity=8, gpu_allocatable=7, gpu_model="A100"
    )
    store = filled((Kind.NODE, plugin), (Kind.DEVICE_SLICE, slice_of(*(card(index) for index in range(8)))))
    put(store, Kind.POD, pod("old", node="n1", phase="Running", gpus=4, gpu_resource="nvidia.com/gpu"))
    put(store, Kind.POD, pod("new", node="n1", phase="Running", traits=ASKS))
    put(store, Kind.DEVICE_CLAIM, claim("a", "gpu-7", pods=("new",)))
    node = node_of(store)
    assert (node.gpu_capacity, node.gpu_allocatable, node.gpu_model) == (8, 7, "A100")
    assert store.requests_on("n1").gpus == 5


def test_a_card_that_is_offered_whole_in_parts_and_to_vms_counts_once() -> None:
    part = {"is_part": True, "parent_uuid": "GPU-0"}
    cut = OfferedDevice(name="gpu-1-mig", uuid="MIG-1", is_part=True, parent_uuid="GPU-1")
    possible = OfferedDevice(name="gpu-0-mig-1g-0", **part)  # type: ignore[arg-type]
    through = OfferedDevice(name="gpu-vfio-0", uuid="GPU-0")
    store = filled((Kind.NODE, BARE), (Kind.DEVICE_SLICE, slice_of(card(0), possible, through, cut)))
    assert node_of(store).gpu_capacity == 2, "a whole card, and one instance of a card that is cut"


def test_a_tainted_device_is_not_allocatable() -> None:
    store = filled((Kind.NODE, BARE), (Kind.DEVICE_SLICE, slice_of(card(0), card(1, is_usable=False))))
    assert (node_of(store).gpu_capacity, node_of(store).gpu_allocatable) == (2, 1)


def test_a_shared_claim_is_charged_once_and_named_for_all() -> None:
    store = filled(*EVERYTHING[:5], (Kind.DEVICE_CLAIM, claim("a", "gpu-0", pods=("one", "two"))))
    first, second = pod_of(store, "one"), pod_of(store, "two")
    assert (first.gpus, first.gpus_shared, second.gpus, second.gpus_shared) == (1, 0, 0, 1)
    assert store.requests_on("n1").gpus == 1
    (held,) = [one for one in store.devices_on("n1") if one.pods]
    assert held.pods == (("team-a", "one"), ("team-a", "two"))


def test_admin_access_holds_nothing() -> None:
    watching = claim("m", "gpu-0", pods=("one",))
    taken = (TakenDevice(NVIDIA, "n1", "gpu-0", is_watched=True),)
    monitor = DeviceClaim(
        uid="c-m", name="m", namespace="team-a", consumers=watching.consumers, is_allocated=True, taken=taken
    )
    store = filled(*EVERYTHING[:5], (Kind.DEVICE_CLAIM, monitor))
    assert (pod_of(store, "one").gpus, pod_of(store, "one").has_unknown_gpus) == (0, False)
    assert not any(one.pods for one in store.devices_on("n1"))


def test_a_claim_made_for_an_extended_resource_is_not_charged_again() -> None:
    asked = pod("ext", node="n1", phase="Running", gpus=2, gpu_resource="nvidia.com/gpu")
    own = claim("e", "gpu-0", "gpu-1", pods=("ext",), is_request=True)
    store = filled(*EVERYTHING[:1], EVERYTHING[4], (Kind.POD, asked), (Kind.DEVICE_CLAIM, own))
    assert (pod_of(store, "ext").gpus, store.requests_on("n1").gpus) == (2, 2)
    assert pod_of(store, "ext").gpus_claimed == 0
    assert sum(len(one.pods) for one in store.devices_on("n1")) == 2


@pytest.mark.parametrize(
    ("request_", "gpus", "is_unknown"),
    [
        (DeviceRequest(NVIDIA, 4), 4, False),
        (DeviceRequest("mig.nvidia.com", 1), 1, False),
        (DeviceRequest(NVIDIA, None), 0, True),
        (DeviceRequest("nic.example.com", 2), 0, False),
        (DeviceRequest(NVIDIA, 8, is_watched=True), 0, False),
    ],
)
def test_a_pod_that_waits_asks_for_what_its_claim_asks_for(
    request_: DeviceRequest, gpus: int, is_unknown: bool
) -> None:
    waiting = claim("w", pods=("one",), requests=(request_,))
    store = filled((Kind.POD, pod("one", phase="Pending", traits=ASKS)), (Kind.DEVICE_CLAIM, waiting))
    found = pod_of(store, "one")
    assert (found.gpus, found.has_unknown_gpus) == (gpus, is_unknown)


def test_a_claim_that_nobody_tells_is_unknown_and_not_none() -> None:
    store = filled((Kind.POD, pod("one", node="n1", phase="Running", traits=ASKS)))
    assert pod_of(store, "one").has_unknown_gpus
    put(store, Kind.POD, pod("one", node="n1", phase="Succeeded", traits=ASKS))
    assert not pod_of(store, "one").has_unknown_gpus


def test_devices_that_are_no_gpus_count_nothing() -> None:
    nic = claim("n", "nic-0", pods=("one",))
    store = filled(*EVERYTHING[:5], (Kind.DEVICE_CLAIM, nic))
    assert (pod_of(store, "one").gpus, pod_of(store, "one").has_unknown_gpus) == (0, False)


def test_a_first_list_is_dressed_too() -> None:
    store = Store()
    put(store, Kind.DEVICE_CLAIM, claim("a", "gpu-0", pods=("one",)))
    one, two = pod("one", node="n1", phase="Running", traits=ASKS), pod("two", node="n1", phase="Running")
    store.apply(pods(one, two, mark=ListMark.BEGIN))
    store.apply(pods(mark=ListMark.END))
    assert store.requests_on("n1").gpus == 1
