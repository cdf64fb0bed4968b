"""The kubelet's socket: what is read of it, how often, and what happens when it will not answer."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from cockpit_exporter.attribution import Assignment
from cockpit_exporter.kubelet import KubeletWatch
from cockpit_exporter.proto import podresources_pb2 as wire

from tests.unit.exporter.fake_kubelet import FakeKubelet
from tests.unit.exporter.standin import Box, Page


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[FakeKubelet]:
    made = FakeKubelet(tmp_path)
    yield made
    made.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(kubelet: FakeKubelet, clock: Clock) -> Iterator[KubeletWatch]:
    made = KubeletWatch(str(kubelet.socket), clock)
    yield made
    made.stop()
    made.run()  # closes


def test_devices_and_claims_are_read_and_other_resources_are_not(
    kubelet: FakeKubelet, watch: KubeletWatch
) -> None:
    kubelet.holds("team-a/trainer-0", "GPU-1", "GPU-2")
    kubelet.holds("team-b/slice", "MIG-1", resource="nvidia.com/mig-1g.10gb")
    kubelet.holds("team-c/other", "x", resource="example.com/fpga")
    kubelet.claims("team-d/claimed", "gpu-3", claim="mine")
    assert watch.step() == 10.0
    assert watch.current().assignments == (
        Assignment("team-a", "trainer-0", "main", "nvidia.com/gpu", "GPU-1"),
        Assignment("team-a", "trainer-0", "main", "nvidia.com/gpu", "GPU-2"),
        Assignment("team-b", "slice", "main", "nvidia.com/mig-1g.10gb", "MIG-1"),
        Assignment(
            "team-d", "claimed", "main", claim="mine", driver="gpu.nvidia.com", pool="node-7", device="gpu-3"
        ),
    )
    assert watch.current().reason == ""


def test_a_named_resource_counts_as_cards(kubelet: FakeKubelet, clock: Clock) -> None:
    kubelet.holds("team-c/other", "GPU-9", resource="example.com/gpu")
    watch = KubeletWatch(str(kubelet.socket), clock, ("example.com/gpu",))
    watch.step()
    assert [one.device_id for one in watch.current().assignments] == ["GPU-9"]


def test_allocatable_devices_are_asked_for_once_a_minute(
    kubelet: FakeKubelet, watch: KubeletWatch, clock: Clock
) -> None:
    kubelet.allocatable = wire.AllocatableAnswer(
        devices=[
            wire.Devices(resource="nvidia.com/gpu", ids=["GPU-1", "GPU-0"]),
            wire.Devices(resource="example.com/nic", ids=["n0"]),
        ]
    )
    for _ in range(7):
        clock.seconds += watch.step()
    assert watch.current().allocatable == ("GPU-0", "GPU-1")
    assert kubelet.calls.count("List") == 7
    assert kubelet.calls.count("GetAllocatableResources") == 2


def test_an_old_kubelet_without_allocatable_is_asked_once(
    kubelet: FakeKubelet, watch: KubeletWatch, clock: Clock
) -> None:
    for _ in range(20):
        clock.seconds += watch.step()
    assert kubelet.calls.count("GetAllocatableResources") == 1
    assert watch.current().reason == ""
    assert watch.current().allocatable is None


def test_a_kubelet_that_is_asked_too_much_is_left_alone_for_longer_and_longer(
    kubelet: FakeKubelet, watch: KubeletWatch
) -> None:
    kubelet.fault = (grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")
    assert [watch.step() for _ in range(6)] == [20.0, 40.0, 80.0, 160.0, 160.0, 160.0]
    assert watch.answer.reason == "resource-exhausted"
    kubelet.fault = None
    assert watch.step() == 10.0
    assert watch.answer.reason == ""


def test_an_answer_beyond_the_bound_is_refused_and_named(kubelet: FakeKubelet, clock: Clock) -> None:
    for number in range(500):
        kubelet.holds(f"team/{'p' * 50}-{number}", f"GPU-{number}")
    watch = KubeletWatch(str(kubelet.socket), clock, most_bytes=10_000)
    assert watch.step() == 10.0, "it is not the kubelet that is busy"
    assert watch.current().reason == "answer-too-large"
    assert watch.current().assignments == ()


def test_the_last_mapping_is_kept_for_a_while_and_then_no_more(
    kubelet: FakeKubelet, watch: KubeletWatch, clock: Clock
) -> None:
    kubelet.holds("team-a/trainer-0", "GPU-1")
    watch.step()
    kubelet.fault = (grpc.StatusCode.UNAVAILABLE, "restarting")
    clock.seconds += watch.step()
    assert [one.pod for one in watch.current().assignments] == ["trainer-0"]
    assert watch.current().reason == "unavailable"
    clock.seconds += 20.0
    assert watch.current().assignments == ()


def test_a_socket_that_is_not_there_yet_is_found_when_it_comes(tmp_path: Path, clock: Clock) -> None:
    watch = KubeletWatch(str(tmp_path / "kubelet.sock"), clock)
    watch.step()
    assert watch.current().reason == "unavailable"
    served = FakeKubelet(tmp_path)
    served.holds("team-a/trainer-0", "GPU-1")
    try:
        patience = time.monotonic() + 30  # gRPC itself waits before it dials again
        while watch.current().reason and time.monotonic() < patience:
            watch.step()
        assert [one.pod for one in watch.current().assignments] == ["trainer-0"]
    finally:
        served.close()


# the whole way: the stand-in's cards, the fake socket, and the page


def uuid(card: int) -> str:
    return f"GPU-{card:08d}-1111-2222-3333-444444444444"


@pytest.fixture
def scrape(box: Box, kubelet: FakeKubelet) -> Callable[[], Page]:
    """A round of everything, and the page."""
    box.start(pod_resources=str(kubelet.socket))

    def once() -> Page:
        box.step()
        return Page(box.ask("kubelet")["page"])

    return once


def test_a_pods_cards_carry_its_name_and_free_ones_carry_empty_labels(
    box: Box, kubelet: FakeKubelet, scrape: Callable[[], Page]
) -> None:
    box.write("gpus 3")
    kubelet.holds("team-a/trainer-0", uuid(1))
    kubelet.allocatable = wire.AllocatableAnswer(
        devices=[wire.Devices(resource="nvidia.com/gpu", ids=[uuid(0), uuid(1)])]
    )
    page = scrape()
    pods = {
        one[1]["gpu"]: (one[1]["namespace"], one[1]["pod"], one[1]["container"])
        for one in page.samples("cockpit_gpu_power_watts")
    }
    assert pods == {"0": ("", "", ""), "1": ("team-a", "trainer-0", "main"), "2": ("", "", "")}
    assert page.by_gpu("cockpit_gpu_allocatable") == {"0": 1.0, "1": 1.0, "2": 0.0}
    assert page.value("cockpit_attribution_up", source="pod-resources") == 1.0


def test_a_shared_card_has_its_numbers_once_and_a_holder_each(
    box: Box, kubelet: FakeKubelet, scrape: Callable[[], Page]
) -> None:
    box.write("gpus 1")
    kubelet.holds("team-a/one", f"{uuid(0)}::0", f"{uuid(0)}::3")
    kubelet.holds("team-b/two", f"{uuid(0)}::1")
    page = scrape()
    assert [one[1]["pod"] for one in page.samples("cockpit_gpu_memory_used_bytes")] == [""]
    holders = {one[1]["pod"]: one[1]["replicas"] for one in page.samples("cockpit_gpu_holder")}
    assert holders == {"one": "2", "two": "1"}


def test_numbered_ids_mig_ids_and_claims_find_their_cards(
    box: Box, kubelet: FakeKubelet, scrape: Callable[[], Page]
) -> None:
    box.write("gpus 4", "mig 3 0 7 0 1g.10gb 9728", "mig 3 1 8 0 3g.40gb 40448")
    kubelet.holds("team-a/gke", "nvidia1")
    kubelet.holds(
        "team-a/slice", "MIG-00000003-0000-0000-0000-000000000000", resource="nvidia.com/mig-1g.10gb"
    )
    kubelet.claims("team-a/whole", "gpu-2")
    kubelet.claims("team-a/part", "gpu-3-mig-3g.40gb-4")
    kubelet.holds("team-a/ghost", "GPU-gone")
    page = scrape()
    assert page.value("cockpit_gpu_memory_used_bytes", gpu="1", pod="gke") > 0
    assert page.value("cockpit_gpu_memory_used_bytes", gpu="3", mig_instance="7", pod="slice") > 0
    assert page.value("cockpit_gpu_memory_used_bytes", gpu="3", mig_instance="8", pod="part") > 0
    assert page.value("cockpit_gpu_holder", gpu="2", pod="whole", source="dra-name", claim="one") == 1.0
    assert page.value("cockpit_attribution_unmatched") == 1.0


def test_where_the_kubelet_does_not_answer_series_have_no_pod_labels_at_all(
    box: Box, kubelet: FakeKubelet, scrape: Callable[[], Page]
) -> None:
    box.write("gpus 1")
    kubelet.fault = (grpc.StatusCode.PERMISSION_DENIED, "no")
    page = scrape()
    assert page.value("cockpit_attribution_up", reason="permission-denied") == 0.0
    assert ["pod" in one[1] for one in page.samples("cockpit_gpu_power_watts")] == [False]
