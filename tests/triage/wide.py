"""Faults of one object that many jobs rest on, in an embedded cluster that moves only when told."""

from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import Any, NamedTuple

from cockpit.kube.resource import CLUSTER_QUEUES, NODES
from cockpit.model.finding import Finding, Subject
from cockpit.sim.actors.controllers.mpijob.mpijobs import MpiJobs
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.engine import Actor
from cockpit.sim.port import Patch, PortError
from cockpit.sim.scenarios.manifests import POOL_LABEL
from cockpit.sim.scenarios.schema import (
    Flavor,
    Namespace,
    Scenario,
    ScenarioPool,
    ScenarioQueue,
    ScenarioTaint,
)
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.server.request import Request
from cockpit.triage.attention import needs_human
from cockpit.triage.verdicts import Verdicts
from tests.triage.builders import HOST, job, pod_spec
from tests.triage.case import Case, CaseFile, Recorded, Tree
from tests.triage.scripts.admission import quota
from tests.triage.scripts.volumes import claim, storage_class, with_claim
from tests.triage.world import read_objects, store_of

POOLS = ("main", "reserved", "closed")
SPACES = ("team-a", "team-b", "team-c", "team-d")
WARM_SECONDS, SOON_SECONDS = 120.0, 30.0
FOREVER = {"cockpit.dev/duration": "forever"}
_MPI = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob"}


class Wide(NamedTuple):
    """What was done to a cluster, and what the one row about it says: the root, its names, how many wait."""

    root: str
    names: tuple[str, ...]
    waiting: int


class Ground:
    """A cluster of three pools with healthy jobs, and the doors through which faults come."""

    def __init__(self, *, has_operator: bool = True) -> None:
        taint = ScenarioTaint("team", "secret")
        pools = tuple(
            ScenarioPool(name=name, nodes=30, gpus=8, exporter="none", taints=(taint,) * (name == "reserved"))
            for name in POOLS
        )
        scenario = Scenario(
            name="wide",
            title="wide",
            pools=pools,
            namespaces=(
                *(Namespace(name=name) for name in SPACES),
                Namespace(name="team-q", queue="research"),
            ),
            queues=(ScenarioQueue(name="research", flavors=(Flavor(pool="main", gpus=64),)),),
        )
        made = EmbeddedCluster if has_operator else _WithoutOperator
        self.cluster = made.stepped(scenario, 7)
        self.port = LocalPort(self.cluster.operations)
        self.denied: dict[str, str] = {}  # by namespace, what a webhook says of every pod
        self.cluster.operations.admissions.append(self._webhook)

    def _webhook(self, request: Request, new: Tree, old: Tree | None) -> Tree:
        why = self.denied.get(request.namespace, "")
        if why and old is None and request.resource.plural == "pods":
            raise PortError(403, "Forbidden", why)
        return new

    async def warm(self) -> None:
        """Up, with jobs that run."""
        await self.cluster.engine.start()
        await self.cluster.engine.advance(WARM_SECONDS)
        await self.jobs("well", 12, space="team-b", annotations=FOREVER)
        await self.cluster.engine.advance(WARM_SECONDS)

    async def make(self, tree: Tree, space: str = "") -> None:
        kind = self.cluster.operations.kinds.by_kind(tree["apiVersion"], tree["kind"])
        assert kind is not None, tree["kind"]
        await self.port.create(kind.resource, tree, space)

    async def jobs(
        self,
        stem: str,
        count: int,
        *,
        space: str = "team-a",
        pool: str = "main",
        spec: Callable[[int], Tree] | None = None,
        **given: Any,
    ) -> None:
        """Jobs of one pod with one GPU; what is given goes into the Job, `spec` more of a pod's."""
        for index in range(count):
            own = {} if spec is None else spec(index)
            wanted = pod_spec(gpus=1, **{"nodeSelector": {POOL_LABEL: pool}, **own})
            await self.make(job(f"{stem}-{index}", wanted, **given), space)

    async def marks(self, node: str) -> list[Tree]:
        """The conditions of a node."""
        tree = await self.port.get(NODES, "", node)
        return list(tree["status"]["conditions"])

    async def rows(self) -> tuple[Finding, ...]:
        """*Now*, as a session says it that has just begun and has read what the rows rest on."""
        now = self.cluster.clock.now()
        objects = dict(self._collections())
        file = CaseFile((), "", (), Subject("fleet", "", ""), (), now, Recorded("embedded", "wide", 7))
        store, index = store_of(Case(name="wide", file=file, objects=objects))
        verdicts = Verdicts(store, index)
        needs_human(store, index, now, verdicts=verdicts)
        await read_objects(objects, verdicts, now)
        return needs_human(store, index, now, verdicts=verdicts)

    def _collections(self) -> Iterable[tuple[str, list[Tree]]]:
        for kind in self.cluster.operations.kinds:
            if "list" in kind.verbs:
                shelf = self.cluster.operations.storage.shelf(kind.shelf)
                served = kind.to_served or (lambda tree: tree)
                yield kind.resource.label, [served(stored.tree) for stored in shelf.between("")]


