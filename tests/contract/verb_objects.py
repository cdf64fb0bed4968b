"""Objects of every kind that a verb takes, in two namespaces, and the records that tables have of them."""

from typing import Any, cast

from cockpit.kube.resource import Resource
from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Condition, Kind, OwnerRef, Record
from cockpit.pools.capacity import priority_class
from cockpit.pools.drain_mark import DrainMark
from tests.bed.api import Api, Tree
from tests.contract import shapes

SPACES = ("team-a", "team-b")
NODES = ("k-node", "k-cordoned", "k-drained")
POOL_LABEL = "cluster.x-k8s.io/deployment-name"
IDLE = tuple(f"k-idle-{space}" for space in SPACES)
"""A GPU node that nobody uses, one of each pool."""
KINDS = {
    "mpijobs": Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob", namespaced=True),
    "jobsets": Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", namespaced=True),
    "vcjobs": Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job", namespaced=True),
    "commands": Resource("bus.volcano.sh", "v1alpha1", "commands", "Command", namespaced=True),
    "workloads": Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", namespaced=True),
    "localqueues": Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", namespaced=True),
    "clusterqueues": Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False),
    "podgroups": Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", namespaced=True),
    "machines": Resource(
        "cluster.x-k8s.io", "v1beta1", "machinedeployments", "MachineDeployment", namespaced=True
    ),
    "nodepools": Resource("karpenter.sh", "v1", "nodepools", "NodePool", namespaced=False),
}
BUILT_IN = {
    "jobs": Resource("batch", "v1", "jobs", "Job", namespaced=True),
    "cronjobs": Resource("batch", "v1", "cronjobs", "CronJob", namespaced=True),
    "pods": Resource("", "v1", "pods", "Pod", namespaced=True),
    "nodes": Resource("", "v1", "nodes", "Node", namespaced=False),
}


def loose(resource: Resource) -> Tree:
    """The definition of a kind that keeps whatever it is given."""
    tree = shapes.crd(resource.plural, resource.kind, namespaced=resource.namespaced)
    tree["metadata"] = {
        "name": f"{resource.plural}.{resource.group}",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test double"},
    }
    tree["spec"]["group"] = resource.group
    (version,) = tree["spec"]["versions"]
    version["name"] = resource.version
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {**free, "properties": {"replicas": {"type": "integer"}}}
    version["schema"]["openAPIV3Schema"] = {**free, "properties": {"spec": spec, "status": free}}
    return tree


def served(api_version: str, kind: str) -> Resource | None:
    every = (*KINDS.values(), *BUILT_IN.values())
    return next((one for one in every if (one.api_version, one.kind) == (api_version, kind)), None)


def put(admin: Api, resource: Resource, name: str, space: str, spec: Tree, **metadata: Any) -> Tree:
    tree = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
    return admin.create(resource.path(space), {**tree, "metadata": {"name": name, **metadata}})


def record(shape: type[Any], tree: Tree, **more: Any) -> Any:
    metadata = tree["metadata"]
    return shape(
        uid=metadata["uid"],
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        resource_version=metadata["resourceVersion"],
        **more,
    )


def row(tree: Tree, state: str = JobState.FAILED, **more: Any) -> Job:
    key = f"{tree['kind']}/{tree['metadata'].get('namespace')}/{tree['metadata']['name']}"
    shape = {"api_version": tree["apiVersion"], "kind": tree["kind"], "key": key, "state": state}
    return cast(Job, record(Job, tree, **shape, **more))


def of_one_space(admin: Api, space: str) -> tuple[list[Any], list[Any], list[Record]]:
    """Jobs, pods and records of one namespace."""
    work = shapes.job("x")["spec"]
    bare = admin.create(BUILT_IN["pods"].path(space), shapes.pod("k-pod"))
    runs, off = ({**work, "suspend": yes} for yes in (False, True))
    jobs = [
        row(put(admin, BUILT_IN["jobs"], "k-run", space, runs)),
        row(put(admin, BUILT_IN["jobs"], "k-held", space, off), JobState.SUSPENDED),
        row(put(admin, KINDS["jobsets"], "k-set", space, {"suspend": False})),
        row(put(admin, KINDS["vcjobs"], "k-vc", space, {"minAvailable": 1, "tasks": []})),
        row(bare, pod_uids=(bare["metadata"]["uid"],)),
    ]
    for is_off in (False, True):
        yearly = {"schedule": "@yearly", "suspend": is_off, "jobTemplate": {"spec": work}}
        made = put(admin, BUILT_IN["cronjobs"], f"k-cron-{'off' if is_off else 'on'}", space, yearly)
        jobs.append(row(made, JobState.SUSPENDED if is_off else JobState.SCHEDULED))
    roles = {role: {"replicas": 2, "template": work["template"]} for role in ("Launcher", "Worker")}
    for is_off in (False, True):
        spec = {"mpiReplicaSpecs": roles, "runPolicy": {"suspend": is_off}}
        made = put(admin, KINDS["mpijobs"], f"k-mpi-{'off' if is_off else 'on'}", space, spec)
        jobs.append(row(made, JobState.SUSPENDED if is_off else JobState.FAILED))
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    queued = put(admin, BUILT_IN["jobs"], "k-queued", space, runs, labels=labels)
    held = put(admin, KINDS["workloads"], "k-workload", space, {"active": True, "queueName": "main"})
    jobs.append(row(queued, engine="Kueue", workload_uid=held["metadata"]["uid"]))
    group = put(admin, KINDS["podgroups"], "k-gang", space, {"minMember": 2})
    member = admin.create(BUILT_IN["pods"].path(space), shapes.pod("k-member"))
    jobs.append(row(member, JobState.QUEUED, engine="Coscheduling", pod_uids=(member["metadata"]["uid"],)))
    owner = OwnerRef("batch/v1", "Job", "k-queued", queued["metadata"]["uid"])
    queue = put(admin, KINDS["localqueues"], "k-main", space, {"clusterQueue": "k-cluster"})
    halted = put(admin, KINDS["localqueues"], "k-halted", space, {"stopPolicy": "Hold"})
    records: list[Record] = [
        record(Pod, bare),
        record(Pod, member, gang=group["metadata"]["name"]),
        record(Workload, held, owner=owner, queue="main"),
        record(LocalQueue, queue, cluster_queue="k-cluster"),
        record(LocalQueue, halted, stop_policy="Hold"),
    ]
    return jobs, [records[0]], records


