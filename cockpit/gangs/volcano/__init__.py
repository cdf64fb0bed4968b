"""Volcano: its own scheduler, queues and Job; a PodGroup is enqueued by its queue, then bound as a whole.

Its Job has the kind of the built-in one. Its PodGroup is named after the Job and its uid, in older releases
after the Job alone. Source: volcano-sh/apis scheduling/v1beta1, batch/v1alpha1, bus/v1alpha1, labels.go;
volcano pkg/scheduler/plugins/gang, pkg/controllers/job; docs/user-guide/how_to_use_mpi_plugin.md.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cockpit.catalogue import TextPlace, understand
from cockpit.catalogue.cause import Cause
from cockpit.errors import BadInput
from cockpit.gangs import scheduler as sentences
from cockpit.gangs.draft import by_condition, draft
from cockpit.gangs.engine import (
    ClusterList,
    ControllerSigns,
    Engine,
    Enqueues,
    Groups,
    InstalledEngine,
    Marks,
    NewJob,
    OwnJob,
    Queue,
    Queues,
    Scheduling,
    Suited,
    SuspendChange,
    SuspendsJob,
)
from cockpit.gangs.manifests import (
    Attached,
    annotate_pods,
    copied,
    group_beside,
    members_for,
    members_of,
    refuse_without_pods,
    set_scheduler,
    templates,
)
from cockpit.gangs.queue_amounts import amounts, identity, shares, whole
from cockpit.gangs.sentence import counted
from cockpit.gangs.standing import QueueState
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.k8s.json_values import mapping
from cockpit.model.finding import Finding
from cockpit.model.gang import PodGroup, SchedulerQueue, Workload
from cockpit.model.job import JobObject, JobState
from cockpit.model.plan import Call
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, Labels, condition, label
from cockpit.model.watched import Watched

_STATES = {
    "Open": QueueState("open", ""),
    "Closed": QueueState("closed", "closed: it takes no jobs until it is opened"),
    "Closing": QueueState("closing", "closing: it takes no jobs, those in it go on"),
}


def read_queue(tree: Mapping[str, Any]) -> SchedulerQueue:
    """The record of one Queue."""
    spec, status = mapping(tree.get("spec")), mapping(tree.get("status"))
    allocated = status.get("allocated")
    weight, priority = whole(spec.get("weight")), whole(spec.get("priority"))
    told = [f"weight {weight}"] if weight is not None else []
    told += [f"priority {priority}"] if priority else []
    return SchedulerQueue(
        **identity(tree),
        engine="Volcano",
        cohort=str(spec.get("parent") or ""),
        strategy=", ".join(told),
        preemption="not reclaimable" if spec.get("reclaimable") is False else "",
        phase=str(status.get("state") or ""),
        weight=weight,
        priority=priority,
        shares=shares(
            deserved=amounts(spec.get("deserved")),
            limit=amounts(spec.get("capability")),
            used=amounts(allocated) if isinstance(allocated, dict) else None,
            guaranteed=amounts(mapping(spec.get("guarantee")).get("resource")),
        ),
    )


def queue_state(queue: Queue) -> QueueState:
    """Open, closed, closing, or unknown until its controller has looked at it."""
    if queue.deleting_seconds is not None:
        return QueueState("ending", "being deleted, waits until nothing uses it")
    phase = queue.phase if isinstance(queue, SchedulerQueue) else ""
    why = f"its state is {phase}" if phase else "Volcano has not looked at it yet"
    return _STATES.get(phase, QueueState("unknown", why))


JOB_API_VERSION: Final = "batch.volcano.sh/v1alpha1"
_COMMAND_API_VERSION: Final = "bus.volcano.sh/v1alpha1"
_ABORTED: Final = ("Aborted", "Aborting")
_ENDED: Final = ("Completed", "Failed", "Terminated")


def commands_path(namespace: str) -> str:
    """Where Commands are made."""
    return f"/apis/{_COMMAND_API_VERSION}/namespaces/{namespace}/commands"


def suspend_by_command(job: Mapping[str, Any], suspend: bool) -> SuspendChange:
    """Suspend (`AbortJob`) or resume (`ResumeJob`) a Volcano Job.

    The Command is named after the version of the job that was read: sent twice, the second is refused.
    Raises BadInput where the job is so already.
    """
    metadata = job["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    action, verb = ("AbortJob", "suspend") if suspend else ("ResumeJob", "resume")
    phase = ((job.get("status") or {}).get("state") or {}).get("phase", "")
    if not suspend and phase not in _ABORTED:
        raise BadInput(f"job {namespace}/{name} is not suspended (it is {phase or 'new'})")
    if suspend and phase in (*_ABORTED, *_ENDED):
        raise BadInput(f"job {namespace}/{name} is {phase} already")
    owner = {
        "apiVersion": JOB_API_VERSION,
        "kind": "Job",
        "name": name,
        "uid": metadata["uid"],
        "controller": True,
    }
    version = str(metadata.get("resourceVersion") or "0")
    body = {
        "apiVersion": _COMMAND_API_VERSION,
        "kind": "Command",
        "metadata": {
            "name": f"{name}-{verb}-{version}",
            "namespace": namespace,
            "ownerReferences": [owner],
        },
        "action": action,
        "target": owner,
    }
    path = commands_path(namespace)
    return SuspendChange(
        (Call(method="POST", path=path, body=body, target=f"job {namespace}/{name}"),),
        (f"sends Volcano {action}: its pods {'end' if suspend else 'are recreated'}",),
        is_destructive=suspend and phase == "Running",
    )


SCHEDULER: Final = "volcano"
GROUP: Final = "scheduling.volcano.sh"
API_VERSION: Final = f"{GROUP}/v1beta1"
JOBS: Final = "volcanojobs"
"""The store's table of its Jobs."""
QUEUES: Final = "volcanoqueues"
"""The store's table of its queues."""
GROUP_ANNOTATION: Final = "scheduling.k8s.io/group-name"
QUEUE_ANNOTATION: Final = "scheduling.volcano.sh/queue-name"
_QUEUE_LABEL: Final = "volcano.sh/queue-name"
_CAUSES: Final = {
    "NotEnoughTasks": Cause.GANG_MEMBERS_MISSING,
    "NotEnoughPodsOfTask": Cause.GANG_MEMBERS_MISSING,
}
"""Reason of the condition Unschedulable to the row of the catalogue; for others the gang finds no room."""
_ENDS: Final = (
    ("Completed", JobState.SUCCEEDED),
    ("Failed", JobState.FAILED),
    ("Terminated", JobState.FAILED),
)


