"""Kueue with topology-aware scheduling: what a job asks for, and what the flavors of its queue make of it.

A ResourceFlavor that names a Topology places what it admits: the gang binds together or waits. A job of such
a queue is placed so even where it asks for nothing. Source: kueue v1beta2 ResourceFlavor, topology_types.go,
pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.gangs.engine import Topologies
from cockpit.gangs.kueue.standing import cluster_queue_of
from cockpit.gangs.manifests import templates
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.k8s.json_values import mapping
from cockpit.model.gang import ClusterQueue
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"
ANNOTATIONS: Final = (REQUIRED, PREFERRED, UNCONSTRAINED)


def flavor_topology(flavor: Mapping[str, Any]) -> str:
    """The topology that a ResourceFlavor names, "" for none."""
    return str(mapping(flavor.get("spec")).get("topologyName") or "")


def required_levels(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The required level of each pod template, "" for one without, in the order of `templates`."""
    return tuple(_note(template, REQUIRED) for template in templates(manifest))


def asks_for_topology(manifest: Mapping[str, Any]) -> bool:
    """True when a pod template asks Kueue for a topology."""
    return any(_note(template, key) for template in templates(manifest) for key in ANNOTATIONS)


def _note(template: Mapping[str, Any], key: str) -> str:
    return str(mapping(mapping(template.get("metadata")).get("annotations")).get(key) or "")


def topology_of(
    manifest: Mapping[str, Any], namespace: str, queue: str, store: StoreReader, topologies: Topologies | None
) -> str | None:
    """The topology by which the queue places GPUs; "" for none; None where it is not known.

    "" also where only some of its flavors have one: the gang may then land in another.
    """
    if topologies is None:
        return None
    name = cluster_queue_of(store, namespace, queue)
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, name) if name else None
    if target is None:
        return None
    flavors = {row.flavor for row in target.quotas if is_gpu_resource(row.resource)}
    named = {topologies.get(one, "") for one in flavors}
    return ", ".join(sorted(named)) if named and "" not in named else ""


def binding_words(manifest: Mapping[str, Any], topology: str | None) -> str:
    """How a gang of Kueue binds, in one line: together, or as its quota comes."""
    levels = [one for one in dict.fromkeys(required_levels(manifest)) if one]
    inside = f", inside one {levels[0]}" if levels else ""
    if topology:
        return f"Kueue places it by topology {topology}{inside}: it binds together or not at all"
    if asks_for_topology(manifest):
        if topology == "":
            return "it asks for a topology and no flavor of its queue has one: Kueue would not admit it"
        return f"it asks Kueue for a topology{inside}: it binds together or not at all"
    return "Kueue admits it whole by quota; its pods then bind one by one"
