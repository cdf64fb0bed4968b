"""What a drain does to the pods of a node: who is evicted, who stays, which jobs break, which budgets delay.

The pods are read from the server, as kubectl does it: what it refuses is refused here (kubectl
pkg/drain/filters.go).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cockpit.fit.scheduling_context import Budget
from cockpit.jobs.members import members_of
from cockpit.k8s.selectors import selects
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.sanitise import SHORT, clean

MIRROR = "kubernetes.io/config.mirror"
_FINISHED = ("Succeeded", "Failed")
SERVICES = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet")
"""Controllers whose pods are each on its own: one that is evicted comes back elsewhere, the others go on."""


class NodePod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod of the node, as far as a drain is concerned with it."""

    namespace: str
    name: str
    uid: str
    node: str
    labels: tuple[tuple[str, str], ...] = ()
    owner_kind: str = ""  # of the controller, "" where there is none
    owner_name: str = ""
    phase: str = ""
    is_mirror: bool = False
    is_ending: bool = False
    has_scratch: bool = False  # an emptyDir

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_finished(self) -> bool:
        return self.phase in _FINISHED


class Broken(NamedTuple):
    """A job that loses pods. `idle` are its GPUs on other nodes, `nodes` how many these are."""

    job: Job
    name: str  # team-a/llm-7b
    gpus: int  # on this node
    idle: int
    nodes: int
    is_gang: bool

    @property
    def is_worth_waiting(self) -> bool:
        """It holds GPUs here, or is the launcher of those that do elsewhere."""
        return bool(self.gpus or self.idle)


class Delay(NamedTuple):
    """A budget that does not let all of its pods on the node go at once. `budgets` are several where a pod
    has more than one: the server evicts none of these."""

    budgets: tuple[Budget, ...]
    pods: int


class Bill(NamedTuple):
    """Who goes (`evicted`), who goes already, who stays."""

    evicted: tuple[NodePod, ...]
    ending: tuple[NodePod, ...]
    of_daemons: tuple[NodePod, ...]
    of_kubelet: tuple[NodePod, ...]

    @property
    def unowned(self) -> tuple[NodePod, ...]:
        """Nobody makes them again."""
        return tuple(one for one in self.evicted if not one.owner_kind and not one.is_finished)

    @property
    def scratch(self) -> tuple[NodePod, ...]:
        """Their emptyDir is lost."""
        return tuple(one for one in self.evicted if one.has_scratch and not one.is_finished)

    @property
    def finished(self) -> tuple[NodePod, ...]:
        """They have ended, and are taken away with their logs."""
        return tuple(one for one in self.evicted if one.is_finished)


def pod_on_node(tree: Mapping[str, Any]) -> NodePod:
    """From the object as the API server writes it."""
    meta, spec, status = tree["metadata"], tree.get("spec") or {}, tree.get("status") or {}
    owners = [one for one in meta.get("ownerReferences") or () if one.get("controller")]
    owner: Mapping[str, Any] = owners[0] if owners else {}
    labels = meta.get("labels") or {}
    return NodePod(
        namespace=clean(meta.get("namespace") or "", SHORT),
        name=clean(meta["name"], SHORT),
        uid=clean(meta.get("uid") or "", SHORT),
        node=clean(spec.get("nodeName") or "", SHORT),
        labels=tuple(sorted((clean(key), clean(value)) for key, value in labels.items())),
        owner_kind=clean(owner.get("kind") or "", SHORT),
        owner_name=clean(owner.get("name") or "", SHORT),
        phase=clean(status.get("phase") or "", SHORT),
        is_mirror=MIRROR in (meta.get("annotations") or {}),
        is_ending=bool(meta.get("deletionTimestamp")),
        has_scratch=any(one.get("emptyDir") is not None for one in spec.get("volumes") or ()),
    )


def bill_of(node: str, pods: Iterable[NodePod]) -> Bill:
    """Each pod of that node, once; others are no part of it."""
    evicted, ending, of_daemons, of_kubelet = [], [], [], []
    for pod in sorted(pods, key=lambda one: one.key):
        if pod.node != node:
            continue
        if pod.is_mirror or pod.owner_kind == "Node":
            of_kubelet.append(pod)
        elif pod.owner_kind == "DaemonSet":
            of_daemons.append(pod)
        elif pod.is_ending:
            ending.append(pod)
        else:
            evicted.append(pod)
    return Bill(tuple(evicted), tuple(ending), tuple(of_daemons), tuple(of_kubelet))


def jobs_on(
    node: str, uids: Iterable[str], jobs: Mapping[str, Job], store: StoreReader
) -> tuple[tuple[Broken, tuple[str, ...]], ...]:
    """The jobs of these pods that run, the largest first, each with the uids of its pods among them."""
    wanted = frozenset(uids)
    found: list[tuple[Broken, tuple[str, ...]]] = []
    for job in jobs.values():
        here = tuple(uid for uid in job.pod_uids if uid in wanted)
        if not here or job.kind in SERVICES or job.state in JobState.ENDED:
            continue
        members = _alive(job, store)
        if any(uid in {one.uid for one in members} for uid in here):
            found.append((_broken(node, job, members), here))
    return tuple(sorted(found, key=lambda one: (-one[0].gpus - one[0].idle, one[0].name)))


def _broken(node: str, job: Job, members: Sequence[Pod]) -> Broken:
    away = [one for one in members if one.node and one.node != node]
    holding = [one for one in away if one.gpus_allocated]
    return Broken(
        job=job,
        name=f"{job.namespace}/{job.name}",
        gpus=sum(one.gpus_allocated for one in members if one.node == node),
        idle=sum(one.gpus_allocated for one in holding),
        nodes=len({one.node for one in holding}),
        is_gang=len(members) > 1,
    )


def _alive(job: Job, store: StoreReader) -> list[Pod]:
    """Its members that have not ended."""
    return [one for one in members_of(job, store) if not one.is_finished and one.deleting_seconds is None]


def delays(pods: Iterable[NodePod], budgets: Iterable[Budget]) -> tuple[Delay, ...]:
    """Budgets of which more pods run on the node than may go now. What does not run needs no budget."""
    every = tuple(budgets)
    counts: dict[tuple[str, ...], tuple[tuple[Budget, ...], int]] = {}
    for pod in pods:
        found = () if pod.phase != "Running" else tuple(budgets_of(pod, every))
        if found:
            key = tuple(f"{one.namespace}/{one.name}" for one in found)
            counts[key] = (found, counts.get(key, (found, 0))[1] + 1)
    return tuple(
        Delay(found, number)
        for _, (found, number) in sorted(counts.items())
        if len(found) > 1 or found[0].allowed < number
    )


def budgets_of(pod: NodePod, budgets: Iterable[Budget]) -> list[Budget]:
    """The budgets that protect this pod."""
    labels = dict(pod.labels)
    return [one for one in budgets if one.namespace == pod.namespace and selects(one.selector, labels)]


def is_known(pods: Iterable[NodePod], store: StoreReader) -> bool:
    """Whether the tables hold each of them: only then it is known what job it is part of."""
    return all(store.get(Kind.POD, one.uid) is not None for one in pods)