def _group_names(name: str, uid: str) -> tuple[str, ...]:
    return f"{name}-{uid}", name


def _pod_labels(name: str, role: str) -> dict[str, str]:
    return {"volcano.sh/job-name": name, "volcano.sh/task-spec": role}


def _ended(job: JobObject) -> tuple[str, str]:
    for phase, state in _ENDS:
        found = condition(job.conditions, phase)
        if found is not None:
            told = found.message or found.reason
            return state, "" if state == JobState.SUCCEEDED else told or f"Volcano says {phase}"
    return "", ""


_ACTIONS = re.compile(r"^\s*actions:\s*[\"']?([^\"'\n#]*)", re.MULTILINE)
"""The line of its configuration that names what it does in each cycle."""


NAME: Final = "Volcano"
_MEANING: Final = (
    "Binds at least minAvailable pods together or none; its queue first decides whether the pods are created."
)
_WRITTEN: Final = (
    *("volcano.sh/job-name", "volcano.sh/job-namespace", "volcano.sh/job-version"),
    *("volcano.sh/job-retry-count", "volcano.sh/task-spec", "volcano.sh/task-index"),
    *("volcano.sh/template-uid", "volcano.sh/created-by-template", "volcano.sh/createdByJobTemplate"),
    "volcano.sh/createdByJobFlow",
)


