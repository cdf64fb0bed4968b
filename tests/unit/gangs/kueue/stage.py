"""A namespace with queues of its own on a bed, and what is done there."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tests.bed.api import Api, ApiError, Tree
from tests.bed.estate import gpu_node

GPU = "nvidia.com/gpu"
KUEUE = "kueue.x-k8s.io/v1beta2"
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.3
COVERED = ("cpu", "memory", GPU)


class NotTold(Exception):
    """The controllers did not come to say what the situation is about."""


class Stage:
    """Makes objects of one situation; names of what has no namespace begin with that of the situation."""

    def __init__(self, api: Api, situation: str) -> None:
        self.space = situation.replace("_", "-")
        self._api = api
        self._check = ""
        self._flavors: set[str] = set()
        self.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.space}})

    def name(self, word: str) -> str:
        return f"{self.space}-{word}"

    def make(self, tree: Tree) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self._api.create(self._api.path_of(tree).rpartition("/")[0], tree)
                return
            except ApiError as error:
                if error.status not in (404, 409, 500, 503) or time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_SECONDS)

    # ---- queues

    def flavor(self, word: str, **spec: Any) -> None:
        name = self.name(word)
        self._flavors.add(name)
        self.make({"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec})

    def queue(
        self,
        word: str = "main",
        *,
        gpus: int,
        cpu: str = "1000",
        flavor: str = "",
        checks: Sequence[str] = (),
        **spec: Any,
    ) -> None:
        """A ClusterQueue and a LocalQueue that leads to it; a flavor is made where none is named."""
        if not flavor:
            flavor = self.name("h100")
            if flavor not in self._flavors:
                self.flavor("h100")
        amounts = {"cpu": cpu, "memory": "100Ti", GPU: str(gpus)}
        resources = [{"name": name, "nominalQuota": amounts[name]} for name in COVERED]
        spec = {
            "namespaceSelector": {},
            "resourceGroups": [
                {"coveredResources": list(COVERED), "flavors": [{"name": flavor, "resources": resources}]}
            ],
            **spec,
        }
        if checks:
            spec["admissionChecksStrategy"] = {
                "admissionChecks": [{"name": self.name(one)} for one in checks]
            }
        name = self.space if word == "main" else self.name(word)
        self.make({"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec})
        local = {"name": word, "namespace": self.space}
        self.make(
            {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": name}}
        )

    def priority(self, word: str, value: int) -> None:
        meta = {"name": self.name(word)}
        self.make({"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": meta, "value": value})

    def check(self, word: str) -> None:
        """An AdmissionCheck of a controller that is played here."""
        meta = {"name": self.name(word)}
        spec = {"controllerName": "example.com/checker"}
        self.make({"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": meta, "spec": spec})
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        active = {
            "type": "Active",
            "status": "True",
            "reason": "Active",
            "message": "",
            "lastTransitionTime": now,
        }
        path = f"/apis/{KUEUE}/admissionchecks/{self.name(word)}/status"
        self._merge(path, {"status": {"conditions": [{**active, "lastTransitionTime": _now()}]}})
        self._check = self.name(word)

    def say_check(self, state: str, message: str, **more: Any) -> None:
        said = {"name": self._check, "state": state, "message": message, "lastTransitionTime": _now(), **more}
        workload = self._workloads()[0]["metadata"]["name"]
        path = f"/apis/{KUEUE}/namespaces/{self.space}/workloads/{workload}/status"
        self._merge(path, {"status": {"admissionChecks": [said]}})
        self.settle(2)

    # ---- jobs

    def job(
        self,
        name: str,
        *,
        gpus: int,
        pods: int = 1,
        cpu: str = "1",
        queue: str = "main",
        resource: str = GPU,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
        completions: int | None = 0,
        **pod: Any,
    ) -> None:
        """A batch Job; `notes` are annotations of its pods, `pod` further fields of their spec."""
        spec: Tree = {
            "suspend": True,
            "parallelism": pods,
            "template": {
                "metadata": {"annotations": dict(notes or {})},
                "spec": _pod(gpus, resource, cpu, pod),
            },
        }
        if completions is not None:
            spec["completions"] = completions or pods
        meta = {
            "name": name,
            "namespace": self.space,
            "labels": {"kueue.x-k8s.io/queue-name": queue, **(labels or {})},
            "annotations": dict(annotations or {}),
        }
        self.make({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})

    def running(self, name: str, **asked: Any) -> None:
        self.job(name, **asked)
        self.until("Admitted", "True", name)

    def mpijob(
        self,
        name: str,
        *,
        workers: int,
        gpus: int,
        launcher: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
        run_launcher_as_worker: bool = False,
        launchers: int = 1,
        queue: str | None = "main",
    ) -> None:
        """An MPIJob; `launcher` are the requests of its launcher."""
        asked = {"cpu": "1"} if launcher is None else dict(launcher)
        if run_launcher_as_worker:
            asked[GPU] = str(gpus)
        container = {"name": "main", "image": "registry.example/train:1", "resources": {"limits": asked}}
        note = {"annotations": dict(notes or {})}
        head = {"metadata": note, "spec": {"containers": [container]}}
        body = {"metadata": note, "spec": {"containers": [_container(gpus, GPU, "1")]}}
        spec: Tree = {
            "slotsPerWorker": gpus,
            "runPolicy": {"cleanPodPolicy": "Running"},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": launchers, "template": head},
                "Worker": {"replicas": workers, "template": body},
            },
        }
        if run_launcher_as_worker:
            spec["runLauncherAsWorker"] = True
        labels = {} if queue is None else {"kueue.x-k8s.io/queue-name": queue}
        meta = {"name": name, "namespace": self.space, "labels": labels}
        self.make({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": meta, "spec": spec})

    # ---- nodes and pods

    def node(self, name: str, rack: str) -> None:
        tree = gpu_node(name, pool=self.space)
        tree["metadata"]["labels"]["cloud.example/rack"] = rack
        self.make(tree)

    def lose_node_of(self, job: str) -> None:
        pods = [pod for pod in self._pods() if pod["metadata"]["name"].startswith(job)]
        self._api.request("DELETE", f"/api/v1/nodes/{pods[0]['spec']['nodeName']}").checked()

    def evict(self, pod: str) -> None:
        """As a kubelet does whose node runs out of memory."""
        message = (
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 22Mi. Container main"
            " was using 61Gi, request is 0, has larger consumption of memory. "
        )
        path = f"/api/v1/namespaces/{self.space}/pods/{pod}/status"
        ended = {"exitCode": 137, "reason": "Error", "startedAt": None, "finishedAt": None}
        status = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
        self._merge(
            path,
            {
                "status": {
                    "phase": "Failed",
                    "reason": "Evicted",
                    "message": message,
                    "containerStatuses": [{**status, "state": {"terminated": ended}}],
                }
            },
        )

    def patch(self, plural: str, name: str, tree: Tree) -> None:
        self._merge(f"/apis/batch/v1/namespaces/{self.space}/{plural}/{name}", tree)

    def patch_workload(self, job: str, tree: Tree) -> None:
        name = self._of_job(job)[-1]["metadata"]["name"]
        self._merge(f"/apis/{KUEUE}/namespaces/{self.space}/workloads/{name}", tree)

    # ---- waiting

    def settle(self, seconds: float = 2.0) -> None:
        """A while in which nothing is waited for but that controllers have looked."""
        time.sleep(seconds)

    def until(self, type_: str, status: str, job: str = "") -> None:
        def is_so() -> bool:
            found = self._of_job(job) if job else self._workloads()
            return any(_condition(one, type_) == status for one in found)

        self._await(is_so, f"{type_} {status}")

    def until_told(self, job: str) -> None:
        """Until Kueue has said why it waits."""
        self.until("QuotaReserved", "False", job)
        self.settle(1)

    def until_pending(self, count: int, *, conditions: int) -> None:
        def is_so() -> bool:
            found = [one for one in self._workloads() if _condition(one, "QuotaReserved") != "True"]
            told = [one for one in found if _condition(one, "QuotaReserved") == "False"]
            return len(found) >= count and len(told) >= conditions

        self._await(is_so, f"{count} pending")
        self.settle(3)

    def until_running(self, count: int) -> None:
        self._await(
            lambda: sum(pod["status"].get("phase") == "Running" for pod in self._pods()) >= count,
            f"{count} pods running",
        )

    def until_warning(self, name: str) -> None:
        def is_so() -> bool:
            found = self._api.items(f"/api/v1/namespaces/{self.space}/events")
            return any(one["type"] == "Warning" and one["involvedObject"]["name"] == name for one in found)

        self._await(is_so, f"a warning about {name}")
        self.settle(2)

    def _await(self, is_so: Any, what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            if time.monotonic() > deadline:
                raise NotTold(f"{self.space}: no {what}")
            time.sleep(PAUSE_SECONDS)

    def _merge(self, path: str, tree: Tree) -> None:
        self._api.request("PATCH", path, tree, content_type="application/merge-patch+json").checked()

    def _pods(self) -> list[Tree]:
        return list(self._api.items(f"/api/v1/namespaces/{self.space}/pods"))

    def _workloads(self) -> list[Tree]:
        return list(self._api.items(f"/apis/{KUEUE}/namespaces/{self.space}/workloads"))

    def _of_job(self, job: str) -> list[Tree]:
        found = self._workloads()
        return [one for one in found if one["metadata"]["ownerReferences"][0]["name"] == job]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _condition(tree: Tree, type_: str) -> str:
    found = tree.get("status", {}).get("conditions") or []
    return next((one["status"] for one in found if one["type"] == type_), "")


def _container(gpus: int, resource: str, cpu: str) -> Tree:
    asked = {resource: str(gpus), "cpu": cpu, "memory": "1Gi"}
    return {"name": "main", "image": "registry.example/train:1", "resources": {"limits": asked}}


def _pod(gpus: int, resource: str, cpu: str, more: Mapping[str, Any]) -> Tree:
    return {"restartPolicy": "Never", "containers": [_container(gpus, resource, cpu)], **more}
