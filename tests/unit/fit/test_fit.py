"""Would it fit: by example, and against trying every placement of a small fleet."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.fit.free import free_on, largest_block, obstacle
from cockpit.fit.gang import fit_sentence, fits
from cockpit.model.node import Taint
from cockpit.model.record import Condition
from tests.unit.fit.builders import NVIDIA, fleet, holder, node


def test_free_is_allocatable_minus_what_unfinished_pods_ask() -> None:
    store = fleet(
        node("a", 8, allocatable=(("cpu", 64_000), ("memory", 100), ("pods", 110))),
        holder("x", "a", 2, cpu_millicores=4_000, memory_bytes=30),
        holder("done", "a", 4, phase="Succeeded"),
    )
    assert free_on(store, node("a", 8, allocatable=(("cpu", 64_000), ("memory", 100), ("pods", 110)))) == (
        "a",
        6,
        60_000,
        70,
        109,
    )


def test_pods_that_outlive_lost_devices_do_not_make_free_negative() -> None:
    store = fleet(node("a", 4), holder("x", "a", 8))
    assert free_on(store, node("a", 4)).gpus == 0
    assert free_on(store, node("a", 4)).cpu_millicores is None


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, ""),
        ({"unschedulable": True}, "cordoned"),
        ({"conditions": (Condition("Ready", "Unknown"),)}, "not ready"),
        ({"conditions": ()}, "not ready"),
        ({"deleting_seconds": 1.0}, "leaving"),
        ({"taints": (Taint("dedicated", "infra", "NoSchedule"),)}, "tainted dedicated"),
        ({"taints": (Taint("bad", "", "NoExecute"),)}, "tainted bad"),
        ({"taints": (Taint("soft", "", "PreferNoSchedule"),)}, ""),
        ({"taints": (Taint(NVIDIA, "present", "NoSchedule"),)}, ""),
    ],
)
def test_what_keeps_pods_off_a_node(fields: dict[str, object], why: str) -> None:
    assert obstacle(node("a", 8, **fields)) == why


def test_a_gang_that_fits_is_placed_on_the_fullest_rooms() -> None:
    store = fleet(node("a"), node("b"), node("c"), holder("x", "b", 6))
    answer = fits(store, 4, 4)
    assert answer.fits and answer.places == (("a", 2), ("c", 2))
    assert fit_sentence(store, 4, 4) == "fits now on 2 nodes"
    assert fit_sentence(store, 1, 8) == "fits now on node a"


def test_fragmentation_is_told_apart_from_want() -> None:
    store = fleet(node("a"), node("b"), holder("x", "a", 4), holder("y", "b", 4))
    answer = fits(store, 1, 8)
    assert (answer.fits, answer.free_gpus, answer.largest_block, answer.missing) == (False, 8, 4, 1)
    assert fit_sentence(store, 1, 8) == "pending: needs 8 GPUs as 1 x 8, 8 free, largest free block 4"
    assert fit_sentence(store, 4, 4) == "pending: needs 16 GPUs as 4 x 4, 8 free, room for 2 of 4 members"


def test_obstacles_are_counted() -> None:
    store = fleet(
        node("a"),
        node("b", unschedulable=True),
        node("c", unschedulable=True),
        holder("x", "a", 8),
        node("cpu", None),
    )
    answer = fits(store, 1, 1)
    assert answer.matching_nodes == 3
    assert answer.obstacles == (("cordoned", 2), ("lacks free GPUs", 1))


def test_cpu_memory_and_pod_slots_count_too() -> None:
    store = fleet(node("a", 8, allocatable=(("cpu", 10_000), ("memory", 100), ("pods", 1))))
    assert fits(store, 1, 1, cpu_millicores_each=8_000).fits
    assert fits(store, 1, 1, cpu_millicores_each=11_000).obstacles == (("lacks CPU", 1),)
    assert fits(store, 1, 1, memory_bytes_each=101).obstacles == (("lacks memory", 1),)
    assert fits(store, 2, 1).fitting == 1
    assert fits(store, 1, 9, cpu_millicores_each=11_000).obstacles == (("lacks free GPUs", 1),)


def test_model_and_resource_narrow_the_nodes() -> None:
    store = fleet(node("a", gpu_model="A100"), node("h", gpu_model="H100"))
    assert fits(store, 2, 8, gpu_model="H100").fitting == 1
    assert fits(store, 1, 1, gpu_resource="amd.com/gpu").matching_nodes == 0


def test_nothing_there_and_nothing_asked() -> None:
    assert fit_sentence(fleet(), 2, 2) == "pending: no node shows a GPU"
    assert fit_sentence(fleet(node("a")), 0, 2) == "nothing asked for"
    assert largest_block(fleet(node("a", 0))) == ("", 0)
    assert largest_block(fleet(node("b"), node("a"), node("z", 16, unschedulable=True))) == ("a", 8)


def brute(free: list[int], each: int, workers: int) -> int:
    """Most members placed, by trying."""
    placed = 0
    rooms = list(free)
    for _ in range(workers):
        spot = next((i for i, left in enumerate(rooms) if left >= each), None)
        if spot is None:
            break
        rooms[spot] -= each
        placed += 1
    return placed


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=6),
    st.integers(1, 8),
    st.integers(1, 12),
)
def test_as_many_members_as_trying_finds(nodes: list[tuple[int, int]], each: int, workers: int) -> None:
    records = [node(f"n{i}", total) for i, (total, _) in enumerate(nodes)]
    pods = [holder(f"p{i}", f"n{i}", min(used, total)) for i, (total, used) in enumerate(nodes)]
    answer = fits(fleet(*records, *pods), workers, each)
    free = [max(0, total - used) for total, used in nodes]
    assert answer.fitting == brute(free, each, workers)
    assert answer.fitting + answer.missing == workers == answer.wanted
    assert sum(count for _, count in answer.places) == answer.fitting
    assert answer.largest_block == max(free, default=0)
    assert len(fit_sentence(fleet(*records, *pods), workers, each)) <= 100
