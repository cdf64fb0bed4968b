"""The pods of a rendered manifest, as far as an engine is attached to them."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cockpit.errors import BadInput


class Attached(msgspec.Struct, frozen=True):
    """A manifest with its engine: the tree, objects that are made before it, and what is said of it."""

    manifest: dict[str, Any]
    before: tuple[dict[str, Any], ...] = ()
    lines: tuple[str, ...] = ()


def copied(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A tree of one's own: what was given stays as it is."""
    return copy.deepcopy(dict(manifest))


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one: a user's manifest may hold anything anywhere."""
    return value if isinstance(value, dict) else {}


def templates(tree: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """(pod template, how many pods are made of it), in place, of every kind that the templates make."""
    spec = mapping(tree.get("spec"))
    if tree.get("kind") == "Pod":
        yield tree if isinstance(tree, dict) else dict(tree), 1
        return
    for key, replicas in spec.items():
        if key.endswith("ReplicaSpecs"):
            for one in mapping(replicas).values():
                yield mapping(mapping(one).get("template")), _count(mapping(one).get("replicas"))
    for one in _items(spec.get("tasks")):
        yield mapping(one.get("template")), _count(one.get("replicas"))
    for one in _items(spec.get("replicatedJobs")):
        job = mapping(mapping(one.get("template")).get("spec"))
        yield mapping(job.get("template")), _count(one.get("replicas")) * _count(job.get("parallelism"))
    if tree.get("kind") == "Job" and isinstance(spec.get("template"), dict):
        yield spec["template"], _count(spec.get("parallelism"))


def _items(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 1


def members_of(tree: Mapping[str, Any]) -> int:
    """How many pods the manifest makes at once; the nodes of a TrainJob, whose pods come from its runtime."""
    if tree.get("kind") == "TrainJob":
        return _count(mapping(mapping(tree.get("spec")).get("trainer")).get("numNodes"))
    return sum(count for _, count in templates(tree))


def refuse_without_pods(tree: Mapping[str, Any], engine: str) -> None:
    """Raise BadInput for a kind whose pods are not made from its own manifest: nothing could be attached."""
    if not any(True for _ in templates(tree)):
        kind = tree.get("kind")
        raise BadInput(
            f"the pods of a {kind} are not in its manifest: attach {engine} where they are made"
            + (", by podGroupPolicy and schedulerName of its runtime" if kind == "TrainJob" else "")
        )


def set_scheduler(tree: Mapping[str, Any], name: str) -> None:
    """`schedulerName` of all pods."""
    for template, _ in templates(tree):
        template.setdefault("spec", {})["schedulerName"] = name


def label_pods(tree: Mapping[str, Any], key: str, value: str) -> None:
    """A label on all pods."""
    for template, _ in templates(tree):
        template.setdefault("metadata", {}).setdefault("labels", {})[key] = value


def annotate_pods(tree: Mapping[str, Any], key: str, value: str) -> None:
    """An annotation on all pods."""
    for template, _ in templates(tree):
        template.setdefault("metadata", {}).setdefault("annotations", {})[key] = value


def group_pods(tree: Mapping[str, Any], name: str) -> None:
    """`spec.schedulingGroup` of all pods (Kubernetes 1.36)."""
    for template, _ in templates(tree):
        template.setdefault("spec", {})["schedulingGroup"] = {"podGroupName": name}
