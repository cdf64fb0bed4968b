"""A drain by keys: a gang on two nodes is not broken unnamed, or waited for; a budget delays and is told.

The same on the real control plane and on the embedded cluster; the truth is asked past the cockpit.
"""

from collections.abc import Callable
from typing import Any

from tests.bed.api import Api
from tests.tui.on_the_bed import until
from tests.tui.seat import Seat

GPU = "nvidia.com/gpu"
ACCEPTED = "server: the cluster would accept it"
Ends = Callable[[Api, list[dict[str, Any]]], None]
"""Ends a job whose pods are given, as its programs would."""


def gang(api: Api, name: str) -> list[dict[str, Any]]:
    """An indexed Job of two pods with eight GPUs each; its pods once both run."""
    container = {"name": "main", "image": "example/train:1", "resources": {"limits": {GPU: "8"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": template}
    tree = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "team-a"}}
    api.create("/apis/batch/v1/namespaces/team-a/jobs", {**tree, "spec": spec})
    return until(f"both pods of {name} run", lambda: _running(api, "team-a", f"{name}-", 2))


def service(api: Api, name: str, node: str, replicas: int) -> list[dict[str, Any]]:
    """A Deployment whose pods may run on that node alone; its pods once all run."""
    labels = {"app": name}
    container = {"name": "main", "image": "example/api:1"}
    pod = {"nodeSelector": {"kubernetes.io/hostname": node}, "containers": [container]}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    tree = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "team-b"}}
    api.create("/apis/apps/v1/namespaces/team-b/deployments", {**tree, "spec": spec})
    return until(f"{name} runs", lambda: _running(api, "team-b", f"{name}-", replicas))


def _running(
    api: Api, space: str, prefix: str, count: int, phases: tuple[str, ...] = ("Running",)
) -> list[dict[str, Any]] | None:
    """The pods of that name in these phases (or any), once they are so many."""
    found = [
        one
        for one in api.items(f"/api/v1/namespaces/{space}/pods")
        if one["metadata"]["name"].startswith(prefix) and (not phases or one["status"].get("phase") in phases)
    ]
    return found if len(found) == count else None


def budget(api: Api, name: str) -> str:
    """A budget that lets none of two pods go; its path."""
    path = "/apis/policy/v1/namespaces/team-b/poddisruptionbudgets"
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": name}}}
    tree = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
    api.create(path, {**tree, "metadata": {"name": name, "namespace": "team-b"}, "spec": spec})

    def counts() -> bool | None:
        status = api.get(f"{path}/{name}").get("status", {})
        return True if status.get("expectedPods") == 2 and status.get("currentHealthy") == 2 else None

    until("the budget counts its pods", counts)
    return f"{path}/{name}"


def is_gone(api: Api, pod: dict[str, Any]) -> bool | None:
    """Whether it has ended, is ending, or is another one by now."""
    meta = pod["metadata"]
    reply = api.request("GET", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}")
    if reply.status == 404:
        return True
    now = reply.json()
    has_ended = now["status"].get("phase") in ("Succeeded", "Failed")
    return (
        True
        if has_ended or now["metadata"]["uid"] != meta["uid"] or now["metadata"].get("deletionTimestamp")
        else None
    )


def cordoned(api: Api, node: str) -> bool:
    return bool(api.get(f"/api/v1/nodes/{node}")["spec"].get("unschedulable"))


def at_node(seat: Seat, api: Api, node: str) -> None:
    """The cursor on that node among the nodes."""
    seat.keys("3")
    seat.until("Max °C")
    seat.keys("Escape")  # the filter of the time before
    names = [one["metadata"]["name"] for one in api.items("/api/v1/nodes")]
    seat.until("Max °C", *names)
    seat.find(node)
    seat.until(node, without=[one for one in names if one != node])


def after_the_job(seat: Seat, api: Api, ends: Ends) -> None:
    """Cordoned at once, drained when the gang has ended by itself."""
    pods = gang(api, "llm")
    node = pods[0]["spec"]["nodeName"]
    (web,) = service(api, "web", node, 1)
    at_node(seat, api, node)
    seat.keys("D")
    seat.until("drain after its jobs", "team-a/llm")
    seat.keys("Enter")
    seat.until("after team-a/llm", ACCEPTED)
    seat.type(node)
    seat.keys("Enter")
    seat.until_line(("drains after team-a/llm",), node)
    assert cordoned(api, node)
    assert is_gone(api, web) is None and all(is_gone(api, one) is None for one in pods)
    ends(api, pods)
    until("what was left is evicted", lambda: is_gone(api, web))
    seat.until_line(("drained",), node)


def named(seat: Seat, api: Api) -> None:
    """A drain that breaks a gang begins only once its name is typed."""
    pods = gang(api, "tts")
    node = pods[0]["spec"]["nodeName"]
    at_node(seat, api, node)
    seat.keys("D")
    seat.until("drain after its jobs", "drain now")
    seat.type("now")
    seat.until("drain now", without=["drain after its jobs"])
    seat.keys("Enter")
    seat.until("breaks gang team-a/tts", "8 GPUs", "would idle", ACCEPTED)
    seat.type("yes")
    seat.keys("Enter")
    seat.until("that is another name")
    assert not cordoned(api, node)
    seat.keys("C-u")
    seat.type("tts")
    seat.keys("Enter")
    until("its pod of the gang is evicted", lambda: is_gone(api, pods[0]))
    seat.until_line(("drained",), node)
    api.delete("/apis/batch/v1/namespaces/team-a/jobs/tts", {"propagationPolicy": "Background"})
    until("nothing of it is left", lambda: _running(api, "team-a", "tts-", 0, phases=()))


def delayed(seat: Seat, api: Api, node: str) -> None:
    """A budget delays, and says so; the drain goes on when it has something to give."""
    pods = service(api, "api", node, 2)
    path = budget(api, "api")
    at_node(seat, api, node)
    seat.keys("D")
    seat.until("drain now")
    seat.keys("Enter")
    seat.until("budget team-b/api: 0 of 2 may be disrupted", ACCEPTED)
    seat.type(node)
    seat.keys("Enter")
    seat.until_line(("draining 0/2",), node)
    seat.keys("Enter")
    seat.until("waits for budget team-b/api: 0 of 2")
    assert all(is_gone(api, one) is None for one in pods)
    api.delete(path)
    until("both are evicted", lambda: True if all(is_gone(api, one) for one in pods) else None)
    seat.until("drained")
    seat.keys("Escape")
