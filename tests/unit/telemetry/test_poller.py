"""The loop: rounds, ages, failures as status, back-off."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gpu import Doubt, DoubtKind, Gpu, Mark
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.telemetry.faults import TelemetryError, Throttled
from cockpit.telemetry.focus import Focus, Looking
from cockpit.telemetry.names import GpuMetric
from cockpit.telemetry.poller import Poller
from cockpit.telemetry.promql import PROBE
from cockpit.telemetry.source import LAG_SECONDS, MANY_CARDS, PrometheusSource
from tests.unit.telemetry.builders import NOW, A, PrometheusStub, Row, SmallCluster, card_a, family, node, pod


class Scripted(PrometheusStub):
    """A Prometheus that answers what it was told to."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.times: list[Row] = []
        self.fault: TelemetryError | None = None
        self.times_fault: TelemetryError | None = None
        self.asked: list[str] = []
        self.moments: list[float | None] = []
        self.now_seconds: float | None = None
        self.took_seconds = 0.0
        self.clock = ManualClock(NOW)

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        if promql == PROBE and self.fault is None:
            return [] if self.now_seconds is None else [{"metric": {}, "value": [self.now_seconds, "1"]}]
        self.asked.append(promql)
        self.moments.append(at_seconds)
        self.clock.advance(self.took_seconds)
        if self.fault is not None:
            raise self.fault
        if "timestamp(" in promql:
            if self.times_fault is not None:
                raise self.times_fault
            return self.times
        return self.rows


class Shown:
    """What the store would hold."""

    def __init__(self) -> None:
        self.cards: dict[str, Gpu] = {}
        self.batches: list[Batch] = []

    def __call__(self, batch: Batch) -> None:
        self.batches.append(batch)
        if batch.kind != Kind.GPU:
            return
        self.cards.update((card.uuid, card) for card in batch.changed)
        for uuid in batch.removed:
            del self.cards[uuid]

    @property
    def status(self) -> StreamStatus:
        status = self.batches[-1].status
        assert status is not None
        return status


def rig(
    cluster: SmallCluster | None = None,
    visible: Sequence[str] = (),
    *,
    looking: Looking | None = None,
    many_cards: int = MANY_CARDS,
) -> tuple[Poller, Scripted, Shown, ManualClock]:
    asked, shown, clock = Scripted(), Shown(), ManualClock(NOW)
    poller = Poller(
        PrometheusSource(asked),
        shown,
        clock,
        cluster or SmallCluster(),
        interval_seconds=5.0,
        looking=looking or (lambda: Focus(nodes=tuple(visible))),
        many_cards=many_cards,
    )
    return poller, asked, shown, clock


async def test_a_round_fills_the_store_and_reports_live() -> None:
    poller, asked, shown, _ = rig(SmallCluster([node()], [pod("llm-0")]))
    asked.rows = family(A, card_a(0, pod="llm-0", namespace="team-a")) + family(A, card_a(1))
    assert await poller.poll() == 5.0
    assert [(one.index, one.mark) for one in shown.cards.values()] == [(0, Mark.SURE), (1, Mark.UNALLOCATED)]
    assert (shown.status.phase, shown.status.objects, shown.status.heard_seconds) == (Phase.LIVE, 2, NOW)


async def test_a_slow_round_is_followed_by_a_long_pause() -> None:
    poller, asked, _, clock = rig()
    asked.rows = family(A, card_a(0))
    asked.took_seconds, asked.clock = 3.0, clock
    assert await poller.poll() == pytest.approx(4 * 2 * 3.0)


async def test_an_unchanged_round_changes_nothing() -> None:
    poller, asked, shown, _ = rig()
    asked.rows = family(A, card_a(0))
    await poller.poll()
    await poller.poll()
    assert shown.batches[-1].changed == ()


