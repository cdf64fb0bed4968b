"""`cockpit top`: the busiest first, with the sums; once or again and again."""

import argparse
import json
from typing import Any

import pytest

from cockpit.attach import AttachOptions
from cockpit.cli import build_parser
from cockpit.clock import ManualClock
from cockpit.commands import top
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, read_json, run
from tests.unit.pools.builders import node

Capture = pytest.CaptureFixture[str]


def card(index: int, duty: float) -> Gpu:
    return Gpu(
        uuid=f"g{index}",
        node="n1",
        index=index,
        duty_ratio=duty,
        power_watts=400.0,
        memory_used_bytes=40.0 * 2**30,
        memory_total_bytes=80.0 * 2**30,
        pod_namespace="team-a",
        pod_name=f"w{index}",
        mark=Mark.SURE,
        source="dcgm B",
    )


@pytest.fixture
def busy(cluster: Cluster) -> Cluster:
    cluster.add(Kind.NODE, node("n1", pool="h100", gpus=2))
    cluster.add(Kind.GPU, card(0, 0.2))
    cluster.add(Kind.GPU, card(1, 0.9))
    return cluster


def test_top_gpu_begins_with_the_sums_and_the_busiest(busy: Cluster, capsys: Capture) -> None:
    code, out, _ = run(capsys, "top", "gpu")
    sums, titles, first, second = out.splitlines()
    assert code == 0
    assert "power 800W" in sums
    assert "memory 80Gi/160Gi" in sums
    assert "DUTY" in titles
    assert "90%" in first
    assert "20%" in second


@pytest.mark.parametrize("kind", ["node", "job", "gpu"])
def test_top_as_json(kind: str, busy: Cluster, capsys: Capture) -> None:
    tree = read_json(run(capsys, "top", kind, "-o", "json")[1])
    assert tree["kind"] == kind
    assert tree["fleet"]["gpus"] == 2
    assert tree["fleet"]["power_watts"] == 800.0


def test_top_shows_so_many_rows(busy: Cluster, capsys: Capture) -> None:
    assert len(run(capsys, "top", "gpu", "--limit", "1")[1].splitlines()) == 3
    items = read_json(run(capsys, "top", "gpu", "--limit", "1", "-o", "json")[1])["items"]
    assert [one["uuid"] for one in items] == ["g1"]


def test_an_unknown_column_is_told(busy: Cluster, capsys: Capture) -> None:
    code, _, err = run(capsys, "top", "gpu", "--sort", "speed")
    assert code == 2
    assert "no column 'speed'" in err


def test_a_node_without_telemetry_has_no_numbers(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100", gpus=2))
    tree = read_json(run(capsys, "top", "gpu", "-o", "json")[1])
    assert tree["fleet"]["duty_ratio"] == "not collected"
    assert tree["fleet"]["power_watts"] is None


class EnoughSeen(Exception):
    """Ends the watching."""


async def test_watching_prints_a_line_of_json_a_round(busy: Cluster, capsys: Capture) -> None:
    options: argparse.Namespace = build_parser().parse_args(
        ["top", "gpu", "--watch", "-o", "json", "--interval", "2"]
    )
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise EnoughSeen

    with pytest.raises(EnoughSeen):
        await top.watch(options, AttachOptions(), ManualClock(1_000.0), sleep)
    rounds: list[Any] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert pauses == [2.0, 2.0, 2.0]
    assert [one["kind"] for one in rounds] == ["gpu"] * 3
