"""From a template and filled-in values to the manifest that is sent, and the lint of both."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cockpit.errors import BadInput
from cockpit.jobs.markers import fill, used_parameters
from cockpit.jobs.parameters import Parameter, Value, read
from cockpit.jobs.template import Template
from cockpit.model.quantity import parse_quantity

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/i915")
_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_SAMPLES = {
    "dns-label": "sample",
    "text": "sample",
    "integer": "1",
    "quantity": "1Gi",
    "command": "true",
    "image": "registry.example/train:1.0",
    "choice": "sample",
    "switch": "true",
}


class Part(msgspec.Struct, frozen=True):
    """One homogeneous part of a rendered job: `replicas` pods of `gpus_each` devices."""

    role: str
    replicas: int
    gpus_each: int
    pod_spec: dict[str, Any]


def checked(template: Template, values: Mapping[str, str]) -> dict[str, Value]:
    """Every parameter's typed value, defaults filled in.

    Raises BadInput with one sentence: for a name that the template does not have, else for the first value
    that cannot be used.
    """
    known = {one.name for one in template.parameters}
    for name in values:
        if name not in known:
            its = ", ".join(sorted(known)) or "none"
            raise BadInput(f"template {template.name} has no parameter {name!r}; it has: {its}")
    return {one.name: read(one, _given(one, values)) for one in template.parameters}


def problems(template: Template, values: Mapping[str, str]) -> dict[str, str]:
    """For a form: a sentence for each parameter whose value cannot be used, by name."""
    found: dict[str, str] = {}
    for one in template.parameters:
        try:
            read(one, _given(one, values))
        except BadInput as error:
            found[one.name] = error.sentence
    return found


def _given(parameter: Parameter, values: Mapping[str, str]) -> str:
    # An emptied field stays empty where that is allowed; where a value is needed the default returns.
    text = values.get(parameter.name)
    if text is None or (not text.strip() and parameter.default):
        return parameter.default or ""
    return text


def render(template: Template, values: Mapping[str, str]) -> dict[str, Any]:
    """The manifest tree with the values set in. Raises BadInput as `checked` does."""
    tree = fill(template.manifest, checked(template, values))
    return dict(tree)


def parts(manifest: Mapping[str, Any]) -> tuple[Part, ...]:
    """The pods that a rendered manifest asks for: MPIJob and its kin, batch Job, Pod; () for other kinds."""
    spec = manifest.get("spec") or {}
    for key, replicas in spec.items():
        if key.endswith("ReplicaSpecs") and isinstance(replicas, dict):
            return tuple(
                _part(role.lower(), one.get("replicas", 1), one.get("template", {}).get("spec", {}))
                for role, one in replicas.items()
            )
    if manifest.get("kind") == "Job":
        return (_part("main", spec.get("parallelism", 1), spec.get("template", {}).get("spec", {})),)
    if manifest.get("kind") == "Pod":
        return (_part("main", 1, spec),)
    return ()


def _part(role: str, replicas: int, pod_spec: dict[str, Any]) -> Part:
    gpus = 0
    for container in pod_spec.get("containers", ()):
        limits = (container.get("resources") or {}).get("limits") or {}
        gpus += sum(int(parse_quantity(str(limits[one]))) for one in GPU_RESOURCES if one in limits)
    return Part(role, replicas, gpus, pod_spec)


def advice(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """What a careful colleague would say about a rendered manifest before it is sent; () when nothing."""
    found = [*_job_advice(manifest)]
    for part in parts(manifest):
        found.extend(_pod_advice(part))
    return tuple(dict.fromkeys(found))


def _job_advice(manifest: Mapping[str, Any]) -> Iterable[str]:
    spec = manifest.get("spec") or {}
    labels = (manifest.get("metadata") or {}).get("labels") or {}
    policy = spec.get("runPolicy") or {}
    suspended = policy.get("suspend", spec.get("suspend", False))
    if _QUEUE_LABEL in labels and not suspended and manifest.get("kind") != "Pod":
        yield "has a queue but is not suspended: without Kueue's webhook its pods start before admission"
    if _QUEUE_LABEL not in labels and suspended:
        yield "is suspended and has no queue: nothing will start it"
    if manifest.get("kind") == "MPIJob":
        # The default in code is None although the field's comment says Running (mpi-operator default.go).
        if policy.get("cleanPodPolicy") not in ("Running", "All"):
            yield "cleanPodPolicy is not Running: finished workers would keep their GPUs"
        launcher = (spec.get("mpiReplicaSpecs") or {}).get("Launcher") or {}
        if launcher.get("replicas", 1) != 1:
            yield "an MPIJob has exactly one launcher"
        if spec.get("launcherCreationPolicy") == "WaitForWorkersReady" and _QUEUE_LABEL in labels:
            yield "launcherCreationPolicy WaitForWorkersReady is void for a job that starts suspended"


def _pod_advice(part: Part) -> Iterable[str]:
    for container in part.pod_spec.get("containers", ()):
        image = str(container.get("image", ""))
        tail = image.rsplit("/", 1)[-1]
        if image and "@" not in image and (":" not in tail or tail.endswith(":latest")):
            yield f"image {image} has no fixed tag: two members may run different code"
    if not part.gpus_each:
        return
    tolerated = {one.get("key") for one in part.pod_spec.get("tolerations", ())}
    if not tolerated & {*GPU_RESOURCES, None}:
        yield f"{part.role} pods ask for GPUs but do not tolerate the taint of GPU nodes"
    volumes = part.pod_spec.get("volumes", ())
    shared = [one["emptyDir"] for one in volumes if (one.get("emptyDir") or {}).get("medium") == "Memory"]
    if part.gpus_each > 1 and not shared:
        yield f"{part.role} pods have 64 MiB of shared memory: NCCL needs a memory-backed /dev/shm"
    yield from _shared_memory_advice(part, shared)


def _shared_memory_advice(part: Part, shared: list[dict[str, Any]]) -> Iterable[str]:
    limits = [
        parse_quantity(str(one["resources"]["limits"]["memory"]))
        for one in part.pod_spec.get("containers", ())
        if "memory" in ((one.get("resources") or {}).get("limits") or {})
    ]
    wanted = sum(parse_quantity(str(one["sizeLimit"])) for one in shared if "sizeLimit" in one)
    if limits and wanted >= sum(limits):
        yield f"shared memory of {part.role} pods counts in their memory limit and takes all of it"


def lint(template: Template) -> tuple[str, ...]:
    """What is wrong with a template that could be read: one sentence each, () when nothing."""
    found: list[str] = []
    unused = [one.name for one in template.parameters if one.name not in used_parameters(template.manifest)]
    found.extend(
        f"{template.source}: the parameter {name!r} is used nowhere in the manifest" for name in unused
    )
    if template.parameter("name") is None:
        found.append(f"{template.source}: a parameter `name` is needed to tell jobs apart")
    try:
        manifest = render(template, sample_values(template))
    except BadInput as error:
        return (*found, f"{template.source}: cannot be rendered with sample values: {error.sentence}")
    if not (manifest.get("metadata") or {}).get("name"):
        found.append(f"{template.source}: manifest.metadata.name is missing")
    found.extend(f"{template.source}: {sentence}" for sentence in advice(manifest))
    return tuple(found)


def sample_values(template: Template) -> dict[str, str]:
    """Values with which every required parameter is filled: for lint, tests and a first look."""
    return {one.name: _sample(one) for one in template.parameters if one.is_required}


def _sample(parameter: Parameter) -> str:
    if parameter.choices:
        return parameter.choices[0]
    return parameter.minimum or _SAMPLES[parameter.type]
