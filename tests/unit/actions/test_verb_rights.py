"""The rights that a verb names are those of the calls that its plan sends, of each kind and engine."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import msgspec
import pytest

from cockpit.actions import reclaim_job
from cockpit.actions.clone_retry import clone_form, plan_of_clone
from cockpit.actions.edit import EditOptions
from cockpit.actions.form_rights import rights_to_test
from cockpit.actions.job_size import WorkersOptions
from cockpit.actions.kill import plan_take_away
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.prioritise import PriorityOptions
from cockpit.actions.submit import plan_submit
from cockpit.actions.verbs.registry import VERBS, verb_of
from cockpit.actions.verbs.verb import Verb
from cockpit.errors import BadInput
from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.resource import Resource
from cockpit.model.gang import ClusterQueue, LocalQueue, PodGroup, Workload
from cockpit.model.job import GANG, RECLAIM_AT, RECLAIM_DUE, Job, JobState, ReclaimMark
from cockpit.model.node import Node
from cockpit.model.plan import Plan
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Condition, Kind, OwnerRef, Record
from cockpit.model.right import Right
from cockpit.pools.index import pools_of
from tests.unit.actions.builders import Line, job, pod, rights_of, store_of

TEMPLATES = load_library().templates
NAMED = {"name": "llm", "namespace": "team-a", "image": "r.example/train:1", "gpus": "2"}
BY_TEMPLATE = ("mpijob", "job", "pod", "jobset", "trainjob", "volcano")
BARE = (
    ("kubeflow.org/v1", "PyTorchJob", "pytorchjobs"),
    ("kubeflow.org/v1", "TFJob", "tfjobs"),
    ("ray.io/v1", "RayJob", "rayjobs"),
    ("ray.io/v1", "RayCluster", "rayclusters"),
    ("apps/v1", "Deployment", "deployments"),
    ("example.com/v1", "Train", "trains"),
)
STATES = (JobState.RUNNING, JobState.QUEUED, JobState.SUSPENDED, JobState.FAILED)
SERVED = {
    (group, kind): Resource(group, version, plural, kind, namespaced=True)
    for group, version, plural, kind in (
        ("", "v1", "pods", "Pod"),
        ("batch", "v1", "jobs", "Job"),
        ("batch", "v1", "cronjobs", "CronJob"),
        ("batch.volcano.sh", "v1alpha1", "jobs", "Job"),
        ("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"),
        ("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
        ("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"),
        ("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"),
        ("kueue.x-k8s.io", "v1beta1", "workloads", "Workload"),
        ("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"),
        *((one[0].partition("/")[0], one[0].partition("/")[2], one[2], one[1]) for one in BARE),
    )
}
OPTIONS: dict[str, Sequence[Any]] = {
    "job.scale": (WorkersOptions(to=3),),
    "job.edit": (EditOptions('[{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}]'),),
    "job.prioritise": (
        PriorityOptions(priority="high"),
        PriorityOptions(queue="other"),
    ),
    "job.prune": (verb_of("job.prune").planner.options("1h"),),
    "pool.scale": (verb_of("pool.scale").planner.options("7"),),
    "pool.limit": (verb_of("pool.limit").planner.options("7"),),
    "pool.ask": (verb_of("pool.ask").planner.options("2"),),
    "pool.reclaim": (verb_of("pool.reclaim").planner.options("", "2", True),),
    "queue.stop": (verb_of("queue.stop").planner.options(), verb_of("queue.stop").planner.options(True)),
}
WITHOUT_PLAN = {"job.submit", "node.smoke-test", "job.exec", "job.tensorboard", "pod.forward"}
"""A form, a command or a stream has the plan; `job.clone` has that of its form."""
PLANNED = [one for one in VERBS if one.id not in WITHOUT_PLAN]


def lookup(api_version: str, kind: str) -> Resource | None:
    return SERVED.get((api_version.rpartition("/")[0], kind))


# ---- what verbs are done to


def trees() -> list[dict[str, Any]]:
    """One object of each kind, as the server has it."""
    found = [render(TEMPLATES[name], NAMED) for name in BY_TEMPLATE]
    for api_version, kind, _ in BARE:
        found.append({"apiVersion": api_version, "kind": kind, "metadata": {"name": "llm"}, "spec": {}})
    for tree in found:
        tree["metadata"] |= {"namespace": "team-a", "uid": "uid-llm", "resourceVersion": "41"}
    return found


def suspended(tree: dict[str, Any], *, yes: bool) -> dict[str, Any]:
    """The same, told to hold or to go on in either place where kinds have that field."""
    spec = {**tree["spec"], "suspend": yes}
    spec["runPolicy"] = {**(spec.get("runPolicy") or {}), "suspend": yes}
    return {**tree, "spec": spec, "status": {"state": {"phase": "Aborted" if yes else "Running"}}}


def jobs() -> list[tuple[Job, dict[str, Any], list[Record]]]:
    """Each kind in each state, by itself and under the engines that change how a verb is done."""
    found: list[tuple[Job, dict[str, Any], list[Record]]] = []
    ours = PodGroup(
        uid="g", name="llm", namespace="team-a", engine="Coscheduling", is_ours=True,
        api_version="scheduling.x-k8s.io/v1alpha1",
    )  # fmt: skip
    for tree in trees():
        kind, api_version = tree["kind"], tree["apiVersion"]
        held = Workload(
            uid="w", name="w-llm", namespace="team-a", resource_version="3", queue="main",
            owner=OwnerRef(api_version, kind, "llm", "uid-llm"),
        )  # fmt: skip
        for state in STATES:
            is_off = state == JobState.SUSPENDED
            shape = {"kind": kind, "api_version": api_version, "state": state}
            now = suspended(tree, yes=is_off)
            alone = pod("llm") if kind == "Pod" else pod("p0")
            gang = [msgspec.structs.replace(pod(f"llm{at}"), gang="llm") for at in "01"]
            found.append((job(**shape, pod_uids=(alone.uid,)), now, [alone]))
            found.append((job(**shape, pod_uids=(alone.uid,)), now, [alone, ours]))
            through = msgspec.structs.replace(held, is_active=not is_off)
            found.append((job(**shape, engine="Kueue", workload_uid="w"), now, [through]))
            if kind == "Pod":
                shape |= {"kind": GANG, "api_version": ""}
            uids = tuple(one.uid for one in gang)
            found.append((job(**shape, engine="Coscheduling", pod_uids=uids), now, [*gang, ours]))
    return found


def tables(records: Sequence[Record]) -> dict[str, list[Record]]:
    kinds = {"PodGroup": Kind.POD_GROUP, "Workload": Kind.WORKLOAD}
    found: dict[str, list[Record]] = {}
    for one in records:
        if type(one).__name__ in kinds:
            found.setdefault(kinds[type(one).__name__], []).append(one)
    return found


def marked(one: Job, tree: dict[str, Any], records: list[Record]) -> tuple[Job, dict[str, Any], list[Record]]:
    """The same, marked for reclaim a while ago."""
    notes = {RECLAIM_AT: "2026-01-01T00:00:00Z", RECLAIM_DUE: "2026-01-01T00:15:00Z"}
    metadata = {**tree["metadata"], "annotations": {**tree["metadata"].get("annotations", {}), **notes}}
    due = msgspec.structs.replace(one, reclaim=ReclaimMark(1_767_226_500.0))
    return due, {**tree, "metadata": metadata}, records


def planning_on(one: Job, tree: dict[str, Any], records: Sequence[Record]) -> Planning:
    pods: Any = [record for record in records if type(record).__name__ == "Pod"]
    served = lookup("v1", "Pod") if one.kind == GANG else lookup(one.api_version, one.kind)
    assert served is not None
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "llm", "namespace": "team-a", "uid": "g", "resourceVersion": "1"},
    }
    workload = {"metadata": {"name": "w-llm", "namespace": "team-a", "uid": "w", "resourceVersion": "3"}}
    objects = {
        served.path("team-a", "llm"): tree,
        "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team-a/podgroups/llm": group,
        "/apis/kueue.x-k8s.io/v1beta1/namespaces/team-a/workloads/w-llm": workload,
    }
    session: Any = Line(objects=objects)
    return Planning(store_of(*pods, **tables(records)), session, lookup, "prod", {one.key: one})


# ---- queues, pools, nodes

QUEUES = (
    LocalQueue(uid="l", name="main", namespace="team-a", resource_version="4", cluster_queue="research"),
    ClusterQueue(uid="c", name="research", resource_version="5"),
)
POOL = PoolObject(
    uid="md", name="h100", namespace="fleet", resource_version="9", api_version="cluster.x-k8s.io/v1beta1",
    kind="MachineDeployment", replicas=3, status_replicas=3, max_replicas=9, instance_type="p5",
    resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machinedeployments",
    template_labels=(("cluster.x-k8s.io/deployment-name", "h100"),),
)  # fmt: skip
NODES = tuple(
    Node(
        uid=f"n{at}", name=f"gpu-{at}", resource_version="6", unschedulable=bool(at),
        labels=(("cluster.x-k8s.io/deployment-name", "h100"),), pool="h100",
        pool_label="cluster.x-k8s.io/deployment-name", conditions=(Condition("Ready", "True"),),
    )
    for at in range(2)
)  # fmt: skip

DRAINED = Node(
    uid="n7", name="gpu-7", resource_version="6", unschedulable=True,
    annotations=(("gpu-cockpit/drain-cordoned", "true"), ("gpu-cockpit/drain-id", "5f1e")),
)  # fmt: skip
RECLAIMED = (
    ("gpu-cockpit/reclaim", "MachineDeployment.cluster.x-k8s.io/fleet/idle"),
    ("gpu-cockpit/reclaim-at", "1"),
)


def idle_node(name: str, pool: str, notes: tuple[tuple[str, str], ...] = ()) -> Node:
    """One that nobody uses; with notes one that a reclaim has cordoned."""
    label = "cluster.x-k8s.io/deployment-name"
    return Node(
        uid=f"n-{name}", name=name, resource_version="6", labels=((label, pool),), pool=pool,
        pool_label=label, gpu_resource="nvidia.com/gpu", gpu_capacity=8, gpu_allocatable=8, annotations=notes,
        unschedulable=bool(notes), conditions=(Condition("Ready", "True"),),
    )  # fmt: skip


IDLE_POOLS = (
    msgspec.structs.replace(
        POOL, uid="md-i", name="idle", template_labels=(("cluster.x-k8s.io/deployment-name", "idle"),)
    ),
    msgspec.structs.replace(
        POOL, uid="md-f", name="fresh", template_labels=(("cluster.x-k8s.io/deployment-name", "fresh"),)
    ),
)
"""One is at its second step, one at its first."""
IDLE = (idle_node("idle-0", "idle", RECLAIMED), idle_node("fresh-0", "fresh"))
MACHINES = tuple(
    Machine(
        uid=f"m-{one.name}", name=f"m-{one.name}", namespace="fleet", resource_version="5", kind="Machine",
        api_version="cluster.x-k8s.io/v1beta1", node=one.name, pool_kind="MachineDeployment",
        resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machines",
        pool_key=f"fleet/{one.pool}",
    )
    for one in IDLE
)  # fmt: skip
ON_NODES = tuple(
    msgspec.structs.replace(pod(f"api-{at}"), node=f"gpu-{at}", owner_kind="ReplicaSet") for at in range(2)
)
ALONE = Node(uid="n9", name="gke-0", gpu_capacity=8, pool="a100", pool_label="cloud.google.com/gke-nodepool")
"""Of a pool that no object in the cluster owns."""


DEMAND = PoolObject(
    uid="np-1", name="spot", resource_version="9", api_version="karpenter.sh/v1", kind="NodePool",
    resource_path="/apis/karpenter.sh/v1/nodepools",
    template_labels=(("karpenter.k8s.aws/instance-gpu-count", "8"),),
)  # fmt: skip
"""Of a pool whose nodes come by demand alone."""


def others() -> Planning:
    stopped = [
        msgspec.structs.replace(one, stop_policy="Hold", uid=f"{one.uid}2", name=f"{one.name}2")
        for one in QUEUES
    ]
    store = store_of(
        localqueues=[QUEUES[0], stopped[0]],
        clusterqueues=[QUEUES[1], stopped[1]],
        pools=(POOL, DEMAND, *IDLE_POOLS),
        nodes=(*NODES, ALONE, DRAINED, *IDLE),
        machines=MACHINES,
        pods=ON_NODES,
    )
    owner = {"kind": "ReplicaSet", "name": "api", "controller": True}
    items = [
        {
            "metadata": {
                "uid": one.uid,
                "name": one.name,
                "namespace": one.namespace,
                "ownerReferences": [owner],
            },
            "spec": {"nodeName": one.node},
        }
        for one in ON_NODES
    ]
    trees = {f"/api/v1/nodes/{one.name}": tree_of(one) for one in IDLE}
    for one in IDLE_POOLS:
        metadata = {
            "name": one.name, "namespace": one.namespace, "uid": one.uid, "resourceVersion": "9",
            "annotations": {},
        }  # fmt: skip
        template = {"metadata": {"labels": dict(one.template_labels)}}
        spec = {"replicas": one.replicas, "template": template}
        tree = {"apiVersion": one.api_version, "kind": one.kind, "metadata": metadata, "spec": spec}
        trees[f"{one.resource_path}/{one.name}"] = tree
    trees["/apis/scheduling.k8s.io/v1/priorityclasses/gpu-cockpit-placeholder"] = {"metadata": {}}
    session: Any = Line(objects={"/api/v1/pods": {"items": items}, **trees})
    return Planning(store, session, lookup, "prod", pools=PoolTerms(at_seconds=1_800_000_000.0))


def tree_of(node: Node) -> dict[str, Any]:
    """The node as the server has it."""
    amounts = {"nvidia.com/gpu": "8"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name,
            "uid": node.uid,
            "resourceVersion": node.resource_version,
            "labels": dict(node.labels),
            "annotations": dict(node.annotations),
        },
        "spec": {"unschedulable": node.unschedulable},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def cases(verb: Verb) -> list[tuple[Planning, Any]]:
    if verb.id == "job.reclaim":
        return [(planning_on(*one), one[0]) for case in jobs() for one in (case, marked(*case))]
    if verb.kind == "job":
        return [(planning_on(*one), one[0]) for one in jobs()]
    planning = others()
    things: dict[str, list[Any]] = {
        "queue": [
            *planning.store.records(Kind.LOCAL_QUEUE).values(),
            *planning.store.records(Kind.CLUSTER_QUEUE).values(),
        ],
        "pool": list(pools_of(planning.store)),
        "node": [*NODES, DRAINED],
    }
    return [(planning, one) for one in things[verb.kind]]


def plans(verb: Verb) -> list[tuple[Plan, Sequence[Sequence[Right]]]]:
    """Every plan that can be made, beside what the verb names for it, and for ways to do it."""
    found: list[tuple[Plan, Sequence[Sequence[Right]]]] = []
    for planning, thing in cases(verb):
        for options in OPTIONS.get(verb.id, ()) or (verb.planner.options(),):
            try:
                plan = asyncio.run(made(verb, planning, thing, options))
            except BadInput:
                continue
            ways = (tuple(verb.planner.needs(planning, thing)), *verb.planner.ways(planning, (thing,)))
            found.append((plan, ways))
    return found


async def made(verb: Verb, planning: Planning, thing: Any, options: Any) -> Plan:
    if verb.id == "job.reclaim":  # at which step it is matters here, not by what it is judged
        planning = replace(planning, pools=PoolTerms(at_seconds=1_800_000_000.0))
        with mock.patch.object(reclaim_job, "_is_idle", lambda _ground: True):
            return await verb.planner.plan(planning, thing, options)
    if verb.id != "job.clone":
        return await verb.planner.plan(planning, thing, options)
    return plan_of_clone(planning, thing, await clone_form(planning, thing), {})


# ---- the property


@pytest.mark.parametrize("verb", PLANNED, ids=lambda one: one.id)
def test_the_rights_of_a_verb_are_those_of_the_calls_of_its_plan(verb: Verb) -> None:
    found = plans(verb)
    assert found, "no case of this test can be planned"
    for plan, ways in found:
        sent = rights_of(plan)
        fitting = [way for way in ways if of_any_name(way) == of_any_name(sent)]
        assert fitting, (plan.title, ways, sent)
        assert {one for one in fitting[0] if one.name} <= set(sent), plan.title


def test_a_shrink_needs_what_becomes_of_its_nodes() -> None:
    """Who may only set a size may grow pools; what a shrink does besides is named with it."""
    scale = verb_of("pool.scale")
    planning, pool = next(one for one in cases(scale) if one[1].owner_kind and one[1].node_names)
    grown, shrunk = (set(way) for way in scale.planner.ways(planning, (pool,)))
    assert grown < shrunk == set(scale.planner.needs(planning, pool))
    assert Right("patch", "", "nodes") in shrunk - grown


@pytest.mark.parametrize("verb", PLANNED, ids=lambda one: one.id)
def test_where_a_verb_names_no_right_nothing_could_be_sent(verb: Verb) -> None:
    unserved = [(replace(planning, lookup=lambda *_: None), one) for planning, one in cases(verb)]
    for planning, thing in (*cases(verb), *unserved):
        if verb.planner.needs(planning, thing):
            continue
        for options in OPTIONS.get(verb.id, ()) or (verb.planner.options(),):
            with pytest.raises(BadInput):
                asyncio.run(made(verb, planning, thing, options))


def test_a_pool_that_nobody_owns_is_among_the_cases() -> None:
    pools = [one for _, one in cases(verb_of("pool.scale"))]
    assert {bool(one.owner_kind) for one in pools} == {True, False}


def of_any_name(rights: Sequence[Right]) -> set[Right]:
    return {msgspec.structs.replace(one, name="") for one in rights}


def test_many_kinds_and_engines_can_be_planned() -> None:
    sent = {right.label for verb in PLANNED for plan, _ in plans(verb) for right in rights_of(plan)}
    assert sent >= {
        "jobs.batch", "mpijobs.kubeflow.org", "pods", "jobsets.jobset.x-k8s.io", "rayjobs.ray.io",
        "workloads.kueue.x-k8s.io", "commands.bus.volcano.sh", "podgroups.scheduling.x-k8s.io",
        "localqueues.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io",
        "machinedeployments.cluster.x-k8s.io/scale", "machines.cluster.x-k8s.io",
    }  # fmt: skip


# ---- ways into a pod, and the smoke test


@pytest.mark.parametrize(
    ("version", "verbs"),
    [(None, ["get"]), ((1, 34), ["get"]), ((1, 35), ["get", "create"]), ((2, 0), ["get", "create"])],
)
@pytest.mark.parametrize(
    ("verb", "subresource"),
    [("job.exec", "exec"), ("job.tensorboard", "portforward"), ("pod.forward", "portforward")],
)
def test_a_way_into_a_pod_needs_what_a_server_of_that_version_asks(
    version: tuple[int, int] | None, verbs: list[str], verb: str, subresource: str
) -> None:
    planning = replace(namespaces(1), server_version=version)
    found = verb_of(verb).planner.needs(planning, pod("p"))
    assert [one.verb for one in found] == verbs
    assert {(one.label, one.namespace) for one in found} == {(f"pods/{subresource}", "team-a")}


def test_a_smoke_test_needs_what_it_makes_reads_and_deletes() -> None:
    plan = plan_submit(TEMPLATES["smoke-test"], {"node": "gpu-1", "name": "smoke"}, "team-a", lookup=lookup)
    tree = {
        **plan.calls[0].body,
        "metadata": {**plan.calls[0].body["metadata"], "uid": "u", "resourceVersion": "1"},
    }
    ending = plan_take_away(tree, f"{plan.calls[0].path}/smoke")
    needs = set(rights_to_test("team-a"))
    assert of_any_name((*rights_of(plan), *rights_of(ending))) <= needs
    assert {one.label for one in needs} == {"jobs.batch", "pods", "pods/log"}
    ways = verb_of("node.smoke-test").planner.ways(namespaces(2), NODES[:1])
    assert [way[0].namespace for way in ways] == ["team-0", "team-1"]


@pytest.mark.parametrize("verb", VERBS, ids=lambda one: one.id)
def test_every_verb_of_the_registry_names_what_it_needs(verb: Verb) -> None:
    found = [
        verb.planner.ways(planning, () if verb.finds_own else (thing,)) for planning, thing in things_of(verb)
    ]
    assert any(found)


def things_of(verb: Verb) -> list[tuple[Planning, Any]]:
    of_namespaces = [(namespaces(1), pod("p"))]
    return (
        of_namespaces
        if verb.id in ("job.exec", "pod.forward", "job.submit", "node.smoke-test")
        else cases(verb)
    )


def namespaces(count: int) -> Planning:
    spaces = [Record(uid=f"ns{at}", name=f"team-{at}") for at in range(count)]
    session: Any = Line()
    return Planning(store_of(namespaces=spaces), session, lookup, "prod")


@pytest.mark.parametrize("queue", QUEUES, ids=lambda one: one.name)
def test_the_key_of_a_queue_means_the_cluster_queue_behind_it_too(queue: Any) -> None:
    ways = verb_of("queue.stop").planner.ways(others(), [queue])
    assert ways[-1] == (Right("patch", "kueue.x-k8s.io", "clusterqueues", name="research"),)
    assert len(ways) == (2 if queue.namespace else 1)