async def test_a_card_that_stops_reporting_goes_stale_and_is_forgotten_after_an_hour() -> None:
    poller, asked, shown, clock = rig()
    asked.rows = family(A, card_a(0)) + family(A, card_a(1))
    await poller.poll()
    asked.rows = family(A, card_a(0), NOW + 15)
    clock.advance(15)
    await poller.poll()
    lost = shown.cards["GPU-gpu-1-1"]
    assert lost.duty_ratio is Absent.STALE
    assert lost.power_watts is Absent.STALE
    assert lost.sampled_seconds == NOW
    assert shown.cards["GPU-gpu-1-0"].duty_ratio == pytest.approx(0.71)
    asked.rows = family(A, card_a(0), NOW + 3_700)
    await poller.poll()
    assert "GPU-gpu-1-1" not in shown.cards


async def test_a_silent_card_keeps_its_pod_and_the_free_ones_stay_free() -> None:
    cluster = SmallCluster([node(gpus=2)], [pod("llm-0")])
    poller, asked, shown, _ = rig(cluster)
    held, free = card_a(0, pod="llm-0", namespace="team-a"), card_a(1, pod="", namespace="")
    asked.rows = family(A, held) + family(A, free)
    await poller.poll()
    asked.rows = family(A, free, NOW + 15)
    await poller.poll()
    silent = shown.cards["GPU-gpu-1-0"]
    assert (silent.pod_name, silent.mark, silent.duty_ratio) == ("llm-0", Mark.SURE, Absent.STALE)
    assert shown.cards["GPU-gpu-1-1"].mark is Mark.UNALLOCATED
    cluster.put(Kind.POD, pod("other", on="gpu-9"), pod("llm-0", phase="Failed"))
    await poller.poll()
    assert (shown.cards["GPU-gpu-1-0"].pod_name, shown.cards["GPU-gpu-1-0"].mark) == ("", Mark.UNALLOCATED)


async def test_an_old_sample_is_stale_though_the_series_still_answers() -> None:
    poller, asked, shown, _ = rig()
    asked.rows = family(A, card_a(0)) + family(A, card_a(1))
    asked.times = [
        {"metric": card_a(0), "value": [NOW, str(NOW - 89)]},
        {"metric": card_a(1), "value": [NOW, str(NOW - 91)]},
    ]
    await poller.poll()
    assert shown.cards["GPU-gpu-1-0"].duty_ratio == pytest.approx(0.71)
    assert shown.cards["GPU-gpu-1-1"].duty_ratio is Absent.STALE
    assert shown.cards["GPU-gpu-1-1"].sampled_seconds == NOW - 91


async def test_without_sample_times_the_numbers_still_come() -> None:
    poller, asked, shown, _ = rig()
    asked.rows, asked.times_fault = family(A, card_a(0)), TelemetryError("no timestamps here")
    await poller.poll()
    assert shown.status.phase is Phase.LIVE
    card = shown.cards["GPU-gpu-1-0"]
    assert card.duty_ratio == pytest.approx(0.71)
    assert card.sampled_seconds is None, "how old it is nobody tells: not 0 s"


async def test_a_failure_is_a_status_and_backs_off() -> None:
    poller, asked, shown, _ = rig()
    asked.fault = TelemetryError("Prometheus at test is denied (HTTP 403).", Phase.DENIED)
    pauses = [await poller.poll() for _ in range(8)]
    assert shown.status.phase is Phase.DENIED
    assert shown.status.message == "Prometheus at test is denied (HTTP 403)."
    assert shown.status.retry_seconds == pytest.approx(NOW + pauses[-1])
    assert all(0.8 * 5 * 2**step <= pause <= 72.0 for step, pause in enumerate(pauses[:4]))
    assert pauses[1] > pauses[0] and 48.0 <= pauses[-1] <= 72.0
    asked.fault = None
    assert await poller.poll() == 5.0


async def test_cards_go_stale_while_prometheus_is_silent() -> None:
    poller, asked, shown, clock = rig()
    asked.rows = family(A, card_a(0))
    await poller.poll()
    asked.fault = TelemetryError("gone")
    clock.advance(60)
    await poller.poll()
    assert shown.cards["GPU-gpu-1-0"].duty_ratio == pytest.approx(0.71)
    clock.advance(60)
    await poller.poll()
    assert shown.cards["GPU-gpu-1-0"].duty_ratio is Absent.STALE


async def test_no_series_at_all_says_what_to_check() -> None:
    poller, _, shown, _ = rig()
    await poller.poll()
    assert shown.status.phase is Phase.LIVE
    assert "check that it scrapes the cards' exporter" in shown.status.message