class _WithoutOperator(EmbeddedCluster):
    """No controller acts on MPIJobs."""

    def _actors(self, random: Random) -> Iterable[Actor]:
        return (one for one in super()._actors(random) if not isinstance(one, MpiJobs))


# ---- faults


def _always(spec: Tree) -> Callable[[int], Tree]:
    return lambda _: spec


def _container(**fields: Any) -> Tree:
    return {"containers": [{**pod_spec(gpus=1)["containers"][0], **fields}]}


async def a_class_that_provisions_nothing(it: Ground) -> Wide:
    await it.make(storage_class("weka-fast", waits=False))
    for index in range(200):
        await it.make(claim(f"data-{index}", storage_class="weka-fast"), "team-a")
    await it.jobs("claims", 200, spec=lambda index: with_claim(f"data-{index}"))
    return Wide("StorageClass weka-fast", ("is not bound",), 200)


async def a_dead_registry(it: Ground) -> Wide:
    def of(index: int) -> Tree:
        spec = pod_spec(gpus=1)
        return {
            "containers": [{**spec["containers"][0], "image": f"reg.lab.example/ml/model-{index % 20}:1"}]
        }

    await it.jobs("pulls", 100, spec=of, annotations={"cockpit.dev/image-error": "unavailable"})
    return Wide("registry reg.lab.example", ("reg.lab.example", "does not answer"), 100)


async def a_tag_that_is_not_there(it: Ground) -> Wide:
    spec = _always(_container(image="other.example/ml/gone:9"))
    await it.jobs("tags", 30, spec=spec, annotations={"cockpit.dev/image-error": "not-found"})
    return Wide("image other.example/ml/gone:9", ("gone:9", "not found"), 30)


async def a_tag_of_that_name_elsewhere(it: Ground) -> Wide:
    spec = _always(_container(image="third.example/vision/gone:9"))
    await it.jobs("elsewhere", 20, spec=spec, annotations={"cockpit.dev/image-error": "not-found"})
    return Wide("image third.example/vision/gone:9", ("gone:9", "not found"), 20)


async def a_quota_that_is_used_up(it: Ground) -> Wide:
    await it.make(quota("team-quota", requests__nvidia__com_gpu="4"), "team-c")
    await it.jobs("quota", 104, space="team-c", annotations=FOREVER)
    return Wide("ResourceQuota team-c/team-quota", ("team-quota", "4 of 4"), 100)


async def a_tainted_pool(it: Ground) -> Wide:
    await it.jobs("taint", 100, pool="reserved")
    return Wide("pool reserved", ("team=secret",), 100)


async def a_cordoned_pool(it: Ground) -> Wide:
    for node in await it.port.list(NODES):
        if node["metadata"]["labels"].get(POOL_LABEL) == "closed":
            closed: Patch = {"spec": {"unschedulable": True}}
            await it.port.patch(NODES, "", node["metadata"]["name"], closed)
    await it.jobs("cordon", 40, pool="closed")
    return Wide("pool closed", ("cordoned",), 40)


async def a_dead_operator(it: Ground) -> Wide:
    spec = {"template": {"spec": pod_spec(gpus=1)}, "replicas": 1}
    for index in range(50):
        tree = {**_MPI, "metadata": {"name": f"mpi-{index}"}}
        tree["spec"] = {"mpiReplicaSpecs": {"Launcher": spec, "Worker": spec}}
        await it.make(tree, "team-a")
    return Wide("operator MPIJob", ("MPIJob", "operator"), 50)


