"""Volcano: its own scheduler, queues and Job; a PodGroup is enqueued by its queue, then bound as a whole.

Source: volcano-sh/apis scheduling/v1beta1, batch/v1alpha1, bus/v1alpha1; volcano pkg/scheduler/plugins/gang.
"""

from collections.abc import Mapping
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs import scheduler as sentences
from cockpit.gangs.manifests import (
    Attached,
    annotate_pods,
    copied,
    members_of,
    refuse_without_pods,
    set_scheduler,
)
from cockpit.model.gang import PodGroup
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import condition

NAME = "Volcano"
SCHEDULER = "volcano"
API_VERSION = "scheduling.volcano.sh/v1beta1"
JOB_API_VERSION = "batch.volcano.sh/v1alpha1"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
MEANING = (
    "Binds at least minAvailable pods together or none;"
    " its queue decides first whether the pods exist at all."
)
RETRIES_BY_ITSELF = True


def attach(manifest: Mapping[str, Any], *, queue: str = "default", minimum: int | None = None) -> Attached:
    """The manifest for Volcano's scheduler. A Volcano Job makes its own group; others get one."""
    tree, members = copied(manifest), members_of(manifest)
    least = members if minimum is None else minimum
    if least > members:
        raise BadInput(f"minMember {least} is more than the job's {members} pods: it would wait for ever")
    spec = tree.setdefault("spec", {})
    if tree.get("apiVersion") == JOB_API_VERSION:
        spec.update({"schedulerName": SCHEDULER, "queue": queue})
        spec.setdefault("minAvailable", least)
        return Attached(tree, (), (MEANING,))
    name, namespace = tree["metadata"]["name"], tree["metadata"].get("namespace", "")
    refuse_without_pods(tree, NAME)
    set_scheduler(tree, SCHEDULER)
    annotate_pods(tree, GROUP_ANNOTATION, name)
    annotate_pods(tree, QUEUE_ANNOTATION, queue)
    group: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "gpu-cockpit"},
        },
        "spec": {"minMember": least, "queue": queue},
    }
    return Attached(tree, (group,), (MEANING,))


def reason(group: PodGroup, pods: tuple[Pod, ...]) -> str:
    """Pending: its queue has not let it in. Inqueue: the gang plugin's own sentence."""
    told = condition(group.conditions, "Unschedulable")
    words = sentences.plain(told.message) if told is not None and told.status == "True" else ""
    if group.phase in ("", "Pending"):
        return words or f"queue {group.queue or 'default'} has not let it in yet"
    return words or "in its queue, waits for nodes"


def plan_command(job: Mapping[str, Any], action: str) -> Plan:
    """Suspend (`AbortJob`) or resume (`ResumeJob`) a Volcano Job, by a Command that Volcano takes in.

    The Command is named after the version of the job that was read: sent twice, the second is refused.
    """
    metadata = job["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    verb = {"AbortJob": "suspend", "ResumeJob": "resume"}.get(action)
    if verb is None:
        raise BadInput(f"action {action!r} is neither AbortJob nor ResumeJob")
    phase = ((job.get("status") or {}).get("state") or {}).get("phase", "")
    if action == "ResumeJob" and phase not in ("Aborted", "Aborting"):
        raise BadInput(f"job {namespace}/{name} is not suspended (it is {phase or 'new'})")
    if action == "AbortJob" and phase in ("Aborted", "Aborting", "Completed", "Failed", "Terminated"):
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
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {
            "name": f"{name}-{verb}-{version}",
            "namespace": namespace,
            "ownerReferences": [owner],
        },
        "action": action,
        "target": owner,
    }
    runs = action == "AbortJob" and phase == "Running"
    return Plan(
        verb=verb,
        title=f"{verb.capitalize()} job {namespace}/{name}",
        calls=(
            Call(
                method="POST",
                path=f"{COMMANDS}/namespaces/{namespace}/commands",
                body=body,
                target=f"job {namespace}/{name}",
            ),
        ),
        lines=(f"Volcano is told {action}: its pods {'end' if verb == 'suspend' else 'are made again'}",),
        warnings=("the job runs: progress since the last checkpoint is lost",) if runs else (),
        is_destructive=runs,
    )
