"""Where the pod templates of a job's tree stand, by role: every kind of job has a place of its own."""

from collections.abc import Iterator, Mapping
from typing import Any


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one: a cluster's object may hold anything anywhere."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """The mappings of a list, () of anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def pod_templates(tree: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(role, pod template) of MPIJob and its kin, batch Job, JobSet, a pod itself; in place, not copied."""
    spec = mapping(tree.get("spec"))
    if tree.get("kind") == "Pod":
        yield "main", tree if isinstance(tree, dict) else dict(tree)
        return
    for key, replicas in spec.items():
        if key.endswith("ReplicaSpecs"):
            for role, one in mapping(replicas).items():
                yield role.lower(), mapping(mapping(one).get("template"))
    if isinstance(spec.get("template"), dict) and tree.get("kind") == "Job":
        yield "main", spec["template"]
    for one in mappings(spec.get("replicatedJobs")):
        inner = mapping(mapping(mapping(one.get("template")).get("spec")).get("template"))
        yield str(one.get("name") or "main"), inner


def containers(template: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The containers of a pod template; init containers are not among them."""
    return mappings(mapping(template.get("spec")).get("containers"))


def amounts(container: Mapping[str, Any], part: str) -> dict[str, Any]:
    """`limits` or `requests` of a container, in place."""
    return mapping(mapping(container.get("resources")).get(part))
