"""The native gang of the real kube-scheduler 1.36 and ours: one play, and the same is seen after every step.

Compared: how many pods of a group have a node, the sentences of those that have none (which member gets which
is up to the order in line), conditions, finalizers and spec of the groups, and what the server says of one
that says nothing or two things.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Protocol

import pytest

from cockpit.kube.resource import PODS
from cockpit.sim.port import PortError
from cockpit.sim.resources import NATIVE_POD_GROUPS
from tests.bed.api import Api, ApiError
from tests.bed.estate import gpu_node
from tests.bed.fixtures import fresh
from tests.tui.on_the_bed import until
from tests.unit.sim.scheduler import estate as stepped

pytestmark = pytest.mark.real

Tree = dict[str, Any]
SPACE = stepped.SPACE
PATIENCE_SECONDS = 60.0
_PODS = f"/api/v1/namespaces/{SPACE}/pods"
_GROUPS = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{SPACE}/podgroups"


def group(name: str, **policy: Any) -> Tree:
    """A PodGroup with this policy."""
    metadata = {"name": name, "namespace": SPACE}
    spec = {"schedulingPolicy": policy}
    return {
        "apiVersion": NATIVE_POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": spec,
    }


def member(name: str, of: str) -> Tree:
    """A pod of one GPU."""
    return stepped.pod(name, schedulingGroup={"podGroupName": of})


class Side(Protocol):
    """A cluster in which the play is played."""

    def node(self, name: str) -> None:
        """A node with one GPU, ready."""

    def make(self, tree: Tree) -> str:
        """Create a pod or a group; "" or the refusal."""

    def drop(self, kind: str, name: str) -> None:
        """Delete one, a pod at once."""

    def look(self) -> None:
        """See what there is when everything has settled."""


def play(side: Side) -> list[str]:
    """The steps; answers the refusals."""
    for name in ("n0", "n1"):
        side.node(name)
    side.make(member("g-0", "g"))
    side.look()  # held without a word: there is no group
    side.make(group("g", gang={"minCount": 2}))
    side.look()  # nor are there enough pods
    side.make(member("g-1", "g"))
    side.look()
    side.make(group("h", gang={"minCount": 3}))
    for number in range(3):
        side.make(member(f"h-{number}", "h"))
    side.look()  # none has a node
    for name in ("g-0", "g-1"):
        side.drop("Pod", name)
    side.look()  # two would have one, and are told of the third
    side.node("n2")
    side.look()
    side.drop("PodGroup", "g")
    side.drop("PodGroup", "h")
    side.look()  # the unused one is gone
    policies: tuple[Tree, ...] = ({}, {"gang": {"minCount": 0}}, {"basic": {}, "gang": {"minCount": 1}})
    return [side.make(group("bad", **policy)) for policy in policies]


def sight(pods: list[Tree], groups: list[Tree]) -> Tree:
    """What is compared."""
    found: Tree = {}
    for pod in pods:
        name = pod["spec"]["schedulingGroup"]["podGroupName"]
        told: Tree = next(
            (one for one in pod["status"].get("conditions") or () if one["type"] == "PodScheduled"), {}
        )
        words = "bound" if pod["spec"].get("nodeName") else f"{told.get('reason')}: {told.get('message')}"
        found.setdefault(f"pods of {name}", []).append(words)
    for words_of in found.values():
        words_of.sort()
    for one in groups:
        conditions = (one.get("status") or {}).get("conditions") or []
        spec = {key: value for key, value in one["spec"].items() if value is not None}
        found[f"group {one['metadata']['name']}"] = {
            "conditions": [(c["type"], c["status"], c["reason"], c.get("message", "")) for c in conditions],
            "finalizers": one["metadata"].get("finalizers"),
            "goes": bool(one["metadata"].get("deletionTimestamp")),
            "spec": spec,
        }
    return found


class Ours:
    """The embedded server with our scheduler, stepped."""

    def __init__(self) -> None:
        self.sights: list[Tree] = []
        self._loop = asyncio.new_event_loop()
        self._estate = self._do(stepped.started(is_native=True))

    def close(self) -> None:
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    def node(self, name: str) -> None:
        self._do(self._estate.put(stepped.gpu_node(name)))

    def make(self, tree: Tree) -> str:
        resource = PODS if tree["kind"] == "Pod" else NATIVE_POD_GROUPS
        try:
            self._do(self._estate.port.create(resource, tree, SPACE))
        except PortError as error:
            return error.message
        return ""

    def drop(self, kind: str, name: str) -> None:
        resource = PODS if kind == "Pod" else NATIVE_POD_GROUPS
        grace = 0 if kind == "Pod" else None
        self._do(self._estate.port.delete(resource, SPACE, name, grace_seconds=grace))

    def look(self) -> None:
        self._do(self._estate.advance(15))
        pods, groups = (self._do(self._estate.port.list(one, SPACE)) for one in (PODS, NATIVE_POD_GROUPS))
        self.sights.append(sight(pods, groups))


class Theirs:
    """The real one; every look waits until what ours saw is there."""

    def __init__(self, api: Api, expected: list[Tree]) -> None:
        self._api = api
        self._expected = iter(expected)

    def node(self, name: str) -> None:
        self._api.create("/api/v1/nodes", gpu_node(name, gpus=1))

        def is_ready() -> bool | None:
            tree = self._api.get(f"/api/v1/nodes/{name}")
            return None if tree["spec"].get("taints") else True

        until(f"{name} is ready", is_ready, PATIENCE_SECONDS)

    def make(self, tree: Tree) -> str:
        try:
            self._api.create(_PODS if tree["kind"] == "Pod" else _GROUPS, tree)
        except ApiError as error:
            return error.message
        return ""

    def drop(self, kind: str, name: str) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        path = f"{_PODS}/{name}" if kind == "Pod" else f"{_GROUPS}/{name}"
        self._api.delete(path, options if kind == "Pod" else None)

    def look(self) -> None:
        wanted = next(self._expected)
        settled = _lasting(lambda: sight(self._api.items(_PODS), self._api.items(_GROUPS)), wanted)
        assert settled == wanted


def _lasting(see: Callable[[], Tree], wanted: Tree) -> Tree:
    """What is seen for two seconds on end, once it is what is wanted or the patience ends."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    since: float | None = None
    while True:
        seen, now = see(), time.monotonic()
        since = (since or now) if seen == wanted else None
        if now > deadline or (since is not None and now - since >= 2.0):
            return seen
        time.sleep(0.2)


@pytest.fixture
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """The real scheduler and API server with the gates on, kwok for the nodes."""
    for bed in fresh({"native", "kwok"}, request, namespace=False):
        one = bed.api()
        one.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
        yield one


def test_both_hold_bind_and_tell_a_gang_alike(api: Api) -> None:
    ours = Ours()
    try:
        refusals = play(ours)
    finally:
        ours.close()
    assert len(ours.sights) == 7 and all(refusals)
    assert play(Theirs(api, ours.sights)) == refusals
