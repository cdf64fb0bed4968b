"""Rules of services, leases and quotas, and what a refusal warns of."""

import pytest

from cockpit.kube.resource import PODS
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.builtin import bounds, services
from cockpit.sim.server.preconditions import check_name, warned_of
from cockpit.sim.server.request import Request


def _service(**spec: object) -> Tree:
    whole = {"type": "ClusterIP", "sessionAffinity": "None", "ports": [{"port": 80, "protocol": "TCP"}]}
    return {"spec": {**whole, **spec}}


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({}, []),
        ({"ports": []}, ["spec.ports"]),
        ({"type": "Odd"}, ["spec.type"]),
        ({"ports": [{"port": 0, "protocol": "TCP"}]}, ["spec.ports[0].port"]),
        ({"ports": [{"port": 1, "protocol": "TCP"}] * 2}, ["spec.ports[0].name", "spec.ports[1].name"]),
    ],
)
def test_services(spec: Tree, fields: list[str]) -> None:
    assert [cause["field"] for cause in services.check(_service(**spec), None)] == fields


def test_leases_and_quotas() -> None:
    lease = {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}}
    assert len(list(bounds.check_lease(lease, None))) == 2
    quota = {"spec": {"hard": {"pods": "-1", "nonsense": "1", "count/jobs.batch": "1"}}}
    told = [cause["field"] for cause in bounds.check_quota(quota, None)]
    assert told == ["spec.hard[nonsense]", "spec.hard[nonsense]", "spec.hard[pods]"]


def test_a_refusal_keeps_its_warnings() -> None:
    request = Request(resource=PODS, namespace="a", name="p", verb="update")
    with pytest.raises(PortError) as caught, warned_of(("unknown field",)):
        check_name(request, {"metadata": {"name": "q"}})
    assert caught.value.warnings == ("unknown field",)
