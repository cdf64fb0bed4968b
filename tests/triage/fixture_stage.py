"""The stage on paper: a cluster in memory, for what no component here writes (kubelets, Volcano, drivers).

Fixtures hold objects as that component writes them, by the sources that the catalogue cites.
"""

import copy
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from cockpit.model.finding import Subject
from tests.triage.builders import GPU, Pool, job, node, pod_spec
from tests.triage.case import Tree
from tests.triage.draw import Draw
from tests.triage.stage import Expected, Lasts, Seen, Stage, script

_START_SECONDS = 1_763_900_000.0
_CLUSTER_WIDE = frozenset(
    {
        *("Node", "Namespace", "PersistentVolume", "StorageClass", "PriorityClass", "ClusterQueue", "Cohort"),
        *("ResourceFlavor", "WorkloadPriorityClass", "AdmissionCheck", "Topology", "ResourceSlice"),
        *("DeviceClass", "NodePool", "NodeClaim", "ClusterPolicy"),
    }
)
_VOLCANO_QUEUES = frozenset({"scheduling.volcano.sh/v1beta1", "scheduling.run.ai/v2"})


def collection(tree: Tree) -> str:
    """`pods`, `workloads.kueue.x-k8s.io`."""
    kind, group = tree["kind"].lower(), tree["apiVersion"].rpartition("/")[0]
    plural = f"{kind}es" if kind.endswith("s") else f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"{plural}.{group}" if group else plural


def is_cluster_wide(tree: Tree) -> bool:
    """Whether objects of its kind have no namespace."""
    is_queue = tree["kind"] == "Queue" and tree["apiVersion"] in _VOLCANO_QUEUES
    return tree["kind"] in _CLUSTER_WIDE or is_queue


