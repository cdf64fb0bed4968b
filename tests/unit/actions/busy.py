"""A cluster whose objects are written right before ours, and every verb that could lose against it."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cockpit.actions.execute.run_verb import plan_of
from cockpit.actions.job_size import WorkersOptions
from cockpit.actions.planning import Make, Planning
from cockpit.actions.prioritise import PriorityOptions
from cockpit.actions.queue import plan_queue_stop, queue_as_read
from cockpit.actions.scale import scale_as_now
from cockpit.actions.verbs import job as verbs
from cockpit.actions.verbs.job import PRIORITISE, RESIZE
from cockpit.actions.verbs.verb import Verb
from cockpit.gangs.kueue import KUEUE
from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.resource import Resource
from cockpit.model.gang import LocalQueue, PodGroup, Workload
from cockpit.model.job import Job, JobObject
from cockpit.model.plan import Call, Plan
from cockpit.model.record import OwnerRef
from cockpit.store.store import Store
from tests.unit.actions.builders import Line, job, newer, pod, refused, store_of
from tests.unit.pools.builders import deployment, node
from tests.unit.pools.builders import store_of as pool_store

Tree = dict[str, Any]
_KUEUE = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a"
MPIJOB = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm"
WORKLOAD = f"{_KUEUE}/workloads/mpijob-llm"
QUEUE = f"{_KUEUE}/localqueues/main"
GROUP = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team-a/podgroups/llm"
POD = "/api/v1/namespaces/team-a/pods/p0"
POOL = "/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machinedeployments/h100"


class Busy(Line):
    """A cluster whose objects are written right before each of the first `writes` of ours, by `write`.

    It is `perform` and session in one: a write that names another uid or an old version is refused as a real
    server refuses it.
    """

    def __init__(self, objects: Mapping[str, Tree], writes: int = 1) -> None:
        super().__init__(objects=copy.deepcopy(dict(objects)))
        self.writes = writes
        self.write: Callable[[Tree], None] = lambda _tree: None
        self.sent: list[Call] = []
        self.done: list[Call] = []

    async def __call__(self, _session: Any, call: Call, *, dry_run: bool = False) -> None:
        path = call.path.removesuffix("/scale")
        tree = self.objects[path]
        if self.writes:
            self.writes -= 1
            tree["metadata"]["resourceVersion"] = str(int(tree["metadata"]["resourceVersion"]) + 1)
            self.write(tree)
        self.sent.append(call)
        guard, now = call.body.get("preconditions") or call.body["metadata"], tree["metadata"]
        assert guard["uid"], "every write says whom it means"
        if guard["uid"] != now["uid"]:
            said = "Precondition failed: UID in precondition: a, UID in object meta: b"
            raise refused(409, "Conflict", said, path=call.path)
        is_group = "/podgroups/" in path  # its scheduler writes it all the time: it is known by its uid alone
        assert is_group or guard["resourceVersion"], "every write says of which version it speaks"
        if not is_group and guard["resourceVersion"] != now["resourceVersion"]:
            raise newer()
        if not dry_run:
            self.done.append(call)


def tree_of(uid: str, name: str, **more: Any) -> Tree:
    return {**more, "metadata": {"name": name, "namespace": "team-a", "uid": uid, "resourceVersion": "41"}}


def mpijob(*, suspend: bool = False) -> Tree:
    """The gang's object at version 41."""
    values = {"name": "llm", "namespace": "team-a", "image": "r.example/hvd:1", "workers": "2", "gpus": "8"}
    tree: Tree = render(load_library().templates["mpijob"], values)
    tree["metadata"] |= {"uid": "uid-llm", "resourceVersion": "41"}
    tree["spec"]["runPolicy"]["suspend"] = suspend
    return tree


def tables(**more: Any) -> Store:
    record = JobObject(
        uid="uid-llm",
        name="llm",
        namespace="team-a",
        resource_version="41",
        kind="MPIJob",
        api_version="k/v2",
    )
    return store_of(pod("p0"), pod("p1"), mpijobs=(record,), **more)


def of(verb: Verb, one: Job, store: Store, session: Any, options: Any = None) -> Make:
    """How a verb on a job makes its plan."""

    async def make(*, reads: bool = False) -> Plan:
        planning = Planning(store, session, lambda *_: None, "prod", reads=reads)
        return await plan_of(verb, planning, one, options)

    return make


RUNNING = job(pod_uids=("uid-p0", "uid-p1"), gpus_allocated=4)


def killing(session: Busy) -> Make:
    return of(verbs.KILL, RUNNING, tables(), session)


