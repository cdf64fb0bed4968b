"""Whom the fit says would be pushed aside, and whom the real kube-scheduler evicts: the same pods.

Single members of high priority come to full nodes; budgets protect some of those that are there. No kubelet
runs, so a victim stays and carries its time of deletion. Where two sets of victims are worth the same by the
scheduler's own order, either is right: then only that worth is compared.
"""

import time
from collections.abc import Iterator
from random import Random

import pytest

from cockpit.fit.gang import fit
from cockpit.fit.preemption import Push
from cockpit.fit.scheduling_context import Surroundings, budget_of
from cockpit.fit.shape import Part, shape_of
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.differential.fit_cases import CASE, GPU, Tree
from tests.differential.fit_play import store_of

pytestmark = pytest.mark.real

CASES = 40
SEED = 5
SECONDS = 60.0
QUIET_SECONDS = 0.5
PRIORITIES = {"low": 10, "middle": 100, "high": 1000}


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Bed(
        {"scheduler"},
        namespace=False,
        apiserver_flags=("--disable-admission-plugins", "TaintNodesByCondition"),
    ) as bed:
        yield bed.api()


def _space(number: int) -> str:
    return f"push-{number}"


def _pod(name: str, number: int, gpus: int, priority: str, **spec: object) -> Tree:
    amounts = {GPU: str(gpus), "cpu": "1"}
    container = {
        "name": "main",
        "image": "example/train:1",
        "resources": {"requests": amounts, "limits": {GPU: str(gpus)}},
    }
    body: Tree = {"containers": [container], "terminationGracePeriodSeconds": 3600, **spec}
    body["priorityClassName"] = priority
    metadata = {"name": name, "namespace": _space(number), "labels": {"app": name.partition("-")[0]}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def _make(api: Api, number: int) -> None:
    """Nodes of eight GPUs, full of pods of both lower priorities; a budget on some of them."""
    random = Random(f"{SEED}/{number}")
    api.create("/api/v1/namespaces", {"metadata": {"name": _space(number)}})
    pods = f"/api/v1/namespaces/{_space(number)}/pods"
    for index in range(random.randint(2, 4)):
        name = f"push{number}-{index}"
        offered = {"cpu": "32", "memory": "64Gi", "pods": "110", GPU: "8"}
        condition = {"type": "Ready", "status": "True", "reason": "Kubelet", "message": ""}
        metadata = {"name": name, "labels": {CASE: f"push{number}"}}
        amounts: Tree = {"capacity": offered, "allocatable": offered, "conditions": [condition]}
        api.create("/api/v1/nodes", {"metadata": metadata, "status": amounts})
        left = 8
        while left:
            gpus = min(left, random.choice((1, 2, 4, 4)))
            left -= gpus
            app = random.choice(("guarded", "free"))
            there = _pod(f"{app}-{index}-{left}", number, gpus, random.choice(("low", "middle")))
            there["spec"]["nodeName"] = name
            api.create(pods, there)
            # Of equal priority the one that started first is spared first.
            minute, second = random.randrange(60), random.randrange(60)
            started = f"2026-08-20T{random.randrange(24):02d}:{minute:02d}:{second:02d}Z"
            where = f"{pods}/{there['metadata']['name']}/status"
            api.merge(where, {"status": {"phase": "Running", "startTime": started}})
    budgets = f"/apis/policy/v1/namespaces/{_space(number)}/poddisruptionbudgets"
    selector = {"matchLabels": {"app": "guarded"}}
    api.create(budgets, {"metadata": {"name": "keep"}, "spec": {"minAvailable": 1, "selector": selector}})
    allowed = random.choice((0, 0, 1, 9))
    status: Tree = {"disruptionsAllowed": allowed, "observedGeneration": 1}
    counts = {"currentHealthy": 9, "desiredHealthy": 1, "expectedPods": 9}
    api.merge(f"{budgets}/keep/status", {"status": {**status, **counts}})


def _asked(number: int) -> Tree:
    gpus = Random(f"{SEED}/asked/{number}").choice((1, 2, 4, 6, 8))
    return _pod("asked", number, gpus, "high", nodeSelector={CASE: f"push{number}"})


def _foreseen(api: Api, store: Store, number: int) -> Push:
    budgets = api.items(f"/apis/policy/v1/namespaces/{_space(number)}/poddisruptionbudgets")
    around = Surroundings(budgets=tuple(budget_of(one) for one in budgets), priorities=PRIORITIES)
    part = Part("member", 1, shape_of(_asked(number), _space(number)))
    push = fit(store, [part], surroundings=around).push
    assert push is not None, f"case {number}"
    return push


def _evicted(api: Api, number: int) -> frozenset[str]:
    """Pods with a time of deletion, once a node is nominated and no more have come for a while.

    The scheduler nominates first and evicts one after the other.
    """
    path = f"/api/v1/namespaces/{_space(number)}/pods"
    end = time.monotonic() + SECONDS
    gone: frozenset[str] = frozenset()
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < QUIET_SECONDS or not gone:
        assert time.monotonic() < end, f"case {number}: nobody was evicted"
        found = [one for one in api.items(path) if one["metadata"].get("deletionTimestamp")]
        now = frozenset(f"{_space(number)}/{one['metadata']['name']}" for one in found)
        if now != gone or not api.get(f"{path}/asked")["status"].get("nominatedNodeName"):
            gone, quiet_since = now, time.monotonic()
        time.sleep(0.05)
    return gone


def _worth(store: Store, victims: frozenset[str]) -> tuple[int, int, int]:
    """Highest priority, sum of priorities, and how many."""
    pods = [store.by_key(Kind.POD, key) for key in victims]
    ranks = [one.priority or 0 for one in pods if isinstance(one, Pod)]
    return max(ranks), sum(ranks), len(ranks)


def _protected(store: Store, api: Api, number: int, victims: frozenset[str]) -> int:
    (budget,) = api.items(f"/apis/policy/v1/namespaces/{_space(number)}/poddisruptionbudgets")
    guarded = sum(key.partition("/")[2].startswith("guarded") for key in victims)
    return max(0, guarded - int(budget["status"]["disruptionsAllowed"]))


def test_those_who_are_pushed_aside_are_foreseen(api: Api) -> None:
    for name, value in PRIORITIES.items():
        body = {"metadata": {"name": name}, "value": value}
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)
    for number in range(CASES):
        _make(api, number)
    store = store_of(api)
    pushes = [_foreseen(api, store, number) for number in range(CASES)]
    # What a budget allows counts down with every eviction, so it is read before.
    protected = [_protected(store, api, number, frozenset(pushes[number].victims)) for number in range(CASES)]
    for number in range(CASES):
        api.create(f"/api/v1/namespaces/{_space(number)}/pods", _asked(number))
    same = 0
    for number, push in enumerate(pushes):
        foreseen, real = frozenset(push.victims), _evicted(api, number)
        same += foreseen == real
        assert push.protected == protected[number]
        assert _worth(store, foreseen) == _worth(store, real), f"case {number}: {foreseen} but {real}"
    print(f"{CASES} preemptions: the very same victims in {same}, of the same worth in all")
    assert same >= 0.95 * CASES
