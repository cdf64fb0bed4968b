"""The shape of a pod that exists, as the filters of `cockpit.fit` take it."""

from msgspec.structs import replace

from cockpit.fit.shape import Amounts, Part, Shape
from cockpit.model.job import JobObject
from cockpit.model.pod import Pod
from cockpit.model.scheduling import Traits

_USUAL = "nvidia.com/gpu"
"""What is asked for by a record that does not name its resource."""


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


def shape_of_pod(pod: Pod) -> Shape:
    """What the pod asks of a node. Devices by claim and its topology spread are left out: only the scheduler
    places those."""
    own = pod.gpus - pod.gpus_claimed
    asked = _asked(pod.traits, own, pod.gpu_resource, pod.cpu_millicores, pod.memory_bytes)
    shape = _shape(pod.namespace, pod.traits, asked)
    return replace(shape, priority=pod.priority, priority_class=pod.priority_class)


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
        near=wishes.near,
        keeps_away=traits.keeps_away,
        host_ports=traits.host_ports,
        claims=traits.claims,
        preempts=wishes.preempts,
    )
