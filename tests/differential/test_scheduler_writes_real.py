"""Our scheduler in the place of kube-scheduler, on a real API server: everything it writes is accepted there.

The port here reads by lists when it is told to, enough for a story in a few steps.
"""

import time
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, NODES, PODS, Resource
from cockpit.sim.actors.scheduler.actor import Scheduler
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import ChangeType, ObjectChange, Patch, PatchType, PortError, Sink, Tree
from tests.bed.api import Api, Reply
from tests.bed.fixtures import fresh
from tests.differential.embedded_scheduling import PRIORITIES, priority_class
from tests.differential.scheduling_situations import SPACE, node, pod

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    for bed in fresh({"apiserver"}, request, namespace=False):
        one = bed.api()
        one.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
        for name, policy in PRIORITIES:
            one.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, policy))
        yield one


class ListingPort:
    """A port on a real server that notices changes when `look` is called. Refusals are kept in `refusals`."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._sinks: list[tuple[Resource, Sink]] = []
        self._known: dict[tuple[Resource, str], Tree] = {}
        self.refusals: list[PortError] = []

    def look(self) -> None:
        """Hand over what changed since the last look."""
        for resource, sink in self._sinks:
            now = {item["metadata"]["uid"]: item for item in self._api.items(resource.path())}
            for uid, tree in now.items():
                before = self._known.get((resource, uid))
                if before is None or before["metadata"] != tree["metadata"]:
                    kind = ChangeType.ADDED if before is None else ChangeType.MODIFIED
                    self._known[(resource, uid)] = tree
                    sink(ObjectChange(kind, resource, tree))
            for key in [k for k in self._known if k[0] == resource and k[1] not in now]:
                sink(ObjectChange(ChangeType.DELETED, resource, self._known.pop(key)))

    def _checked(self, reply: Reply) -> Tree:
        tree = reply.json()
        if reply.status >= 400:
            error = PortError(reply.status, tree.get("reason", ""), tree.get("message", ""))
            self.refusals.append(error)
            raise error
        return tree

    async def follow(self, resource: Resource, sink: Sink) -> None:
        self._sinks.append((resource, sink))
        self.look()

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree:
        return self._checked(self._api.request("GET", resource.path(namespace, name)))

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Tree]:
        return self._api.items(resource.path(namespace))

    async def create(self, resource: Resource, tree: Tree, namespace: str = "") -> Tree:
        return self._checked(self._api.request("POST", resource.path(namespace), tree))

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Patch,
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002
        subresource: str = "",
    ) -> Tree:
        path = resource.path(namespace, name, subresource)
        return self._checked(self._api.request("PATCH", path, patch, content_type=type.value))

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> None:
        body: Tree = {"preconditions": {"uid": uid}} if uid else {}
        self._checked(self._api.request("DELETE", resource.path(namespace, name), body))

    async def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        metadata = {"name": pod, "namespace": namespace, "uid": uid}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body: Tree = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        self._checked(self._api.request("POST", PODS.path(namespace, pod, "binding"), body))

    async def evict(self, namespace: str, pod: str, *, grace_seconds: int | None = None) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        self._sinks.clear()


def _told(events: Sequence[Tree], name: str) -> list[tuple[str, str, int]]:
    """Reason, sentence and count of each event of a pod, in order."""
    mine = [event for event in events if event["involvedObject"]["name"] == name]
    mine.sort(key=lambda event: str(event["eventTime"]))
    return [(e["reason"], e["message"], (e.get("series") or {}).get("count", 1)) for e in mine]


async def test_a_story_with_our_scheduler_on_a_real_server(api: Api) -> None:
    port = ListingPort(api)
    clock = ManualClock(float(int(time.time())))
    engine = ActorEngine(port, clock, Random(1), [Scheduler(Random(1))])
    await engine.start()

    async def step(*trees: Tree, seconds: float = 0.0) -> None:
        for tree in trees:
            path = (NODES if tree["kind"] == "Node" else PODS).path(SPACE)
            api.create(path, tree)
            if tree["kind"] == "Node":
                api.merge(f"{path}/{tree['metadata']['name']}", {"spec": {"taints": None}})
        port.look()
        await engine.advance(seconds)

    await step(node("g1", gpus=1), pod("low", gpus=1))
    await step(pod("waits", gpus=1))
    await step(pod("boss", gpus=1, priority="words-high"))
    await step(node("g2", gpus=0), seconds=20.0)
    await step(node("g3", gpus=1), seconds=20.0)
    found = {each["metadata"]["name"]: each for each in await port.list(PODS, SPACE)}
    assert port.refusals == []
    assert {name: tree["spec"].get("nodeName") for name, tree in found.items()} == {
        "low": "g1",
        "waits": None,
        "boss": "g3",
    }
    assert "deletionTimestamp" in found["low"]["metadata"]
    events = await port.list(EVENTS, SPACE)
    assert [reason for reason, _, _ in _told(events, "low")] == ["Scheduled", "Preempted"]
    assert _told(events, "boss")[-1] == ("Scheduled", f"Successfully assigned {SPACE}/boss to g3", 1)
    reason, sentence, count = _told(events, "waits")[0]
    assert reason == "FailedScheduling"
    assert sentence.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    assert count == 2
    condition = next(c for c in found["waits"]["status"]["conditions"] if c["type"] == "PodScheduled")
    assert condition["message"].startswith("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")
    await engine.stop()
