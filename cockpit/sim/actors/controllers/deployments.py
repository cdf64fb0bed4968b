"""The Deployment controller (component `deployment-controller`; pkg/controller/deployment).

The ReplicaSet of the present template has all pods at once, the others none. Not modelled: rollouts in steps,
by strategy, paused or past their deadline; the limit of the history; ReplicaSets without an owner.
"""

import copy
from collections.abc import Iterable

from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.replica_sets import replicas_of
from cockpit.sim.actors.controllers.templates import scaled, template_hash
from cockpit.sim.actors.controllers.trees import (
    controller_reference,
    created_seconds,
    is_deleting,
    key_of,
    uid_of,
    without_empty,
)
from cockpit.sim.engine import Key
from cockpit.sim.port import ObjectChange, Tree
from cockpit.sim.resources import DEPLOYMENTS, REPLICA_SETS
from cockpit.sim.times import rfc3339

_HASH_LABEL = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MAXIMUM = "deployment.kubernetes.io/max-replicas"
_OWN_ANNOTATIONS = ("kubectl.kubernetes.io/last-applied-configuration", _REVISION, _DESIRED, _MAXIMUM)
_COUNTS = ("replicas", "readyReplicas", "availableReplicas", "terminatingReplicas")


class Deployments(Controller):
    """Gives the pods of a Deployment to the ReplicaSet of its template."""

    name = "deployment-controller"
    watches = (DEPLOYMENTS, REPLICA_SETS)

    def __init__(self) -> None:
        super().__init__()
        self._sets = Children(("Deployment",))

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == DEPLOYMENTS:
            yield key_of(change.tree)
            return
        owner = self._sets.take(change)
        if owner is not None:
            yield (change.tree["metadata"]["namespace"], owner["name"])

    async def reconcile(self, key: Key) -> None:
        deployment = self.engine.cache(DEPLOYMENTS).get(*key)
        if deployment is None or is_deleting(deployment):
            return
        conditions: list[Tree] = copy.deepcopy(deployment.get("status", {}).get("conditions") or [])
        template = _without_hash(deployment["spec"]["template"])
        sets = sorted(self._sets.of(deployment), key=lambda tree: (created_seconds(tree), key_of(tree)))
        old = [tree for tree in sets if _without_hash(tree["spec"]["template"]) != template]
        new = next((tree for tree in sets if tree not in old), None)
        if new is None:
            new = await self._create(deployment, max(map(_revision, old), default=0) + 1)
            message = f'Created new replica set "{new["metadata"]["name"]}"'
            _tell(
                conditions,
                "Progressing",
                "True",
                "NewReplicaSetCreated",
                message=message,
                now=self.engine.now(),
            )
        new = await self._resize(deployment, new, replicas_of(deployment))
        old = [await self._resize(deployment, tree, 0) for tree in old]
        if _annotations(deployment).get(_REVISION) != (revision := str(_revision(new))):
            metadata = {"uid": uid_of(deployment), "annotations": {_REVISION: revision}}
            deployment = await self.engine.port.patch(DEPLOYMENTS, key[0], key[1], {"metadata": metadata})
        status = _status_of(deployment, new, old, conditions, self.engine.now())
        await self.write_status(DEPLOYMENTS, deployment, status)

    async def _create(self, deployment: Tree, revision: int) -> Tree:
        size = replicas_of(deployment)
        tree = _replica_set(deployment, size, revision)
        made = await self.engine.port.create(REPLICA_SETS, tree, tree["metadata"]["namespace"])
        self._sets.put(made)
        if size:
            text = f"Scaled up replica set {made['metadata']['name']} from 0 to {size}"
            await self.normal(deployment, "ScalingReplicaSet", text)
        return made

    async def _resize(self, deployment: Tree, tree: Tree, size: int) -> Tree:
        before, name = replicas_of(tree), tree["metadata"]["name"]
        annotations = _sizes(deployment)
        if before == size and (not size or annotations.items() <= _annotations(tree).items()):
            return tree
        metadata = {"annotations": annotations, "resourceVersion": tree["metadata"]["resourceVersion"]}
        patch = {"metadata": metadata, "spec": {"replicas": size}}
        after = await self.engine.port.patch(REPLICA_SETS, *key_of(tree), patch)
        self._sets.put(after)
        if before != size:
            text = f"Scaled {'up' if before < size else 'down'} replica set {name} from {before} to {size}"
            await self.normal(deployment, "ScalingReplicaSet", text)
        return after


def _annotations(tree: Tree) -> dict[str, str]:
    return tree["metadata"].get("annotations") or {}


