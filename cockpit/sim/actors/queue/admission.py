"""What Kueue's webhooks do to jobs, workloads and queues, as one admission of the embedded server.

Facts: kueue v0.15 pkg/controller/jobs/*/..._webhook.go, pkg/controller/jobframework/validation.go and
defaults.go, pkg/webhooks/clusterqueue_webhook.go. Of the checks of ClusterQueues only the names of covered
resources are modelled.
"""

from collections.abc import Callable
from typing import Any, Protocol

from cockpit.kube.resource import CLUSTER_QUEUES, Resource
from cockpit.sim.actors.queue.jobs import KINDS, JobKind
from cockpit.sim.actors.queue.spec import MAX_SECONDS_LABEL, PRIORITY_LABEL, QUEUE_LABEL
from cockpit.sim.port import PortError, Tree

DEFAULT_QUEUE = "default"
_PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
_IMMUTABLE = "field is immutable"


class Asked(Protocol):
    """What is read of the embedded server's request."""

    @property
    def resource(self) -> Resource: ...

    @property
    def subresource(self) -> str: ...


class QueueAdmission:
    """Suspends queued jobs as they are made, and refuses what would confuse their queue."""

    def __init__(self, has_default_queue: Callable[[str], bool]) -> None:
        """`has_default_queue` tells of a namespace whether it has a LocalQueue called `default`."""
        self._has_default_queue = has_default_queue

    def __call__(self, request: Asked, new: Tree, old: Tree | None) -> Tree:
        """The tree as it is to be stored. Raises PortError 403 in the webhook's words."""
        if request.subresource:
            return new
        kind = _kind_of(request.resource)
        if kind is not None:
            return self._job(kind, new, old) if kind.is_shaped(new) else new
        if (request.resource.group, request.resource.plural) == (CLUSTER_QUEUES.group, CLUSTER_QUEUES.plural):
            _check_cluster_queue(new)
        return new

    def _job(self, kind: JobKind, new: Tree, old: Tree | None) -> Tree:
        if old is None:
            new = self._defaulted(kind, new)
        faults = _label_faults(new)
        if old is not None:
            faults += self._change_faults(kind, new, old)
        if faults:
            raise _denied(f"v{kind.hook}", faults)
        return new

    def _defaulted(self, kind: JobKind, job: Tree) -> Tree:
        metadata = job["metadata"]
        labels = metadata.get("labels") or {}
        is_owned = any(owner.get("controller") for owner in metadata.get("ownerReferences") or ())
        namespace = metadata.get("namespace", "")
        if not labels.get(QUEUE_LABEL) and not is_owned and self._has_default_queue(namespace):
            labels = {**labels, QUEUE_LABEL: DEFAULT_QUEUE}
            job = {**job, "metadata": {**metadata, "labels": labels}}
        if not labels.get(QUEUE_LABEL) or kind.is_suspended(job):
            return job
        spec = job.get("spec") or {}
        part = kind.suspension(True)
        if "runPolicy" in part:
            part = {"runPolicy": {**(spec.get("runPolicy") or {}), **part["runPolicy"]}}
        return {**job, "spec": {**spec, **part}}

    def _change_faults(self, kind: JobKind, new: Tree, old: Tree) -> list[str]:
        is_suspended, was_suspended = kind.is_suspended(new), kind.is_suspended(old)
        queue, before = _label(new, QUEUE_LABEL), _label(old, QUEUE_LABEL)
        faults = []
        if not is_suspended and queue != before:
            faults.append(_fault(QUEUE_LABEL, queue, _IMMUTABLE))
        if not queue and before and self._has_default_queue(old["metadata"].get("namespace", "")):
            faults.append(
                _fault(QUEUE_LABEL, "", "queue-name must not be empty in namespace with default queue")
            )
        guarded = [(_PREBUILT, not is_suspended), (MAX_SECONDS_LABEL, not is_suspended or not was_suspended)]
        priority, old_priority = _label(new, PRIORITY_LABEL), _label(old, PRIORITY_LABEL)
        guarded.append((PRIORITY_LABEL, (not is_suspended and not old_priority) or not priority))
        for name, is_fixed in guarded:
            if is_fixed and _label(new, name) != _label(old, name):
                faults.append(_fault(name, _label(new, name), _IMMUTABLE))
        return faults


def _kind_of(resource: Resource) -> JobKind | None:
    name = (resource.group, resource.plural)
    return next((kind for kind in KINDS if (kind.resource.group, kind.resource.plural) == name), None)


def _label(job: Tree, name: str) -> str:
    return str((job["metadata"].get("labels") or {}).get(name) or "")


def _fault(label: str, value: str | int, why: str) -> str:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return f"metadata.labels[{label}]: Invalid value: {shown}: {why}"


def _label_faults(job: Tree) -> list[str]:
    text = _label(job, MAX_SECONDS_LABEL)
    if not text:
        return []
    try:
        seconds = int(text)
    except ValueError:
        return [_fault(MAX_SECONDS_LABEL, text, f'strconv.Atoi: parsing "{text}": invalid syntax')]
    return [] if seconds > 0 else [_fault(MAX_SECONDS_LABEL, seconds, "should be greater than 0")]


def _check_cluster_queue(tree: Tree) -> None:
    faults = []
    spec = tree.get("spec")
    # before the schema has looked at it; a part of another type is the schema's to name
    for i, group in enumerate(_objects(spec.get("resourceGroups")) if isinstance(spec, dict) else ()):
        covered = group.get("coveredResources")
        covered = covered if isinstance(covered, list) else []
        for j, flavor in enumerate(_objects(group.get("flavors"))):
            for k, one in enumerate(_objects(flavor.get("resources"))):
                if k < len(covered) and one.get("name") != covered[k]:
                    where = f"spec.resourceGroups[{i}].flavors[{j}].resources[{k}].name"
                    why = "must match the name in coveredResources"
                    faults.append(f'{where}: Invalid value: "{one.get("name")}": {why}')
    if faults:
        raise _denied("vclusterqueue.kb.io", faults)


def _objects(value: Any) -> list[Tree]:
    """The objects of a list, each in its place; nothing of what is no list."""
    return [one if isinstance(one, dict) else {} for one in value] if isinstance(value, list) else []


def _denied(hook: str, faults: list[str]) -> PortError:
    """As apimachinery joins them: one plain, several in brackets."""
    text = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
    return PortError(403, "Forbidden", f'admission webhook "{hook}" denied the request: {text}')
