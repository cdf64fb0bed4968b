"""Drains among other gangs on the real control plane: two gangs that share a node, a gang whose budget lets
nobody go, and a cockpit that ends while a drain waits for a job."""

from typing import Any

import pytest

from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.tui.drain_play import ACCEPTED, GPU, at_node, cordoned, is_gone
from tests.tui.on_the_bed import Opened, opened, quits, until
from tests.tui.seat import Seat
from tests.tui.test_drain_real import bed, ends

__all__ = ["bed", "opened"]
pytestmark = pytest.mark.real

JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
BUDGETS = "/apis/policy/v1/namespaces/team-a/poddisruptionbudgets"


def gang(api: Api, name: str, nodes: tuple[str, ...], gpus: int) -> list[dict[str, Any]]:
    """An indexed Job with a pod on each of these nodes; its pods once all run."""
    terms = [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}
    ]
    pod = {
        "restartPolicy": "Never",
        "containers": [
            {"name": "main", "image": "example/train:1", "resources": {"limits": {GPU: str(gpus)}}}
        ],
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {"gang": name}},
                    }
                ]
            },
        },
    }
    template = {"metadata": {"labels": {"gang": name}}, "spec": pod}
    count = len(nodes)
    spec = {"parallelism": count, "completions": count, "completionMode": "Indexed", "template": template}
    tree = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "team-a"}}
    api.create(JOBS, {**tree, "spec": spec})
    return until(f"all pods of {name} run", lambda: _run(api, name, count))


def _run(api: Api, name: str, count: int) -> list[dict[str, Any]] | None:
    pods = [
        one
        for one in api.items("/api/v1/namespaces/team-a/pods")
        if one["metadata"]["labels"]["gang"] == name
    ]
    running = [one for one in pods if one["status"].get("phase") == "Running"]
    return running if len(running) == count else None


def on(pods: list[dict[str, Any]], node: str) -> dict[str, Any]:
    (found,) = [one for one in pods if one["spec"]["nodeName"] == node]
    return found


def drain_now(seat: Seat, api: Api, node: str) -> None:
    at_node(seat, api, node)
    seat.keys("D")
    seat.until("drain after its jobs", "drain now")
    seat.type("now")
    seat.until("drain now", without=["drain after its jobs"])
    seat.keys("Enter")


def test_two_gangs_that_share_a_node_are_both_named_and_the_node_is_typed(bed: Bed, opened: Opened) -> None:
    api = bed.api()
    asr = gang(api, "asr", ("gpu-0", "gpu-1"), 4)
    mt = gang(api, "mt", ("gpu-1", "gpu-2", "gpu-3"), 4)
    seat = opened(bed.kubeconfig, "--write")
    seat.until("live · rw", "4 nodes")
    drain_now(seat, api, "gpu-1")
    seat.until("breaks gang team-a/asr", "breaks gang team-a/mt", "4 GPUs", "8 GPUs", "would idle", ACCEPTED)
    seat.type("asr")
    seat.keys("Enter")
    seat.until("that is another name")
    assert not cordoned(api, "gpu-1")
    seat.keys("C-u")
    seat.type("gpu-1")
    seat.keys("Enter")
    until(
        "both of its pods are evicted",
        lambda: is_gone(api, on(asr, "gpu-1")) and is_gone(api, on(mt, "gpu-1")),
    )
    seat.until_line(("drained",), "gpu-1")
    others = [one for one in (*asr, *mt) if one["spec"]["nodeName"] != "gpu-1"]
    assert all(is_gone(api, one) is None for one in others), "nobody else was evicted"


def test_a_gang_whose_budget_lets_nobody_go_is_waited_for_and_said(bed: Bed, opened: Opened) -> None:
    api = bed.api()
    pods = gang(api, "asr", ("gpu-0", "gpu-1"), 8)
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"gang": "asr"}}}
    tree = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    api.create(BUDGETS, {**tree, "metadata": {"name": "asr", "namespace": "team-a"}})
    until(
        "the budget counts",
        lambda: True if api.get(f"{BUDGETS}/asr").get("status", {}).get("currentHealthy") == 2 else None,
    )
    seat = opened(bed.kubeconfig, "--write")
    seat.until("live · rw", "4 nodes")
    drain_now(seat, api, "gpu-0")
    seat.until("breaks gang team-a/asr", "budget team-a/asr: 0 of", ACCEPTED)
    seat.type("asr")
    seat.keys("Enter")
    seat.until_line(("draining 0/1",), "gpu-0")
    seat.keys("Enter")
    seat.until("waits for budget team-a/asr: 0 of")
    assert is_gone(api, on(pods, "gpu-0")) is None
    ends(api, pods)  # it ends by itself meanwhile
    seat.until("drained")


def test_a_budget_that_the_server_cannot_count_is_told_with_what_it_needs(bed: Bed, opened: Opened) -> None:
    """maxUnavailable over the pods of a Job: a Job has no scale, so nobody knows its pods."""
    api = bed.api()
    gang(api, "asr", ("gpu-0", "gpu-1"), 8)
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"gang": "asr"}}}
    tree = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    api.create(BUDGETS, {**tree, "metadata": {"name": "asr", "namespace": "team-a"}})
    until("the budget has failed", lambda: api.get(f"{BUDGETS}/asr").get("status", {}).get("conditions"))
    seat = opened(bed.kubeconfig, "--write")
    seat.until("live · rw", "4 nodes")
    drain_now(seat, api, "gpu-0")
    seat.until("budget team-a/asr: none may be disrupted", "counts none", "minAvailable: N", ACCEPTED)


def test_a_drain_that_waits_for_a_job_outlives_its_cockpit_as_a_note(bed: Bed, opened: Opened) -> None:
    """The next cockpit shows what it waits for, evicts nobody unasked, and takes it up by the same key."""
    api = bed.api()
    pods = gang(api, "asr", ("gpu-0", "gpu-1"), 4)
    rest = gang(api, "mt", ("gpu-0",), 2)
    first = opened(bed.kubeconfig, "--write")
    first.until("live · rw", "4 nodes")
    at_node(first, api, "gpu-0")
    first.keys("D")
    first.until("drain after its jobs", "team-a/asr")
    first.keys("Enter")
    first.until("after team-a/asr", ACCEPTED)
    first.type("gpu-0")
    first.keys("Enter")
    first.until_line(("drains after team-a/",), "gpu-0")
    quits(first)
    assert cordoned(api, "gpu-0")
    second = opened(bed.kubeconfig, "--write")
    second.until("live · rw", "4 nodes")
    at_node(second, api, "gpu-0")
    second.until_line(("drains after team-a/",), "gpu-0")
    ends(api, [*pods, *rest])
    second.until_line(("drained",), "gpu-0")
    assert cordoned(api, "gpu-0"), "the end of a drain leaves the node cordoned"
