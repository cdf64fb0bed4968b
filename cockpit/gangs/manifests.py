"""The pods of a rendered manifest, as far as an engine is attached to them."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cockpit.errors import BadInput
from cockpit.fit.pod_sets import pod_sets, pods_asked
from cockpit.k8s.json_values import mapping


class Attached(msgspec.Struct, frozen=True):
    """A manifest with its engine: the tree, objects that are made before it, and what is said of it.

    `fields_at_risk` are fields that the server may drop without a word, each with the sentence for that."""

    manifest: dict[str, Any]
    before: tuple[dict[str, Any], ...] = ()
    lines: tuple[str, ...] = ()
    fields_at_risk: tuple[tuple[str, str], ...] = ()


ApiKind = tuple[str, str]
"""apiVersion and kind."""


def copied(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A tree of one's own: what was given stays as it is."""
    return copy.deepcopy(dict(manifest))


def job_in(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The job that an engine takes, in place: of a schedule (a CronJob) the template of its runs, else the
    manifest itself."""
    template = mapping(tree.get("spec")).get("jobTemplate")
    return template if isinstance(template, dict) else mapping(tree)


def templates(tree: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The pod templates of the manifest, in place."""
    return (one.template for one in pod_sets(tree))


def members_of(tree: Mapping[str, Any]) -> int | None:
    """How many pods the manifest makes at once, None where it does not say; the nodes of a TrainJob."""
    return pods_asked(tree).members


def members_for(tree: Mapping[str, Any], engine: str) -> int:
    """As `members_of`, for an engine that waits for that number. Raises BadInput where nobody knows it."""
    found = members_of(tree)
    if found is None:
        refuse_without_pods(tree, engine)
        raise BadInput(
            f"the manifest does not say how many pods a {tree.get('kind')} makes, and {engine} waits for that"
            " many: choose another engine, or none"
        )
    return found


def group_beside(tree: Mapping[str, Any], api_version: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The PodGroup of the job's name, which the cockpit makes beside it."""
    metadata = mapping(tree.get("metadata"))
    return {
        "apiVersion": api_version,
        "kind": "PodGroup",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
            "labels": {"app.kubernetes.io/managed-by": "gpu-cockpit"},
        },
        "spec": spec,
    }


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
    for template in templates(tree):
        template.setdefault("spec", {})["schedulerName"] = name


def label_pods(tree: Mapping[str, Any], key: str, value: str) -> None:
    """A label on all pods."""
    for template in templates(tree):
        template.setdefault("metadata", {}).setdefault("labels", {})[key] = value


def annotate_pods(tree: Mapping[str, Any], key: str, value: str) -> None:
    """An annotation on all pods."""
    for template in templates(tree):
        template.setdefault("metadata", {}).setdefault("annotations", {})[key] = value