async def test_only_visible_nodes_are_asked_for_and_others_keep_their_numbers() -> None:
    visible: list[str] = []
    poller, asked, shown, _ = rig(visible=visible, many_cards=2)
    asked.rows = family(A, card_a(0, "gpu-1")) + family(A, card_a(0, "gpu-2"))
    await poller.poll()
    visible.append("gpu-1")
    asked.rows = family(A, card_a(0, "gpu-1"), NOW + 15)
    await poller.poll()
    assert 'Hostname=~"gpu-1"' in asked.asked[-2]
    assert shown.cards["GPU-gpu-2-0"].duty_ratio == pytest.approx(0.71)
    asked.rows = family(A, card_a(0, "gpu-1"), NOW + 120)
    await poller.poll()
    assert shown.cards["GPU-gpu-1-0"].duty_ratio == pytest.approx(0.71)
    assert shown.cards["GPU-gpu-2-0"].duty_ratio is Absent.STALE


async def test_a_large_fleet_is_asked_for_by_quantity() -> None:
    nodes = [node(f"gpu-{number}") for number in range(260)]
    poller, asked, _, _ = rig(SmallCluster(nodes))
    await poller.poll()
    assert len(asked.asked) == len(GpuMetric) + 2, "each quantity, times, and what is there under other names"


async def test_a_large_answer_arrives_in_pieces() -> None:
    poller, asked, shown, _ = rig()
    asked.rows = [one for index in range(1_500) for one in family(A, card_a(index))]
    await poller.poll()
    assert [len(batch.changed) for batch in shown.batches] == [1_000, 500]
    assert [batch.status is None for batch in shown.batches] == [True, False]


async def test_run_stops_after_so_many_failures() -> None:
    asked, shown = Scripted(), Shown()
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    asked.fault = TelemetryError("gone")
    await Poller(PrometheusSource(asked), shown, ManualClock(NOW), SmallCluster(), sleep=sleep).run(
        most_failures=3
    )
    assert len(slept) == 3


async def test_cards_of_an_earlier_poller_grow_old_and_go() -> None:
    first, asked, shown, clock = rig()
    asked.rows = family(A, card_a(0)) + family(A, card_a(1))
    await first.poll()
    later = Poller(
        PrometheusSource(asked), shown, clock, SmallCluster(), interval_seconds=5.0, known=first.cards
    )
    asked.rows = [row for row in asked.rows if row["metric"]["gpu"] == "0"]
    await later.poll()
    assert [one.duty_ratio is Absent.STALE for one in shown.cards.values()] == [False, True]
    assert shown.status.objects == 2


async def test_a_failure_tells_when_prometheus_was_heard_last() -> None:
    poller, asked, shown, clock = rig()
    asked.fault = TelemetryError("down")
    await poller.poll()
    asked.fault = None
    await poller.poll()
    clock.advance(30)
    asked.fault = TelemetryError("down")
    await poller.poll()
    told = [one.status.heard_seconds for one in shown.batches if one.status is not None]
    assert told == [None, NOW, NOW]


async def test_silent_cards_leave_with_their_node() -> None:
    cluster = SmallCluster([node()])
    poller, asked, shown, _ = rig(cluster)
    asked.rows = family(A, card_a(0)) + family(A, card_a(1))
    await poller.poll()
    cluster.put(Kind.NODE)
    asked.rows = family(A, card_a(0))
    await poller.poll()
    assert [one.index for one in shown.cards.values()] == [0], "the one that still speaks stays"
    asked.rows = []
    await poller.poll()
    assert shown.cards == {}


async def test_silent_cards_of_a_node_that_nobody_ever_listed_go_stale() -> None:
    poller, asked, shown, _ = rig()
    asked.rows = family(A, card_a(0))
    await poller.poll()
    asked.rows = []
    await poller.poll()
    assert [one.duty_ratio for one in shown.cards.values()] == [Absent.STALE]


async def test_values_and_their_times_are_of_one_moment() -> None:
    poller, asked, _, _ = rig()
    asked.rows, asked.now_seconds = family(A, card_a(0)), NOW + 7
    await poller.poll()
    assert asked.moments == [NOW + 7 - LAG_SECONDS] * 2


