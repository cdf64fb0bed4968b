"""What a TrainJob's program told its controller (`status.trainerStatus`, KEP-2779) is read, or left out."""

import json
from typing import Any

import pytest

from cockpit.jobs.other_jobs import roles_of
from cockpit.kube.decode.other_jobs import other_job_decode
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch
from cockpit.model.job import JobObject, ReportedProgress
from cockpit.model.record import Kind
from cockpit.views.timeline import Run, facts, reported_words
from tests.unit.jobs.builders import Cluster

TRAINJOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", namespaced=True)
AT = 1_737_628_245.0
"""2025-01-23T10:30:45Z"""


def decoded(told: Any) -> JobObject:
    tree = {
        "metadata": {"name": "t", "namespace": "a", "uid": "u1"},
        "spec": {"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "1"}}}},
        "status": {"trainerStatus": told},
    }
    found = other_job_decode(TRAINJOBS, roles_of)(json.dumps(tree).encode())
    assert found is not None
    return found


def test_all_that_the_interface_has_is_read() -> None:
    metrics = {"loss": "0.2347", "eval_loss": "0.2451", "accuracy": "0.9876", "currentEpoch": "2"}
    told = {
        "progressPercentage": 45,
        "estimatedRemainingSeconds": 795649,
        "metrics": [{"name": name, "value": value} for name, value in metrics.items()],
        "lastUpdatedTime": "2025-01-23T10:30:45Z",
    }
    found = decoded(told).reported
    assert found == ReportedProgress(
        done_ratio=0.45,
        remaining_seconds=795_649,
        metrics=tuple((name, float(value)) for name, value in metrics.items()),
        at_seconds=AT,
    )
    assert reported_words(found, AT + 180) == (
        "45% · 9d5h left · loss 0.2347 · eval_loss 0.2451 · accuracy 0.9876 · 3m00s ago"
    )


def test_the_row_has_it_and_the_page_says_it() -> None:
    cluster = Cluster()
    cluster.store.apply(Batch(kind=Kind.OTHER_JOB, changed=(decoded({"progressPercentage": 45}),)))
    cluster.index.update(cluster.store.take_delta())
    (row,) = cluster.index.jobs.values()
    assert row.reported == ReportedProgress(done_ratio=0.45)
    pairs = {pair.name: pair.value for pair in facts(row, (), cluster.store, Run(), AT)}
    assert pairs["reported"] == "45%"


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"lastUpdatedTime": "2025-01-23T10:30:45Z"},
        {"progressPercentage": 101},
        {"progressPercentage": -1},
        {"progressPercentage": True},
        {"progressPercentage": "45"},
        {"progressPercentage": 45.5},
        {"estimatedRemainingSeconds": -3},
        {"metrics": [{"name": "loss", "value": "nan"}, {"name": "", "value": "1"}, {"name": "x"}, 7]},
        {"metrics": "loss"},
        "45 %",
        None,
    ],
)
def test_what_is_no_number_of_its_kind_is_not_told(told: Any) -> None:
    assert decoded(told).reported is None


def test_nothing_done_is_told_as_nothing_done() -> None:
    assert decoded({"progressPercentage": 0}).reported == ReportedProgress(done_ratio=0.0)
