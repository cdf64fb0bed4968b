"""Rights of verbs that have no plan of their own: a form, a stream, or a command makes the calls."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning
from cockpit.actions.rights import right_on, right_to_create
from cockpit.gangs.registry import engines
from cockpit.jobs.template import kinds_made
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.right import Right, Ways

MOST_NAMESPACES = 16
"""With more namespaces than these nothing is asked for a form that may go to any: it would be a question
each."""
CREATE_SINCE: Final = (1, 35)
"""A WebSocket begins with GET, so `get` is what it takes; servers of this version on ask for `create`, too
(kubernetes#134577, gate AuthorizePodWebsocketUpgradeCreatePermission, on by default)."""
_PLAIN_KINDS = (
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("kubeflow.org/v2beta1", "MPIJob"),
    ("v1", "Pod"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ("kubeflow.org/v1", "PyTorchJob"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("ray.io/v1", "RayJob"),
    ("ray.io/v1", "RayCluster"),
)


def kinds_of_templates(folders: Sequence[Path] = ()) -> tuple[tuple[str, str], ...]:
    """(apiVersion, kind) of what templates make: the built-in ones (plain kinds, and those of the engines),
    and those in `folders`, which are read where they changed."""
    own = (engine.own_job for engine in engines())
    built_in = (*_PLAIN_KINDS, *((job.api_version, job.kind) for job in own if job is not None))
    return tuple(dict.fromkeys((*built_in, *kinds_made(folders)))) if folders else built_in


def known_namespaces(planning: Planning) -> tuple[str, ...]:
    """All namespaces; () where they cannot be listed, or are more than `MOST_NAMESPACES`."""
    names = sorted(space.name for space in planning.store.records(Kind.NAMESPACE).values())
    return tuple(names) if len(names) <= MOST_NAMESPACES else ()


def _needs_any_to_submit(planning: Planning, _nothing: Sequence[Any]) -> Ways:
    """The form says what is made and where: any kind of the templates in any namespace."""
    served = [planning.lookup(*kind) for kind in kinds_of_templates(planning.template_folders)]
    resources = [resource for resource in served if resource is not None]
    return tuple(
        (right_on("create", resource.path(name)),)
        for name in known_namespaces(planning)
        for resource in resources
    )


def rights_to_test(namespace: str) -> tuple[Right, ...]:
    """The rights of a smoke test: its Job is created and watched, its pod and log are read, and the Job is
    deleted. Without the last it would be left over."""
    jobs = tuple(Right(verb, "batch", "jobs", namespace=namespace) for verb in ("create", "get", "delete"))
    pods = (Right("list", "", "pods", namespace=namespace), Right("get", "", "pods", "log", namespace))
    return (*jobs, *pods)


def _needs_any_to_test(planning: Planning, _nodes: Sequence[Any]) -> Ways:
    """The namespace of the test is chosen in its form."""
    return tuple(map(rights_to_test, known_namespaces(planning)))


def _on_pods(planning: Planning, namespace: str, subresource: str) -> tuple[Right, ...]:
    is_newer = planning.server_version is not None and planning.server_version >= CREATE_SINCE
    verbs = ("get", "create") if is_newer else ("get",)
    return tuple(Right(verb, "", "pods", subresource, namespace) for verb in verbs)


def _needs_to_exec(planning: Planning, pod: Pod) -> tuple[Right, ...]:
    return _on_pods(planning, pod.namespace, "exec")


def _needs_to_forward(planning: Planning, of: Job | Pod) -> tuple[Right, ...]:
    return _on_pods(planning, of.namespace, "portforward")


SUBMIT = Planner(needs_any=_needs_any_to_submit)
CLONE = Planner(needs=right_to_create)
SMOKE_TEST = Planner(needs_any=_needs_any_to_test)
EXEC = Planner(needs=_needs_to_exec)
TENSORBOARD = FORWARD = Planner(needs=_needs_to_forward)