class FixtureStage:
    """Objects in memory with uids and times; `now_seconds` is the look."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.now_seconds = _START_SECONDS + draw.number(0, 3_000_000)
        self._objects: dict[str, list[Tree]] = {"nodes": [], "pods": [], "events": [], "jobs.batch": []}
        self._version = 1000
        self.space = draw.space()
        self.make(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": self.space},
                "status": {"phase": "Active"},
            }
        )

    def ago(self, seconds: float) -> str:
        """The time so long before the look, as Kubernetes writes it."""
        return datetime.fromtimestamp(self.now_seconds - seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def uid(self) -> str:
        """A new one, the same for the same seed."""
        return str(uuid.UUID(int=self.draw.rng.getrandbits(128), version=4))

    # ---- as on a bed

    def make(self, *trees: Tree) -> None:
        """Put objects in, with what an API server would add; ten minutes old unless they say otherwise."""
        for given in trees:
            tree = copy.deepcopy(given)
            self._version += 1
            own: Tree = {"uid": self.uid(), "resourceVersion": str(self._version)}
            own["creationTimestamp"] = self.ago(600)
            if not is_cluster_wide(tree):
                own["namespace"] = self.space
            tree["metadata"] = {**own, **tree["metadata"]}
            self._objects.setdefault(collection(tree), []).append(tree)

    def patch(self, kind: str, name: str, change: Tree, *, part: str = "", space: str = "") -> None:
        """Merge patch one object. Raises KeyError."""
        for tree in self._objects[kind]:
            if tree["metadata"]["name"] == name:
                _merge(tree, change)
                return
        raise KeyError(f"no {kind} {name}")

    def remove(self, kind: str, name: str) -> None:
        """Take one object away."""
        self._objects[kind] = [one for one in self._objects[kind] if one["metadata"]["name"] != name]

    def get(self, kind: str, *, space: str = "") -> list[Tree]:
        """The objects themselves."""
        return self._objects.get(kind, [])

    def serve(self, kind: str) -> None:
        """The collection is there, and empty."""
        self._objects.setdefault(kind, [])

    def until(self, kind: str, seen: Seen, *, space: str = "", patience_seconds: float = 0.0) -> Tree:
        """On paper nothing comes by itself. Raises TimeoutError where it is not there."""
        for tree in self.get(kind):
            if seen(tree):
                return tree
        raise TimeoutError(f"no such object among {kind}")

    def until_gone(self, kind: str, name: str) -> None:
        """Raises TimeoutError where it is there."""
        if any(tree["metadata"]["name"] == name for tree in self.get(kind)):
            raise TimeoutError(f"{name} is still among {kind}")

    def objects(self) -> dict[str, list[Tree]]:
        """All of them, by collection."""
        return self._objects

    # ---- what components write

    def one(self, kind: str, name: str) -> Tree:
        """An object by its name."""
        return self.until(kind, lambda tree: tree["metadata"]["name"] == name)

    def event(
        self,
        about: Tree,
        reason: str,
        message: str,
        *,
        by: str,
        is_warning: bool = True,
        ago: float = 60,
        count: int = 1,
    ) -> None:
        """An event as the older recorder writes it."""
        meta = about["metadata"]
        first, last = self.ago(ago + 20 * (count - 1)), self.ago(ago)
        space = meta.get("namespace", "default")
        self.make(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    "name": f"{meta['name']}.{self.draw.rng.getrandbits(60):x}",
                    "namespace": space,
                    "creationTimestamp": first,
                },
                "involvedObject": {
                    "apiVersion": about["apiVersion"],
                    "kind": about["kind"],
                    "name": meta["name"],
                    "uid": meta["uid"],
                    **({"namespace": meta["namespace"]} if "namespace" in meta else {}),
                },
                "reason": reason,
                "message": message,
                "type": "Warning" if is_warning else "Normal",
                "source": {"component": by},
                "reportingComponent": by,
                "reportingInstance": "",
                "firstTimestamp": first,
                "lastTimestamp": last,
                "count": count,
            }
        )

    def node_conditions(self, **other: tuple[str, str, str]) -> list[Tree]:
        """A kubelet's five; `other` replaces or adds (status, reason, message)."""
        usual = {
            "MemoryPressure": (
                "False",
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available",
            ),
            "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
            "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
        }
        return [
            {
                "type": type_,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": self.ago(20),
                "lastTransitionTime": self.ago(400 if type_ in other else 86_400),
            }
            for type_, (status, reason, message) in {**usual, **other}.items()
        ]

    def pool(
        self,
        count: int = 0,
        *,
        gpus: int = 8,
        labels: Mapping[str, str] | None = None,
        resource: str = GPU,
        taints: Sequence[str] = (),
    ) -> Pool:
        """Ready nodes of one make, a day old."""
        short, product = self.draw.product()
        word = self.draw.word(short)
        names = tuple(f"{word}-{index:02d}" for index in range(1, (count or self.draw.number(2, 4)) + 1))
        marks = {
            "pool": word,
            "nvidia.com/gpu.product": product,
            "nvidia.com/gpu.present": "true",
            **(labels or {}),
        }
        for name in names:
            tree = node(name, allocatable={resource: str(gpus)}, labels=marks, taints=taints, is_played=False)
            tree["metadata"]["creationTimestamp"] = self.ago(86_400)
            tree["status"]["conditions"] = self.node_conditions()
            self.make(tree)
        return Pool(word, product, names, gpus)

    def owner(self, tree: Tree) -> list[Tree]:
        """References to the controller of something."""
        meta = tree["metadata"]
        return [
            {
                "apiVersion": tree["apiVersion"],
                "kind": tree["kind"],
                "name": meta["name"],
                "uid": meta["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]

    def pod(
        self,
        name: str,
        spec: Tree,
        *,
        owner: Tree | None = None,
        on: str = "",
        phase: str = "Pending",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        age: float = 600,
        status: Tree | None = None,
        **metadata: Any,
    ) -> Tree:
        """A pod that stands where it is said to; what its kubelet reported is `status`."""
        held = {
            **spec,
            **({"nodeName": on} if on else {}),
            "schedulerName": spec.get("schedulerName", "default-scheduler"),
        }
        told = {"phase": phase, "qosClass": "Burstable", **self._marks(on, phase, age), **(status or {})}
        self.make(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "creationTimestamp": self.ago(age),
                    **({"labels": dict(labels)} if labels else {}),
                    **({"annotations": dict(annotations)} if annotations else {}),
                    **({"ownerReferences": self.owner(owner)} if owner else {}),
                    **metadata,
                },
                "spec": held,
                "status": told,
            }
        )
        return self.one("pods", name)

    def _marks(self, on: str, phase: str, age: float) -> Tree:
        if not on:
            return {}
        is_up = phase == "Running"
        conditions = [
            {"type": type_, "status": status, "lastTransitionTime": self.ago(age - 2)}
            for type_, status in (
                *(("PodScheduled", "True"), ("PodReadyToStartContainers", "True"), ("Initialized", "True")),
                *(("ContainersReady", str(is_up)), ("Ready", str(is_up))),
            )
        ]
        return {"conditions": conditions, "startTime": self.ago(age - 2), "hostIP": "10.0.0.9"}

    def job(self, name: str, spec: Tree, *, pods: int = 1, status: Tree | None = None, **fields: Any) -> Tree:
        """A batch Job without its pods."""
        tree = job(name, spec, pods=pods, **fields)
        tree["status"] = {"active": pods, "ready": 0, "startTime": self.ago(600), **(status or {})}
        self.make(tree)
        return self.one("jobs.batch", name)

    def job_pod(self, of: Tree, spec: Tree, *, index: int = 0, **given: Any) -> Tree:
        """A pod of a Job, named and labelled as the controller does."""
        name = of["metadata"]["name"]
        taken = {pod["metadata"]["name"] for pod in self.get("pods")}
        while f"{name}-{(tail := f'{self.draw.rng.getrandbits(25):05x}'[:5])}" in taken:
            pass
        marks = {
            "batch.kubernetes.io/job-name": name,
            "batch.kubernetes.io/controller-uid": of["metadata"]["uid"],
            "job-name": name,
        }
        given.setdefault("labels", {})
        given["labels"] = {**marks, **given["labels"]}
        return self.pod(f"{name}-{tail}", spec, owner=of, **given)

    def healthy(self, where: Pool, gpus: int = 4) -> None:
        """By draw a Job that runs well on the pool's last node."""
        if self.draw.chance(0.6):
            spec = pod_spec(gpus=min(gpus, where.gpus // 2))
            other = self.job(self.draw.job(), spec, status={"ready": 1})
            self.job_pod(other, spec, on=where.nodes[-1], phase="Running", status=self.running())

    def running(self, restarts: int = 0, name: str = "train") -> Tree:
        """The container runs."""
        return {
            "containerStatuses": [
                self.container(
                    {"running": {"startedAt": self.ago(500)}}, restarts=restarts, is_ready=True, name=name
                )
            ]
        }

    def container(
        self,
        state: Tree,
        *,
        name: str = "train",
        restarts: int = 0,
        last: Tree | None = None,
        is_ready: bool = False,
    ) -> Tree:
        """One entry of containerStatuses."""
        return {
            "name": name,
            "image": "registry.example.com/ml/train:24.10",
            "imageID": "",
            "ready": is_ready,
            "started": is_ready,
            "restartCount": restarts,
            "state": state,
            "lastState": last or {},
        }

    def stuck(
        self, spec: Tree, where: Pool, status: Tree, *, phase: str = "Pending", age: float = 600
    ) -> tuple[Subject, Tree]:
        """The subject, a bare pod or a Job of one pod by draw, on the pool's first node; and its pod."""
        name = self.draw.job()
        if self.draw.chance(0.4):
            return Subject("pod", self.space, name), self.pod(
                name, spec, on=where.nodes[0], phase=phase, status=status, age=age
            )
        made = self.job(name, spec)
        return Subject("job", self.space, name), self.job_pod(
            made, spec, on=where.nodes[0], phase=phase, status=status, age=age
        )


def _merge(tree: Tree, change: Tree) -> None:
    for key, value in change.items():
        if value is None:
            tree.pop(key, None)
        elif isinstance(value, dict) and isinstance(tree.get(key), dict):
            _merge(tree[key], value)
        else:
            tree[key] = value


def fixture(
    row: str, slug: str, *, lasts: Lasts | None = None
) -> Callable[[Callable[[FixtureStage], Expected]], None]:
    """Register a function as a script that plays on paper."""

    def note(play: Callable[[FixtureStage], Expected]) -> None:
        def on_paper(stage: Stage) -> Expected:
            assert isinstance(stage, FixtureStage)
            return play(stage)

        script(row, slug, lasts=lasts)(on_paper)

    return note
