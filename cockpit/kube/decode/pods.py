"""Pods: the hot path. One function for both wires, about 40 us a pod, so it is written flat."""

from typing import Any

import msgspec

from cockpit.k8s.gpu_shares import SHARE_ANNOTATIONS, gpu_share, whole_number
from cockpit.k8s.waiting_reasons import START_FAILED
from cockpit.kube.decode import shapes
from cockpit.kube.decode.amounts import full_charge
from cockpit.kube.decode.reading import Reading
from cockpit.kube.decode.traits import pod_traits, relabelled
from cockpit.mask import MESSAGES, clean_message
from cockpit.model.pod import Pod
from cockpit.model.record import Labels
from cockpit.sanitise import SENTENCE, WORDS, clean

JOB_LABELS: tuple[str, ...] = (
    "training.kubeflow.org/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "batch.kubernetes.io/job-name",
    "job-name",
    "ray.io/cluster",
    "volcano.sh/job-name",
    "leaderworkerset.sigs.k8s.io/name",
    "notebook-name",
)
"""Labels that name the training job of a pod, the outermost first."""

ROLE_LABELS: tuple[str, ...] = (
    "training.kubeflow.org/job-role",
    "training.kubeflow.org/replica-type",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "ray.io/node-type",
    "volcano.sh/task-spec",
    "spark-role",
    "dask.org/component",
)
ROLE_ANNOTATIONS: tuple[str, ...] = ("volcano.sh/task-spec",)
RANK_LABELS: tuple[str, ...] = (
    "training.kubeflow.org/replica-index",
    "batch.kubernetes.io/job-completion-index",
    "volcano.sh/task-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "kueue.x-k8s.io/pod-group-pod-index",
    "spark-exec-id",
    "apps.kubernetes.io/pod-index",
)
GROUP_LABELS: tuple[str, ...] = (
    "jobset.sigs.k8s.io/job-index",
    "leaderworkerset.sigs.k8s.io/group-index",
)
"""Which of the equal groups of its role a member is in: ranks begin at 0 in each."""
GROUPS_LABEL = "jobset.sigs.k8s.io/replicatedjob-replicas"
"""How many such groups there are; of one group nothing is said."""
RANK_ANNOTATIONS: tuple[str, ...] = ("batch.kubernetes.io/job-completion-index", "volcano.sh/task-index")
GANG_LABELS: tuple[str, ...] = (
    "scheduling.x-k8s.io/pod-group",
    "kueue.x-k8s.io/pod-group-name",
    "pod-group.scheduling.sigs.k8s.io",
)
GANG_FIELD = "schedulingGroup"
GANG_ANNOTATIONS: tuple[str, ...] = ("scheduling.k8s.io/group-name", "pod-group-name")
GANG_SIZE_ANNOTATION = "kueue.x-k8s.io/pod-group-total-count"
"""How many pods a group has that no object tells of."""
NOTED_ANNOTATIONS: tuple[str, ...] = (
    *(*GANG_ANNOTATIONS, *ROLE_ANNOTATIONS, GANG_SIZE_ANNOTATION),
    *SHARE_ANNOTATIONS,
)
STAY_ANNOTATIONS: tuple[str, ...] = (
    "karpenter.sh/do-not-disrupt",
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
)
"""Annotations of a pod by which an autoscaler does not take its node away, or does all the same."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"

_INTERESTING = frozenset(
    (*JOB_LABELS, *ROLE_LABELS, *RANK_LABELS, *GROUP_LABELS, GROUPS_LABEL, *GANG_LABELS, QUEUE_LABEL)
)
_INTERESTING_ANNOTATIONS = frozenset((*RANK_ANNOTATIONS, *NOTED_ANNOTATIONS))
_NO_SPEC = shapes.PodSpec()
_STILL_STARTING = ("PodInitializing", "ContainerCreating", "")


def pod_record(pod: Any, reading: Reading) -> Pod:
    """The record of one core/v1 Pod."""
    meta, spec, status, words, seconds = pod.metadata, pod.spec, pod.status, WORDS, reading.seconds
    pairs = list(meta.labels.items())
    membership = _membership(pairs, meta, spec)
    owner_api, owner_kind, owner_name, owner_uid = _owner(meta)
    cpu, memory, gpus, gpu_resource, named = full_charge(spec, reading.amount)
    names, image = _containers(spec, gpus, gpu_resource)
    is_ready, scheduled, scheduled_reason, scheduled_message, disruption = _conditions(status)
    phase = words[status.phase]
    ready, total, restarts = _counts(spec, status)
    waiting_reason, waiting_message, ended, exit_code, finished = _states(status, reading)
    return Pod(
        uid=clean(meta.uid),
        name=clean(meta.name),
        namespace=words[meta.namespace],
        resource_version=clean(meta.resource_version),
        created_seconds=seconds(meta.creation_timestamp),
        deleting_seconds=seconds(meta.deletion_timestamp),
        phase=phase,
        node=words[spec.node_name],
        gpus=gpus,
        gpu_resource=gpu_resource,
        cpu_millicores=cpu,
        memory_bytes=memory,
        owner_api_version=owner_api,
        owner_kind=owner_kind,
        owner_name=owner_name,
        owner_uid=owner_uid,
        **membership,
        scheduler=words[spec.scheduler_name],
        priority=spec.priority if reading.has(spec, "priority") else None,
        priority_class=words[spec.priority_class_name],
        image=image,
        containers=names,
        ready_containers=ready,
        total_containers=total,
        restarts=restarts,
        started_seconds=seconds(status.start_time),
        finished_seconds=finished if phase in ("Succeeded", "Failed") else None,
        crashed_seconds=None if phase in ("Succeeded", "Failed") else finished,
        is_ready=is_ready,
        scheduled=scheduled,
        scheduled_reason=scheduled_reason,
        scheduled_message=scheduled_message,
        is_gated=bool(spec.scheduling_gates),
        status_reason=words[status.reason],
        status_message=clean_message(status.message, SENTENCE),
        waiting_reason=waiting_reason,
        waiting_message=waiting_message,
        terminated_reason=ended[0],
        exit_code=exit_code,
        pod_ip=clean(status.pod_ip),
        traits=pod_traits(pairs, meta, spec, named, reading),
        **_of_the_few(meta, status, disruption, ended[1], reading),
    )


def akin_record(first: Pod, meta: Any, reading: Reading, **others: Any) -> Pod:
    """The record of a pod whose spec and status are those of `first` but for `others`, with other metadata.

    These may not depend on metadata: no required pod (anti-)affinity (its namespace is that of the pod), and
    no pod group in the spec (labels come before it).
    """
    words, pairs = WORDS, list(meta.labels.items())
    membership = _membership(pairs, meta, _NO_SPEC)
    owner_api, owner_kind, owner_name, owner_uid = _owner(meta)
    return msgspec.structs.replace(
        first,
        uid=clean(meta.uid),
        name=clean(meta.name),
        namespace=words[meta.namespace],
        resource_version=clean(meta.resource_version),
        created_seconds=reading.seconds(meta.creation_timestamp),
        deleting_seconds=reading.seconds(meta.deletion_timestamp),
        finalizers=_finalizers(meta, reading),
        stay_notes=_stay_notes(meta),
        owner_api_version=owner_api,
        owner_kind=owner_kind,
        owner_name=owner_name,
        owner_uid=owner_uid,
        **membership,
        traits=relabelled(first.traits, pairs),
        **others,
    )


def _owner(meta: Any) -> tuple[str, str, str, str]:
    """API version, kind, name and uid of the controlling owner."""
    words = WORDS
    for item in meta.owner_references:
        if item.controller:
            return words[item.api_version], words[item.kind], words[item.name], words[item.uid]
    return "", "", "", ""


def _of_the_few(
    meta: Any, status: Any, disruption: Any, ended_message: str, reading: Reading
) -> dict[str, Any]:
    """Fields that few pods have: of those being deleted, preempted, about to preempt, or never begun."""
    found: dict[str, Any] = {}
    if status.nominated_node_name:
        found["nominated_node"] = WORDS[status.nominated_node_name]
    if disruption is not None:
        found["disruption_reason"] = WORDS[disruption.reason]
        found["disruption_message"] = MESSAGES[disruption.message]
    if ended_message:
        found["terminated_message"] = ended_message
    if finalizers := _finalizers(meta, reading):
        found["finalizers"] = finalizers
    if notes := _stay_notes(meta):
        found["stay_notes"] = notes
    if status.init_container_statuses and status.phase == "Pending":
        found["init_container"] = next(
            (WORDS[item.name] for item in status.init_container_statuses if not item.ready), ""
        )
    return found


def _stay_notes(meta: Any) -> Labels:
    notes = meta.annotations
    return tuple([(key, WORDS[notes[key]]) for key in STAY_ANNOTATIONS if key in notes]) if notes else ()


def _finalizers(meta: Any, reading: Reading) -> tuple[str, ...]:
    """They matter only once the pod is being deleted, and most pods of Jobs have one."""
    if not reading.has(meta, "deletion_timestamp"):
        return ()
    return tuple([WORDS[item] for item in meta.finalizers])


def _conditions(status: Any) -> tuple[bool, str, str, str, Any]:
    """Ready; status, reason and message of PodScheduled, why only while it is not True; the condition
    DisruptionTarget while it is True."""
    words = WORDS
    is_ready = False
    scheduled = reason = message = ""
    disruption: Any = None
    for condition in status.conditions:
        type_ = condition.type
        if type_ == "Ready":
            is_ready = condition.status == "True"
        elif type_ == "PodScheduled":
            scheduled = words[condition.status]
            if scheduled != "True":
                reason, message = words[condition.reason], MESSAGES[condition.message]
        elif type_ == "DisruptionTarget" and condition.status == "True":
            disruption = condition
    return is_ready, scheduled, reason, message, disruption


def _membership(pairs: list[tuple[str, str]], meta: Any, spec: Any) -> dict[str, Any]:
    """What labels and annotations tell: its job, its place there, its gang, its share of a GPU."""
    found = {key: value for key, value in pairs if key in _INTERESTING}
    notes = meta.annotations
    noted = {key: notes[key] for key in notes if key in _INTERESTING_ANNOTATIONS} if notes else {}
    gang = spec.scheduling_group.pod_group_name
    if not found and not noted:
        return {**_NO_MEMBERSHIP, "gang": WORDS[gang], "gang_by": GANG_FIELD if gang else ""}
    by = _key(found, GANG_LABELS) or _key(noted, GANG_ANNOTATIONS) or (GANG_FIELD if gang else "")
    group, rank = _seat(found, noted)
    return {
        "job_label": WORDS[_first(found, JOB_LABELS)],
        "role": WORDS[WORDS[_first(found, ROLE_LABELS) or _first(noted, ROLE_ANNOTATIONS)].lower()],
        "group": group,
        "rank": rank,
        "gang": WORDS[found.get(by) or noted.get(by) or gang],
        "gang_by": by,
        "gang_size": whole_number(noted.get(GANG_SIZE_ANNOTATION, "")) or 0,
        "gpu_share": gpu_share(noted) if noted else None,
        "queue": WORDS[found.get(QUEUE_LABEL, "")],
    }


_NO_MEMBERSHIP: dict[str, Any] = {
    **{"job_label": "", "role": "", "group": None, "rank": None},
    **{"gang_size": 0, "gpu_share": None, "queue": ""},
}


def _seat(found: dict[str, str], noted: dict[str, str]) -> tuple[int | None, int | None]:
    """Which group of its role it is in, and its rank there."""
    group = None if found.get(GROUPS_LABEL) == "1" else whole_number(_first(found, GROUP_LABELS))
    return group, whole_number(_first(found, RANK_LABELS) or _first(noted, RANK_ANNOTATIONS))


def seat_of(meta: Any) -> tuple[int | None, int | None]:
    """The group and the rank that labels and annotations tell, None for what they do not."""
    return _seat(dict(meta.labels), dict(meta.annotations))


def _key(found: dict[str, str], keys: tuple[str, ...]) -> str:
    """The first of the keys that says something, "" where none does."""
    return next((key for key in keys if found.get(key)), "")


def _first(found: dict[str, str], keys: tuple[str, ...]) -> str:
    if found:
        for key in keys:
            if key in found:
                return found[key]
    return ""


def _containers(spec: Any, gpus: int, gpu_resource: str) -> tuple[str, str]:
    """Names joined by a comma, and the image of the container that asks for GPUs, else of the first."""
    containers = spec.containers
    if len(containers) == 1:
        only = containers[0]
        return WORDS[only.name], WORDS[only.image]
    names, image = [], ""
    for container in containers:
        names.append(WORDS[container.name])
        resources = container.resources
        if gpus and not image and (gpu_resource in resources.limits or gpu_resource in resources.requests):
            image = WORDS[container.image]
    if not image and names:
        image = WORDS[containers[0].image]
    return WORDS[",".join(names)], image


def _counts(spec: Any, status: Any) -> tuple[int, int, int]:
    """Ready containers, all containers, restarts; sidecars count, as `kubectl get pods` counts them."""
    ready = restarts = 0
    for item in status.container_statuses:
        restarts += item.restart_count
        if item.ready:
            ready += 1
    total = len(spec.containers)
    if not spec.init_containers:
        return ready, total, restarts
    sidecars = {container.name for container in spec.init_containers if container.restart_policy == "Always"}
    for one in status.init_container_statuses:
        if one.name in sidecars:
            restarts += one.restart_count
            if one.ready:
                ready += 1
    return ready, total + len(sidecars), restarts


def _states(status: Any, reading: Reading) -> tuple[str, str, tuple[str, str], int | None, float | None]:
    """Waiting reason and message; reason and message (of a failed start) of what ended, its exit code; when
    the last container ended.

    The first waiting container that says more than "still starting" speaks; of ended containers the first
    that failed, else the first; a container that waits to be restarted is judged by its last state.
    """
    waiting: Any = None
    ended: Any = None
    finished: float | None = None
    has = reading.has
    for statuses in (status.init_container_statuses, status.container_statuses):
        for item in statuses:
            if item.ready and not item.restart_count:
                continue  # it runs and never ended: the usual case, and four look-ups less
            state = item.state
            if has(state, "waiting") and (waiting is None or waiting.reason in _STILL_STARTING):
                waiting = state.waiting
            if not has(state, "terminated"):
                state = item.last_state
                if not has(state, "terminated"):
                    continue
            over = state.terminated
            when = reading.seconds(over.finished_at)
            if when is not None and (finished is None or when > finished):
                finished = when
            if ended is None or (ended.exit_code == 0 and over.exit_code != 0):
                ended = over
    reason = message = ended_reason = ended_message = ""
    code: int | None = None
    if waiting is not None:
        reason, message = WORDS[waiting.reason], clean_message(waiting.message)
    if ended is not None:
        ended_reason, code = WORDS[ended.reason], ended.exit_code
        if ended_reason in START_FAILED:
            ended_message = clean_message(ended.message)
    return reason, message, (ended_reason, ended_message), code, finished
