"""Series of aggregates and of what is on screen, bounded."""

import pytest

from cockpit.model.batch import Batch
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.store.trends import MOST_CARDS, STEP_SECONDS, Trends
from tests.unit.views.builders import NOW, card, node, store


def test_aggregates_of_fleet_and_pools() -> None:
    made = store(
        node("gpu-1", 2),
        node("gpu-2", 1, pool="a100"),
        card(0, "w", duty=0.8),
        card(1, duty=0.0),
        card(0, "v", on="gpu-2", duty=0.2),
    )
    trends = Trends()
    trends.note(made, NOW)
    assert trends.fleet() == pytest.approx((0.5,))
    assert trends.pool("h100") == pytest.approx((0.8,))
    assert trends.fleet("watts") == (3 * 412.0,)
    assert trends.pool("nobody") == ()


def test_instances_repeat_the_draw_of_their_card() -> None:
    made = store(node("gpu-1", 2), *(card(0, uuid=f"GPU-1/{at}", mig_profile="1g.10gb") for at in (1, 2)))
    trends = Trends()
    trends.note(made, NOW)
    assert trends.fleet("watts") == (412.0,)


def test_a_gap_is_a_gap_and_no_zero() -> None:
    made = store(node("gpu-1", 1), card(0, "w", duty=0.8))
    trends = Trends()
    trends.note(made, NOW, ("gpu-1",))
    stale = card(0, "w", duty=Absent.STALE, power_watts=Absent.STALE, sampled_seconds=NOW + 30)
    made.apply(Batch(kind=Kind.GPU, changed=(stale,)))
    trends.note(made, NOW + 30, ("gpu-1",))
    assert trends.fleet() == (0.8, None)
    assert trends.fleet("watts") == (412.0, None)
    assert trends.card("GPU-gpu-1-0") == (0.8, None)


def test_a_sample_that_is_shown_for_several_rounds_counts_once() -> None:
    made = store(node("gpu-1", 1), card(0, "w", duty=0.8))
    trends = Trends()
    for at in range(4):
        trends.note(made, NOW + 30 * at, ("gpu-1",))
    assert trends.card("GPU-gpu-1-0") == (0.8,)
    assert len(trends.fleet()) == 4


def test_cards_are_followed_only_on_screen_and_never_more_than_so_many() -> None:
    nodes = [node(f"gpu-{at}", 8) for at in range(200)]
    cards = [card(index, on=one.name) for one in nodes for index in range(8)]
    made = store(*nodes, *cards)
    trends = Trends()
    trends.note(made, NOW)
    assert len(trends) == 4
    trends.note(made, NOW + 5, [one.name for one in nodes])
    assert len(trends) == 4 + MOST_CARDS


def test_what_prometheus_remembers_comes_before_what_was_seen() -> None:
    made = store(node("gpu-1", 1), card(0, "w", duty=0.8, sampled_seconds=NOW))
    trends = Trends()
    assert trends.job("llm") == ()
    trends.note(made, NOW, ("gpu-1",))
    assert trends.card("GPU-gpu-1-0") == (0.8,)
    trends.remember({"gpu/GPU-gpu-1-0": (0.1, None, 0.3), "job/llm": (0.5, 0.6)})
    assert trends.card("GPU-gpu-1-0") == (0.1, None, 0.3, 0.8)
    assert trends.job("llm") == (0.5, 0.6)
    # another page is open: what was kept for the last one goes
    trends.remember({})
    assert trends.card("GPU-gpu-1-0") == (0.8,)
    assert trends.job("llm") == ()


def test_within_a_step_of_the_clock_only_the_newest_point_moves() -> None:
    """What shifts with every sample is drawn anew, and sent, every five seconds."""
    made = store(node("gpu-1", 1), card(0, "w", duty=0.1))
    start = NOW - NOW % STEP_SECONDS
    trends = Trends()
    trends.note(made, start)
    for at in range(1, 6):
        made.apply(Batch(kind=Kind.GPU, changed=(card(0, "w", duty=at / 10, sampled_seconds=start + 30),)))
        trends.note(made, start + STEP_SECONDS + 5 * at)
        assert trends.fleet() == (0.1, at / 10)
    trends.note(made, start + 2 * STEP_SECONDS)
    assert trends.fleet() == (0.1, 0.5, 0.5)
