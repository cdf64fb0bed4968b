"""What is asked of the server for a fit: only what the gang needs; what may not be read stays unknown."""

import json
from typing import Any

from cockpit.actions.surroundings import Needs, ask_surroundings, needs_of
from cockpit.fit.scheduling_context import UNKNOWN, Budget, Claim, StorageClass, Volume
from cockpit.fit.shape import Part, shape_of
from cockpit.model.scheduling import Requirement

CLAIM = {
    "metadata": {"name": "data", "namespace": "t", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    "spec": {"volumeName": "v", "accessModes": ["ReadWriteMany"], "storageClassName": "fast"},
}
VOLUME = {
    "metadata": {"name": "v", "labels": {"topology.kubernetes.io/zone": "x"}},
    "spec": {"capacity": {"storage": "1Gi"}, "claimRef": {"namespace": "t", "name": "data"}},
    "status": {"phase": "Bound"},
}
CLASS = {
    "metadata": {"name": "fast"},
    "provisioner": "csi.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["x"]}]}],
}
CSI_NODE = {
    "metadata": {"name": "n"},
    "spec": {
        "drivers": [{"name": "csi.example.com", "allocatable": {"count": 7}}, {"name": "nfs.example.com"}]
    },
}
BUDGET = {
    "metadata": {"name": "keep", "namespace": "t"},
    "spec": {"selector": {"matchLabels": {"app": "a"}}},
    "status": {"disruptionsAllowed": 2},
}
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "/api/v1/namespaces/t/persistentvolumeclaims": [CLAIM],
    "/api/v1/persistentvolumes": [VOLUME],
    "/apis/storage.k8s.io/v1/storageclasses": [CLASS],
    "/apis/storage.k8s.io/v1/csinodes": [CSI_NODE],
    "/apis/policy/v1/poddisruptionbudgets": [BUDGET],
    "/apis/scheduling.k8s.io/v1/priorityclasses": [{"metadata": {"name": "high"}, "value": 1000}],
    "/api/v1/namespaces": [{"metadata": {"name": "t", "labels": {"team": "a"}}}],
}


class Answer:
    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self._body = json.dumps(body)

    def json(self) -> Any:
        return json.loads(self._body)

    def message(self) -> str:
        return f"HTTP {self.status}"


class Server:
    """Answers lists; `denied` paths are refused."""

    def __init__(self, *denied: str) -> None:
        self.asked: list[str] = []
        self._denied = denied

    async def request(self, method: str, path: str) -> Answer:
        assert method == "GET"
        self.asked.append(path)
        if path in self._denied:
            return Answer(403, {})
        return Answer(200, {"items": ANSWERS[path]})


def part(**spec: Any) -> Part:
    return Part("worker", 1, shape_of({"spec": spec}, "t"))


def test_needs() -> None:
    volume = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
    term = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert needs_of([part()]) == Needs()
    assert needs_of([part(), part(volumes=[volume])]) == Needs(claims_in="t")
    assert needs_of([part(priorityClassName="high")]) == Needs(priorities=True)
    assert needs_of([part(affinity=affinity)]) == Needs(namespaces=True)


async def test_nothing_is_asked_for_a_plain_gang() -> None:
    server = Server()
    assert await ask_surroundings(server, Needs()) == UNKNOWN
    assert server.asked == []


async def test_everything_that_is_needed() -> None:
    server = Server()
    around = await ask_surroundings(server, Needs("t", priorities=True, namespaces=True))
    assert sorted(server.asked) == sorted(ANSWERS)
    assert around.claims == {
        "data": Claim("data", "v", is_bound=True, modes=("ReadWriteMany",), storage_class="fast")
    }
    zones = (("topology.kubernetes.io/zone", "x"),)
    assert around.volumes == {
        "v": Volume("v", zones=zones, size_bytes=1 << 30, labels=zones, reserved_for="t/data")
    }
    topologies = ((("zone", ("x",)),),)
    assert around.classes == {
        "fast": StorageClass("fast", waits=True, provisions=True, topologies=topologies)
    }
    assert around.attach_limits == {"n": {"csi.example.com": 7}}, "nfs has no limit"
    assert around.budgets == (Budget("t", "keep", (Requirement("app", "In", ("a",)),), 2),)
    assert around.priorities == {"high": 1000}
    assert around.namespaces == {"t": {"team": "a"}}


async def test_claims_without_their_volumes_say_nothing() -> None:
    around = await ask_surroundings(Server("/api/v1/persistentvolumes"), Needs("t"))
    assert (around.claims, around.volumes) == (None, None)
    around = await ask_surroundings(Server("/apis/policy/v1/poddisruptionbudgets"), Needs(priorities=True))
    assert (around.budgets, around.priorities) == (None, {"high": 1000})
