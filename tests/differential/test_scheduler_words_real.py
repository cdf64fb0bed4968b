"""Ours and the real kube-scheduler on the same objects: the sentence in PodScheduled is the same.

All run in this test: each situation is put on a real API server with a real kube-scheduler; the core of ours
is asked with the objects as that server holds them (with its defaults), before the pod is created; and the
embedded server with our scheduler gets the same situation.
"""

import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.cycle import Cycle
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.verdict import SchedulingResult
from tests.bed.api import Api
from tests.bed.fixtures import fresh
from tests.differential.embedded_scheduling import (
    PRIORITIES,
    RESOURCES,
    embedded,
    priority_class,
    recorded,
    said,
    woken,
)
from tests.differential.scheduling_situations import SPACE, Situation, Tree
from tests.differential.scheduling_table import TABLE
from tests.differential.scheduling_wakes import SPACES, WAKES, Create, Merge, Step, Wake

pytestmark = [pytest.mark.real, pytest.mark.heavy]

_SECONDS = 15.0
_PODS = f"/api/v1/namespaces/{SPACE}/pods"
_CLAIMS = f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims"
_BUDGETS = f"/apis/policy/v1/namespaces/{SPACE}/poddisruptionbudgets"
_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
_LISTS = (_PODS, _CLAIMS, _BUDGETS, _CLASSES, "/api/v1/persistentvolumes", "/api/v1/nodes")


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """No controllers: every object is what the situation says and stays it."""
    for bed in fresh({"scheduler"}, request, namespace=False):
        one = bed.api()
        one.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
        for name, policy in PRIORITIES:
            one.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, policy))
        yield one


@pytest.fixture(autouse=True)
def _empty(api: Api) -> Iterator[None]:
    yield
    for path in _LISTS:
        for item in api.items(path):
            where = f"{path}/{item['metadata']['name']}"
            if item["metadata"].get("finalizers"):
                api.merge(where, {"metadata": {"finalizers": None}})
            api.delete(where, {"gracePeriodSeconds": 0})
    for path in _LISTS:
        _wait_for(lambda path=path: not api.items(path))


def _wait_for(ask: Any, seconds: float = _SECONDS) -> Any:
    """What `ask` answers as soon as it is true, else its last answer."""
    end = time.monotonic() + seconds
    while not (answer := ask()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def _put(api: Api, tree: Tree) -> None:
    """Create an object with its status."""
    path = api.path_of(tree).rsplit("/", 1)[0]
    made = api.create(path, tree)
    where = f"{path}/{tree['metadata']['name']}"
    if tree["kind"] == "Node":
        # Admission marks a new node as not ready; no controller is there to take the mark away.
        api.merge(where, {"spec": {"taints": tree["spec"]["taints"] or None}})
        if tree["spec"].get("unschedulable"):
            api.merge(where, {"spec": {"unschedulable": True}})
    elif "status" in tree and made.get("status") != tree["status"]:
        api.merge(f"{where}/status", {"status": tree["status"]})


def _prepare(api: Api, situation: Situation) -> None:
    for tree in (*situation.nodes, *situation.objects, *situation.placed):
        _put(api, tree)
    for name in situation.going:
        api.delete(f"{_CLAIMS}/{name}")
    for tree in situation.waiting:
        _put(api, tree)
        name = tree["metadata"]["name"]
        _wait_for(lambda name=name: api.get(f"{_PODS}/{name}")["status"].get("nominatedNodeName"))


def _cache(api: Api) -> SchedulerCache:
    cache = SchedulerCache()
    for space in api.items("/api/v1/namespaces"):
        cache.put_namespace(space["metadata"]["name"], space["metadata"].get("labels") or {})
    for node in api.items("/api/v1/nodes"):
        cache.put_node(node)
    for one in api.items(_CLAIMS):
        cache.claims[(SPACE, one["metadata"]["name"])] = one
    for one in api.items("/api/v1/persistentvolumes"):
        cache.volumes[one["metadata"]["name"]] = one
    for one in api.items(_CLASSES):
        cache.classes[one["metadata"]["name"]] = one
    for one in api.items(_BUDGETS):
        cache.budgets[(SPACE, one["metadata"]["name"])] = one
    for tree in api.items(_PODS):
        pod = PodInfo(tree)
        if pod.node:
            cache.put_pod(pod)
        elif pod.nominated:
            cache.nominate(pod, pod.nominated)
    return cache


def _ours(api: Api, situation: Situation) -> SchedulingResult:
    defaulted = api.request("POST", _PODS, situation.pod, query=(("dryRun", "All"),)).checked().json()
    return Cycle(_cache(api), Random(1)).decide(PodInfo(defaulted))


@pytest.mark.parametrize("situation", TABLE, ids=lambda one: one.name)
def test_the_sentence_is_that_of_kube_scheduler(api: Api, situation: Situation) -> None:
    _prepare(api, situation)
    ours = _ours(api, situation)
    api.create(_PODS, situation.pod)
    where = f"{_PODS}/{situation.pod['metadata']['name']}"

    def agreed() -> bool:
        return said(api.get(where)) == (ours.node, ours.message)

    # The real one may speak once before its caches hold everything, and then corrects itself.
    _wait_for(agreed)
    real = said(api.get(where))
    print(f"{situation.name}: {real[1] or real[0]}")
    assert (ours.node, ours.message) == real
    assert said(embedded(situation)) == real
    assert recorded()[situation.name] == list(real)
    assert situation.says in real[1]
    assert bool(situation.says) == (not real[0])


def _step(api: Api, step: Step) -> None:
    if isinstance(step, Create):
        _put(api, step.tree)
        return
    path = RESOURCES[step.kind].path(SPACES.get(step.kind, ""), step.name)
    if isinstance(step, Merge):
        api.merge(f"{path}/{step.subresource}" if step.subresource else path, step.patch)
    else:
        api.delete(path, {"gracePeriodSeconds": 0})


@pytest.mark.parametrize("wake", WAKES, ids=lambda one: one.name)
def test_what_wakes_a_pod_wakes_it_in_both(api: Api, wake: Wake) -> None:
    _prepare(api, wake.situation)
    api.create(_PODS, wake.situation.pod)
    where = f"{_PODS}/{wake.situation.pod['metadata']['name']}"
    before, chosen = woken(wake)
    _wait_for(lambda: said(api.get(where))[1] == before)
    assert said(api.get(where)) == ("", before)
    for step in wake.steps:
        _step(api, step)
    _wait_for(lambda: said(api.get(where))[0])
    assert said(api.get(where))[0] == chosen == wake.node
