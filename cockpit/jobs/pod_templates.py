"""The pod templates of a job's tree by role, and their containers."""

from collections.abc import Iterator, Mapping
from typing import Any

from cockpit.fit.pod_sets import pod_sets
from cockpit.k8s.json_values import mapping, mappings


def pod_templates(tree: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(role, pod template) of every template in a tree of any kind; in place, not copied."""
    return ((item.role, item.template) for item in pod_sets(tree))


def ray_workers(tree: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The worker groups of a RayJob or RayCluster, in place."""
    spec = mapping(tree.get("spec"))
    return mappings(mapping(spec.get("rayClusterSpec", spec)).get("workerGroupSpecs"))


def containers(template: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The containers of a pod template; init containers are not among them."""
    return mappings(mapping(template.get("spec")).get("containers"))


def amounts(container: Mapping[str, Any], part: str) -> dict[str, Any]:
    """`limits` or `requests` of a container, in place."""
    return mapping(mapping(container.get("resources")).get(part))
