"""The gang of kube-scheduler itself (KEP-4671): PodGroup and spec.schedulingGroup, behind gates.

1.35 had another form (Workload alone, spec.workloadRef); 1.36 serves v1alpha2, 1.37 v1beta1, gate off.
A gate that is off drops the pod field without a word: what was stored is compared
(`cockpit.actions.execute.execute_plan`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cockpit.catalogue.cause import Cause
from cockpit.errors import BadInput
from cockpit.gangs import scheduler as sentences
from cockpit.gangs.draft import by_condition, draft, members_missing
from cockpit.gangs.engine import (
    ControllerSigns,
    Engine,
    Groups,
    InstalledEngine,
    Marks,
    NewJob,
    Scheduling,
    Suited,
)
from cockpit.gangs.manifests import Attached, copied, group_beside, members_for, templates
from cockpit.gangs.standing import NOT_HELD
from cockpit.k8s.json_values import mapping
from cockpit.model.finding import Finding
from cockpit.model.gang import PodGroup
from cockpit.model.pod import DEFAULT_SCHEDULERS, Pod
from cockpit.model.record import Kind, Labels, condition
from cockpit.model.watched import Watched

GROUP: Final = "scheduling.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha2")
_API_VERSION: Final = f"{GROUP}/v1alpha2"
FIELD: Final = "schedulingGroup"
DROPPED: Final = (
    "the server dropped schedulingGroup (feature gate GenericWorkload is off): the pods start one by one,"
    " not as a gang; delete it and submit it with another engine"
)
_CONDITIONS: Final = ("PodGroupInitiallyScheduled", "PodGroupScheduled")
# Their pod templates in the CRD know no schedulingGroup: the API server would drop it. So does JobSet's
# before 0.12 (seen with 0.10.1): submitting asks for strict fields, the server refuses, nothing is made.
_PRUNING: Final = ("MPIJob", "TrainJob")


_NAME: Final = "native gang"
_MEANING: Final = "Binds minCount pods together or none; there is no queue and no quota."


def _regroup(manifest: Mapping[str, Any]) -> Attached | None:
    named = (mapping(mapping(one.get("spec")).get(FIELD)) for one in templates(manifest))
    return attach(manifest) if any(one.get("podGroupName") for one in named) else None


def _queue_of_pod(pod: Pod, labels: Labels) -> str | None:
    is_named = pod.gang and pod.gang_by in ("", FIELD)
    return "" if is_named and pod.scheduler in DEFAULT_SCHEDULERS else None


def _suits(job: NewJob, installed: InstalledEngine) -> Suited | None:
    if installed.is_alive is not True or not job.has_pods or job.kind in _PRUNING:
        return None
    return Suited(installed.sentence)


def _is_named_by(manifest: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> bool:
    return any(mapping(one.get("spec")).get(FIELD) for one in pods)


def _conflicts(manifest: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if str(manifest.get("kind")) in _PRUNING and _is_named_by(manifest, pods):
        yield f"{manifest['kind']} drops the pods' schedulingGroup: its pods would start one by one"


def _reason(group: PodGroup, pods: tuple[Pod, ...]) -> Finding:
    """Several schedulers, or how many of its pods are missing, else the group's condition.

    No sentence where that says no more than that the group is unschedulable (1.36 says only this): what
    is missing stands on the member that found no node.
    """
    usual = DEFAULT_SCHEDULERS[-1]
    schedulers = sorted({pod.scheduler or usual for pod in pods if not pod.is_finished})
    if len(schedulers) > 1:
        names = {"schedulers": " and ".join(schedulers)}
        words = "pods of its group name several schedulers: {schedulers}"
        return draft(Cause.SEVERAL_SCHEDULERS, words, names)
    short = members_missing(group, pods)
    if short is not None:
        return short
    for type_ in _CONDITIONS:
        mark = condition(group.conditions, type_)
        if mark is not None and mark.status == "False":
            facts = (("all", str(group.min_member or len(pods))),)
            why = sentences.told(mark.message, Cause.GANG_NOT_PLACED)
            sentence = "" if sentences.is_consequence(mark.message) else why.sentence
            made = Finding(
                cause=Cause.GANG_NOT_PLACED,
                sentence=sentence,
                sureness=why.sureness,
                facts=(*why.facts, *facts),
            )
            return by_condition(group, mark, made)
    return NOT_HELD


def attach(
    manifest: Mapping[str, Any],
    *,
    queue: str = "",
    scheduler: str = "",
) -> Attached:
    """The manifest with its pods in a PodGroup of its name, and that PodGroup, which comes first."""
    least = members_for(manifest, _NAME)
    tree = copied(manifest)
    kind = str(tree.get("kind"))
    if kind in _PRUNING:
        raise BadInput(
            f"{kind} drops the pods' spec.schedulingGroup: take another engine, a Job, or a JobSet of 0.12"
            " or newer"
        )
    for template in templates(tree):
        template.setdefault("spec", {})[FIELD] = {"podGroupName": tree["metadata"]["name"]}
    group = group_beside(tree, _API_VERSION, _group_spec(least))
    return Attached(tree, (group,), (_MEANING,), ((FIELD, DROPPED),))


def _group_spec(members: int) -> dict[str, Any]:
    return {"schedulingPolicy": {"gang": {"minCount": members}}}


NATIVE_GANG: Final = Engine(
    name=_NAME,
    meaning=_MEANING,
    attach=attach,
    controller=ControllerSigns(GROUP, "podgroups", ("kube-scheduler",)),
    watched=(Watched(Kind.POD_GROUP, GROUP, "podgroups", ("v1beta1", "v1alpha3", "v1alpha2"), _NAME),),
    kinds={(f"{GROUP}/{version}", "PodGroup"): "podgroups" for version in VERSIONS},
    marks=Marks(queue_of_pod=_queue_of_pod),
    suits=_suits,
    scheduling=Scheduling(preempts_by="preempts for a gang, which is not computed here"),
    groups=Groups(_is_named_by, _regroup, _conflicts, _API_VERSION, _group_spec, minimum=""),
    reason=_reason,
)