def everything(admin: Api) -> tuple[dict[str, list[Any]], list[Record]]:
    jobs, pods, records = [], [], []
    for space in SPACES:
        of_one = of_one_space(admin, space)
        jobs += of_one[0]
        pods += of_one[1]
        records += of_one[2]
        labels = {"pool": space, POOL_LABEL: f"k-pool-{space}"}
        spec = {"replicas": 3, "template": {"metadata": {"labels": labels}}}
        machines = put(admin, KINDS["machines"], f"k-pool-{space}", space, spec)
        path = KINDS["machines"].path(space)
        more = {"api_version": machines["apiVersion"], "kind": machines["kind"], "resource_path": path}
        records.append(
            record(
                PoolObject,
                machines,
                **more,
                replicas=3,
                max_replicas=9,
                template_labels=((POOL_LABEL, f"k-pool-{space}"),),
            )
        )
    admin.request("POST", priority_class().path, priority_class().body)  # one that is there stays
    demand = put(admin, KINDS["nodepools"], "k-demand", "", {})
    more = {"api_version": demand["apiVersion"], "kind": demand["kind"]}
    records.append(record(PoolObject, demand, **more, resource_path=KINDS["nodepools"].path()))
    records.append(record(ClusterQueue, put(admin, KINDS["clusterqueues"], "k-cluster", "", {})))
    halted = put(admin, KINDS["clusterqueues"], "k-halted", "", {"stopPolicy": "Hold"})
    records.append(record(ClusterQueue, halted, stop_policy="Hold"))
    nodes = []
    for name in NODES:
        tree = {**shapes.node(name), "spec": {"unschedulable": name != "k-node"}}
        if name == "k-drained":
            tree["metadata"] = {**tree["metadata"], "annotations": DrainMark(id="5f1e").annotations()}
        node = admin.create("/api/v1/nodes", tree)
        notes = tuple(sorted((node["metadata"].get("annotations") or {}).items()))
        more = {"conditions": (Condition("Ready", "True"),), "annotations": notes}
        nodes.append(record(Node, node, unschedulable=name != "k-node", **more))
    records += nodes
    for space in SPACES:
        tree = admin.create(BUILT_IN["pods"].path(space), shapes.pod("k-there", node="k-node"))
        records.append(record(Pod, tree, node="k-node"))
    for space, name in zip(SPACES, IDLE, strict=True):
        records += idle_node(admin, name, f"k-pool-{space}", space)
    queues = [one for one in records if isinstance(one, LocalQueue | ClusterQueue)]
    things = {"job": jobs, "pod": pods, "node": nodes, "queue": queues}
    return things, records


def idle_node(admin: Api, name: str, pool: str, space: str) -> list[Record]:
    """The node of a pool, and its machine as the tables have it."""
    amounts = {"nvidia.com/gpu": "8"}
    tree = shapes.node(name)
    tree["metadata"] = {**tree["metadata"], "labels": {POOL_LABEL: pool}}
    tree["status"] = {"capacity": amounts, "allocatable": amounts}
    node = admin.create("/api/v1/nodes", tree)
    machine = Machine(
        uid=f"m-{name}", name=f"m-{name}", namespace=space, api_version="cluster.x-k8s.io/v1beta1",
        kind="Machine", resource_path=f"/apis/cluster.x-k8s.io/v1beta1/namespaces/{space}/machines",
        node=name, pool_kind="MachineDeployment", pool_key=f"{space}/{pool}",
    )  # fmt: skip
    found = record(
        Node, node, labels=((POOL_LABEL, pool),), pool=pool, pool_label=POOL_LABEL,
        gpu_resource="nvidia.com/gpu", gpu_capacity=8, gpu_allocatable=8,
        conditions=(Condition("Ready", "True"),),
    )  # fmt: skip
    return [found, machine]


TABLES = {
    Pod: Kind.POD, Workload: Kind.WORKLOAD, LocalQueue: Kind.LOCAL_QUEUE, ClusterQueue: Kind.CLUSTER_QUEUE,
    PoolObject: Kind.POOL, Node: Kind.NODE, Machine: Kind.MACHINE,
}  # fmt: skip


def remove_everything(admin: Api) -> None:
    """What `everything` put there of kinds that stay: another module puts it there again."""
    for name in (*NODES, *IDLE):
        admin.request("DELETE", f"/api/v1/nodes/{name}")
    for space in SPACES:
        for resource in (BUILT_IN["cronjobs"], BUILT_IN["jobs"], BUILT_IN["pods"]):
            for tree in admin.items(resource.path(space)):
                if tree["metadata"]["name"].startswith(("k-", "o-")):
                    path = resource.path(space, tree["metadata"]["name"])
                    admin.request(
                        "DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
                    )