async def test_a_clock_that_is_hours_ahead_does_not_make_samples_old() -> None:
    """Ages are told by the server's own clock."""
    poller, asked, shown, clock = rig()
    clock.advance(7_200.0)
    asked.rows = family(A, card_a(0), NOW)
    await poller.poll()
    assert shown.cards["GPU-gpu-1-0"].duty_ratio == pytest.approx(0.71)


async def test_samples_from_the_future_have_no_age_and_are_told() -> None:
    poller, asked, shown, _ = rig()
    asked.rows = family(A, card_a(0), NOW) + family(A, card_a(1), NOW)
    asked.times = [
        {"metric": card_a(0), "value": [NOW, str(NOW + 3_600)]},
        {"metric": card_a(1), "value": [NOW, str(NOW - 3)]},
    ]
    await poller.poll()
    card = shown.cards["GPU-gpu-1-0"]
    assert card.duty_ratio == pytest.approx(0.71)
    assert card.sampled_seconds is None, "neither live for an hour nor 0 s old"
    assert card.doubts == (Doubt("sampled_seconds", DoubtKind.FUTURE, 3_600.0),)
    assert shown.status.message == (
        "Samples of 1 GPU are from the future, by up to 3,600 s; "
        "check the clocks of the nodes and of Prometheus."
    )
    assert shown.cards["GPU-gpu-1-1"].sampled_seconds == NOW - 3


@pytest.mark.parametrize(("ahead", "words"), [(90.0, "90 s ahead of"), (-90.0, "90 s behind")])
async def test_a_clock_of_prometheus_that_is_off_is_told_and_ages_are_corrected(
    ahead: float, words: str
) -> None:
    poller, asked, shown, clock = rig()
    asked.rows, asked.now_seconds = family(A, card_a(0), NOW + ahead - LAG_SECONDS), NOW + ahead
    asked.times = [{"metric": card_a(0), "value": [NOW, str(NOW + ahead - 12)]}]
    await poller.poll()
    at = shown.cards["GPU-gpu-1-0"].sampled_seconds
    assert at is not None and at == pytest.approx(NOW - 12, abs=LAG_SECONDS)
    assert words in shown.status.message
    assert shown.status.clock_ahead_seconds == pytest.approx(ahead, abs=LAG_SECONDS)
    clock.advance(5)
    asked.now_seconds += 5
    asked.rows = family(A, card_a(0), NOW + ahead + 5 - LAG_SECONDS)
    await poller.poll()
    assert shown.batches[-1].changed == (), "the correction does not tremble"


async def test_clocks_that_are_a_second_apart_are_not_corrected() -> None:
    poller, asked, shown, _ = rig()
    asked.rows, asked.now_seconds = family(A, card_a(0), NOW + 3), NOW + 4
    asked.times = [{"metric": card_a(0), "value": [NOW, str(NOW - 12)]}]
    await poller.poll()
    assert shown.cards["GPU-gpu-1-0"].sampled_seconds == NOW - 12
    assert (shown.status.message, shown.status.clock_ahead_seconds) == ("", 0.0)


@pytest.mark.parametrize(("asked_for", "waits"), [(30.0, 30.0), (86_400.0, 600.0), (1.0, 4.0)])
async def test_a_server_that_throttles_is_left_alone_as_long_as_it_says(
    asked_for: float, waits: float
) -> None:
    poller, asked, shown, _ = rig()
    asked.fault = Throttled("Prometheus at test throttles us (HTTP 429)", asked_for)
    pause = await poller.poll()
    assert pause >= waits
    assert pause <= max(600.0, waits)
    assert shown.status.message == f"Prometheus at test throttles us (HTTP 429); next try in {pause:.0f} s."
    assert shown.status.retry_seconds == pytest.approx(NOW + pause)


async def test_a_throttled_question_for_ages_ends_the_round() -> None:
    poller, asked, shown, _ = rig()
    asked.rows, asked.times_fault = family(A, card_a(0)), Throttled("throttled", 30.0)
    assert await poller.poll() >= 30.0
    assert "next try in 30 s" in shown.status.message
