"""Pods with claims on devices wait for them, in kube-scheduler's words (seen on a real one of 1.36)."""

import pytest

from cockpit.sim.actors.scheduler.cycle import Cycle
from cockpit.sim.actors.scheduler.device_claims import PodDevices, lacks_claims
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.port import Tree

SPACE = "default"


def pod(*claims: str, **status: object) -> PodInfo:
    asked = [{"name": f"c{number}", "resourceClaimName": name} for number, name in enumerate(claims)]
    container = {"name": "main", "image": "train:1"}
    return PodInfo(
        {
            "metadata": {"name": "p", "namespace": SPACE, "uid": "u-p"},
            "spec": {"containers": [container], "resourceClaims": asked},
            "status": status,
        }
    )


def claim(name: str, device_class: str = "gpu.test", **status: object) -> Tree:
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class}}
    return {
        "metadata": {"name": name, "namespace": SPACE, "uid": f"u-{name}"},
        "spec": {"devices": {"requests": [request]}},
        "status": status,
    }


@pytest.fixture
def cycle() -> Cycle:
    from random import Random

    from cockpit.sim.actors.scheduler.cache import SchedulerCache

    cache = SchedulerCache()
    for number in range(2):
        cache.put_node(
            {
                "metadata": {"name": f"n{number}", "labels": {"kubernetes.io/hostname": f"n{number}"}},
                "spec": {},
                "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
            }
        )
    return Cycle(cache, Random(1))


def test_a_pod_waits_outside_the_line_until_its_claim_is_there(cycle: Cycle) -> None:
    assert lacks_claims(cycle.cache, pod("mine"))
    cycle.cache.device_claims[SPACE, "mine"] = claim("mine")
    assert not lacks_claims(cycle.cache, pod("mine"))
    assert lacks_claims(cycle.cache, pod("mine", "other"))
    cycle.cache.device_claims[SPACE, "mine"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert lacks_claims(cycle.cache, pod("mine"))


def test_a_device_class_that_is_missing_is_named(cycle: Cycle) -> None:
    cycle.cache.device_claims[SPACE, "mine"] = claim("mine")
    assert cycle.decide(pod("mine")).message == (
        "0/2 nodes are available: request gpu: device class gpu.test does not exist."
        " no new claims to deallocate, preemption: 0/2 nodes are available:"
        " 2 Preemption is not helpful for scheduling."
    )


def test_no_node_has_a_device_for_a_claim_that_is_not_allocated(cycle: Cycle) -> None:
    cycle.cache.device_claims[SPACE, "mine"] = claim("mine")
    cycle.cache.device_classes["gpu.test"] = {"metadata": {"name": "gpu.test"}}
    assert cycle.decide(pod("mine")).message == (
        "0/2 nodes are available: 2 cannot allocate all claims."
        " still not schedulable, preemption: 0/2 nodes are available:"
        " 2 Preemption is not helpful for scheduling."
    )


def test_an_allocated_claim_leads_to_its_node_and_is_reserved(cycle: Cycle) -> None:
    fields = [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]
    allocation = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": fields}]}}
    cycle.cache.device_claims[SPACE, "mine"] = claim("mine", allocation=allocation)
    assert cycle.decide(pod("mine")).node == "n1"
    ((name, patch),) = PodDevices(cycle.cache, pod("mine")).reservations()
    assert name == "mine"
    assert patch["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "u-p"}]


def test_a_claim_with_as_many_users_as_it_takes_is_in_use(cycle: Cycle) -> None:
    users = [{"resource": "pods", "name": f"p{n}", "uid": f"u{n}"} for n in range(256)]
    cycle.cache.device_claims[SPACE, "mine"] = claim("mine", allocation={"devices": {}}, reservedFor=users)
    assert "resourceclaim in use" in cycle.decide(pod("mine")).message
