"""What the real kube-scheduler leaves behind on pods and as events, and what ours leaves: the same."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.bed.api import Api
from tests.bed.fixtures import fresh
from tests.differential.embedded_scheduling import PRIORITIES, played, priority_class
from tests.differential.scheduling_situations import SPACE, Situation, Tree, node, pod

pytestmark = pytest.mark.real

_PODS = f"/api/v1/namespaces/{SPACE}/pods"
_EVENTS = f"/api/v1/namespaces/{SPACE}/events"
_NODES = "/api/v1/nodes"

STORIES = [
    Situation("placed", "", pod(gpus=1), [node("g1", gpus=1)]),
    Situation("fits nowhere", "", pod(gpus=2), [node("g1", gpus=1)]),
    Situation(
        "takes another's room",
        "",
        pod(gpus=1, priority="words-high"),
        [node("g1", gpus=1)],
        [pod("p1", gpus=1, on="g1")],
    ),
]


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    for bed in fresh({"scheduler"}, request, namespace=False):
        one = bed.api()
        one.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
        for name, policy in PRIORITIES:
            one.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, policy))
        yield one


def _event(event: Tree, names: dict[str, str]) -> Tree:
    """An event without what differs from run to run; uids become names."""
    told = {key: value for key, value in event.items() if key != "metadata" and value is not None}
    told.pop("eventTime", None)
    told.pop("series", None)
    told["reportingInstance"] = told["reportingInstance"].startswith("default-scheduler-")
    about = told["involvedObject"]
    told["involvedObject"] = {k: v for k, v in about.items() if k not in ("uid", "resourceVersion")}
    for uid, name in names.items():
        told["message"] = told["message"].replace(uid, name)
    told.pop("apiVersion", None)
    told.pop("kind", None)
    return told


def _marks(pods: list[Tree], events: list[Tree]) -> dict[str, Any]:
    """Conditions, nominations and events, without uids and times."""
    names = {each["metadata"]["uid"]: each["metadata"]["name"] for each in pods}
    found: dict[str, Any] = {}
    for each in pods:
        conditions = [
            {key: value for key, value in condition.items() if not key.startswith("last")}
            for condition in each["status"].get("conditions") or ()
        ]
        found[each["metadata"]["name"]] = {
            "node": each["spec"].get("nodeName"),
            "nominated": each["status"].get("nominatedNodeName"),
            "is leaving": "deletionTimestamp" in each["metadata"],
            "conditions": sorted(conditions, key=lambda one: str(one["type"])),
        }
    found["events"] = sorted((_event(event, names) for event in events), key=str)
    return found


def _empty(api: Api) -> None:
    for path in (_PODS, _NODES, _EVENTS):
        for item in api.items(path):
            api.delete(f"{path}/{item['metadata']['name']}", {"gracePeriodSeconds": 0})


def _let_it_see_all(api: Api, nodes: int) -> None:
    """Until the real one has refused a pod on every node: its caches are filled by watches of their own, and
    an early try would be told as an event. What it leaves of that pod is taken away."""
    decoy = pod("decoy", cpu="1000000")
    api.create(_PODS, decoy)
    end = time.monotonic() + 60.0
    while not any(one["message"].startswith(f"0/{nodes} ") for one in api.items(_EVENTS)):
        assert time.monotonic() < end, "the scheduler never saw every node"
        time.sleep(0.05)
    api.delete(f"{_PODS}/decoy", {"gracePeriodSeconds": 0})
    for event in api.items(_EVENTS):
        api.delete(f"{_EVENTS}/{event['metadata']['name']}")


@pytest.mark.parametrize("story", STORIES, ids=lambda one: one.name)
def test_conditions_nominations_and_events_are_the_same(api: Api, story: Situation) -> None:
    _empty(api)
    for tree in story.nodes:
        api.create(_NODES, tree)
        api.merge(f"{_NODES}/{tree['metadata']['name']}", {"spec": {"taints": None}})
    for tree in story.placed:
        api.create(_PODS, tree)
    _let_it_see_all(api, len(story.nodes))
    api.create(_PODS, story.pod)
    ours = _marks(*asyncio.run(played(story)))
    end = time.monotonic() + 10.0
    while (real := _marks(api.items(_PODS), api.items(_EVENTS))) != ours and time.monotonic() < end:
        time.sleep(0.05)
    assert ours == real
