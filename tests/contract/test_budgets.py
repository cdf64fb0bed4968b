"""Disruption budgets: what they count, and what an eviction is told."""

from typing import Any

import pytest

from tests.bed.api import Api
from tests.contract.asking import in_space
from tests.contract.conftest import needs
from tests.contract.mirror import eventually
from tests.contract.server import Capability
from tests.contract.shapes import budget, pod


def _budgets(space: str, name: str = "") -> str:
    return in_space(space, "poddisruptionbudgets", name, base="/apis/policy/v1")


def _running(admin: Api, space: str, *names: str, ready: bool = True) -> None:
    for name in names:
        admin.create(in_space(space, "pods"), pod(name, labels={"app": "x"}))
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        status = {"status": {"phase": "Running", "conditions": conditions}}
        admin.merge(f"{in_space(space, 'pods', name)}/status", status)


def _evict(admin: Api, space: str, name: str) -> Any:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return admin.request("POST", f"{in_space(space, 'pods', name)}/eviction", body)


async def _counted(admin: Api, space: str, name: str, **wanted: int) -> None:
    """Until the status of a budget says so."""

    def said() -> bool:
        status = admin.get(_budgets(space, name)).get("status", {})
        return all(status.get(key) == value for key, value in wanted.items())

    await eventually(said, f"{name} says {wanted}")


@needs(Capability.CONTROLLERS)
async def test_a_budget_counts_its_pods(space: str, admin: Api) -> None:
    _running(admin, space, "p1", "p2", "p3")
    _running(admin, space, "sick", ready=False)
    admin.create(_budgets(space), budget("keep", 2, {"app": "x"}))
    await _counted(
        admin, space, "keep", currentHealthy=3, desiredHealthy=2, expectedPods=4, disruptionsAllowed=1
    )
    conditions = admin.get(_budgets(space, "keep"))["status"]["conditions"]
    told = [(one["type"], one["status"], one["reason"]) for one in conditions]
    assert told == [("DisruptionAllowed", "True", "SufficientPods")]


@needs(Capability.CONTROLLERS)
async def test_a_full_budget_refuses_with_its_name_and_numbers(space: str, admin: Api) -> None:
    _running(admin, space, "p1", "p2")
    admin.create(_budgets(space), budget("keep", 2, {"app": "x"}))
    await _counted(admin, space, "keep", currentHealthy=2, disruptionsAllowed=0)
    reply = _evict(admin, space, "p1")
    told = reply.json()
    assert reply.status == 429
    assert told["reason"] == "TooManyRequests"
    assert told["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    (cause,) = told["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget keep needs 2 healthy pods and has 2 currently"
    assert admin.request("GET", in_space(space, "pods", "p1")).status == 200


@needs(Capability.CONTROLLERS)
async def test_a_pod_that_does_not_run_yet_goes_whatever_the_budget_says(space: str, admin: Api) -> None:
    admin.create(in_space(space, "pods"), pod("waiting", labels={"app": "x"}))
    admin.create(_budgets(space), budget("keep", 1, {"app": "x"}))
    await _counted(admin, space, "keep", expectedPods=1, disruptionsAllowed=0)
    assert _evict(admin, space, "waiting").status == 201


@needs(Capability.CONTROLLERS)
@pytest.mark.parametrize(
    ("policy", "status"), [("AlwaysAllow", 201), ("IfHealthyBudget", 429)], ids=["always", "if healthy"]
)
async def test_an_unhealthy_pod_goes_as_the_policy_says(
    space: str, admin: Api, policy: str, status: int
) -> None:
    _running(admin, space, "sick", ready=False)
    tree = budget("keep", 1, {"app": "x"})
    tree["spec"]["unhealthyPodEvictionPolicy"] = policy
    admin.create(_budgets(space), tree)
    await _counted(admin, space, "keep", expectedPods=1, currentHealthy=0)
    assert _evict(admin, space, "sick").status == status


@needs(Capability.CONTROLLERS)
async def test_a_budget_follows_the_pods_that_go(space: str, admin: Api) -> None:
    _running(admin, space, "p1", "p2", "p3")
    admin.create(_budgets(space), budget("keep", 1, {"app": "x"}))
    await _counted(admin, space, "keep", disruptionsAllowed=2)
    assert _evict(admin, space, "p1").status == 201
    await _counted(admin, space, "keep", expectedPods=2, disruptionsAllowed=1)
    _running(admin, space, "p4")
    await _counted(admin, space, "keep", expectedPods=3, disruptionsAllowed=2)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"minAvailable": 1, "maxUnavailable": 1}, "minAvailable and maxUnavailable cannot be both set"),
        ({"minAvailable": -1}, "must be greater than or equal to 0"),
        ({"maxUnavailable": "101%"}, "must not be greater than 100%"),
    ],
    ids=["both", "negative", "more than all"],
)
def test_a_budget_that_makes_no_sense_is_refused(
    space: str, admin: Api, spec: dict[str, Any], words: str
) -> None:
    tree = budget("odd", 1, {"app": "x"})
    tree["spec"] = {"selector": {"matchLabels": {"app": "x"}}, **spec}
    reply = admin.request("POST", _budgets(space), tree)
    assert reply.status == 422
    assert words in reply.json()["message"]
