"""The last hour from Prometheus: what is asked, what becomes of the answer, and who asks how often."""

import re
from typing import Any

import pytest

from cockpit.model.batch import Batch
from cockpit.telemetry import lately
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.history import (
    AGAIN_SECONDS,
    MOST_SERIES,
    POINTS,
    RANGE_SECONDS,
    STEP_SECONDS,
    Line,
    Past,
    card_lines,
    card_query,
    end_of,
    mean_line,
    pod_queries,
)
from cockpit.telemetry.poller import Poller
from cockpit.telemetry.source import PrometheusSource
from tests.unit.telemetry.builders import NOW, A, SmallCluster, card_a, card_b, family, node, pod
from tests.unit.telemetry.test_poller import Scripted

END = end_of(NOW)
UTIL, RATIO, ENGINE = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


def matrix(name: str, points: dict[int, str], labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A row whose values are given by minutes before the end."""
    values = [[END - 60 * ago, value] for ago, value in points.items()]
    return {"metric": {"__name__": name, **(labels or {})}, "values": values}


def last(line: Line, count: int) -> list[float | None]:
    assert len(line) == POINTS
    return list(line[-count:])


def test_everybody_in_a_minute_asks_for_the_same_points() -> None:
    assert {end_of(END + seconds) for seconds in (0, 1, 59.9)} == {END}
    assert POINTS == 61


def test_a_cards_line_has_gaps_where_nothing_was_sampled() -> None:
    rows = [matrix(UTIL, {3: "50", 1: "100", 0: "NaN"}, card_a(0))]
    assert card_lines(rows, END) == {"gpu/GPU-gpu-1-0": (*(None,) * 57, 0.5, None, 1.0, None)}


def test_instances_have_their_engine_and_cards_their_duty_where_there_is_one() -> None:
    mig = card_b(1, GPU_I_ID="3", GPU_I_PROFILE="1g.10gb")
    rows = [
        matrix(UTIL, {0: "0"}, mig),
        matrix(ENGINE, {0: "0.25"}, mig),
        matrix(ENGINE, {1: "0.1", 0: "0.2"}, card_a(0)),
        matrix(UTIL, {0: "70"}, card_a(0)),
    ]
    found = card_lines(rows, END)
    assert last(found["gpu/GPU-gpu-1-1/3"], 1) == [0.25]
    assert last(found["gpu/GPU-gpu-1-0"], 2) == [0.1, 0.7]


def test_rows_of_another_shape_and_too_many_of_them_are_left_out() -> None:
    strange: list[Any] = ["x", {}, {"metric": {}}, {"metric": {"__name__": UTIL}, "values": [[END, "1"]]}]
    strange.append({"metric": {"__name__": UTIL, **card_a(0)}, "values": [["x"], 7, [END + 600, "1"]]})
    assert card_lines(strange, END) == {}
    many = [matrix(UTIL, {0: "1"}, card_a(0, f"n{at}")) for at in range(MOST_SERIES + 50)]
    assert len(card_lines(many, END)) == MOST_SERIES


def test_a_mean_over_cards_counts_each_in_its_own_unit() -> None:
    sums = [matrix(UTIL, {1: "150", 0: "100"}), matrix(RATIO, {0: "1.5"}), matrix("up", {0: "1"})]
    counts = [matrix(UTIL, {1: "2", 0: "1"}), matrix(RATIO, {0: "3"}), matrix("up", {0: "1"})]
    assert last(mean_line(sums, counts, END), 2) == [0.75, pytest.approx(2.5 / 4)]
    assert mean_line([], [], END) == ()
    assert mean_line(sums, [], END) == ()


def test_queries_name_nodes_and_pods() -> None:
    assert 'hostname=~"gpu-1"' in card_query("gpu-1")
    total, count = pod_queries([("team-a", "w.0"), ("team-a", "w-1")])
    assert total.startswith("sum by (__name__)")
    assert count.startswith("count by (__name__)")
    assert r'exported_pod=~"w-1|w\\.0",exported_namespace=~"team-a"' in total
    assert len(re.findall("namespace=~", total)) == 3


class WithPast(Scripted):
    """Answers range queries with what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix: list[Any] = []
        self.ranges: list[tuple[str, float, float, int]] = []
        self.fails = False

    async def query_range(
        self, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
    ) -> list[Any]:
        if step_seconds == lately.STEP_SECONDS:
            return []  # the minutes before the first round are another question
        self.ranges.append((promql, start_seconds, end_seconds, step_seconds))
        if self.fails:
            raise TelemetryError("query timed out")
        return self.matrix


def rig(asked: WithPast, look: list[Focus]) -> tuple[Poller, list[dict[str, Line]]]:
    remembered: list[dict[str, Line]] = []
    batches: list[Batch] = []
    poller = Poller(
        PrometheusSource(asked),
        batches.append,
        asked.clock,
        SmallCluster([node()], [pod("w-0")]),
        looking=lambda: look[0],
        remember=lambda lines: remembered.append(dict(lines)),
    )
    return poller, remembered


async def test_an_open_page_asks_once_a_minute_and_nobody_else_asks() -> None:
    asked, look = WithPast(), [Focus(past=Past(node="gpu-1"))]
    poller, remembered = rig(asked, look)
    asked.rows, asked.matrix = family(A, card_a(0)), [matrix(UTIL, {0: "70"}, card_a(0))]
    await poller.poll()
    asked.clock.advance(5.0)
    await poller.poll()
    assert [one[1:] for one in asked.ranges] == [(END - RANGE_SECONDS, END, STEP_SECONDS)]
    assert [last(one["gpu/GPU-gpu-1-0"], 1) for one in remembered] == [[0.7]]
    asked.clock.advance(AGAIN_SECONDS)
    await poller.poll()
    assert len(asked.ranges) == 2
    look[0] = Focus(past=Past(key="job/llm", pods=(("team-a", "w-0"),)))
    asked.matrix = [matrix(UTIL, {0: "1"})]  # a sum and a count of one
    await poller.poll()
    assert len(asked.ranges) == 4
    assert last(remembered[-1]["job/llm"], 1) == [0.01]
    look[0] = Focus()
    asked.clock.advance(AGAIN_SECONDS)
    await poller.poll()
    assert len(asked.ranges) == 4


async def test_a_past_that_is_not_told_costs_no_number_of_now() -> None:
    asked, look = WithPast(), [Focus(past=Past(node="gpu-1"))]
    poller, remembered = rig(asked, look)
    asked.rows, asked.fails = family(A, card_a(0)), True
    await poller.poll()
    assert poller.failures == 0
    assert len(poller.cards) == 1
    assert remembered == [{}]
