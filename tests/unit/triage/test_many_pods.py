"""Thousands of pods of one shape: a row of *Now* for what they share, however many they are."""

from typing import Any

import pytest

from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch
from cockpit.model.finding import Finding
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind
from cockpit.store.store import Store
from cockpit.triage.attention import needs_human

NOW = 10_000.0
NODES, PODS, POOLS = 50, 400, 5
READY = (Condition("Ready", "True"),)
SHORT = {
    "scheduled": "False",
    "scheduled_reason": "Unschedulable",
    "scheduled_message": f"0/{NODES} nodes are available: {NODES} Insufficient nvidia.com/gpu.",
}


def rows(age_seconds: float, *, is_placed: bool, **fields: Any) -> tuple[Finding, ...]:
    store = Store()
    jobs = JobIndex(store)
    nodes = [
        Node(
            uid=f"n{i}",
            name=f"n{i}",
            pool=f"p{i % POOLS}",
            conditions=READY,
            gpu_capacity=8,
            gpu_allocatable=8,
        )
        for i in range(NODES)
    ]
    given: dict[str, Any] = {"phase": "Pending", "gpus": 1, "gpu_resource": "nvidia.com/gpu", **fields}
    pods = [
        Pod(
            uid=f"u{i}",
            name=f"pod-{i}",
            namespace=f"team-{i % 9}",
            created_seconds=NOW - age_seconds,
            node=f"n{i % NODES}" if is_placed else "",
            **given,
        )
        for i in range(PODS)
    ]
    store.apply(Batch(kind=Kind.NODE, changed=tuple(nodes)))
    store.apply(Batch(kind=Kind.POD, changed=tuple(pods)))
    jobs.update(store.take_delta())
    return needs_human(store, jobs, NOW)


def test_pods_that_start_as_they_should_are_no_row() -> None:
    assert rows(500, is_placed=True, waiting_reason="ContainerCreating") == ()


@pytest.mark.parametrize(
    ("fields", "is_placed", "count"),
    [({"waiting_reason": "ContainerCreating"}, True, POOLS), ({}, True, POOLS), (SHORT, False, 1)],
    ids=["created", "not taken by a kubelet", "without room"],
)
def test_pods_that_wait_too_long_are_a_row_for_what_they_share(
    fields: dict[str, Any], is_placed: bool, count: int
) -> None:
    found = rows(700, is_placed=is_placed, **fields)
    assert len(found) == count
    assert sum(1 + row.others for row in found) == PODS
    assert not any(remedy.is_write for row in found for remedy in row.remedies)
