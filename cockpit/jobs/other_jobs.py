"""Kinds of jobs that have no row maker of their own: where their pods stand in the object, and how they end.

An object of these kinds whose templates ask for GPUs is a job before it has a pod.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cockpit.fit.pod_sets import ManifestPods, pods_asked
from cockpit.fit.shape import Shape, requests_of, shape_of
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.k8s.gpu_shares import gpu_share
from cockpit.k8s.json_values import mapping, mappings
from cockpit.model.job import JobObject, JobState, ReplicaSpec
from cockpit.model.record import Kind
from cockpit.model.scheduling import PodWishes, Traits
from cockpit.model.watched import Watched

_KINDS: Final = (
    ("kubeflow.org", "pytorchjobs"),
    ("kubeflow.org", "tfjobs"),
    ("kubeflow.org", "xgboostjobs"),
    ("kubeflow.org", "paddlejobs"),
    ("kubeflow.org", "jaxjobs"),
    ("kubeflow.org", "notebooks"),
    ("trainer.kubeflow.org", "trainjobs"),
    ("ray.io", "rayjobs"),
    ("ray.io", "rayclusters"),
    ("ray.io", "rayservices"),
    ("jobset.x-k8s.io", "jobsets"),
    ("leaderworkerset.x-k8s.io", "leaderworkersets"),
    ("sparkoperator.k8s.io", "sparkapplications"),
    ("workload.codeflare.dev", "appwrappers"),
    ("argoproj.io", "workflows"),
    ("argoproj.io", "cronworkflows"),
    ("kubernetes.dask.org", "daskclusters"),
    ("kubernetes.dask.org", "daskjobs"),
    ("batch", "cronjobs"),
    ("apps", "deployments"),
    ("apps", "statefulsets"),
)
"""API group and plural, in the version that the server prefers."""

_SUCCEEDED: Final = ("succeeded", "complete", "completed")
_FAILED: Final = ("failed", "error", "stopped", "submission_failed", "validationfailed")
_RUNS: Final = ("container", "script")
"""Fields of a template of a Workflow that hold one container."""


def watched() -> tuple[Watched, ...]:
    """What is to be watched for these jobs to be seen."""
    return tuple(Watched(Kind.OTHER_JOB, group, plural, roles=roles_of) for group, plural in _KINDS)


def roles_of(manifest: Mapping[str, Any]) -> tuple[ReplicaSpec, ...]:
    """The roles of an object of any kind; what is malformed reads as not there. Texts are as they came."""
    kind, spec = manifest.get("kind"), mapping(manifest.get("spec"))
    if kind == "SparkApplication":
        return tuple(_of_spark(spec))
    if kind in ("Workflow", "CronWorkflow"):
        return tuple(_of_workflow(mapping(spec.get("workflowSpec")) if kind == "CronWorkflow" else spec))
    namespace = _text(mapping(manifest.get("metadata")).get("namespace"))
    space = None if kind == "TrainJob" else namespace  # whose pods a runtime completes
    return tuple(_role(item, space) for item in pods_asked(manifest).sets)


def ended_of(job: JobObject) -> str:
    """JobState.SUCCEEDED or FAILED once its controller says so, "" before."""
    if job.phase.lower() in _FAILED:
        return JobState.FAILED
    if job.phase.lower() in _SUCCEEDED:
        return JobState.SUCCEEDED
    met = {condition.type.lower() for condition in job.conditions if condition.status == "True"}
    if "failed" in met:
        return JobState.FAILED
    return JobState.SUCCEEDED if met.intersection(_SUCCEEDED) else ""


def _role(pods: ManifestPods, namespace: str | None = None) -> ReplicaSpec:
    """`namespace` None: what else places its pods is not told here."""
    spec = pods.pod_spec
    requests = dict(requests_of(spec))
    resource = next((name for name in sorted(requests) if is_gpu_resource(name)), "")
    notes = mapping(mapping(pods.template.get("metadata")).get("annotations"))
    containers = mappings(spec.get("containers"))
    main = next(
        (container for container in containers if resource and resource in str(container.get("resources"))),
        None,
    )
    return ReplicaSpec(
        role=pods.role,
        replicas=pods.replicas,
        gpus_each=pods.gpus_each or 0,
        gpu_resource=resource,
        gpu_share=gpu_share({key: one for key, one in notes.items() if isinstance(one, str)}),
        has_device_claims=bool(spec.get("resourceClaims")),
        cpu_millicores_each=requests.get("cpu", 0),
        memory_bytes_each=requests.get("memory", 0),
        image=_text((main or (containers or [{}])[0]).get("image")),
        traits=None if namespace is None else _traits(shape_of(pods.template, namespace), resource),
    )


def _traits(shape: Shape, gpu_resource: str) -> Traits:
    """What places such pods beyond GPUs, CPU and memory."""
    return Traits(
        labels=shape.labels,
        keeps_away=shape.keeps_away,
        host_ports=shape.host_ports,
        claims=shape.claims,
        resources=tuple(pair for pair in shape.requests if pair[0] not in ("cpu", "memory", gpu_resource)),
        wishes=PodWishes(
            node_selector=shape.node_selector,
            node_terms=shape.node_terms,
            tolerations=shape.tolerations,
            near=shape.near,
            preempts=shape.preempts,
        ),
    )


def _of_spark(spec: Mapping[str, Any]) -> Iterator[ReplicaSpec]:
    """A driver and its executors, which ask for GPUs by a field of their own.

    Source: spark-operator api/v1beta2 types.go (SparkPodSpec.gpu, ExecutorSpec.instances).
    """
    dynamic = mapping(spec.get("dynamicAllocation"))
    for role in ("driver", "executor"):
        part = mapping(spec.get(role))
        gpu = mapping(part.get("gpu"))
        quantity, name = gpu.get("quantity"), _text(gpu.get("name"))
        count: Any = 1
        if role == "executor":
            count = (
                dynamic.get("initialExecutors")
                if dynamic.get("enabled") is True
                else part.get("instances", 1)
            )
        yield ReplicaSpec(
            role=role,
            replicas=count if isinstance(count, int) else None,
            gpus_each=quantity if isinstance(quantity, int) and is_gpu_resource(name) else 0,
            gpu_resource=name,
            image=_text(part.get("image") or spec.get("image")),
        )


def _of_workflow(spec: Mapping[str, Any]) -> Iterator[ReplicaSpec]:
    """Its templates: how often each runs, the Workflow does not tell."""
    for item in (*mappings(spec.get("templates")), mapping(spec.get("templateDefaults"))):
        containers = [mapping(item[field]) for field in _RUNS if field in item]
        containers += mappings(mapping(item.get("containerSet")).get("containers"))
        if not containers:
            continue
        extra = {"initContainers": mappings(item.get("initContainers")), "containers": containers}
        template = {"metadata": mapping(item.get("metadata")), "spec": extra}
        gpus = sum(amount for name, amount in requests_of(extra) if is_gpu_resource(name))
        yield _role(
            ManifestPods(role=_text(item.get("name")), replicas=None, gpus_each=gpus, template=template)
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
