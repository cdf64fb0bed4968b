"""The gang of kube-scheduler itself (KEP-4671): PodGroup and spec.schedulingGroup, behind gates.

1.35 had another form (Workload alone, spec.workloadRef); 1.36 serves v1alpha2, 1.37 v1beta1, gate off.
A gate that is off drops the pod field without a word: what was made is read again and compared.
"""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.gangs import scheduler as sentences
from cockpit.gangs.manifests import Attached, copied, group_pods, members_of
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod
from cockpit.model.record import condition

NAME = "native gang"
GROUP = "scheduling.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha2")
MEANING = "Binds minCount pods together or none; there is no queue, no quota and no place in a line."
RETRIES_BY_ITSELF = True
_CONDITIONS: Final = ("PodGroupInitiallyScheduled", "PodGroupScheduled")
# Their pod templates in the CRD know no schedulingGroup: the API server would drop it. So does JobSet's
# before 0.12 (seen with 0.10.1): submitting asks for strict fields, the server refuses, nothing is made.
_PRUNING: Final = ("MPIJob", "TrainJob")


def attach(manifest: Mapping[str, Any], *, version: str = "v1alpha2", minimum: int | None = None) -> Attached:
    """The manifest with its pods in a PodGroup of its name, and that PodGroup, which comes first."""
    tree, members = copied(manifest), members_of(manifest)
    kind = str(tree.get("kind"))
    if kind in _PRUNING:
        raise BadInput(
            f"{kind} drops the pods' spec.schedulingGroup: take another engine, a Job, or a JobSet of 0.12"
            " or newer"
        )
    if version not in VERSIONS:
        raise BadInput(f"{GROUP}/{version} has another form; known are {' and '.join(VERSIONS)}")
    least = members if minimum is None else minimum
    if least > members:
        raise BadInput(f"minCount {least} is more than the job's {members} pods: it would wait for ever")
    name, namespace = tree["metadata"]["name"], tree["metadata"].get("namespace", "")
    group_pods(tree, name)
    group: dict[str, Any] = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "gpu-cockpit"},
        },
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
    }
    return Attached(tree, (group,), (MEANING,))


def was_dropped(made: Mapping[str, Any]) -> str:
    """After creating: a sentence when the server dropped the group from the pods, "" when it is there."""
    return "" if _has_group(made) else "the server dropped schedulingGroup: its gate GenericWorkload is off"


def _has_group(tree: Any) -> bool:
    if isinstance(tree, Mapping):
        return "schedulingGroup" in tree or any(_has_group(one) for one in tree.values())
    return isinstance(tree, list) and any(_has_group(one) for one in tree)


def reason(group: PodGroup, pods: tuple[Pod, ...]) -> str:
    """How many of its pods are missing, else the group's condition.

    "" where that says no more than that the group is unschedulable (1.36 says only this): the cause stands on
    the member that found no node.
    """
    there = sum(1 for pod in pods if not pod.is_finished)
    if group.min_member is not None and there < group.min_member:
        return f"its group has {there} of {group.min_member} pods"
    for type_ in _CONDITIONS:
        told = condition(group.conditions, type_)
        if told is not None and told.status == "False":
            return "" if sentences.is_consequence(told.message) else sentences.plain(told.message)
    return ""
