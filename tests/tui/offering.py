"""The scripted cockpit before a server that offers claims, classes and engines, or denies them."""

import json
from typing import Any

from cockpit.kube.answer import ApiAnswer
from cockpit.kube.discovery import Served, ServedResource
from cockpit.kube.resource import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, MPIJOBS, PODS, WORKLOADS, Resource
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.record import Kind
from tests.tui.deck import ScriptedApp
from tests.tui.estate import Estate

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True)
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
QUEUE_CLASSES = Resource(
    "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
)
FLAVORS = Resource("kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False)
POD_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
VOLCANO = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", namespaced=True)
EVERYTHING = (
    *(MPIJOBS, JOBS, PODS, WORKLOADS, LOCAL_QUEUES, CLUSTER_QUEUES),
    *(CLAIMS, VOLUMES, QUEUE_CLASSES, FLAVORS, POD_CLASSES, VOLCANO),
)
ZONE = "topology.kubernetes.io/zone"


def _claim(name: str, *, is_bound: bool = True) -> dict[str, Any]:
    marks = {"pv.kubernetes.io/bind-completed": "yes"} if is_bound else {}
    volume = f"v-{name}" if is_bound else ""
    modes = ["ReadWriteMany"]
    return {
        "metadata": {"name": name, "namespace": "team-a", "annotations": marks},
        "spec": {"volumeName": volume, "accessModes": modes, "storageClassName": "fast"},
    }


def _only_in(zone: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    return {"required": {"nodeSelectorTerms": [term]}}


LISTS: dict[str, list[dict[str, Any]]] = {
    "persistentvolumeclaims": [_claim("corpus"), _claim("runs"), _claim("new", is_bound=False)],
    "persistentvolumes": [
        {
            "metadata": {"name": f"v-{name}"},
            "spec": {"claimRef": {"namespace": "team-a", "name": name}, "nodeAffinity": _only_in(zone)},
        }
        for name, zone in (("corpus", "eu-1a"), ("runs", "eu-1b"))
    ],
    "storageclasses": [{"metadata": {"name": "fast"}, "provisioner": "csi.example.com"}],
    "workloadpriorityclasses": [
        {"metadata": {"name": "high"}, "value": 1000},
        {"metadata": {"name": "low"}, "value": 10},
    ],
    "resourceflavors": [
        {"metadata": {"name": "h100"}, "spec": {}},
        {"metadata": {"name": "a100"}, "spec": {}},
    ],
    "priorityclasses": [{"metadata": {"name": "batch"}, "value": 5}],
}


def _queue_tree(queue: LocalQueue) -> dict[str, Any]:
    return {
        "metadata": {"name": queue.name, "namespace": queue.namespace, "uid": queue.uid},
        "spec": {"clusterQueue": queue.cluster_queue},
    }


def _quota_tree(queue: ClusterQueue) -> dict[str, Any]:
    """Its quota as the store has it; it preempts lower priorities of its own."""
    flavors = [
        {
            "name": row.flavor,
            "resources": [
                {"name": row.resource, "nominalQuota": row.nominal, "borrowingLimit": row.borrowing_limit}
            ],
        }
        for row in queue.quotas
    ]
    groups = [{"coveredResources": [row.resource for row in queue.quotas], "flavors": flavors}]
    preemption = {"withinClusterQueue": "LowerPriority"}
    return {
        "metadata": {"name": queue.name, "uid": queue.uid},
        "spec": {"cohortName": queue.cohort, "preemption": preemption, "resourceGroups": groups},
    }


class OfferingApp(ScriptedApp):
    """The same, with discovery done and lists to choose from; `denied` names plurals that answer 403."""

    def __init__(self, estate: Estate | None, *, denied: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(estate, **options)
        self.asked: list[str] = []
        self._denied = denied
        self.attachment.served = Served(tuple(ServedResource(one, ("list",)) for one in EVERYTHING))
        session: Any = self.attachment.session
        if session is not None:
            session.request = self._answer

    async def _answer(self, method: str, path: str, **_: object) -> ApiAnswer:
        self.asked.append(f"{method} {path}")
        plural = path.partition("?")[0].rpartition("/")[2]
        if (
            method == "GET"
            and plural not in self._denied
            and (found := self._found(path, plural)) is not None
        ):
            return ApiAnswer(200, "application/json", json.dumps(found).encode())
        status = 201 if method != "GET" else 403 if plural in self._denied else 404
        said = f"{plural} is forbidden to user ada" if status == 403 else ""
        body = {"kind": "Status", "message": said, "code": status} if status > 399 else {}
        return ApiAnswer(status, "application/json", json.dumps(body).encode())

    def _found(self, path: str, last: str) -> dict[str, Any] | None:
        store = self.attachment.store
        if "/localqueues/" in path:
            queues = store.records(Kind.LOCAL_QUEUE).values()
            return next(
                (_queue_tree(one) for one in queues if f"/{one.namespace}/localqueues/{one.name}" in path),
                None,
            )
        if last == "clusterqueues":
            return {"items": [_quota_tree(queue) for queue in store.records(Kind.CLUSTER_QUEUE).values()]}
        return {"items": LISTS[last]} if last in LISTS else None
