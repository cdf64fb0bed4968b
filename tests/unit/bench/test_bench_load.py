"""The measured cluster: the same for the same seed, and copies that differ only where they should."""

import pytest

from tests.bench import load
from tests.bench.plant import PlantError, _entry, _replaced


def test_jobs_hold_exactly_the_pods_that_were_asked_for() -> None:
    jobs = load.training_jobs(5_000, 7, 100)
    keys = list(load.pod_keys(jobs))
    assert len(keys) == len(set(keys)) == 5_000
    assert jobs == load.training_jobs(5_000, 7, 100)
    assert jobs != load.training_jobs(5_000, 8, 100)


def test_a_pod_is_owned_bound_and_told_its_rank() -> None:
    job = next(one for one in load.training_jobs(5_000, 7, 100) if one.phase == "Running" and one.gpus)
    pod = load.pod_tree(job, 3, "owner-uid", 100)
    assert pod["metadata"]["ownerReferences"][0]["uid"] == "owner-uid"
    assert pod["metadata"]["labels"]["training.kubeflow.org/replica-index"] == "3"
    assert pod["spec"]["nodeName"] == job.node_of(3, 100)
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_members_have_unlike_labels_only_where_they_are_asked_for() -> None:
    unlike = load.training_jobs(2_000, 7, 100, has_unlike_labels=True)
    job = next(one for one in unlike if one.workers > 10)
    hashes = [
        load.pod_tree(job, rank, "u", 100)["metadata"]["labels"].get(load.MEMBER_HASH) for rank in range(10)
    ]
    assert len(set(hashes)) == 10
    assert {len(one) for one in hashes} == {8}
    alike = load.training_jobs(2_000, 7, 100)
    assert load.MEMBER_HASH not in load.pod_tree(alike[0], 0, "u", 100)["metadata"]["labels"]
    assert list(load.pod_keys(alike)) == list(load.pod_keys(unlike))


@pytest.mark.parametrize("number", [0, 99, 100, 9_999, 10_000, 999_999])
def test_addresses_have_one_length(number: int) -> None:
    assert len(load.pod_address(number)) == 14


def test_stored_bytes_are_replaced_only_by_as_many() -> None:
    raw = b"\x0a\x08worker-1" + _entry("RANK", 1).encode() + b"worker-1"
    made = _replaced(raw, ("worker-1", "worker-7"), (_entry("RANK", 1), _entry("RANK", 7)))
    assert made == b"\x0a\x08worker-7" + _entry("RANK", 7).encode() + b"worker-7"
    with pytest.raises(PlantError, match="length"):
        _replaced(raw, ("worker-1", "worker-10"))
