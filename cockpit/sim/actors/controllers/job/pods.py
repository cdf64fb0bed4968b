"""The pods of a Job: what the next one looks like, which go first."""

from typing import Any

from cockpit.sim.actors.controllers.controller import pod_of_template, prefix_with_index
from cockpit.sim.actors.controllers.job.failure_policy import judge
from cockpit.sim.actors.controllers.job.indexes import INDEX_KEY, index_of
from cockpit.sim.actors.controllers.job.round import (
    FAILURE_COUNT_KEY,
    FINALIZER,
    IGNORED_COUNT_KEY,
    JobSync,
    failures_of_index,
    ignored_failures_of_index,
)
from cockpit.sim.actors.controllers.trees import removal_order
from cockpit.sim.port import Tree

_INDEX_ENV = "JOB_COMPLETION_INDEX"


def new_pod(turn: JobSync, index: int | None) -> Tree:
    """The next pod, for an index of an Indexed Job."""
    job = turn.job
    name = job["metadata"]["name"]
    template: Tree = job["spec"]["template"]
    pod = pod_of_template(job, template, "" if index is None else prefix_with_index(name, index))
    metadata: dict[str, Any] = pod["metadata"]
    metadata["finalizers"] = [*dict.fromkeys([*metadata.get("finalizers", ()), FINALIZER])]
    labels = metadata.setdefault("labels", {})
    # The API server writes these into the template; a template without them gets them here.
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}controller-uid", job["metadata"]["uid"])
        labels.setdefault(f"{prefix}job-name", name)
    if index is not None:
        labels[INDEX_KEY] = str(index)
        annotations = metadata.setdefault("annotations", {})
        annotations[INDEX_KEY] = str(index)
        if turn.spec.backoff_limit_per_index is not None:
            annotations |= _failure_counts(turn, turn.delayed.get(index))
        spec = pod["spec"]
        spec["hostname"] = f"{name}-{index}"
        for group in ("initContainers", "containers"):
            if spec.get(group):
                spec[group] = [_with_index_env(container) for container in spec[group]]
    return pod


def pods_to_remove(turn: JobSync, at_least: int) -> list[Tree]:
    """Pods without a valid index, or with one that another has, go first; then by how far they are."""
    if not turn.spec.is_indexed:
        return sorted(turn.active_pods, key=removal_order)[:at_least] if at_least else []
    by_index: dict[int, list[Tree]] = {}
    removed: list[Tree] = []
    for pod in turn.active_pods:
        index = index_of(pod)
        if index is None or index >= turn.spec.wanted_indexes:
            removed.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    left: list[Tree] = []
    for pods in by_index.values():
        if len(pods) > 1:
            pods.sort(key=removal_order)
        removed += pods[:-1]
        left.append(pods[-1])
    if at_least <= len(removed):
        return removed
    return removed + sorted(left, key=removal_order)[: at_least - len(removed)]


def _with_index_env(container: Tree) -> Tree:
    env = list(container.get("env") or ())
    if any(variable["name"] == _INDEX_ENV for variable in env):
        return container
    reference = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX_KEY}']"}}
    return {**container, "env": [*env, {"name": _INDEX_ENV, "valueFrom": reference}]}


def _failure_counts(turn: JobSync, replaced: Tree | None) -> dict[str, str]:
    if replaced is None:
        return {FAILURE_COUNT_KEY: "0"}
    failures, ignored = failures_of_index(replaced), ignored_failures_of_index(replaced)
    if judge(replaced, turn.spec).counts:
        failures += 1
    else:
        ignored += 1
    counts = {FAILURE_COUNT_KEY: str(failures)}
    if ignored:
        counts[IGNORED_COUNT_KEY] = str(ignored)
    return counts
