"""Capacity by demand: what makes whoever watches demand bring nodes, where their number can't be set.

Placeholder pods work with every autoscaler of nodes: pods of the lowest priority that still counts, which
real ones preempt. They are a Job, so that the cluster itself ends them at the deadline. A ProvisioningRequest
asks for all or nothing; it needs a flag of the autoscaler, and only pods that name it use what it brings. A
CapacityBuffer keeps room free without any pod; nothing but its deletion ends it.

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
from cockpit.model.node import Taint
from cockpit.model.plan import Call
from cockpit.model.record import Labels
from cockpit.model.right import Right, Ways

PRIORITY = -10
"""The lowest for which nodes are still added."""
PRIORITY_CLASS = "gpu-cockpit-placeholder"
MADE_BY = "app.kubernetes.io/managed-by"
POOL_MARK = "gpu-cockpit/pool"
ATOMIC = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
MOST_PODS = 1_000
_API = "autoscaling.x-k8s.io"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")


class DemandWay(enum.StrEnum):
    """How capacity is asked for."""

    PLACEHOLDER = "placeholder"
    REQUEST = "provisioning-request"
    BUFFER = "capacity-buffer"


class CapacityWish(msgspec.Struct, frozen=True, kw_only=True):
    """`pods` of `gpus` each, on nodes with these labels and taints, for at most `deadline_seconds`."""

    name: str
    namespace: str
    pool: str
    pods: int
    gpus: int
    resource: str  # nvidia.com/gpu
    selector: Labels = ()
    taints: tuple[Taint, ...] = ()
    deadline_seconds: int = 3_600

    def __post_init__(self) -> None:
        for what, count, most in (("pods", self.pods, MOST_PODS), ("GPUs", self.gpus, 64)):
            if not 1 <= count <= most:
                raise BadInput(f"{count} {what}: from 1 to {most} can be asked for")
        if not _NAME.fullmatch(self.name):
            raise BadInput(f"{self.name!r} is no name for it: use a-z, 0-9 and -, at most 52 characters")
        if not 60 <= self.deadline_seconds <= 7 * 86_400:
            raise BadInput(f"a deadline of {self.deadline_seconds} s: give a minute to seven days")


class CapacityPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent to ask for it. `made` are the paths of what it makes, in the order in which it goes."""

    way: DemandWay
    calls: tuple[Call, ...]
    made: tuple[str, ...]  # paths
    rights: Ways
    lines: tuple[str, ...]
    is_endless: bool = False

    def undo(self, uids: Mapping[str, str]) -> tuple[Call, ...]:
        """Delete what was made: `uids` by path as the answers told them; what was not made is left out."""
        return tuple(
            Call(
                method="DELETE",
                path=path,
                body={"preconditions": {"uid": uids[path]}, "propagationPolicy": "Background"},
            )
            for path in self.made
            if path in uids
        )


def plan_capacity(way: DemandWay, wish: CapacityWish) -> CapacityPlan:
    """The calls that ask for it in that way."""
    return {
        DemandWay.PLACEHOLDER: _placeholder,
        DemandWay.REQUEST: _request,
        DemandWay.BUFFER: _buffer,
    }[way](wish)


def _placeholder(wish: CapacityWish) -> CapacityPlan:
    jobs = f"/apis/batch/v1/namespaces/{wish.namespace}/jobs"
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(wish),
        "spec": {
            "parallelism": wish.pods,
            "completions": wish.pods,
            "backoffLimit": 0,
            "activeDeadlineSeconds": wish.deadline_seconds,
            "ttlSecondsAfterFinished": 60,
            # real pods are to preempt them, which is no failure
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
                ]
            },
            "template": _template(wish, {"priorityClassName": PRIORITY_CLASS, "restartPolicy": "Never"}),
        },
    }
    return CapacityPlan(
        way=DemandWay.PLACEHOLDER,
        calls=(_post(jobs, job),),
        made=(f"{jobs}/{wish.name}",),
        rights=((_create("batch", "jobs", wish.namespace),),),
        lines=(
            f"{wish.pods} placeholder pods of {wish.gpus} GPUs wait for nodes; any real pod preempts them",
            f"they end by themselves after {wish.deadline_seconds // 60} min",
            "where GPUs are free they take those, and a quota of the namespace counts them",
            f"needs PriorityClass {PRIORITY_CLASS} with value {PRIORITY} ({classes})",
        ),
    )


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
        made=(f"{path}/{wish.name}", f"{templates}/{wish.name}"),
        rights=(
            (
                _create("", "podtemplates", wish.namespace),
                _create(_API, "provisioningrequests", wish.namespace),
            ),
        ),
        lines=(
            f"asks for room for all {wish.pods} pods of {wish.gpus} GPUs, or for none",
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
        made=(f"{path}/{wish.name}", f"{templates}/{wish.name}"),
        rights=(
            (_create("", "podtemplates", wish.namespace), _create(_API, "capacitybuffers", wish.namespace)),
        ),
        lines=(
            f"keeps room for {wish.pods} pods of {wish.gpus} GPUs free; no pod is made",
            "it holds, and costs, until it is deleted",
        ),
        is_endless=True,
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
            **more,
        },
    }


def _tolerations(taints: Sequence[Taint]) -> list[dict[str, str]]:
    return [
        {"key": one.key, "operator": "Equal", "value": one.value, "effect": one.effect}
        if one.value
        else {"key": one.key, "operator": "Exists", "effect": one.effect}
        for one in taints
    ]


def _marks(wish: CapacityWish) -> dict[str, str]:
    return {MADE_BY: "gpu-cockpit", POOL_MARK: wish.pool}


def _metadata(wish: CapacityWish) -> dict[str, Any]:
    return {"name": wish.name, "namespace": wish.namespace, "labels": _marks(wish)}


def _post(path: str, body: dict[str, Any]) -> Call:
    return Call(
        method="POST", path=path, body=body, target=f"{body['kind'].lower()} {body['metadata']['name']}"
    )


def _create(group: str, plural: str, namespace: str) -> Right:
    return Right("create", group, plural, namespace=namespace)
