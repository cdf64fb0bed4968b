"""GPUs of jobs whose pods have them by claim (DRA): counted from the pods, unknown where nobody tells."""

from typing import Any

import pytest

from cockpit.jobs.batch_job import is_row
from cockpit.jobs.row import gpus_asked
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.pod import Pod
from cockpit.store.store import Store


def pod(name: str, **fields: Any) -> Pod:
    return Pod(uid=name, name=name, namespace="a", **fields)


CLAIMS = ReplicaSpec("main", 4, has_device_claims=True)
BY_CLAIM = pod("one", gpus=3, gpus_claimed=3)


@pytest.mark.parametrize(
    ("roles", "pods", "gpus"),
    [
        ((ReplicaSpec("main", 4, 2),), (), 8),
        ((CLAIMS,), (), None),
        ((CLAIMS,), (BY_CLAIM,), 12),
        ((CLAIMS,), (BY_CLAIM, pod("two", has_unknown_gpus=True)), None),
        ((CLAIMS,), (BY_CLAIM, pod("two", gpus_shared=3)), 3),
        ((CLAIMS,), (pod("nic"),), 0),
        (
            (ReplicaSpec("launcher", 1), ReplicaSpec("worker", 2, 1, has_device_claims=True)),
            (pod("l", role="launcher"), pod("w", role="worker", gpus=3, gpus_claimed=2)),
            6,
        ),
        (
            (ReplicaSpec("launcher", 1), ReplicaSpec("worker", 2, has_device_claims=True)),
            (pod("l", role="launcher"),),
            None,
        ),
    ],
)
def test_a_full_gang_takes_what_its_pods_tell(
    roles: tuple[ReplicaSpec, ...], pods: tuple[Pod, ...], gpus: int | None
) -> None:
    assert gpus_asked(roles, pods) == gpus


def test_a_job_is_a_row_where_it_asks_by_claims() -> None:
    def job(role: ReplicaSpec) -> JobObject:
        return JobObject(uid="j", name="j", api_version="batch/v1", kind="Job", replicas=(role,))

    assert is_row(job(CLAIMS), (), Store())
    assert is_row(job(ReplicaSpec("main", 1)), (pod("one", has_unknown_gpus=True),), Store())
    assert not is_row(job(ReplicaSpec("main", 1)), (pod("one"),), Store())
