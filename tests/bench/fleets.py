"""Fleets of pods that wait, as batches of records: what `tests.bench.changing` changes."""

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, Final

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gang import ClusterQueue, LocalQueue, PodSet, QuotaRow, Workload
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import PoolObject
from cockpit.model.record import Condition, Kind, OwnerRef
from cockpit.model.scheduling import PodWishes, Traits

NOW: Final = 1_800_000_000.0
GPU: Final = "nvidia.com/gpu"
READY: Final = (Condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),)
_PAGE = 500
_BATCH = "batch/v1"


def batches(kind: str, records: Iterable[Any]) -> Iterator[Batch]:
    """In pages, as a list comes."""
    every = tuple(records)
    for begin in range(0, len(every), _PAGE):
        yield Batch(kind=kind, changed=every[begin : begin + _PAGE])
    yield Batch(kind=kind, status=StreamStatus(kind=kind, phase=Phase.LIVE, objects=len(every)))


def node(number: int, pools: int = 1) -> Node:
    pool = f"pool-{number % pools}"
    offered = (("cpu", 64_000), ("memory", 512 << 30), ("pods", 110), (GPU, 8))
    return Node(
        uid=f"n{number}",
        name=f"gpu-{number}",
        created_seconds=NOW - 90_000.0,
        labels=(("example.com/pool", pool), ("kubernetes.io/hostname", f"gpu-{number}")),
        pool=pool,
        pool_label="example.com/pool",
        conditions=READY,
        capacity=offered,
        allocatable=offered,
        gpu_capacity=8,
        gpu_allocatable=8,
        gpu_resource=GPU,
    )


def waiting(nodes: int) -> dict[str, Any]:
    """Fields of a pod for which the scheduler finds no room."""
    message = f"0/{nodes} nodes are available: {nodes} Insufficient {GPU}."
    told = {"scheduled_reason": "Unschedulable", "scheduled_message": message}
    return {"phase": "Pending", "scheduled": "False", **told}


def running(node_name: str) -> dict[str, Any]:
    return {"phase": "Running", "is_ready": True, "node": node_name, "scheduled": "True"}


def starting(node_name: str) -> dict[str, Any]:
    return {
        "phase": "Pending",
        "node": node_name,
        "scheduled": "True",
        "waiting_reason": "ContainerCreating",
    }


def pulling(node_name: str, image: str) -> dict[str, Any]:
    said = {"waiting_reason": "ImagePullBackOff", "waiting_message": f'Back-off pulling image "{image}"'}
    return {**starting(node_name), "image": image, **said}


def not_ready(node_name: str) -> dict[str, Any]:
    return {**running(node_name), "is_ready": False}


def pod(number: int, rng: Random, job: JobObject | None = None, rank: int = 0, **more: Any) -> Pod:
    """A pod of a Job, or a bare one."""
    own: dict[str, Any] = {"name": f"train-{number}", "namespace": f"team-{number % 9}"}
    if job is not None:
        own = {"name": f"{job.name}-{rank}", "namespace": job.namespace, "rank": rank, "job_label": job.name}
        own |= {"owner_api_version": _BATCH, "owner_kind": "Job", "owner_name": job.name}
        own |= {"owner_uid": job.uid}
    base = {"created_seconds": NOW - rng.uniform(700.0, 9_000.0), "gpus": 1, "gpu_resource": GPU}
    return Pod(uid=f"u{number}", cpu_millicores=4_000, memory_bytes=16 << 30, **{**base, **own, **more})


def job(number: int, members: int, rng: Random, **more: Any) -> JobObject:
    role = ReplicaSpec("worker", members, gpus_each=1, gpu_resource=GPU, cpu_millicores_each=4_000)
    since = NOW - rng.uniform(700.0, 9_000.0)
    return JobObject(
        uid=f"j{number}",
        name=f"llm-{number}",
        namespace=f"team-{number % 9}",
        created_seconds=since,
        started_seconds=since,
        api_version=_BATCH,
        kind="Job",
        replicas=(role,),
        **{"active": members, **more},
    )


# ---- fleets


def _bare(fields: Callable[[int, Random], dict[str, Any]], pools: int) -> "Fleet":
    """Pods without an owner, each a job of its own."""

    def made(pods: int, nodes: int, rng: Random) -> Iterator[Batch]:
        yield from batches(Kind.NODE, (node(number, pools) for number in range(nodes)))
        yield from batches(Kind.POD, (pod(number, rng, **fields(number, rng)) for number in range(pods)))

    return made


def _third(number: int, rng: Random) -> dict[str, Any]:
    drawn, where = rng.random(), f"gpu-{number % 2_500}"
    if drawn < 0.33:
        return waiting(2_500)
    if drawn < 0.66:
        return starting(where)
    registry = rng.randrange(10)
    return pulling(where, f"registry-{registry}.example/team/train-{registry}:1")