def killing_a_pod(session: Busy) -> Make:
    one = job("p0", kind="Pod", pod_uids=("uid-p0",), resource_version="7", gpus_allocated=2)
    return of(verbs.KILL, one, tables(), session)


def killing_what_is_not_watched(session: Busy) -> Make:
    return of(verbs.KILL, RUNNING, Store(), session)


def killing_with_its_group(session: Busy) -> Make:
    group = PodGroup(
        uid="uid-group",
        name="llm",
        engine="Coscheduling",
        namespace="team-a",
        api_version="scheduling.x-k8s.io/v1alpha1",
        is_ours=True,
    )
    return of(verbs.KILL, RUNNING, tables(podgroups=(group,)), session)


def suspending(session: Busy) -> Make:
    return of(verbs.SUSPEND, RUNNING, tables(), session)


def resuming(session: Busy) -> Make:
    return of(verbs.RESUME, RUNNING, tables(), session)


def _kueue_job(**more: Any) -> tuple[Job, Store]:
    owner = OwnerRef("kubeflow.org/v2beta1", "MPIJob", "llm", "uid-llm")
    found = Workload(
        uid="uid-wl", name="mpijob-llm", namespace="team-a", resource_version="41", owner=owner, **more
    )
    return msgspec.structs.replace(RUNNING, engine=KUEUE.name, workload_uid="uid-wl"), tables(
        workloads=(found,)
    )


def suspending_through_kueue(session: Busy) -> Make:
    return of(verbs.SUSPEND, *_kueue_job(), session)


def resuming_through_kueue(session: Busy) -> Make:
    return of(verbs.RESUME, *_kueue_job(is_active=False), session)


def resizing(session: Busy) -> Make:
    return of(RESIZE, RUNNING, tables(), session, WorkersOptions(3))


def prioritising(session: Busy) -> Make:
    return of(PRIORITISE, RUNNING, tables(), session, PriorityOptions("high"))


def stopping_a_queue(session: Busy) -> Make:
    queue = LocalQueue(uid="uid-main", name="main", namespace="team-a", resource_version="41")
    served = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", namespaced=True)

    async def make(*, reads: bool = False) -> Plan:
        now = await queue_as_read(session, queue, lambda *_: served) if reads else queue
        return plan_queue_stop(now, Store(), lookup=lambda *_: served)

    return make


def scaling_a_pool(session: Busy) -> Make:
    store = pool_store([node("n1", pool="h100")], pools=[deployment(replicas=1)])

    async def make(*, reads: bool = False) -> Plan:
        planning = Planning(store, session, lambda *_: None, "prod", reads=reads)
        return await scale_as_now(planning, "h100", 3)

    return make


_OWNER: Tree = {
    "metadata": {
        "name": "h100",
        "namespace": "capi",
        "uid": "uid-MachineDeployment-h100",
        "resourceVersion": "77",
    },
    "spec": {"replicas": 1, "template": {"metadata": {"labels": {"example.com/pool": "h100"}}}},
    "status": {"replicas": 1},
}
_POD = tree_of("uid-p0", "p0", spec={"nodeName": "n1"}, status={"phase": "Running"})
_POD["metadata"]["resourceVersion"] = "7"
_POD["spec"]["containers"] = [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]
_HELD = tree_of("uid-wl", "mpijob-llm", spec={"active": False})
VERBS = {
    "kill": (killing, {MPIJOB: mpijob()}),
    "kill with its group": (killing_with_its_group, {MPIJOB: mpijob(), GROUP: tree_of("uid-group", "llm")}),
    "kill what is not watched": (killing_what_is_not_watched, {MPIJOB: mpijob()}),
    "kill a pod": (killing_a_pod, {POD: _POD}),
    "suspend": (suspending, {MPIJOB: mpijob()}),
    "resume": (resuming, {MPIJOB: mpijob(suspend=True)}),
    "suspend through Kueue": (suspending_through_kueue, {WORKLOAD: tree_of("uid-wl", "mpijob-llm")}),
    "resume through Kueue": (resuming_through_kueue, {WORKLOAD: _HELD}),
    "resize": (resizing, {MPIJOB: mpijob()}),
    "prioritise": (prioritising, {MPIJOB: mpijob(suspend=True)}),
    "stop a queue": (stopping_a_queue, {QUEUE: tree_of("uid-main", "main")}),
    "scale a pool": (scaling_a_pool, {POOL: _OWNER}),
}


def begun(name: str, writes: int = 1) -> tuple[Busy, Make]:
    make, objects = VERBS[name]
    cluster = Busy(objects, writes)
    return cluster, make(cluster)
