"""Host ports: which a pod takes, and which collide."""

from typing import Any

import pytest

from cockpit.k8s.host_ports import collide, host_ports_of
from cockpit.model.scheduling import HostPort
from cockpit.sim.actors.scheduler.podinfo import PodInfo

HERE = "10.0.0.1"


@pytest.mark.parametrize(
    ("one", "other", "is_so"),
    [
        (HostPort(80), HostPort(80), True),
        (HostPort(80), HostPort(81), False),
        (HostPort(80, "UDP"), HostPort(80), False),
        (HostPort(80, address=HERE), HostPort(80), True),
        (HostPort(80), HostPort(80, address=HERE), True),
        (HostPort(80, address=HERE), HostPort(80, address=HERE), True),
        (HostPort(80, address=HERE), HostPort(80, address="10.0.0.2"), False),
    ],
)
def test_ports_collide(one: HostPort, other: HostPort, is_so: bool) -> None:
    assert collide(one, other) is is_so


@pytest.mark.parametrize(
    ("spec", "taken"),
    [
        ({}, []),
        ({"containers": [{"ports": [{"containerPort": 80}]}]}, []),
        ({"containers": [{"ports": [{"containerPort": 80, "hostPort": 8080}]}]}, [HostPort(8080)]),
        ({"hostNetwork": True, "containers": [{"ports": [{"containerPort": 80}]}]}, [HostPort(80)]),
        (
            {"containers": [{"ports": [{"hostPort": 53, "protocol": "UDP", "hostIP": HERE}]}]},
            [HostPort(53, "UDP", HERE)],
        ),
        ({"initContainers": [{"ports": [{"hostPort": 1}]}]}, []),
        ({"initContainers": [{"restartPolicy": "Always", "ports": [{"hostPort": 1}]}]}, [HostPort(1)]),
        ({"containers": "x", "initContainers": [None, {"ports": 3}]}, []),
        ({"containers": [{"ports": [{"hostPort": "80"}, {"hostPort": -1}]}]}, []),
    ],
)
def test_ports_that_a_pod_takes(spec: dict[str, Any], taken: list[HostPort]) -> None:
    assert list(host_ports_of(spec)) == taken


def test_the_embedded_scheduler_counts_them_alike() -> None:
    spec = {"containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 80, "hostIP": HERE}]}]}
    pod = PodInfo({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec})
    assert pod.ports == list(host_ports_of(spec)) == [HostPort(80, address=HERE)]
