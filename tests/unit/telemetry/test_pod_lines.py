"""What a Prometheus remembers of cards and pods, as lines on one grid."""

from typing import Any

import pytest

from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.pod_lines import POINTS, RANGE_SECONDS, card_query, pod_lines, use_query
from cockpit.telemetry.source import PrometheusSource
from cockpit.telemetry.uses import FIELD_LABEL
from tests.unit.telemetry.builders import MIB, card_a, pod
from tests.unit.telemetry.small_prometheus import SmallPrometheus

END = 1_790_000_040.0
START = END - RANGE_SECONDS
NB = pod("nb", on="gpu-1", gpus=1)
AT = {"exported_pod": NB.name, "exported_namespace": NB.namespace}


def _row(labels: dict[str, str], *values: tuple[float, str]) -> dict[str, Any]:
    return {"metric": labels, "values": [list(one) for one in values]}


def _card(name: str, *values: tuple[float, str], **labels: str) -> dict[str, Any]:
    return _row({**card_a(), **AT, **labels, "__name__": name}, *values)


def test_of_two_samples_in_a_minute_the_higher_counts_and_a_gap_stays_one() -> None:
    rows = [
        _card("DCGM_FI_DEV_GPU_UTIL", (START, "0"), (START + 30, "40"), (START + 60, "7"), (END, "0")),
        _card("DCGM_FI_DEV_FB_USED", (END, "1024")),
        _card("DCGM_FI_DEV_POWER_USAGE", (END, "61.5"), (END - 60, "NaN")),
    ]
    (card,) = pod_lines(rows, [], [NB], END).cards[NB.uid]
    assert len(card.duty) == POINTS
    assert card.duty[:3] == (0.0, 0.4, None)
    assert card.duty[-1] == 0.0
    assert card.memory_bytes[-1] == 1024 * MIB
    assert card.power_watts[-2:] == (None, 61.5)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "7200000500"),
        ("DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", "7200000.5"),
        ("cockpit_gpu_energy_joules_total", "7200000.5"),
    ],
)
def test_the_counter_of_energy_is_read_in_joules_by_each_name(name: str, raw: str) -> None:
    rows = [_card("DCGM_FI_DEV_GPU_UTIL", (END, "0")), _card(name, (END - 60, raw))]
    (card,) = pod_lines(rows, [], [NB], END).cards[NB.uid]
    assert card.energy_joules[-2:] == (7_200_000.5, None)
    assert f"{name}|" in card_query([NB]) or f"|{name}" in card_query([NB])


def test_energy_that_nobody_collects_is_no_line_and_a_blank_of_dcgm_is_a_gap() -> None:
    duty = _card("DCGM_FI_DEV_GPU_UTIL", (END, "0"))
    (card,) = pod_lines([duty], [], [NB], END).cards[NB.uid]
    assert (card.energy_joules, card.engine) == ((), ())
    blank = _card("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", (END - 60, "5000"), (END, "9223372036854775792"))
    (card,) = pod_lines([duty, blank], [], [NB], END).cards[NB.uid]
    assert card.energy_joules[-2:] == (5.0, None)


def test_of_two_exporters_the_own_counter_counts_and_of_a_minute_the_newest_point() -> None:
    rows = [
        _card("DCGM_FI_DEV_GPU_UTIL", (END, "0")),
        _card("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", (END - 30, "9000"), (END, "9000")),
        _card("cockpit_gpu_energy_joules_total", (END - 30, "4"), (END, "5")),
    ]
    (card,) = pod_lines(rows, [], [NB], END).cards[NB.uid]
    assert card.energy_joules[-1] == 5.0


def test_a_card_keeps_its_engine_beside_its_duty() -> None:
    rows = [
        _card("DCGM_FI_DEV_GPU_UTIL", (END, "0")),
        _card("DCGM_FI_PROF_GR_ENGINE_ACTIVE", (END - 30, "0.002"), (END, "0.013")),
    ]
    (card,) = pod_lines(rows, [], [NB], END).cards[NB.uid]
    assert (card.duty[-1], card.engine[-1]) == (0.0, 0.013)


def test_an_instance_is_told_by_its_engine_and_keeps_its_own_line() -> None:
    instance = {"GPU_I_ID": "3", "GPU_I_PROFILE": "1g.10gb"}
    rows = [
        _card("DCGM_FI_DEV_GPU_UTIL", (END, "0"), **instance),
        _card("DCGM_FI_PROF_GR_ENGINE_ACTIVE", (END, "0.6"), **instance),
        _card("DCGM_FI_DEV_POWER_USAGE", (END, "412.0"), **instance),
        _card("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", (END, "7200000500"), **instance),
    ]
    (card,) = pod_lines(rows, [], [NB], END).cards[NB.uid]
    assert card.uuid.endswith("/3")
    assert card.duty[-1] == 0.6
    assert (card.power_watts, card.energy_joules) == ((), ()), "its neighbours draw it, too"


def test_pods_of_others_and_rows_that_are_none_are_left_out() -> None:
    stranger = _card("DCGM_FI_DEV_GPU_UTIL", (END, "90"), exported_pod="other", exported_namespace="x")
    rows: list[Any] = [stranger, "nonsense", {"metric": 3}, _row({"__name__": "up"}, (END, "1"))]
    assert pod_lines(rows, rows, [NB], END).cards == {}
    assert pod_lines(rows, rows, [NB], END).pods == {}


def test_cpu_network_and_disk_stand_by_their_field_and_what_is_absent_is_empty() -> None:
    labels = {"pod": NB.name, "namespace": NB.namespace}
    rows = [
        _row({**labels, FIELD_LABEL: "cpu_cores"}, (END, "0.5"), (END - 60, "-1")),
        _row({**labels, FIELD_LABEL: "disk_write_bytes_per_second"}, (END, "1000")),
    ]
    found = pod_lines([], rows, [NB], END).pods[NB.uid]
    assert found.cpu_cores[-2:] == (None, 0.5)
    assert found.disk_write[-1] == 1000.0
    assert (found.receive, found.disk_read) == ((), ())


class Remembers(SmallPrometheus):
    """Answers ranges, and notes how long the queries are."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: list[tuple[str, float, float, int]] = []

    async def query_range(
        self, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
    ) -> list[Any]:
        self.ranges.append((promql, start_seconds, end_seconds, step_seconds))
        if "DCGM" in promql:
            return [_card("DCGM_FI_DEV_GPU_UTIL", (end_seconds, "3"))]
        return []


async def test_many_pods_are_asked_for_in_several_queries_of_bounded_length() -> None:
    prometheus = Remembers()
    pods = [NB, *(pod(f"w-{at}", on="gpu-1", gpus=1) for at in range(44))]
    found = await PrometheusSource(prometheus).lines(pods, END + 5)
    assert found is not None
    assert found.cards[NB.uid][0].duty[-1] == 0.03
    assert [one[3] for one in prometheus.ranges] == [30, 60] * 3
    assert {one[2] - one[1] for one in prometheus.ranges} == {float(RANGE_SECONDS)}


async def test_what_the_server_refuses_is_told_not_taken_for_quiet() -> None:
    class Refuses(SmallPrometheus):
        async def query_range(self, *_: Any) -> list[Any]:
            raise TelemetryError("Prometheus at test: query processing would load too many samples")

    with pytest.raises(TelemetryError):
        await PrometheusSource(Refuses()).lines([NB], END)


def test_the_queries_name_the_pods_and_disk() -> None:
    assert f'exported_pod=~"{NB.name}"' in card_query([NB])
    assert "container_fs_writes_bytes_total" in use_query([NB])
