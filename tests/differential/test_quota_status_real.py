"""What a quota says is used: the same objects on the real control plane and on the embedded server.

Facts: kube-apiserver's quota admission knows quotas from a cache of its own (and where that is empty,
remembers for 30 s that a namespace had none), so what is created right after a quota may not be counted; and
the quota controller misses what ends before it watches pods. Nothing makes up for either before its round (of
five minutes by default, of ten seconds on the bed). Each quota is in force before use.
"""

import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import NAMESPACES, PODS, SERVICES, Resource
from cockpit.sim.port import PatchType, PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, RESOURCE_QUOTAS
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import Request
from tests.bed.api import Api, ApiError
from tests.bed.bed import Bed
from tests.bed.fixtures import bed_control_plane

__all__ = ["bed_control_plane"]
pytestmark = pytest.mark.real

SPACE = "quota-status"
PLURALS: dict[str, Resource] = {
    one.plural: one for one in (PODS, SERVICES, CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, RESOURCE_QUOTAS)
}
HARD = {
    "pods": "4",
    "count/pods": "9",
    "requests.nvidia.com/gpu": "8",
    "requests.memory": "4Gi",
    "requests.cpu": "1e1",
    "limits.cpu": "8000m",
    "services": "5",
    "services.nodeports": "3",
    "services.loadbalancers": "1",
    "persistentvolumeclaims": "2",
    "requests.storage": "20Gi",
    "count/configmaps": "10",
}


_PATIENCE_SECONDS = 90.0
"""Some rounds of the quota controller; only a failure waits so long."""


def pod(name: str, cpu: str, memory: str, gpus: int = 0, **spec: Any) -> Tree:
    held: Tree = {"cpu": cpu, "memory": memory} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    containers = [{"name": "c", "image": "i", "resources": {"requests": held, "limits": held}}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


class Pair:
    """Every step on both servers, with the same outcome."""

    def __init__(self, real: Api, ours: Operations) -> None:
        self.real = real
        self.ours = ours

    def create(self, plural: str, tree: Tree) -> bool:
        """Whether both let it in; fails when they disagree or refuse in other words."""
        resource = PLURALS[plural]
        theirs = mine = ""
        try:
            self.real.create(resource.path(SPACE), tree)
        except ApiError as error:
            theirs = error.message
        try:
            self.ours.create(Request(resource=resource, namespace=SPACE, verb="create"), tree)
        except PortError as error:
            mine = error.message
        assert mine == theirs
        return not mine

    def limit(self, name: str, spec: Tree, too_much: Tree) -> None:
        """A quota on both servers, once it is in force: the real one would refuse the pod `too_much`."""
        assert self.create("resourcequotas", {"metadata": {"name": name}, "spec": spec})
        deadline = time.monotonic() + _PATIENCE_SECONDS
        said = ""
        while f"exceeded quota: {name}," not in said:
            assert time.monotonic() < deadline, f"quota {name} is not in force: {said}"
            reply = self.real.request("POST", PODS.path(SPACE), too_much, query=(("dryRun", "All"),))
            said = reply.body.decode()
            time.sleep(0.1)

    def end(self, name: str) -> None:
        """A pod that has done its work."""
        status = {"status": {"phase": "Succeeded"}}
        self.real.merge(f"{PODS.path(SPACE, name)}/status", status)
        request = Request(resource=PODS, namespace=SPACE, name=name, subresource="status", verb="patch")
        self.ours.patch(request, status, PatchType.MERGE)

    def delete(self, plural: str, name: str) -> None:
        resource = PLURALS[plural]
        self.real.delete(resource.path(SPACE, name), {"gracePeriodSeconds": 0})
        self.ours.delete(Request(resource=resource, namespace=SPACE, name=name, verb="delete"))

    def settled(self, name: str = "q") -> Tree:
        """Our status, once the real one is the same. The quota controller takes a moment for what goes."""
        mine: Tree = self.ours.get(Request(resource=RESOURCE_QUOTAS, namespace=SPACE, name=name)).tree[
            "status"
        ]
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (theirs := self.real.get(RESOURCE_QUOTAS.path(SPACE, name)).get("status")) != mine:
            assert time.monotonic() < deadline, f"{theirs} is not {mine}"
            time.sleep(0.1)
        return mine


@pytest.fixture(scope="module")
def pair(bed_control_plane: Bed) -> Iterator[Pair]:
    real = bed_control_plane.api()
    real.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
    ours = assemble(ManualClock(), Random(1), has_accounts=False).operations
    ours.create(Request(resource=NAMESPACES, verb="create"), {"metadata": {"name": SPACE}})
    yield Pair(real, ours)
    real.delete(f"/api/v1/namespaces/{SPACE}")


def test_the_life_of_a_quota(pair: Pair) -> None:
    # The controller puts one of its own into every namespace; it may come after the quota.
    pair.ours.create(
        Request(resource=CONFIG_MAPS, namespace=SPACE, verb="create"),
        {"metadata": {"name": "kube-root-ca.crt"}},
    )
    assert pair.create("pods", pod("before", "250m", "128Mi"))
    pair.limit("q", {"hard": HARD}, too_much=pod("probe", "1m", "1Mi", 99))
    assert pair.settled()["used"]["requests.cpu"] == "250m"
    assert pair.create("pods", pod("a", "1", "1Gi", 6))
    assert pair.create("pods", pod("b", "1750m", "0.5Gi", 2))
    assert pair.settled()["used"]["requests.memory"] == "1664Mi"
    assert not pair.create("pods", pod("too-many-gpus", "1", "1Gi", 1))
    assert not pair.create("pods", pod("too-much", "6", "3Gi"))
    assert not pair.create(
        "pods", {"metadata": {"name": "silent"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    pair.end("b")
    assert pair.settled()["used"]["requests.nvidia.com/gpu"] == "6"
    pair.delete("pods", "a")
    assert pair.settled()["used"]["pods"] == "1"
    ports = [{"name": "x", "port": 1}, {"name": "y", "port": 2}]
    assert pair.create("services", {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}})
    assert not pair.create(
        "services", {"metadata": {"name": "t"}, "spec": {"type": "NodePort", "ports": ports}}
    )
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "15Gi"}}}
    assert pair.create("persistentvolumeclaims", {"metadata": {"name": "v"}, "spec": claim})
    assert not pair.create("persistentvolumeclaims", {"metadata": {"name": "w"}, "spec": claim})
    assert pair.create("configmaps", {"metadata": {"name": "m"}, "data": {"a": "b"}})
    used = pair.settled()["used"]
    assert (used["services.nodeports"], used["requests.storage"], used["count/configmaps"]) == (
        "2",
        "15Gi",
        "2",
    )


def test_scopes(pair: Pair) -> None:
    short = {"hard": {"pods": "1", "requests.memory": "1Gi"}, "scopes": ["Terminating"]}
    pair.limit("short", short, too_much=pod("probe", "1m", "2Gi", activeDeadlineSeconds=600))
    assert pair.settled("short")["used"] == {"pods": "0", "requests.memory": "0"}
    assert pair.create("pods", pod("brief", "10m", "1Mi", activeDeadlineSeconds=600))
    assert not pair.create("pods", pod("brief-too", "10m", "1Mi", activeDeadlineSeconds=600))
    assert pair.settled("short")["used"] == {"pods": "1", "requests.memory": "1Mi"}
