"""ResourceSlices and ResourceClaims as the API server writes them, in all three versions."""

import json
from typing import Any

import pytest

from cockpit.kube.decode import decoders
from cockpit.model.claim import Consumer, DeviceClaim, DeviceSlice, OfferedDevice, TakenDevice

GIB = 1 << 30
FIELDS: dict[str, Any] = {
    "attributes": {
        "type": {"string": "gpu"},
        "uuid": {"string": "GPU-0"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "architecture": {"string": "Hopper"},
        "cudaDriverVersion": {"version": "13.0.0"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
        "numa": {"int": 1},
        "ecc": {"bool": True},
    },
    "capacity": {"memory": {"value": "80Gi"}},
}


def decoded_slice(device: dict[str, Any], driver: str = "gpu.nvidia.com", **spec: Any) -> DeviceSlice:
    pool = {"name": "node-7", "generation": 3, "resourceSliceCount": 2}
    told = {"driver": driver, "nodeName": "node-7", "pool": pool, "devices": [device], **spec}
    made = decoders.DEVICE_SLICE.from_json(
        json.dumps({"metadata": {"uid": "s", "name": "s"}, "spec": told}).encode()
    )
    assert isinstance(made, DeviceSlice)
    return made


def decoded_claim(spec: dict[str, Any], status: dict[str, Any] | None = None, **meta: Any) -> DeviceClaim:
    tree = {"metadata": {"uid": "c", "name": "c", "namespace": "team-a", **meta}, "spec": spec}
    made = decoders.DEVICE_CLAIM.from_json(json.dumps({**tree, "status": status or {}}).encode())
    assert isinstance(made, DeviceClaim)
    return made


@pytest.mark.parametrize("device", [{"name": "gpu-0", **FIELDS}, {"name": "gpu-0", "basic": FIELDS}])
def test_a_card_is_the_same_in_every_version(device: dict[str, Any]) -> None:
    found = decoded_slice(device)
    assert (found.driver, found.pool, found.generation, found.slices, found.node) == (
        *("gpu.nvidia.com", "node-7"),
        *(3, 2, "node-7"),
    )
    model = "NVIDIA-H100-80GB-HBM3"
    assert found.devices == (OfferedDevice(name="gpu-0", uuid="GPU-0", model=model, memory_bytes=80 * GIB),)


def test_a_part_names_its_card_and_a_tainted_device_is_not_usable() -> None:
    told = {"type": "mig", "uuid": "MIG-1", "parentUUID": "GPU-0", "profile": "1g.10gb"}
    attributes = {name: {"string": value} for name, value in told.items()}
    taint = {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoExecute"}
    (found,) = decoded_slice({"name": "p", "attributes": attributes, "taints": [taint]}).devices
    assert (found.is_part, found.parent_uuid, found.profile, found.is_usable) == (
        *(True, "GPU-0"),
        *("1g.10gb", False),
    )


@pytest.mark.parametrize(
    ("driver", "type_", "is_gpu"),
    [
        ("gpu.example.com", "", True),
        ("gpu.amd.com", "amdgpu", True),
        ("dra.example.com", "gpu", True),
        ("gpu.nvidia.com", "vfio", True),
        ("compute-domain.nvidia.com", "channel", False),
        ("dra.net", "", False),
        ("gpu.nvidia.com", "imex", False),
    ],
)
def test_only_gpus_are_kept(driver: str, type_: str, is_gpu: bool) -> None:
    attributes = {"type": {"string": type_}} if type_ else {}
    found = decoded_slice({"name": "d", "attributes": attributes}, driver)
    assert bool(found.devices) is is_gpu


def test_a_claim_tells_what_it_took_and_for_whom() -> None:
    result = {"request": "r", "driver": "gpu.nvidia.com", "pool": "node-7", "device": "gpu-0"}
    status = {
        "allocation": {"devices": {"results": [result, {**result, "device": "gpu-1", "adminAccess": True}]}},
        "reservedFor": [
            {"resource": "pods", "name": "one", "uid": "u1"},
            {"apiGroup": "x", "resource": "others", "name": "two", "uid": "u2"},
        ],
    }
    found = decoded_claim({"devices": {"requests": []}}, status)
    assert found.is_allocated
    assert found.consumers == (Consumer("u1", "one"),)
    assert found.taken == (
        TakenDevice("gpu.nvidia.com", "node-7", "gpu-0"),
        TakenDevice("gpu.nvidia.com", "node-7", "gpu-1", is_watched=True),
    )


def test_a_claim_that_waits_tells_what_it_asks_for_and_whose_it_is() -> None:
    exact = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 4}
    owner = {"kind": "Pod", "name": "one", "uid": "u1", "controller": True, "apiVersion": "v1"}
    requests = [
        {"name": "v1", "exactly": exact},
        {"name": "v1beta1", **exact, "count": 2},
        {"name": "all", "exactly": {**exact, "allocationMode": "All"}},
        {"name": "some", "firstAvailable": [{"name": "a", **exact}, {"name": "b", **exact, "count": 8}]},
        {"name": "same", "firstAvailable": [{"name": "a", **exact}, {"name": "b", **exact}]},
        {"name": "look", "exactly": {**exact, "adminAccess": True}},
    ]
    found = decoded_claim({"devices": {"requests": requests}}, ownerReferences=[owner])
    assert (found.is_allocated, found.consumers) == (False, (Consumer("u1", "one"),))
    told = [(one.device_class, one.count, one.is_watched) for one in found.requests]
    name = "gpu.nvidia.com"
    assert told == [
        *((name, 4, False), (name, 2, False), (name, None, False)),
        *((name, None, False), (name, 4, False), (name, 4, True)),
    ]


def test_a_claim_for_an_extended_resource_is_told_apart() -> None:
    note = {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert decoded_claim({}, annotations=note).is_request
    assert not decoded_claim({}).is_request


def test_escape_codes_in_a_slice_do_not_reach_a_terminal() -> None:
    attributes = {
        "uuid": {"string": "GPU-\x1b[31m0"},
        "productName": {"string": "\x1b]0;x\x07H100"},
        "type": {"string": "gpu"},
    }
    (found,) = decoded_slice({"name": "gpu\x1b-0", "attributes": attributes}).devices
    assert all(text.isprintable() for text in (found.name, found.uuid, found.model))
