"""`get jobs|pools|nodes -o json`: how busy allocated GPUs are, of how many, why not; never 0 for unknown."""

from typing import Any

import pytest

from cockpit.model.gpu import Doubt, DoubtKind, Gpu, Mark
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, read_json, run
from tests.unit.cli.test_commands import gang
from tests.unit.pools.builders import deployment, node

Capture = pytest.CaptureFixture[str]


def card(index: int, duty: Reading, holder: str = "llm-worker-0", **more: Any) -> Gpu:
    mark = Mark.SURE if holder else Mark.UNALLOCATED
    space = "team-a" if holder else ""
    return Gpu(uuid=f"GPU-{index}", node="n1", index=index, duty_ratio=duty, pod_namespace=space,
               pod_name=holder, mark=mark, source="dcgm B", **more)  # fmt: skip


def told(capsys: Capture, kind: str) -> Any:
    (one,) = read_json(run(capsys, "get", kind, "-o", "json")[1])["items"]
    return one["duty"]


def pool(cluster: Cluster, *found: Gpu) -> None:
    gang(cluster)
    cluster.add(Kind.NODE, node("n1", pool="h100"))
    cluster.add(Kind.POOL, deployment(replicas=1))
    cluster.add(Kind.GPU, *found)


@pytest.mark.parametrize("kind", ["jobs", "pools", "nodes"])
def test_mean_and_least_and_of_how_many(cluster: Cluster, capsys: Capture, kind: str) -> None:
    pool(cluster, card(0, 0.9), card(1, 0.5), card(2, 0.1, "llm-worker-1"), card(5, 0.0, ""))
    assert told(capsys, kind) == {
        "mean_ratio": pytest.approx(0.5),
        "min_ratio": 0.1,
        "gpus_reporting": 3,
        "gpus": 4,
        "reason": None,
        "missing": {"not collected": 1},
    }


@pytest.mark.parametrize("kind", ["jobs", "pools", "nodes"])
@pytest.mark.parametrize(
    "reason", [Absent.IMPLAUSIBLE, Absent.STALE, Absent.NOT_COLLECTED], ids=lambda one: str(one.value)
)
def test_where_no_card_tells_it_is_null_with_the_reason(
    cluster: Cluster, capsys: Capture, kind: str, reason: Absent
) -> None:
    pool(cluster, *(card(at, reason) for at in range(4)))
    found = told(capsys, kind)
    assert (found["mean_ratio"], found["min_ratio"], found["gpus_reporting"]) == (None, None, 0)
    assert found["reason"] == reason.value
    assert found["missing"] == {reason.value: 4}


def test_a_job_without_telemetry_and_one_without_gpus(cluster: Cluster, capsys: Capture) -> None:
    pool(cluster)
    assert told(capsys, "jobs")["reason"] == "not collected"
    assert told(capsys, "jobs")["mean_ratio"] is None


def test_an_idle_card_is_0_and_no_null(cluster: Cluster, capsys: Capture) -> None:
    pool(cluster, *(card(at, 0.0) for at in range(4)))
    assert told(capsys, "jobs")["mean_ratio"] == 0.0
    assert told(capsys, "pools")["reason"] is None


def test_an_implausible_number_is_a_word_and_says_who_told_what(cluster: Cluster, capsys: Capture) -> None:
    doubt = Doubt("duty_ratio", DoubtKind.IMPLAUSIBLE, 2.5, "dcgm C")
    pool(cluster, card(0, Absent.IMPLAUSIBLE, doubts=(doubt,)))
    items = read_json(run(capsys, "get", "gpus", "-o", "json")[1])["items"]
    assert items[0]["duty_ratio"] == "implausible"
    assert items[0]["sampled_seconds"] is None
    assert items[0]["doubts"] == [
        {"quantity": "duty_ratio", "kind": "implausible", "told": 2.5, "source": "dcgm C"}
    ]


def test_where_the_numbers_stand_is_told(cluster: Cluster, capsys: Capture) -> None:
    pool(cluster)
    cluster.messages[Kind.GPU] = "Prometheus answers only partially, GPUs may be missing: store is down"
    tree = read_json(run(capsys, "get", "pools", "-o", "json")[1])
    assert tree["telemetry"] == {
        "phase": "live",
        "message": cluster.messages[Kind.GPU],
        "is_partial": False,
        "clock_ahead_seconds": 0.0,
    }
