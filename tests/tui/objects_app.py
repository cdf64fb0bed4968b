"""The scripted estate on a server from which objects are read one by one: as YAML, described, among their
owners, as a table of their kind, with their ports."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.discovery import Served, ServedResource
from cockpit.kube.resource import Resource
from cockpit.local_state.audit import Audit
from cockpit.model.batch import Batch
from cockpit.model.node import Node
from cockpit.model.record import Condition, Kind
from cockpit.model.remembered import Remembered
from cockpit.sim.times import rfc3339
from cockpit.triage.since_left import Happened
from tests.tui.deck import ScriptedApp
from tests.tui.estate import NOW, Estate

Tree = dict[str, Any]

JOB, SPACE = "llm-7b-sft", "team-a"
IMAGE = "registry.example/llm:7b-sft"
CLAIMS = "persistentvolumeclaims"
REFUSED = "sweep-12"
HOSTNAME = "kubernetes.io/hostname"
RESOURCES = (
    Resource("", "v1", "pods", "Pod", namespaced=True),
    Resource("", "v1", "nodes", "Node", namespaced=False),
    Resource("", "v1", CLAIMS, "PersistentVolumeClaim", namespaced=True),
    Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob", namespaced=True),
    Resource("batch", "v1", "jobs", "Job", namespaced=True),
)


def _metadata(name: str, hours: float, **more: Any) -> Tree:
    return {
        "name": name,
        "namespace": SPACE,
        "uid": f"mpi-{SPACE}-{name}",
        "creationTimestamp": rfc3339(NOW - 3600 * hours),
        **more,
    }


def _owned(name: str) -> Tree:
    owner = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": JOB, "uid": f"mpi-{SPACE}-{JOB}"}
    container = {
        "name": "worker", "image": IMAGE, "command": ["/usr/sbin/sshd", "-De"],
        "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"cpu": "64", "memory": "900Gi"}},
        "ports": [{"name": "ssh", "containerPort": 2222}, {"name": "metrics", "containerPort": 9090}],
    }  # fmt: skip
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": rfc3339(NOW - 17_900)}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": _metadata(name, 5, ownerReferences=[{**owner, "controller": True}]),
        "spec": {"nodeName": "gpu-h100-13", "restartPolicy": "Never", "containers": [container]},
        "status": {"phase": "Running", "podIP": "10.64.7.31", "conditions": [condition]},
    }  # fmt: skip


def _claim(name: str, size: str, hours: float) -> Tree:
    cells = [name, "Bound", f"pvc-{name}", size, "RWX", "cephfs"]
    return {"cells": cells, "object": {"metadata": _metadata(name, hours)}}


CLAIMED: Tree = {
    "kind": "Table",
    "columnDefinitions": [
        {"name": name} for name in ("Name", "Status", "Volume", "Capacity", "Access Modes", "Storage Class")
    ],
    "rows": [
        _claim("checkpoints", "20Ti", 700),
        _claim("datasets", "80Ti", 2_000),
        _claim("scratch", "4Ti", 30),
    ],
}


class ObjectsApp(ScriptedApp):
    """Answers for a job of two workers that its queue holds, for its pods, and for claims of volumes; what
    would be written to `REFUSED` is forbidden."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        self.attachment.served = Served(tuple(ServedResource(kind, ("get", "list")) for kind in RESOURCES))
        self._kept = TemporaryDirectory()
        _change(self, lambda node: {"labels": tuple(sorted((*node.labels, (HOSTNAME, node.name))))})
        session: Any = self.attachment.session
        self._before = session.request
        session.request = self._answer

    def audit(self) -> Audit:
        return Audit(Path(self._kept.name) / "audit.jsonl")

    async def _answer(self, method: str = "", path: str = "", *rest: object, **more: Any) -> Any:
        name = path.rpartition("/")[2]
        is_dry = ("dryRun", "All") in (more.get("query") or ())
        if method != "GET" and name == REFUSED and not is_dry:
            return _answered(403, {"kind": "Status", "code": 403, "message": "jobs are forbidden to ada"})
        if method == "GET" and "/workloads/" in path:
            return _answered(200, {"metadata": {}})
        if method != "GET" or not (name.startswith(JOB) or name == CLAIMS):
            return await self._before(method, path, *rest, **more)
        return _answered(200, CLAIMED if name == CLAIMS else _job() if name == JOB else _owned(name))


def _job() -> Tree:
    values = {"name": JOB, "namespace": SPACE, "image": IMAGE, "workers": "2", "gpus": "8"}
    tree = render(load_library().templates["mpijob"], values)
    tree["metadata"] |= _metadata(JOB, 5)
    tree["spec"]["runPolicy"]["suspend"] = True
    return tree


def _answered(status: int, tree: Tree) -> ApiAnswer:
    return ApiAnswer(status, "application/json", json.dumps(tree).encode())


class AwayApp(ScriptedApp):
    """Two hours after the last session; meanwhile the kubelets of a pool fell silent and a job failed."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        self.now_watch._cluster, self.now_watch._namespaces = self.cluster, self.cluster.namespaces
        self.now_watch._left = Remembered(left_seconds=NOW - 7_200)
        self.now_watch._happened = (
            Happened(
                what="failed", subject_key="job.batch/team-c/sweep-12", subject="team-c/sweep-12",
                words="worker 3 failed: exit 1", at_seconds=NOW - 4_000,
            ),
            Happened(what="node gone", subject_key="gpu-h100-19", subject="gpu-h100-19", kind="node"),
            Happened(
                what="started",
                subject_key=f"mpijob.kubeflow.org/{SPACE}/{JOB}",
                subject=f"{SPACE}/{JOB}",
                at_seconds=NOW - 5_100,
            ),
        )  # fmt: skip
        silent = Condition(
            "Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting status.", NOW - 300
        )
        _change(self, lambda node: {"conditions": (silent,)} if node.name.startswith("gpu-a100") else {})


def _change(app: ScriptedApp, fields: Callable[[Node], Tree]) -> None:
    """Each node with these fields instead."""
    store = app.attachment.store
    nodes = [node for node in store.records(Kind.NODE).values() if isinstance(node, Node)]
    changed = tuple(msgspec.structs.replace(node, **fields(node)) for node in nodes)
    store.apply(Batch(kind=Kind.NODE, changed=changed))
    app.attachment.jobs.catch_up()
