"""The ReplicaSet that a Deployment makes for its template."""

import copy

from cockpit.sim.actors.controllers.deployment.sizes import (
    DESIRED_KEY,
    HASH_LABEL,
    MAXIMUM_KEY,
    REVISION_KEY,
    max_surge,
    template_hash,
)
from cockpit.sim.actors.controllers.replica_sets import replicas_of
from cockpit.sim.actors.controllers.trees import controller_reference
from cockpit.sim.port import Tree

_OWN_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION_KEY,
    "deployment.kubernetes.io/revision-history",
    DESIRED_KEY,
    MAXIMUM_KEY,
)


def new_replica_set(deployment: Tree, size: int, revision: int, collisions: int) -> Tree:
    """A ReplicaSet of `size` pods, told apart from others by the hash of its template."""
    spec, metadata = deployment["spec"], deployment["metadata"]
    digest = template_hash(spec["template"], collisions)
    template = copy.deepcopy(spec["template"])
    labels = {**(template.get("metadata", {}).get("labels") or {}), HASH_LABEL: digest}
    template.setdefault("metadata", {})["labels"] = labels
    selector = copy.deepcopy(spec["selector"])
    selector.setdefault("matchLabels", {})[HASH_LABEL] = digest
    body: Tree = {"replicas": size, "selector": selector, "template": template}
    if spec.get("minReadySeconds"):
        body["minReadySeconds"] = spec["minReadySeconds"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata['name']}-{digest}",
            "namespace": metadata["namespace"],
            "labels": dict(labels),
            "annotations": {
                **copied_annotations(deployment),
                **size_annotations(deployment),
                REVISION_KEY: str(revision),
            },
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": body,
    }


def copied_annotations(deployment: Tree) -> dict[str, str]:
    """What a ReplicaSet takes over from its Deployment."""
    held = deployment["metadata"].get("annotations") or {}
    return {key: value for key, value in held.items() if key not in _OWN_ANNOTATIONS}


def size_annotations(deployment: Tree) -> dict[str, str]:
    """What the Deployment wanted when the ReplicaSet was sized."""
    wanted = replicas_of(deployment)
    return {DESIRED_KEY: str(wanted), MAXIMUM_KEY: str(wanted + max_surge(deployment))}
