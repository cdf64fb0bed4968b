"""Rules of services, leases and quotas, and what a refusal warns of."""

import pytest

from cockpit.kube.resource import PODS
from cockpit.sim.port import PortError
from cockpit.sim.server.preconditions import check_name, warned_of
from cockpit.sim.server.request import Request


def test_a_refusal_keeps_its_warnings() -> None:
    request = Request(resource=PODS, namespace="a", name="p", verb="update")
    with pytest.raises(PortError) as caught, warned_of(("unknown field",)):
        check_name(request, {"metadata": {"name": "q"}})
    assert caught.value.warnings == ("unknown field",)
