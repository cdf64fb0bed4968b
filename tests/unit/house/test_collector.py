"""The records are no work for the garbage collector."""

import gc
from collections.abc import Iterator

import pytest

from cockpit import collector
from cockpit.model.batch import Batch
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store

PODS = 5_000
# Tables and indexes: a set for each node and each job, never one for each pod.
TRACKED_AT_MOST = 300


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_rounds_become_rare() -> None:
    collector.expect_many()
    assert gc.get_threshold()[0] >= 10_000
    assert gc.get_freeze_count() > 0


def test_what_has_settled_is_not_looked_at_again() -> None:
    kept = [[number] for number in range(1_000)]
    before = len(gc.get_objects())
    collector.settle()
    assert len(gc.get_objects()) < before - len(kept) // 2


def test_a_pod_in_the_store_adds_nothing_that_is_tracked() -> None:
    pods = tuple(
        Pod(
            uid=f"uid-{number}",
            name=f"worker-{number}",
            namespace="team-a",
            node=f"gpu-{number % 20}",
            gpus=1,
            gpu_resource="nvidia.com/gpu",
            owner_uid=f"job-{number % 20}",
            job_label=f"job-{number % 20}",
            created_seconds=float(number),
        )
        for number in range(PODS)
    )
    store = Store()
    gc.collect()
    before = len(gc.get_objects())
    store.apply(Batch(kind=Kind.POD, changed=pods))
    gc.collect()
    assert len(gc.get_objects()) - before < TRACKED_AT_MOST
