"""`cockpit fleet`: its sentences, its tables and its JSON."""

import msgspec
import pytest

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, read_json, run
from tests.unit.pools.builders import node

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def lossy(cluster: Cluster) -> Cluster:
    cluster.add(Kind.NODE, node("n1", pool="h100", gpus=8))
    cluster.add(Kind.NODE, msgspec.structs.replace(node("n2", pool="h100", gpus=8), gpu_allocatable=6))
    cluster.add(Kind.GPU, Gpu(uuid="g", node="n1", index=0, duty_ratio=0.5, mark=Mark.SURE))
    return cluster


def test_the_answers_come_first(lossy: Cluster, capsys: Capture) -> None:
    code, out, _ = run(capsys, "fleet")
    assert code == 0
    assert out.splitlines()[:3] == [
        "2 GPU nodes, 0 needed for the current load: 2 to spare",
        "no allocated GPU is idle",
        "2 GPUs lost on 1 node",
    ]
    assert "1 x 8, 3 x 4" in out
    assert "not allocatable" in out


def test_as_json_unknown_is_null_and_numbers_are_numbers(lossy: Cluster, capsys: Capture) -> None:
    tree = read_json(run(capsys, "fleet", "-o", "json")[1])
    assert (tree["kind"], tree["nodes"], tree["nodes_needed"]) == ("fleet", 2, 0)
    assert tree["lost"] == [{"node": "n2", "gpus": 2, "is_ready": True}]
    (one,) = tree["models"]
    assert one["gangs"][0] == {"gpus_each": 8, "members": 1}
    assert one["packing"] == {"nodes": 0, "at_least": 0, "pods_without_room": 0}
    assert one["with_waiting"] is None