def _of_jobs(
    members: int,
    fields: Callable[[int], dict[str, Any]],
    traits: Callable[[int, int], Traits] = lambda _job, _rank: Traits(),
    *,
    has_pools: bool = False,
    has_cards: bool = False,
) -> "Fleet":
    """Jobs of so many pods each."""

    def made(pods: int, nodes: int, rng: Random) -> Iterator[Batch]:
        yield from batches(Kind.NODE, (node(number, 40) for number in range(nodes)))
        if has_pools:
            yield from batches(Kind.POOL, (_pool(number) for number in range(40)))
        jobs = [job(number, members, rng) for number in range(pods // members)]
        yield from batches(Kind.JOB, jobs)
        made = [
            pod(
                number * members + rank,
                rng,
                one,
                rank,
                traits=traits(number, rank),
                **fields(number * members + rank),
            )
            for number, one in enumerate(jobs)
            for rank in range(members)
        ]
        yield from batches(Kind.POD, made)
        if has_cards:
            yield from batches(Kind.GPU, _cards(made, nodes))

    return made


def _pool(number: int) -> PoolObject:
    return PoolObject(
        uid=f"pool{number}",
        name=f"pool-{number}",
        api_version="karpenter.sh/v1",
        kind="NodePool",
        resource_path="/apis/karpenter.sh/v1/nodepools",
        template_labels=(("example.com/pool", f"pool-{number}"),),
    )


def _cards(pods: Iterable[Pod], nodes: int) -> Iterator[Gpu]:
    """Eight cards of each node; pods that have a node have the next ones there."""
    held: dict[str, list[Pod]] = {}
    for one in pods:
        if one.node:
            held.setdefault(one.node, []).append(one)
    for number in range(nodes):
        here = held.get(f"gpu-{number}", [])
        for index in range(8):
            by = here[index] if index < len(here) else None
            yield card(f"gpu-{number}", index, 0.93, by)


def card(node_name: str, index: int, duty_ratio: float, holder: Pod | None, at_seconds: float = NOW) -> Gpu:
    return Gpu(
        uuid=f"{node_name}-{index}",
        node=node_name,
        index=index,
        duty_ratio=duty_ratio,
        memory_used_bytes=60e9,
        memory_total_bytes=80e9,
        temperature_celsius=61.0,
        xid=0,
        pod_namespace=holder.namespace if holder is not None else "",
        pod_name=holder.name if holder is not None else "",
        mark=Mark.SURE if holder is not None else Mark.UNALLOCATED,
        sampled_seconds=at_seconds,
    )


def _queued(jobs_each: int, queues: int, *, has_pods: bool) -> "Fleet":
    """Jobs in line for the quota of so many queues. With pods: each pod is a job and has a Workload."""

    def made(pods: int, nodes: int, rng: Random) -> Iterator[Batch]:
        yield from batches(Kind.NODE, (node(number, 40) for number in range(nodes)))
        yield from batches(Kind.CLUSTER_QUEUE, (cluster_queue(number) for number in range(queues)))
        yield from batches(Kind.LOCAL_QUEUE, (local_queue(number) for number in range(queues)))
        if has_pods:
            gated = PodWishes(gates=("kueue.x-k8s.io/admission",))
            more: dict[str, Any] = {"phase": "Pending", "is_gated": True, "namespace": "ml"}
            more |= {
                "scheduled": "False",
                "scheduled_reason": "SchedulingGated",
                "traits": Traits(wishes=gated),
            }
            made = [pod(n, rng, queue=f"q-{n % queues}", **more) for n in range(pods)]
            yield from batches(Kind.POD, made)
            owners = [("v1", "Pod", one.name, one.uid, n) for n, one in enumerate(made)]
            members = 1
        else:
            members = jobs_each
            some = [
                job(n, members, rng, is_suspended=True, active=0, labels=(_label(n, queues),))
                for n in range(pods // members)
            ]
            some = [_in_ml(one) for one in some]
            yield from batches(Kind.JOB, some)
            owners = [(_BATCH, "Job", one.name, one.uid, n) for n, one in enumerate(some)]
        yield from batches(
            Kind.WORKLOAD,
            (
                workload(n, OwnerRef(api, kind, name, uid), f"q-{n % queues}", members, rng)
                for api, kind, name, uid, n in owners
            ),
        )

    return made


def _label(number: int, queues: int) -> tuple[str, str]:
    return "kueue.x-k8s.io/queue-name", f"q-{number % queues}"


def _in_ml(one: JobObject) -> JobObject:
    from msgspec.structs import replace

    return replace(one, namespace="ml", started_seconds=None)


def workload(number: int, owner: OwnerRef, queue: str, members: int, rng: Random, **more: Any) -> Workload:
    reason = f"couldn't assign flavors to pod set main: insufficient unused quota for {GPU} in flavor h100"
    waits = Condition("QuotaReserved", "False", "Pending", f"{reason}, {members} more needed", NOW - 900.0)
    return Workload(
        uid=f"w{number}",
        name=f"wl-{number}",
        namespace="ml",
        created_seconds=NOW - rng.uniform(700.0, 9_000.0),
        owner=owner,
        queue=queue,
        priority=rng.choice((0, 0, 0, 100)),
        pod_sets=(PodSet("main", members, ((GPU, members), ("cpu", 4_000 * members))),),
        shape=1 + number % 50,
        **{"conditions": (waits,), **more},
    )


def cluster_queue(number: int, **more: Any) -> ClusterQueue:
    quota = QuotaRow("h100", GPU, 80, used=80, reserved=80)
    active = Condition("Active", "True", "Ready", "Can admit new workloads")
    base = {"quotas": (quota,), "conditions": (active,), "pending": 250, "admitted": 10}
    return ClusterQueue(uid=f"cq{number}", name=f"cq-{number}", cohort=f"c{number % 10}", **{**base, **more})


def local_queue(number: int, **more: Any) -> LocalQueue:
    base = {"cluster_queue": f"cq-{number}", "pending": 250}
    return LocalQueue(uid=f"lq{number}", name=f"q-{number}", namespace="ml", **{**base, **more})


def _everything(pods: int, nodes: int, rng: Random) -> Iterator[Batch]:
    """A fleet as it is: half runs, with cards; a fifth waits for room in jobs, a fifth in queues."""
    running_jobs = _of_jobs(50, lambda n: running(f"gpu-{n % 2_500}"), has_pools=True, has_cards=True)
    yield from running_jobs(pods // 2, nodes, rng)
    jobs = [job(number, 20, rng) for number in range(50_000, 50_000 + pods // 100)]
    yield from batches(Kind.JOB, jobs)
    members = [
        pod(1_000_000 + number * 20 + rank, rng, one, rank, **waiting(nodes))
        for number, one in enumerate(jobs)
        for rank in range(20)
    ]
    yield from batches(Kind.POD, members)
    bare = (pod(number, rng, **_third(number, rng)) for number in range(2_000_000, 2_000_000 + pods // 10))
    yield from batches(Kind.POD, bare)
    queued = _queued(20, 50, has_pods=False)(pods // 5, nodes, rng)
    for batch in queued:
        if batch.kind != Kind.NODE:
            yield _renumbered(batch)


def _renumbered(batch: Batch) -> Batch:
    """Its jobs are others than those that run."""
    from msgspec.structs import replace

    if batch.kind == Kind.JOB:
        changed = tuple(replace(one, uid=f"q{one.uid}", name=f"q{one.name}") for one in batch.changed)
    elif batch.kind == Kind.WORKLOAD:
        changed = tuple(
            replace(one, owner=replace(one.owner, uid=f"q{one.owner.uid}", name=f"q{one.owner.name}"))
            for one in batch.changed
        )
    else:
        return batch
    return replace(batch, changed=changed)


def _unlike(number: int, rank: int) -> Traits:
    """No two pods have the same labels."""
    return Traits(labels=(("app", f"llm-{number}"), ("example.com/member", f"{number}-{rank}")))


Fleet = Callable[[int, int, Random], Iterator[Batch]]
"""(pods, nodes, rng) -> its batches."""

FLEETS: Final[dict[str, Fleet]] = {
    "bare pods wait": _bare(lambda _n, _rng: waiting(2_500), 1),
    "bare pods start, 1 pool": _bare(lambda n, _rng: starting(f"gpu-{n % 2_500}"), 1),
    "bare pods start, 40 pools": _bare(lambda n, _rng: starting(f"gpu-{n % 2_500}"), 40),
    "bare pods wait, start and pull": _bare(_third, 10),
    "500 jobs of 100 wait, unlike labels": _of_jobs(100, lambda _n: waiting(2_500), _unlike),
    "500 jobs of 100 start, pools": _of_jobs(100, lambda n: starting(f"gpu-{n % 2_500}"), has_pools=True),
    "500 jobs of 100 run, not ready": _of_jobs(100, lambda n: not_ready(f"gpu-{n % 2_500}"), has_cards=True),
    "5,000 jobs of 10 wait, pools": _of_jobs(10, lambda _n: waiting(2_500), has_pools=True),
    "a job of 50,000 waits": _of_jobs(50_000, lambda _n: waiting(2_500)),
    "5,000 jobs in 200 queues": _queued(10, 200, has_pods=False),
    "5,000 jobs in 1 queue": _queued(10, 1, has_pods=False),
    "50,000 gated pods in 20 queues": _queued(1, 20, has_pods=True),
    "everything": _everything,
}