async def a_priority_class_that_is_missing(it: Ground) -> Wide:
    await it.jobs("prio", 40, spec=_always({"priorityClassName": "urgent-gpu"}))
    return Wide("PriorityClass urgent-gpu", ("urgent-gpu",), 40)


async def a_service_account_that_is_missing(it: Ground) -> Wide:
    await it.jobs("account", 25, spec=_always({"serviceAccountName": "trainer"}))
    return Wide("ServiceAccount team-a/trainer", ("trainer",), 25)


async def a_webhook_that_refuses(it: Ground) -> Wide:
    it.denied["team-d"] = 'admission webhook "policy.lab.example" denied the request: no cost centre'
    await it.jobs("hook", 30, space="team-d")
    return Wide("webhook policy.lab.example", ("policy.lab.example", "cost centre"), 30)


async def a_secret_that_is_missing(it: Ground) -> Wide:
    source = [{"secretRef": {"name": "wandb-key"}}]
    await it.jobs("secret", 20, spec=_always(_container(envFrom=source)))
    return Wide("secret team-a/wandb-key", ("wandb-key", "does not exist"), 20)


async def a_stopped_queue(it: Ground) -> Wide:
    await it.port.patch(CLUSTER_QUEUES, "", "research", {"spec": {"stopPolicy": "Hold"}})
    await it.jobs("queued", 30, space="team-q", labels={"kueue.x-k8s.io/queue-name": "main"}, suspend=True)
    return Wide("queue research", ("research", "stopped"), 30)


async def a_scheduler_that_is_not_there(it: Ground) -> Wide:
    await it.jobs("sched", 30, spec=_always({"schedulerName": "yunikorn"}))
    return Wide("scheduler yunikorn", ("yunikorn",), 30)


async def a_dead_node(it: Ground) -> Wide:
    """Eight jobs run on it when its kubelet falls silent, and the node controller has seen it."""
    name = next(
        node["metadata"]["name"]
        for node in await it.port.list(NODES)
        if node["metadata"]["labels"].get(POOL_LABEL) == "closed"
    )
    await it.jobs("lost", 8, spec=_always({"nodeSelector": {HOST: name}}), annotations=FOREVER)
    await it.cluster.engine.advance(SOON_SECONDS)
    it.cluster.outage(name, is_out=True)
    while all(mark["status"] == "True" for mark in await it.marks(name) if mark["type"] == "Ready"):
        await it.cluster.engine.advance(5.0)
    return Wide(f"node {name}", ("silent", "8 jobs"), 9)


Fault = Callable[[Ground], Awaitable[Wide]]
FAULTS: tuple[Fault, ...] = (
    *(a_class_that_provisions_nothing, a_dead_registry, a_tag_that_is_not_there, a_quota_that_is_used_up),
    *(a_tainted_pool, a_cordoned_pool, a_dead_operator, a_priority_class_that_is_missing),
    *(a_service_account_that_is_missing, a_webhook_that_refuses, a_secret_that_is_missing, a_stopped_queue),
    *(a_scheduler_that_is_not_there, a_dead_node),
)


async def complaints(*faults: Fault) -> list[str]:
    """What *Now* says otherwise than one row a fault within half a minute."""
    ground = Ground(has_operator=a_dead_operator not in faults)
    await ground.warm()
    told = [await fault(ground) for fault in faults]
    await ground.cluster.engine.advance(SOON_SECONDS)
    rows = await ground.rows()
    missed = [str(wide) for wide in told if sum(_is_about(row, wide) for row in rows) != 1]
    missed += [f"changes one victim: {row}" for row in rows if any(it.is_write for it in row.remedies)]
    other = [str(row) for row in rows if not any(_is_about(row, wide) for wide in told)]
    return missed + other


def _is_about(row: Finding, wide: Wide) -> bool:
    is_named = all(name in row.sentence for name in wide.names)
    root = row.root or row.subject
    return root.text == wide.root and is_named and row.others == wide.waiting - 1
