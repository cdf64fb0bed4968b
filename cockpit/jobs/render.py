"""From a template and filled-in values to the manifest that is sent, and the lint of both."""

from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.errors import BadInput, BadValue, BadValues
from cockpit.fit.pod_sets import ManifestPods, pods_asked
from cockpit.gangs import registry
from cockpit.gangs.manifests import job_in
from cockpit.jobs import lint_rules
from cockpit.jobs.parameters import Parameter, Value, read
from cockpit.jobs.placeholders import fill, used_parameters
from cockpit.jobs.template import Template
from cockpit.jobs.values import Mount, refuse_secrets
from cockpit.k8s.gpu_resources import gpu_names, is_gpu_resource
from cockpit.k8s.json_values import mapping, mappings
from cockpit.k8s.quantity import parse_quantity

_SAMPLES = {
    "dns-label": "sample",
    "text": "sample",
    "integer": "1",
    "quantity": "1Gi",
    "command": "true",
    "image": "registry.example/train:1.0",
    "choice": "sample",
    "switch": "true",
    "environment": "KEY=value",
    "labels": "example.com/pool=sample",
    "resources": "rdma/hca=1",
    "table": "low=sample",
    "annotations": "example.com/note=sample",
    "tolerations": "example.com/pool=sample:NoSchedule",
    "config-maps": "sample:/config",
    "secrets": "sample",
    "claims": "sample:/data",
    "host-paths": "/opt/driver:/opt/driver",
    "path": "/sample",
    "git": "https://example.com/code.git",
    "revision": "main",
    "schedule": "0 3 * * *",
    "time-zone": "UTC",
    "resource-name": "nvidia.com/gpu",
    "label-value": "sample",
    "label-key": "kubernetes.io/hostname",
    "object-name": "sample",
}


def checked(template: Template, values: Mapping[str, str]) -> dict[str, Value]:
    """Every parameter's typed value, defaults filled in.

    Raises BadInput for a name that the template does not have, BadValues for every value that cannot be used.
    """
    known = {parameter.name for parameter in template.parameters}
    for name in values:
        if name not in known:
            its = ", ".join(sorted(known)) or "none"
            raise BadInput(f"template {template.name} has no parameter {name!r}; it has: {its}")
    typed: dict[str, Value] = {}
    found: dict[str, str] = {}
    for parameter in template.parameters:
        try:
            if (text := values.get(parameter.name, "")) != parameter.default:
                refuse_secrets(parameter.name, text)
            typed[parameter.name] = read(parameter, _given(parameter, values))
        except BadValue as error:
            found[parameter.name] = error.fault
    if found:
        raise BadValues(found)
    return typed


def faults(template: Template, values: Mapping[str, str]) -> dict[str, str]:
    """For a form: why the value of a parameter cannot be used, by name; {} where all can.

    Values that contradict each other are checked when each is right by itself. Raises BadInput for a name
    that the template does not have.
    """
    try:
        render(template, values)
    except BadValues as error:
        return error.faults
    except BadValue as error:
        return {error.field: error.fault}
    return {}


def _given(parameter: Parameter, values: Mapping[str, str]) -> str:
    # An emptied field stays empty where that is allowed; where a value is needed the default returns.
    text = values.get(parameter.name)
    if text is None or (not text.strip() and parameter.default):
        return parameter.default or ""
    return text


def render(template: Template, values: Mapping[str, str]) -> dict[str, Any]:
    """The manifest tree with the values set in.

    Raises BadInput as `checked` does, and BadValue for two values that contradict each other.
    """
    typed = checked(template, values)
    tree = dict(fill(template.manifest, typed))
    _refuse_shared_paths(tree, typed)
    return tree


def _refuse_shared_paths(tree: Mapping[str, Any], typed: Mapping[str, Value]) -> None:
    """Raise BadValue for a path at which one container would mount two volumes; the field is the last one."""
    for part in pods_asked(tree).sets:
        for container in mappings(part.pod_spec.get("containers")):
            taken: dict[str, str] = {}
            for mount in mappings(container.get("volumeMounts")):
                path, volume = str(mount.get("mountPath")).rstrip("/"), str(mount.get("name"))
                if path in taken and (field := _field_of(path, typed)):
                    fault = f"{path} is mounted twice ({taken[path]}, {volume}): give each its own path"
                    raise BadValue(field, fault)
                taken[path] = volume


def _field_of(path: str, typed: Mapping[str, Value]) -> str:
    """The last parameter that mounts something at the path, "" where none does."""
    fields = [
        name
        for name, value in typed.items()
        if isinstance(value, tuple)
        and any(isinstance(item, Mount) and item.path.rstrip("/") == path for item in value)
    ]
    return fields[-1] if fields else ""


def remarks(template: Template, values: Mapping[str, str]) -> tuple[str, ...]:
    """What the template's own lint rules say of filled-in values; () when nothing. Raises BadInput."""
    texts = {parameter.name: _given(parameter, values) for parameter in template.parameters}
    return lint_rules.remarks(template.lint, checked(template, values), texts)


def _amount(value: Any) -> float | None:
    try:
        return parse_quantity(str(value))
    except ValueError:
        return None


def _resources(part: ManifestPods) -> frozenset[str]:
    return frozenset(name for item in mappings(part.pod_spec.get("containers")) for name in _limits(item))


