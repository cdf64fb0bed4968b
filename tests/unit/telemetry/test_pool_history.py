"""The last hour of allocated cards, of a pool or all: what is asked, what rules record, how they add up."""

import re
from typing import Any

import pytest

from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.history import RANGE_SECONDS, STEP_SECONDS, Past
from cockpit.telemetry.pool_history import (
    MOST_NODES,
    NODES_EACH,
    computed,
    duty_line,
    recorded,
    recording_nodes,
)
from cockpit.telemetry.source import PrometheusSource
from tests.unit.telemetry.builders import NOW
from tests.unit.telemetry.test_history import END, UTIL, WithPast, last, matrix


class Recording:
    """A Prometheus whose rules record so many nodes; every range query has the rows it was told."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.ranges: list[tuple[str, float, float, int]] = []
        self.rows: dict[str, list[Any]] = {}

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        return [{"metric": {}, "value": [NOW, str(self.nodes)]}] if self.nodes else []

    async def query_range(self, promql: str, start: float, end: float, step: int) -> list[Any]:
        self.ranges.append((promql, start, end, step))
        return self.rows.get(promql.split("(", 1)[0].strip(), self.rows.get(promql, []))


async def test_recorded_series_are_asked_where_every_node_has_one() -> None:
    asked = Recording(3)
    asked.rows = {
        recorded()[0]: [{"metric": {}, "values": [[END - 60, "1.5"], [END, "3"]]}],
        recorded()[1]: [{"metric": {}, "values": [[END - 60, "2"], [END, "4"]]}],
    }
    line = await duty_line(asked, Past(key="fleet/duty", gpu_nodes=3), END)
    assert last(line, 2) == [0.75, 0.75]
    assert [one[1:] for one in asked.ranges] == [(END - RANGE_SECONDS, END, STEP_SECONDS)] * 2


@pytest.mark.parametrize("recording", [0, 2])
async def test_cards_are_asked_where_a_node_is_missing_from_the_rules(recording: int) -> None:
    asked = Recording(recording)
    asked.rows = {"sum by": [matrix(UTIL, {0: "150"})], "count by": [matrix(UTIL, {0: "2"})]}
    line = await duty_line(asked, Past(key="fleet/duty", gpu_nodes=3), END)
    assert [one[0] for one in asked.ranges] == list(computed())
    assert last(line, 1) == [0.75]


async def test_a_large_pool_is_asked_for_in_parts_that_add_up_and_a_larger_one_not_at_all() -> None:
    nodes = tuple(f"gpu-{number}" for number in range(NODES_EACH + 1))
    asked = Recording(1)  # enough for the second part, not for the first
    asked.rows = {
        "sum by": [matrix(UTIL, {0: "300"})],
        "count by": [matrix(UTIL, {0: "4"})],
        recorded(nodes[-1:])[0]: [{"metric": {}, "values": [[END, "0"]]}],
        recorded(nodes[-1:])[1]: [{"metric": {}, "values": [[END, "1"]]}],
    }
    assert last(await duty_line(asked, Past(key="k", nodes=nodes), END), 1) == [3.0 / 5]
    assert len(asked.ranges) == 4
    assert all(len(one[0]) < 30_000 for one in asked.ranges)
    asked.ranges.clear()
    many = tuple(f"gpu-{number}" for number in range(MOST_NODES + 1))
    assert await duty_line(asked, Past(key="k", nodes=many), END) == ()
    assert asked.ranges == []


async def test_nothing_known_is_no_line_and_an_answer_of_another_shape_is_no_number() -> None:
    assert await duty_line(Recording(0), Past(key="k", gpu_nodes=2), END) == ()
    asked = Recording(2)
    asked.rows = {recorded()[0]: [{"metric": {}, "values": [[END, "1"]]}], recorded()[1]: ["x", {}]}
    assert await duty_line(asked, Past(key="k", gpu_nodes=2), END) == ()


def test_who_holds_nothing_is_not_asked_for() -> None:
    total, count = computed(("gpu.1",))
    assert total.replace("sum by", "count by") == count
    assert total.count('exported_pod!=""') == 3  # once for each label that may name the node
    assert r'hostname=~"gpu\\.1"' in total
    (pattern,) = set(re.findall(r'pod!~"([^"]*)"', total))
    assert re.fullmatch(pattern, "nvidia-dcgm-exporter-x7")
    assert not re.fullmatch(pattern, "llm-pretrain-0")
    assert recording_nodes(("a", "b")).endswith('{node=~"a|b"})')


async def test_the_source_keeps_the_line_under_its_key_and_a_failure_costs_nothing() -> None:
    asked = WithPast()
    asked.rows = [{"metric": {}, "value": [NOW, "2"]}]
    asked.matrix = [{"metric": {}, "values": [[END, "1"]]}]
    source = PrometheusSource(asked)
    found = await source.past(Past(key="pool/a/duty", nodes=("gpu-1", "gpu-2")), NOW)
    assert last(found["pool/a/duty"], 1) == [1.0]
    asked.fails = True
    assert await source.past(Past(key="pool/a/duty", nodes=("gpu-1",)), NOW) == {}
    asked.fault = TelemetryError("gone")
    assert await source.past(Past(key="fleet/duty", gpu_nodes=1), NOW) == {}