def _revision(tree: Tree) -> int:
    return int(_annotations(tree).get(_REVISION, "0"))


def _bounds(deployment: Tree) -> tuple[int, int]:
    """(surge, unavailable): how many pods more or less than wanted its strategy allows."""
    strategy, total = deployment["spec"].get("strategy") or {}, replicas_of(deployment)
    if strategy.get("type", "RollingUpdate") != "RollingUpdate" or not total:
        return (0, 0)
    rolling = strategy.get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", "25%"), total, rounds_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), total, rounds_up=False)
    return (surge, min(unavailable if surge or unavailable else 1, total))


def _sizes(deployment: Tree) -> dict[str, str]:
    """What the Deployment wanted when a ReplicaSet was sized."""
    wanted = replicas_of(deployment)
    return {_DESIRED: str(wanted), _MAXIMUM: str(wanted + _bounds(deployment)[0])}


def _without_hash(template: Tree) -> Tree:
    """A pod template as the Deployment has it."""
    metadata = dict(template.get("metadata") or {})
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != _HASH_LABEL}
    return {**template, "metadata": without_empty({**metadata, "labels": labels})}


def _replica_set(deployment: Tree, size: int, revision: int) -> Tree:
    """A ReplicaSet of `size` pods, told apart from others by the hash of its template."""
    spec, metadata = deployment["spec"], deployment["metadata"]
    digest = template_hash(spec["template"])
    template, selector = copy.deepcopy(spec["template"]), copy.deepcopy(spec["selector"])
    labels = {**(template.get("metadata", {}).get("labels") or {}), _HASH_LABEL: digest}
    template.setdefault("metadata", {})["labels"] = labels
    selector.setdefault("matchLabels", {})[_HASH_LABEL] = digest
    copied = {key: value for key, value in _annotations(deployment).items() if key not in _OWN_ANNOTATIONS}
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
            "annotations": {**copied, **_sizes(deployment), _REVISION: str(revision)},
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": body,
    }


def _tell(conditions: list[Tree], type_: str, status: str, reason: str, *, message: str, now: float) -> None:
    """Put a condition at the end of the list; one with the same status and reason stays as it is."""
    held = next((condition for condition in conditions if condition["type"] == type_), None)
    if held is not None and (held["status"], held["reason"]) == (status, reason):
        return
    at = rfc3339(now)
    fresh = {
        "type": type_,
        "status": status,
        "lastUpdateTime": at,
        "lastTransitionTime": at if held is None or held["status"] != status else held["lastTransitionTime"],
        "reason": reason,
        "message": message,
    }
    conditions[:] = [*(condition for condition in conditions if condition["type"] != type_), fresh]


def _status_of(deployment: Tree, new: Tree, old: list[Tree], conditions: list[Tree], now: float) -> Tree:
    """The status after this round; `conditions` is the caller's own list and is written on."""
    sets, wanted, before = [*old, new], replicas_of(deployment), deployment.get("status") or {}
    status = {name: sum(tree.get("status", {}).get(name, 0) for tree in sets) for name in _COUNTS}
    status["updatedReplicas"] = new.get("status", {}).get("replicas", 0)
    status["unavailableReplicas"] = max(0, sum(map(replicas_of, sets)) - status["availableReplicas"])
    status["observedGeneration"] = deployment["metadata"].get("generation", 0)
    is_enough = status["availableReplicas"] >= wanted - _bounds(deployment)[1]
    reason = "MinimumReplicasAvailable" if is_enough else "MinimumReplicasUnavailable"
    has = "has" if is_enough else "does not have"
    message = f"Deployment {has} minimum availability."
    _tell(conditions, "Available", str(is_enough), reason, message=message, now=now)
    who = f'ReplicaSet "{new["metadata"]["name"]}"'
    is_complete = all(status[name] == wanted for name in ("updatedReplicas", "replicas", "availableReplicas"))
    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    has_grown = any(status[name] > before.get(name, 0) for name in grown)
    was_complete = any(condition["reason"] == "NewReplicaSetAvailable" for condition in conditions)
    if is_complete:
        message = f"{who} has successfully progressed."
        _tell(conditions, "Progressing", "True", "NewReplicaSetAvailable", message=message, now=now)
    elif has_grown and not (was_complete and status["replicas"] == status["updatedReplicas"]):
        _tell(
            conditions, "Progressing", "True", "ReplicaSetUpdated", message=f"{who} is progressing.", now=now
        )
    return {**without_empty(status, keep=("terminatingReplicas",)), "conditions": conditions}
