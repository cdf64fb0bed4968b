"""The shape of a pod that exists, as the filters of `cockpit.fit` take it."""

from cockpit.fit.shape import Shape
from cockpit.model.pod import Pod

_USUAL = "nvidia.com/gpu"
"""What is asked for by a record that does not name its resource."""


def shape_of_pod(pod: Pod) -> Shape:
    """What the pod asks of a node. Devices by claim and its topology spread are left out: only the scheduler
    places those."""
    wishes = pod.traits.wishes
    asked = dict(pod.traits.resources)
    own = pod.gpus - pod.gpus_claimed
    if own > 0:
        asked[pod.gpu_resource or _USUAL] = own
    asked |= {"cpu": pod.cpu_millicores, "memory": pod.memory_bytes}
    return Shape(
        namespace=pod.namespace,
        labels=pod.traits.labels,
        requests=tuple(sorted((name, count) for name, count in asked.items() if count > 0)),
        node_selector=wishes.node_selector,
        node_terms=wishes.node_terms,
        tolerations=wishes.tolerations,
        near=wishes.near,
        keeps_away=pod.traits.keeps_away,
        host_ports=pod.traits.host_ports,
        claims=pod.traits.claims,
        priority=pod.priority,
        priority_class=pod.priority_class,
        preempts=wishes.preempts,
    )
