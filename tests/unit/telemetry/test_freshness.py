"""How old a number is, which of two is fresher, and what is said where they contradict each other."""

import pytest

from cockpit.model.gpu import Doubt, DoubtKind, Gpu
from cockpit.model.quantity import Absent
from cockpit.telemetry.cards.stamps import stamps_of
from cockpit.telemetry.names import SAMPLED_AT
from cockpit.telemetry.sample import from_prometheus
from cockpit.telemetry.source import PrometheusSource, places_of
from tests.unit.telemetry.builders import COCKPIT, NOW, A, Row, card_a, family
from tests.unit.telemetry.oracle import gpus
from tests.unit.telemetry.small_prometheus import CLUSTER, SmallPrometheus, read, stamped

OWN = {"uuid": "GPU-gpu-1-0", "gpu": "0", "node": "gpu-1"}
A_BUSY = {**A, "DCGM_FI_DEV_GPU_UTIL": 90.0}
A_IDLE = {**A, "DCGM_FI_DEV_GPU_UTIL": 10.0}


def at(seconds_ago: float, rows: list[Row]) -> list[Row]:
    """Series that were sampled so long ago."""
    return [{**one, "sampled": NOW - seconds_ago} for one in rows]


def told(rows: list[Row]) -> Gpu:
    """The card as the oracle reads it."""
    times = stamped([one for one in rows if one["metric"]["__name__"] in SAMPLED_AT], NOW - 7.0)
    places = places_of(CLUSTER)
    (card,) = gpus(from_prometheus(rows), places, stamps_of(from_prometheus(times), places))
    return card


async def every_way(rows: list[Row]) -> list[Gpu]:
    """The card as a small cluster's reading has it, a large fleet's whole one, a lean one, the oracle."""
    small, large = PrometheusSource(SmallPrometheus(rows)), PrometheusSource(SmallPrometheus(rows), 0)
    found = [await read(small), await read(large), await read(large)]
    return [*(card for cards in found for card in cards.values()), told(rows)]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("other", [{"replica": "b"}, {"instance": "10.0.0.9:9400"}, {"job": "again"}])
async def test_of_two_scrapes_of_one_card_the_fresher_wins(other: dict[str, str], order: int) -> None:
    rows = [*at(70, family(A_BUSY, card_a(0))), *at(4, family(A_IDLE, card_a(0, **other)))][::order]
    for card in await every_way(rows):
        assert card.duty_ratio == pytest.approx(0.10)
        assert card.sampled_seconds == NOW - 4
        assert card.doubts == (), "a minute later a card may do something else"


async def test_two_scrapes_of_one_age_that_contradict_each_other_are_marked() -> None:
    rows = [*at(9, family(A_BUSY, card_a(0))), *at(4, family(A_IDLE, card_a(0, replica="b")))]
    for card in await every_way(rows):
        assert card.duty_ratio == pytest.approx(0.10)
        assert card.doubts == (Doubt("duty_ratio", DoubtKind.CONTRADICTED, 0.9, "dcgm A"),)


async def test_the_fresher_of_two_exporters_wins_over_the_more_trusted() -> None:
    own = {**COCKPIT, "cockpit_gpu_duty_ratio": 0.2}
    rows = [*at(40, family(own, OWN)), *at(5, family(A_BUSY, card_a(0)))]
    for card in await every_way(rows):
        assert card.duty_ratio == pytest.approx(0.9)
        assert card.doubts == (Doubt("duty_ratio", DoubtKind.CONTRADICTED, 0.2, "cockpit"),)


async def test_two_exporters_that_agree_are_not_marked() -> None:
    rows = [*at(9, family(COCKPIT, OWN)), *at(5, family(A, card_a(0)))]
    for card in await every_way(rows):
        assert card.doubts == ()


async def test_what_only_a_silent_exporter_told_is_stale_while_the_other_goes_on() -> None:
    left = {name: of for name, of in COCKPIT.items() if "power" not in name}
    rows = [*at(200, family(A, card_a(0))), *at(5, family(left, OWN))]
    for card in await every_way(rows):
        assert card.power_watts is Absent.STALE
        assert card.duty_ratio == pytest.approx(0.71)
        assert card.sampled_seconds == NOW - 5


async def test_who_held_the_card_minutes_ago_is_no_holder_of_now() -> None:
    rows = [
        *at(200, family(A, card_a(0, exported_pod="old", exported_namespace="team-a"))),
        *at(5, family(A_BUSY, card_a(0, exported_pod="new", exported_namespace="team-a"))),
    ]
    small = await read(PrometheusSource(SmallPrometheus(rows)))
    for card in (*small.values(), told(rows)):
        assert (card.pod_name, card.also) == ("new", ())


@pytest.mark.parametrize("many_cards", [0, 2_000])
async def test_without_timestamps_the_age_is_unknown(many_cards: int) -> None:
    asked = SmallPrometheus(family(A, card_a(0)))
    asked.has_no_times = True
    source = PrometheusSource(asked, many_cards)
    for _ in range(2):
        (card,) = (await read(source)).values()
        assert card.sampled_seconds is None
        assert card.duty_ratio == pytest.approx(0.71)


async def test_a_known_age_beats_an_unknown_one() -> None:
    left = {name: of for name, of in A_BUSY.items() if "TEMP" not in name}
    rows = [*family(left, card_a(0, job="untimed")), *at(30, family(A_IDLE, card_a(0, job="timed")))]
    for card in await every_way(rows):
        assert card.duty_ratio == pytest.approx(0.10)