def _regroup(manifest: Mapping[str, Any]) -> Attached | None:
    notes = [mapping(mapping(one.get("metadata")).get("annotations")) for one in templates(manifest)]
    if _is_own(manifest) or not any(GROUP_ANNOTATION in one for one in notes):
        return None
    queues = {str(one[QUEUE_ANNOTATION]) for one in notes if one.get(QUEUE_ANNOTATION)}
    return attach(manifest, queue=min(queues, default="default"))


def _queue_of_job(labels: Labels, workload: Workload | None, has_pods: bool) -> str | None:
    """By its own Job, before its queue let it have pods."""
    return None if has_pods else label(labels, _QUEUE_LABEL) or None


def _suits(job: NewJob, installed: InstalledEngine) -> Suited | None:
    return Suited(installed.sentence) if installed.is_alive is True and job.has_pods else None


def _is_named_by(manifest: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> bool:
    noted = (mapping(mapping(one.get("metadata")).get("annotations")) for one in pods)
    return _is_own(manifest) or any(GROUP_ANNOTATION in one for one in noted)


def _conflicts(manifest: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    spec, members = mapping(manifest.get("spec")), members_of(manifest)
    least = spec.get("minAvailable")
    if not _is_own(manifest) or members is None or not isinstance(least, int):
        return
    if least > members:
        yield f"minAvailable {least} is more than its {counted(members, 'pod')}: it would wait forever"
    elif least == members and "mpi" in mapping(spec.get("plugins")):
        yield (
            f"the mpi plugin creates the master after the workers, but minAvailable {least} counts it:"
            f" both wait forever; use {members - 1}"
        )


def _reason(group: PodGroup, pods: tuple[Pod, ...]) -> Finding:
    """Pending: its queue has not let it in. Inqueue: the gang plugin's own sentence."""
    mark = condition(group.conditions, "Unschedulable")
    if mark is not None and mark.status == "True" and mark.message:
        why = _reason_of_event(group, mark.message)
        why = why or sentences.told(mark.message, _CAUSES.get(mark.reason, Cause.GANG_FINDS_NO_ROOM))
        return by_condition(group, mark, why)
    if group.phase in ("", "Pending"):
        names = {"queue": group.queue or "default"}
        return draft(Cause.GROUP_NOT_LET_IN, "queue {queue} has not admitted it yet", names)
    return Finding(cause=Cause.GANG_FINDS_NO_ROOM, sentence="in its queue, waits for nodes")


def _reason_of_event(group: PodGroup, message: str) -> Finding | None:
    """Why its queue does not let it in: the plugin that said no."""
    found = understand(TextPlace.CREATE, message)
    if found is None or found.cause != Cause.GROUP_NOT_LET_IN:
        return None
    names = {"queue": group.queue or "default", **found.names}
    words = found.wording.words if found.names.get("why") else found.wording.words.partition(":")[0]
    used = {key: value for key, value in names.items() if f"{{{key}}}" in words}
    return draft(Cause.GROUP_NOT_LET_IN, words, used)


def _reason_of_queue(group: PodGroup, queue: SchedulerQueue | None) -> Finding | None:
    """Closed, gone, or short of what the group needs at least."""
    name = group.queue or "default"
    if queue is None:
        return draft(Cause.GROUP_QUEUE_CLOSED, "queue {queue} does not exist", {"queue": name})
    if queue.phase not in ("", "Open"):
        text = "queue {queue} is {state}: it takes no jobs until it is opened"
        names = {"queue": name, "state": queue.phase.lower()}
        return draft(Cause.GROUP_QUEUE_CLOSED, text, names)
    return _used_up(name, queue)


def _never_preempts(config: Mapping[str, Any]) -> bool:
    """As it is installed, neither action that takes nodes from others is on."""
    found = _ACTIONS.findall(str(config.get("volcano-scheduler.conf") or ""))
    named = {word.strip() for line in found for word in line.split(",")}
    return bool(named) and not any("preempt" in word or "reclaim" in word for word in named)


def _suspend(tree: Mapping[str, Any], suspend: bool) -> SuspendChange | None:
    return suspend_by_command(tree, suspend) if _is_own(tree) else None


def _suspend_path(api_version: str, namespace: str) -> tuple[str, str]:
    return ("create", commands_path(namespace)) if api_version == JOB_API_VERSION else ("", "")


def _is_own(tree: Mapping[str, Any]) -> bool:
    return str(tree.get("apiVersion")) == JOB_API_VERSION


def _used_up(name: str, queue: SchedulerQueue) -> Finding | None:
    """The GPUs of a queue that has allocated all that it may."""
    for share in queue.shares:
        used, bound = share.used or 0.0, share.limit
        if is_gpu_resource(share.resource) and bound is not None and used >= bound:
            words = "queue {queue} has not admitted it: {used} of {limit} {resource} in use"
            noun = resource_word(share.resource, math.ceil(bound))
            names = {"queue": name, "used": f"{used:g}", "limit": f"{bound:g}", "resource": noun}
            return draft(Cause.GROUP_NOT_LET_IN, words, names)
    return None


def attach(manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
    """The manifest for Volcano's scheduler. A Volcano Job makes its own group; others get one."""
    least = members_for(manifest, NAME)
    tree = copied(manifest)
    if _is_own(tree):
        spec = tree.setdefault("spec", {})
        queue = queue or str(spec.get("queue") or "") or "default"
        spec.update({"schedulerName": SCHEDULER, "queue": queue})
        spec.setdefault("minAvailable", least)
        return Attached(tree, (), (_MEANING,))
    refuse_without_pods(tree, NAME)
    queue = queue or "default"
    set_scheduler(tree, SCHEDULER)
    annotate_pods(tree, GROUP_ANNOTATION, tree["metadata"]["name"])
    annotate_pods(tree, QUEUE_ANNOTATION, queue)
    group = group_beside(tree, API_VERSION, {**_group_spec(least), "queue": queue})
    return Attached(tree, (group,), (_MEANING,))


def _group_spec(members: int) -> dict[str, Any]:
    return {"minMember": members, "queue": "default"}


VOLCANO: Final = Engine(
    name=NAME,
    meaning=_MEANING,
    attach=attach,
    option="[:QUEUE]",
    controller=ControllerSigns(GROUP, "podgroups", ("volcano-scheduler",)),
    watched=(
        Watched(JOBS, "batch.volcano.sh", "jobs", ("v1alpha1",)),
        Watched(Kind.POD_GROUP, GROUP, "podgroups", ("v1beta1",), NAME),
        Watched(QUEUES, GROUP, "queues", ("v1beta1",), record=read_queue),
    ),
    kinds={(JOB_API_VERSION, "Job"): "jobs", (API_VERSION, "PodGroup"): "podgroups"},
    form_lists={"volcano-queues": (ClusterList((API_VERSION, "Queue"), "Volcano queue"),)},
    marks=Marks(queue_label=_QUEUE_LABEL, written=_WRITTEN, queue_of_job=_queue_of_job),
    suits=_suits,
    own_job=OwnJob(JOB_API_VERSION, "Job", JOBS, _group_names, _pod_labels, _ended, ("volcano-controller",)),
    queues=Queues(
        queue_state,
        cluster=QUEUES,
        source="volcano-queues",
        default="default",
        no_verbs="Volcano's queues are not stopped or resumed here:"
        " use vcctl queue operate --action close, or open",
    ),
    scheduling=Scheduling(
        SCHEDULER,
        "preempts and reclaims as its configuration says, which is not computed here",
        takes_by_share=True,
        config=("volcano-system", "volcano-scheduler-configmap"),
        never_preempts=_never_preempts,
        conflict="a {quota} queue and Volcano's scheduler: each holds the job for the other;"
        " keep one of them",
    ),
    groups=Groups(_is_named_by, _regroup, _conflicts, API_VERSION, _group_spec, minimum="minMember"),
    reason=_reason,
    enqueues=Enqueues(_reason_of_event, _reason_of_queue),
    suspends_job=SuspendsJob(_suspend, _suspend_path),
)
