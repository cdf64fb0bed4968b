"""What members ask of the cluster, built once: of pods that exist, of a job's record, of an engine's object.
Those of a manifest are `jobs/planned`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from cockpit.fit.shape import Amounts, Part, Shape, shape_of
from cockpit.model.gang import PodSet
from cockpit.model.job import JobObject
from cockpit.model.pod import Pod
from cockpit.model.record import Labels
from cockpit.model.scheduling import Toleration, Traits

_USUAL: Final = "nvidia.com/gpu"
"""What is asked for by a record that does not name its resource."""
_GOES_ANYWHERE: Final = (Toleration(operator="Exists"),)


def held_by(pod: Pod) -> dict[str, int]:
    """What the pod takes of its node, by resource; devices by claim, too."""
    named = {**dict(pod.traits.resources), **({pod.gpu_resource: pod.gpus} if pod.gpus else {})}
    return {**named, "cpu": pod.cpu_millicores, "memory": pod.memory_bytes, "pods": 1}


def shape_of_pod(pod: Pod) -> Shape:
    """What the pod asks of a node. Devices by claim are left out, of its topology spread all but the labels:
    only the scheduler places those."""
    own = pod.gpus - pod.gpus_claimed
    asked = _asked(pod.traits, own, pod.gpu_resource, pod.cpu_millicores, pod.memory_bytes)
    return replace(
        _shape(pod.namespace, pod.traits, asked), priority=pod.priority, priority_class=pod.priority_class
    )


def parts_of_job(job: JobObject) -> tuple[Part, ...]:
    """The roles of a job as its record tells them; () where the templates of one were not decoded."""
    found = []
    for role in job.replicas:
        if role.traits is None or role.replicas is None:
            return ()
        asked = _asked(
            role.traits, role.gpus_each, role.gpu_resource, role.cpu_millicores_each, role.memory_bytes_each
        )
        found.append(Part(role.role, role.replicas, _shape(job.namespace, role.traits, asked)))
    return tuple(found)


def parts_of_workload(workload: Mapping[str, Any], namespace: str) -> tuple[Part, ...]:
    """The pod sets of an engine's object as the API gave it."""
    spec = workload.get("spec")
    sets = spec.get("podSets") if isinstance(spec, Mapping) else None
    return tuple(
        Part(str(item.get("name") or "main"), int(item.get("count") or 0), shape_of(template, namespace))
        for item in (sets if isinstance(sets, list) else ())
        if isinstance(item, Mapping) and item.get("count")
        if isinstance(template := item.get("template"), Mapping)
    )


def parts_of_sets(sets: Iterable[PodSet], namespace: str) -> Iterator[Part]:
    """The same of its record, which does not tell what the pods tolerate: they may go anywhere."""
    for item in sets:
        if item.count:
            each = tuple(sorted((name, amount // item.count) for name, amount in item.resources if amount))
            pairs = (pair.partition("=") for pair in item.selector.split(",") if pair)
            selector = tuple((key, value) for key, _, value in pairs)
            shape = Shape(
                namespace=namespace, requests=each, node_selector=selector, tolerations=_GOES_ANYWHERE
            )
            yield Part(item.name, item.count, shape)


def alike_parts(pods: Sequence[Pod], shapes: Iterable[Shape]) -> tuple[Part, ...]:
    """Pods that ask for the same; labels that only tell them apart do not count."""
    counts: Counter[tuple[str, Shape]] = Counter()
    for pod, shape in zip(pods, shapes, strict=True):
        minds = shape.spreads or shape.keeps_away or shape.near
        counts[pod.role or "pod", shape if minds else replace(shape, labels=())] += 1
    return tuple(Part(role, count, shape) for (role, shape), count in counts.items())


def asked_of(parts: Sequence[Part]) -> dict[str, int]:
    """What all members ask for together, and how many pods they are."""
    sums: dict[str, int] = {"pods": sum(part.count for part in parts)}
    for part in parts:
        for name, each in part.shape.requests:
            sums[name] = sums.get(name, 0) + each * part.count
    return sums


def directed(part: Part, labels: Mapping[str, str], tolerations: Iterable[Toleration]) -> Part:
    """The part with what the flavors of its quota add to its pods."""
    selector: Labels = tuple(sorted({**dict(part.shape.node_selector), **labels}.items()))
    more = (*part.shape.tolerations, *tolerations)
    return Part(part.role, part.count, replace(part.shape, node_selector=selector, tolerations=more))


def _asked(traits: Traits, gpus: int, gpu_resource: str, cpu_millicores: int, memory_bytes: int) -> Amounts:
    asked = dict(traits.resources)
    if gpus > 0:
        asked[gpu_resource or _USUAL] = gpus
    asked |= {"cpu": cpu_millicores, "memory": memory_bytes}
    return tuple(sorted((name, count) for name, count in asked.items() if count > 0))


def _shape(namespace: str, traits: Traits, requests: Amounts) -> Shape:
    wishes = traits.wishes
    return Shape(
        namespace=namespace,
        labels=traits.labels,
        requests=requests,
        node_selector=wishes.node_selector,
        node_terms=wishes.node_terms,
        tolerations=wishes.tolerations,
        spread_keys=tuple(dict.fromkeys(one.key for one in wishes.spreads)),
        near=wishes.near,
        keeps_away=traits.keeps_away,
        host_ports=traits.host_ports,
        claims=traits.claims,
        preempts=wishes.preempts,
    )
