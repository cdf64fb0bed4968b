"""The fleet as a map of cells: what each shade tells under each quantity."""

import pytest

from cockpit.model.batch import Batch
from cockpit.model.namespaces import Namespaces
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.views import heatmap
from tests.unit.views.builders import (
    card,
    node,
    pod,
    store,
)


def test_the_heatmap_tells_free_lost_silent_and_stale_apart() -> None:
    made = store(
        node("gpu-1", 8, gpu_allocatable=7),
        node("gpu-2", 2, ready="Unknown"),
        node("gpu-3", None, gpus_expected=2, pool=""),
        pod("w", gpus=5),
        card(0, "w", duty=1.0),
        card(1, "w", duty=0.01),
        card(2, duty=0.0),
        card(3, "w", duty=Absent.STALE),
        card(4, "w", duty=Absent.NOT_COLLECTED),
    )
    found = heatmap.groups(made)
    assert [(group.name, [block.key for block in group.blocks]) for group in found] == [
        ("h100", ["gpu-1", "gpu-2"]),
        ("no pool", ["gpu-3"]),
    ]
    assert found[0].blocks[0].levels == (8, 1, -1, -4, -3, -1, -1, -2)
    assert found[0].blocks[1].levels == (-2, -2)
    assert found[1].blocks[0].levels == (-3, -3)


def test_devices_nobody_measures_are_free_or_not_collected_by_what_is_held() -> None:
    made = store(node(gpus=4), pod("w", gpus=3))
    assert heatmap.groups(made)[0].blocks[0].levels == (-3, -3, -3, -1)


@pytest.mark.parametrize(
    ("metric", "levels"),
    [
        (heatmap.Metric.DUTY, (6, -1)),
        (heatmap.Metric.MEMORY, (4, -1)),
        (heatmap.Metric.TEMPERATURE, (7, 1)),
        (heatmap.Metric.POWER, (8, 2)),
        (heatmap.Metric.HEALTH, (8, 1)),
    ],
)
def test_metrics(metric: heatmap.Metric, levels: tuple[int, ...]) -> None:
    made = store(
        node(gpus=2),
        card(0, "w", temperature_celsius=75.0, power_watts=400.0, xid=79),
        card(1, duty=0.0, temperature_celsius=30.0, power_watts=60.0),
    )
    assert heatmap.groups(made, metric)[0].blocks[0].levels == levels


def test_owners_differ_in_their_shade_and_the_legend_names_them() -> None:
    made = store(
        node(gpus=4),
        card(0, "a"),
        card(1, "b", pod_namespace="team-b"),
        card(2, "c"),
        card(3, duty=0.0),
    )
    first, other, again, free = heatmap.groups(made, heatmap.Metric.OWNER)[0].blocks[0].levels
    assert first == again != other
    assert {first, other} <= set(range(1, 9))
    assert free == heatmap.FREE
    assert heatmap.legend(made, heatmap.Metric.OWNER) == "owner: ▄ team-a  █ team-b"


def test_priorities_rise_with_the_shade() -> None:
    made = store(
        node(gpus=3),
        pod("low", gpus=1, priority=10, priority_class="low"),
        pod("high", gpus=1, priority=1_000, priority_class="high"),
        card(0, "low"),
        card(1, "high"),
        card(2, "unheard-of"),
    )
    levels = heatmap.groups(made, heatmap.Metric.PRIORITY)[0].blocks[0].levels
    assert levels == (4, 8, heatmap.NOT_COLLECTED)
    assert heatmap.legend(made, heatmap.Metric.PRIORITY) == "priority, lowest first: ▄ low  █ high"


def test_a_card_whose_clocks_are_held_down_is_worth_watching_even_without_xid() -> None:
    made = store(node(gpus=2), card(0, "w", xid=None, throttle=0x40), card(1, "w", xid=0, throttle=0x4))
    assert heatmap.groups(made, heatmap.Metric.HEALTH)[0].blocks[0].levels == (5, 1)


def test_a_namespace_leaves_only_its_own_cards_shaded() -> None:
    made = store(node(gpus=2), card(0, "a"), card(1, "b", pod_namespace="team-b"))
    assert heatmap.groups(made, heatmap.Metric.DUTY, Namespaces(("team-b",)))[0].blocks[0].levels == (-1, 6)


def test_the_heatmap_is_made_anew_only_when_the_store_moved() -> None:
    made = store(node(gpus=1), card(0, "a"))
    first = heatmap.groups(made)
    assert heatmap.groups(made) is first
    made.apply(Batch(kind=Kind.GPU, changed=(card(0, "a", duty=0.1),)))
    assert heatmap.groups(made)[0].blocks[0].levels == (1,)


def test_metrics_cycle() -> None:
    seen = [heatmap.Metric.DUTY]
    while seen[-1].next is not heatmap.Metric.DUTY:
        seen.append(seen[-1].next)
    assert seen == list(heatmap.Metric)
    assert all(heatmap.legend(store(), one) for one in seen)