def _limits(container: dict[str, Any]) -> dict[str, Any]:
    return mapping(mapping(container.get("resources")).get("limits"))


def advice(manifest: Mapping[str, Any], tainted: frozenset[str] | None = None) -> tuple[str, ...]:
    """What a careful colleague would say about a rendered manifest before it is sent; () when nothing.

    `tainted` are the taint keys of the cluster's GPU nodes, None where the nodes are not listed.
    """
    found = [*_job_advice(manifest)]
    for part in pods_asked(manifest).sets:
        found.extend(_image_advice(part))
        if manifest.get("kind") != "TrainJob":  # its pods come from a runtime, which is not seen here
            found.extend(_gpu_advice(part, tainted))
    return tuple(dict.fromkeys(found))


def queue_of(manifest: Mapping[str, Any]) -> str:
    """The queue by which the job of a rendered manifest is admitted, "" for none."""
    return registry.admitting(manifest)[1]


def _job_advice(manifest: Mapping[str, Any]) -> Iterable[str]:
    spec = mapping(job_in(manifest).get("spec"))
    policy = mapping(spec.get("runPolicy"))
    engine, queue = registry.admitting(manifest)
    has_queue = bool(queue)
    suspended = policy.get("suspend", spec.get("suspend", False))
    if has_queue and not suspended and manifest.get("kind") != "Pod":
        webhook = f"without {engine.name}'s webhook its pods start before admission"
        yield f"has a queue but is not suspended: {webhook}"
    if not has_queue and suspended:
        yield "is suspended and has no queue: nothing will resume it"
    if manifest.get("kind") == "MPIJob":
        # The default in code is None although the field's comment says Running (mpi-operator default.go).
        if policy.get("cleanPodPolicy") not in ("Running", "All"):
            yield "cleanPodPolicy is not Running: finished workers would keep their GPUs"
        launcher = mapping(mapping(spec.get("mpiReplicaSpecs")).get("Launcher"))
        if launcher.get("replicas", 1) != 1:
            yield "an MPIJob has exactly one launcher"
        if spec.get("launcherCreationPolicy") == "WaitForWorkersReady" and has_queue:
            yield "launcherCreationPolicy WaitForWorkersReady has no effect on a job that starts suspended"


def _image_advice(part: ManifestPods) -> Iterable[str]:
    for container in mappings(part.pod_spec.get("containers")):
        image = str(container.get("image") or "")
        tail = image.rsplit("/", 1)[-1]
        if image and "@" not in image and (":" not in tail or tail.endswith(":latest")):
            yield f"image {image} has no fixed tag: two members may run different code"


def _gpu_advice(part: ManifestPods, tainted: frozenset[str] | None) -> Iterable[str]:
    if not part.gpus_each:
        return
    tolerations = mappings(part.pod_spec.get("tolerations"))
    # A toleration without a key tolerates everything.
    known = (None, *gpu_names(), *(resource for resource in _resources(part) if is_gpu_resource(resource)))
    is_tolerated = any(toleration.get("key") in known for toleration in tolerations)
    if not is_tolerated and (tainted is None or not tainted.isdisjoint(known)):
        yield f"{part.role} pods ask for GPUs but do not tolerate the taint of GPU nodes"
    volumes = [mapping(item.get("emptyDir")) for item in mappings(part.pod_spec.get("volumes"))]
    shared = [volume for volume in volumes if volume.get("medium") == "Memory"]
    if part.gpus_each > 1 and not shared:
        yield f"{part.role} pods have 64 MiB of shared memory: NCCL needs a memory-backed /dev/shm"
    yield from _shared_memory_advice(part, shared)


def _shared_memory_advice(part: ManifestPods, shared: list[dict[str, Any]]) -> Iterable[str]:
    containers = mappings(part.pod_spec.get("containers"))
    limits = [
        _amount(_limits(container)["memory"]) or 0.0
        for container in containers
        if "memory" in _limits(container)
    ]
    wanted = sum(_amount(item.get("sizeLimit")) or 0.0 for item in shared)
    if limits and wanted >= sum(limits):
        yield f"shared memory of {part.role} pods counts towards their memory limit and takes all of it"


def lint(template: Template) -> tuple[str, ...]:
    """What is wrong with a template that could be read: one sentence each, () when nothing."""
    found: list[str] = []
    unused = [
        parameter.name
        for parameter in template.parameters
        if parameter.name not in used_parameters(template.manifest)
    ]
    found.extend(f"{template.source}: parameter {name!r} is not used in the manifest" for name in unused)
    if template.parameter("name") is None:
        found.append(f"{template.source}: a parameter `name` is required to tell jobs apart")
    try:
        manifest = render(template, sample_values(template))
    except BadInput as error:
        return (*found, f"{template.source}: cannot be rendered with sample values: {error.sentence}")
    if not mapping(manifest.get("metadata")).get("name"):
        found.append(f"{template.source}: manifest.metadata.name is missing")
    found.extend(f"{template.source}: {sentence}" for sentence in advice(manifest))
    return tuple(found)


def sample_values(template: Template) -> dict[str, str]:
    """Values with which every required parameter is filled: for lint, tests and a first look."""
    return {parameter.name: _sample(parameter) for parameter in template.parameters if parameter.is_required}


def _sample(parameter: Parameter) -> str:
    if parameter.choices:
        return parameter.choices[0]
    return parameter.minimum or _SAMPLES[parameter.type]
