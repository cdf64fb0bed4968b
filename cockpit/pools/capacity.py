"""Capacity by demand: what makes whoever watches demand bring nodes, where their number can't be set.

Placeholder pods work with every autoscaler of nodes: pods of the lowest priority that still counts, which
real ones preempt. They are a Job, so that the cluster itself ends them at the deadline, and an indexed one
whose pods are not made again: another pod in the place of one that was preempted would ask for one more node.
Who knows how large a machine is has each pod ask for all its GPUs; else each asks for one, and they keep away
from each other. A ProvisioningRequest
asks for all or nothing; it needs a flag of the autoscaler, and only pods that name it use what it brings. A
CapacityBuffer keeps room free without any pod; nothing but its deletion ends it. A machine that is asked for
itself waits for no pod at all.

Sources: kubernetes-sigs/cluster-autoscaler pkg/FAQ.md (cutoff -10); kubernetes/autoscaler
cluster-autoscaler/apis/provisioningrequest/autoscaling.x-k8s.io/v1/types.go and
apis/capacitybuffer/autoscaling.x-k8s.io/v1beta1/types.go.
"""

import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cockpit.errors import BadInput
from cockpit.k8s.labels import HOSTNAME
from cockpit.model.node import Taint
from cockpit.model.plan import Call
from cockpit.model.pod import POOL_MARK
from cockpit.model.pool import Pool
from cockpit.model.record import Labels
from cockpit.model.right import Right

PRIORITY = -10
"""The lowest for which nodes are still added."""
PRIORITY_CLASS = "gpu-cockpit-placeholder"
MADE_BY = "app.kubernetes.io/managed-by"
NODES_NOTE, BY_NOTE = "gpu-cockpit/nodes", "gpu-cockpit/asked-by"
"""How many more nodes it is to bring, and who asked."""
ATOMIC = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
MOST_PODS = 1_000
MOST_MACHINES = 20
"""Machines that wait for no pod are asked for in small numbers."""
_API = "autoscaling.x-k8s.io"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")


class DemandWay(enum.StrEnum):
    """How capacity is asked for."""

    PLACEHOLDER = "placeholder"
    REQUEST = "request"
    BUFFER = "buffer"
    MACHINE = "machine"


API_KINDS: Mapping[DemandWay, tuple[str, str, str]] = {
    DemandWay.PLACEHOLDER: ("batch/v1", "Job", "jobs"),
    DemandWay.BUFFER: (f"{_API}/v1beta1", "CapacityBuffer", "capacitybuffers"),
    DemandWay.REQUEST: (f"{_API}/v1", "ProvisioningRequest", "provisioningrequests"),
}
"""What is made for it: apiVersion, kind and plural."""


def demand_name(pool: Pool) -> str:
    """What asks for that pool is called so in every cockpit: there is one at a time."""
    return f"ask-{pool.mark}"


class CapacityWish(msgspec.Struct, frozen=True, kw_only=True):
    """`pods` of `gpus` each, on nodes with these labels and taints, for at most `deadline_seconds`.

    `is_alone`: no two of them on one node. `nodes` are to come by it; `by` is who asks."""

    name: str
    namespace: str
    pods: int
    gpus: int
    resource: str  # nvidia.com/gpu
    selector: Labels = ()
    taints: tuple[Taint, ...] = ()
    deadline_seconds: int = 3_600
    is_alone: bool = False
    nodes: int = 0
    by: str = ""

    def __post_init__(self) -> None:
        for what, count, most in (("pods", self.pods, MOST_PODS), ("GPUs", self.gpus, 64)):
            if not 1 <= count <= most:
                raise BadInput(f"{count} {what}: from 1 to {most} can be asked for")
        if not _NAME.fullmatch(self.name):
            raise BadInput(f"{self.name!r} is no name for it: use a-z, 0-9 and -, at most 52 characters")
        if not 60 <= self.deadline_seconds <= 7 * 86_400:
            raise BadInput(f"a deadline of {self.deadline_seconds} s: give a minute to seven days")


class CapacityPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent to ask for it."""

    way: DemandWay
    calls: tuple[Call, ...]
    lines: tuple[str, ...]


def plan_capacity(way: DemandWay, wish: CapacityWish) -> CapacityPlan:
    """The calls that ask for it in that way."""
    return {
        DemandWay.PLACEHOLDER: _placeholder,
        DemandWay.REQUEST: _request,
        DemandWay.BUFFER: _buffer,
    }[way](wish)


def rights_for(way: DemandWay, namespace: str) -> tuple[Right, ...]:
    """What it takes to ask in that way in the namespace; the PriorityClass of placeholders is made once."""
    api_version, _, plural = API_KINDS.get(way, ("", "", ""))
    own = _create(api_version.rpartition("/")[0], plural, namespace)
    return (own,) if way is DemandWay.PLACEHOLDER else (_create("", "podtemplates", namespace), own)


def _placeholder(wish: CapacityWish) -> CapacityPlan:
    jobs = f"/apis/batch/v1/namespaces/{wish.namespace}/jobs"
    wait = "waits" if wish.pods == 1 else "wait"
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(wish),
        "spec": {
            "parallelism": wish.pods,
            "completions": wish.pods,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 0,
            "activeDeadlineSeconds": wish.deadline_seconds,
            "ttlSecondsAfterFinished": 60,
            "template": _template(wish, {"priorityClassName": PRIORITY_CLASS, "restartPolicy": "Never"}),
        },
    }
    return CapacityPlan(
        way=DemandWay.PLACEHOLDER,
        calls=(
            msgspec.structs.replace(_post(jobs, job), fields_at_risk=(("backoffLimitPerIndex", _REPLACED),)),
        ),
        lines=(
            f"{_pods(wish, 'placeholder pod')} {wait} for nodes; any pod of priority 0 preempts them",
            f"they end by themselves after {wish.deadline_seconds // 60} min, and none comes back",
            f"they count against quotas of namespace {wish.namespace}",
        ),
    )


_REPLACED = (
    "this server recreates a placeholder that was preempted: it may bring more nodes; withdraw it in time"
)


def _pods(wish: CapacityWish, what: str) -> str:
    """`2 placeholder pods of 8 GPUs`, `1 pod of 1 GPU, each on a node of its own`."""
    gpus = f"{wish.gpus} GPU{'s' * (wish.gpus != 1)}"
    own = ", each on a node of its own" if wish.is_alone else ""
    return f"{wish.pods} {what}{'s' * (wish.pods != 1)} of {gpus}{own}"


def priority_class() -> Call:
    """The class that placeholder pods have: below every other, and still a reason to add nodes."""
    body = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": PRIORITY_CLASS, "labels": {MADE_BY: "gpu-cockpit"}},
        "value": PRIORITY,
        "preemptionPolicy": "Never",
        "globalDefault": False,
        "description": "Placeholder pods that make an autoscaler add nodes; everything else preempts them.",
    }
    return _post("/apis/scheduling.k8s.io/v1/priorityclasses", body)


def _request(wish: CapacityWish) -> CapacityPlan:
    templates, path = _templates(wish), f"/apis/{_API}/v1/namespaces/{wish.namespace}/provisioningrequests"
    request = {
        "apiVersion": f"{_API}/v1",
        "kind": "ProvisioningRequest",
        "metadata": _metadata(wish),
        "spec": {
            "provisioningClassName": ATOMIC,
            "parameters": {"ValidUntilSeconds": str(wish.deadline_seconds)},
            "podSets": [{"podTemplateRef": {"name": wish.name}, "count": wish.pods}],
        },
    }
    return CapacityPlan(
        way=DemandWay.REQUEST,
        calls=(_post(templates, _pod_template(wish)), _post(path, request)),
        lines=(
            f"asks for room for {_pods(wish, 'pod')}: for all, or for none",
            "Provisioned means that the size was set, not that nodes are Ready",
            f"only pods annotated autoscaling.x-k8s.io/consume-provisioning-request: {wish.name} use it",
        ),
    )


def _buffer(wish: CapacityWish) -> CapacityPlan:
    templates, path = _templates(wish), f"/apis/{_API}/v1beta1/namespaces/{wish.namespace}/capacitybuffers"
    buffer = {
        "apiVersion": f"{_API}/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": _metadata(wish),
        "spec": {
            "provisioningStrategy": "buffer.x-k8s.io/active-capacity",
            "podTemplateRef": {"name": wish.name},
            "replicas": wish.pods,
        },
    }
    return CapacityPlan(
        way=DemandWay.BUFFER,
        calls=(_post(templates, _pod_template(wish)), _post(path, buffer)),
        lines=(
            f"keeps room for {_pods(wish, 'pod')} free; no pod is made",
            "it holds, and costs, until it is withdrawn",
            "only an autoscaler that has CapacityBuffers switched on heeds it; else --way placeholder",
        ),
    )


def _templates(wish: CapacityWish) -> str:
    return f"/api/v1/namespaces/{wish.namespace}/podtemplates"


def _pod_template(wish: CapacityWish) -> dict[str, Any]:
    body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": _metadata(wish)}
    return {**body, "template": _template(wish, {})}


def _template(wish: CapacityWish, more: Mapping[str, Any]) -> dict[str, Any]:
    amount = {wish.resource: str(wish.gpus)}
    container = {"name": "pause", "image": PAUSE_IMAGE, "resources": {"requests": amount, "limits": amount}}
    return {
        "metadata": {"labels": _marks(wish)},
        "spec": {
            "containers": [container],
            "nodeSelector": dict(wish.selector),
            "tolerations": _tolerations(wish.taints),
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            **({"affinity": _apart(wish)} if wish.is_alone else {}),
            **more,
        },
    }


def _apart(wish: CapacityWish) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {POOL_MARK: wish.name}}, "topologyKey": HOSTNAME}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _tolerations(taints: Sequence[Taint]) -> list[dict[str, str]]:
    return [
        {"key": one.key, "operator": "Equal", "value": one.value, "effect": one.effect}
        if one.value
        else {"key": one.key, "operator": "Exists", "effect": one.effect}
        for one in taints
    ]


def _marks(wish: CapacityWish) -> dict[str, str]:
    return {MADE_BY: "gpu-cockpit", POOL_MARK: wish.name}


def own_metadata(wish: CapacityWish) -> dict[str, Any]:
    """By which what asks is known as ours: whom it asks for, how many nodes it is to bring, who asked."""
    notes = {NODES_NOTE: str(wish.nodes), BY_NOTE: wish.by}
    return {"labels": _marks(wish), "annotations": notes}


def _metadata(wish: CapacityWish) -> dict[str, Any]:
    return {"name": wish.name, "namespace": wish.namespace, **own_metadata(wish)}


def _post(path: str, body: dict[str, Any]) -> Call:
    return Call(
        method="POST", path=path, body=body, target=f"{body['kind'].lower()} {body['metadata']['name']}"
    )


def _create(group: str, plural: str, namespace: str) -> Right:
    return Right("create", group, plural, namespace=namespace)
