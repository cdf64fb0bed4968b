"""Physical cards where Kubernetes counts shares of them."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent
from cockpit.pools.index import pools_of
from cockpit.views import heatmap, now, physical
from cockpit.views.fleet import Fleet, fleet, share
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import GIB, NOW, card, node, pod, store

MIG = (("nvidia.com/mig-1g.5gb", 8), ("nvidia.com/mig-3g.20gb", 2))


def slice_of(
    index: int, instance: int, profile: str, holder: str = "", duty: float = 0.5, *, on: str = "gpu-1"
) -> Gpu:
    return card(
        index,
        holder,
        duty=duty,
        on=on,
        uuid=f"GPU-{on}-{index}/{instance}",
        mig_profile=profile,
        memory_used_bytes=2 * GIB,
        memory_total_bytes=5 * GIB,
        power_watts=300.0,
    )


def test_time_sliced_cards_are_counted_once_and_their_shares_told_apart() -> None:
    shared = node(gpus=8, gpu_replicas=4, gpus_expected=2)
    known = (card(0, "a", mark=Mark.SHARED), card(1, "b", duty=0.01, mark=Mark.SHARED))
    found = share(shared, 5, known)
    assert (found.busy, found.idle_allocated, found.allocated_unknown, found.free, found.lost) == (
        1,
        1,
        0,
        0,
        0,
    )
    assert (found.shares, found.shares_allocated) == (8, 5)


def test_without_telemetry_shares_say_how_many_cards_are_held_at_least() -> None:
    shared = node(gpus=8, gpu_replicas=4, gpus_expected=2)
    assert (share(shared, 1, ()).allocated_unknown, share(shared, 1, ()).free) == (1, 1)
    assert (share(shared, 5, ()).allocated_unknown, share(shared, 5, ()).free) == (2, 0)
    assert (share(shared, 0, ()).allocated_unknown, share(shared, 0, ()).free) == (0, 2)


def test_mig_instances_are_one_card_each_with_their_sum() -> None:
    cut = node(gpus=10, gpus_expected=2, capacity=MIG)
    known = (
        slice_of(0, 1, "3g.20gb", "a", 1.0),
        slice_of(0, 2, "1g.5gb", "b", 0.0),
        slice_of(1, 1, "3g.20gb", "", 0.0),
    )
    first, second = physical.whole_cards(known)
    assert first.duty_ratio == pytest.approx(3 / 7)
    assert (first.memory_used_bytes, first.power_watts) == (4 * GIB, 300.0)
    assert (first.mark, second.mark) == (Mark.SHARED, Mark.UNALLOCATED)
    found = share(cut, 2, known)
    assert (found.busy, found.free, found.shares, found.shares_allocated) == (1, 1, 10, 2)


def test_an_a30_has_four_slices() -> None:
    half = msgspec.structs.replace(slice_of(0, 1, "2g.12gb", "a", 1.0), model="NVIDIA-A30")
    assert physical.whole_cards([half])[0].duty_ratio == pytest.approx(0.5)


def test_a_sum_over_some_instances_does_not_pass_for_all() -> None:
    missing = msgspec.structs.replace(slice_of(0, 2, "1g.5gb", "b"), memory_used_bytes=Absent.STALE)
    (whole,) = physical.whole_cards([slice_of(0, 1, "1g.5gb", "a"), missing])
    assert whole.memory_used_bytes is Absent.STALE


def test_the_strategy_single_is_counted_by_telemetry() -> None:
    single = node(gpus=14, gpus_expected=14, gpu_model="NVIDIA-A100-SXM4-40GB-MIG-1g.5gb")
    known = tuple(slice_of(index, 1 + number, "1g.5gb") for index in range(2) for number in range(7))
    assert physical.cards_promised(single, known) == 2


def test_the_header_counts_cards_and_tells_shares_apart() -> None:
    made = store(
        node("gpu-1", 8),
        node("gpu-2", 8, gpu_replicas=4, gpus_expected=2),
        node("gpu-3", 10, gpus_expected=2, capacity=MIG),
        pod("a", gpus=2, on="gpu-2"),
        card(0, "a", on="gpu-2"),
        card(1, on="gpu-2", duty=0.0),
    )
    found = fleet(made)
    assert (found.gpus, found.busy, found.shares, found.shares_allocated) == (12, 1, 18, 2)
    words = [one.text for one in now.fleet_segments(found)]
    assert "1/12 GPUs busy" in words
    assert "2/18 shares allocated" in words


def test_the_heatmap_has_a_cell_a_card_whatever_it_is_cut_into() -> None:
    made = store(
        node("gpu-2", 8, gpu_replicas=4, gpus_expected=2),
        node("gpu-3", 10, gpus_expected=2, capacity=MIG),
        card(0, "a", on="gpu-2", duty=1.0),
        card(1, on="gpu-2", duty=0.0),
        slice_of(0, 1, "3g.20gb", "x", 1.0, on="gpu-3"),
        slice_of(0, 2, "3g.20gb", "", 0.0, on="gpu-3"),
        slice_of(1, 1, "1g.5gb", "", 0.0, on="gpu-3"),
    )
    blocks = heatmap.groups(made)[0].blocks
    assert [block.levels for block in blocks] == [(8, heatmap.FREE), (4, heatmap.FREE)]


def test_a_lost_share_of_a_card_loses_no_card() -> None:
    shared = node(gpus=8, gpu_replicas=4, gpus_expected=2, gpu_allocatable=5)
    assert share(shared, 0, ()).lost == 0
    gone = node(gpus=8, gpu_replicas=4, gpus_expected=2, gpu_allocatable=4)
    assert (share(gone, 0, ()).lost, share(gone, 0, ()).free) == (1, 1)
    away = node(gpus=8, gpu_replicas=4, gpus_expected=2, ready="Unknown")
    assert share(away, 0, ()).lost == 2


@settings(deadline=None, max_examples=300)
@given(
    cards=st.integers(1, 8),
    replicas=st.integers(2, 8),
    offered=st.integers(0, 64),
    allocated=st.integers(0, 80),
    duties=st.lists(st.sampled_from([0.0, 0.03, 0.7, Absent.STALE, Absent.NOT_COLLECTED]), max_size=8),
    is_ready=st.booleans(),
)
def test_cards_of_shared_nodes_always_add_up(
    cards: int, replicas: int, offered: int, allocated: int, duties: list[float | Absent], is_ready: bool
) -> None:
    capacity = cards * replicas
    one = node(
        gpus=capacity,
        gpu_replicas=replicas,
        gpus_expected=cards,
        gpu_allocatable=min(offered, capacity),
        ready="True" if is_ready else "False",
    )
    known = tuple(card(at, "w" if at % 2 else "", duty=duty) for at, duty in enumerate(duties[:cards]))
    found = share(one, allocated, known)
    parts = (found.busy, found.idle_allocated, found.allocated_unknown, found.free, found.lost)
    assert min(parts) >= 0
    assert sum(parts) == cards
    assert found.busy + found.idle_allocated + found.allocated_unknown <= allocated
    assert found.shares_allocated <= found.shares == capacity


def test_an_empty_fleet_says_nothing_of_shares() -> None:
    assert not any("shares" in one.text for one in now.fleet_segments(Fleet(nodes=1, gpus=1, free=1)))


def test_pools_count_cards_and_name_their_shares() -> None:
    made = store(
        node("gpu-1", 8, pool="whole"),
        node("gpu-2", 8, gpu_replicas=4, gpus_expected=2, pool="shared"),
        node("gpu-3", 10, gpus_expected=2, capacity=MIG, pool="cut"),
    )
    pools = pools_of(made)
    assert {one.name: (one.cards, one.gpus_total) for one in pools} == {
        "whole": (8, 8),
        "shared": (2, 8),
        "cut": (2, 10),
    }
    panel = now.pool_lines(pools).table(ViewState(), NOW)
    columns = [one.id for one in panel.columns]
    shown = {panel.cells(at)[0].text: panel.cells(at) for at in range(len(panel))}
    assert shown["shared"][columns.index("gpus")].text == "2"
    assert "8 shares" in shown["shared"][columns.index("words")].text
    assert "shares" not in shown["whole"][columns.index("words")].text
