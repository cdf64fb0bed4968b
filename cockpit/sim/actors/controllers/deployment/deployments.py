"""The Deployment controller (component `deployment-controller`).

Not modelled: adoption of ReplicaSets without an owner, and the rollback field of the long gone v1beta1.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass

from cockpit.kube.resource import PODS
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.deployment.sizes import (
    DESIRED_KEY,
    HASH_LABEL,
    MAXIMUM_KEY,
    REVISION_KEY,
    annotated,
    is_rolling,
    max_surge,
    max_unavailable,
    new_set_size,
    shares,
    template_hash,
    template_without_hash,
    total_replicas,
    total_status,
)
from cockpit.sim.actors.controllers.deployment.status import (
    TIMED_OUT,
    is_complete,
    progress_deadline_seconds,
    set_deployment_condition,
    status_of,
    tell_progress,
)
from cockpit.sim.actors.controllers.replica_sets import replicas_of
from cockpit.sim.actors.controllers.trees import (
    condition_of,
    controller_reference,
    created_seconds,
    is_deleting,
    is_ended,
    key_of,
    uid_of,
)
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.resources import DEPLOYMENTS, REPLICA_SETS
from cockpit.sim.times import seconds_of


@dataclass(slots=True)
class _Rollout:
    """One round: the Deployment, its sets (new one apart), and the conditions in the making."""

    deployment: Tree
    new: Tree | None
    old: list[Tree]
    conditions: list[Tree]
    now: float

    @property
    def sets(self) -> list[Tree]:
        return [*self.old, *([self.new] if self.new is not None else [])]

    def progress(self, status: str, reason: str, message: str) -> None:
        if progress_deadline_seconds(self.deployment) is not None:
            set_deployment_condition(
                self.conditions, "Progressing", status, reason=reason, message=message, now=self.now
            )


class Deployments(Controller):
    """Rolls a Deployment's template out over ReplicaSets."""

    name = "deployment-controller"
    watches = (DEPLOYMENTS, REPLICA_SETS, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._sets = Children(("Deployment",))
        self._pods = Children(("ReplicaSet",))

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == DEPLOYMENTS:
            yield key_of(change.tree)
        elif change.resource == REPLICA_SETS:
            owner = self._sets.take(change)
            if owner is not None:
                yield (change.tree["metadata"]["namespace"], owner["name"])
        else:
            # Pods matter to Recreate only, which waits until the last old one is gone.
            owner = self._pods.take(change)
            if owner is not None and change.type is ChangeType.DELETED:
                namespace = change.tree["metadata"]["namespace"]
                tree = self.engine.cache(REPLICA_SETS).get(namespace, owner["name"])
                for reference in () if tree is None else tree["metadata"].get("ownerReferences") or ():
                    if reference.get("controller") and reference["kind"] == "Deployment":
                        yield (namespace, reference["name"])

    async def reconcile(self, key: Key) -> None:
        deployment = self.engine.cache(DEPLOYMENTS).get(*key)
        if deployment is None:
            return
        if not any((deployment["spec"].get("selector") or {}).values()):
            message = "This deployment is selecting all pods. A non-empty selector is required."
            await self.warning(deployment, "SelectingAll", message)
            return
        turn = self._look(deployment)
        if is_deleting(deployment):
            await self._write(turn, tells_progress=False)
            return
        self._tell_pause(turn)
        desired = [annotated(tree, DESIRED_KEY) for tree in turn.sets if replicas_of(tree)]
        is_scaled = any(count not in (None, replicas_of(deployment)) for count in desired)
        is_paused = bool(deployment["spec"].get("paused"))
        if is_paused or is_scaled:
            await self._sync_new(turn, creates=False)
            await self._scale(turn)
            if is_paused:
                await self._clean_up(turn)
            await self._write(turn, tells_progress=False)
        elif is_rolling(deployment):
            await self._roll(turn)
            await self._write(turn, tells_progress=True)
        else:
            await self._recreate(turn)
            await self._write(turn, tells_progress=True)

    def _look(self, deployment: Tree) -> _Rollout:
        template = template_without_hash(deployment["spec"]["template"])
        sets = sorted(
            self._sets.of(deployment), key=lambda tree: (created_seconds(tree), tree["metadata"]["name"])
        )
        new = next((t for t in sets if template_without_hash(t["spec"]["template"]) == template), None)
        old = [tree for tree in sets if new is None or uid_of(tree) != uid_of(new)]
        conditions = copy.deepcopy(deployment.get("status", {}).get("conditions") or [])
        return _Rollout(deployment, new, old, conditions, self.engine.now())

    def _tell_pause(self, turn: _Rollout) -> None:
        held = condition_of(turn.deployment, "Progressing")
        if held is not None and held["reason"] == TIMED_OUT:
            return
        was_paused = held is not None and held["reason"] == "DeploymentPaused"
        is_paused = bool(turn.deployment["spec"].get("paused"))
        if is_paused and not was_paused:
            turn.progress("Unknown", "DeploymentPaused", "Deployment is paused")
        elif was_paused and not is_paused:
            turn.progress("Unknown", "DeploymentResumed", "Deployment is resumed")

    async def _sync_new(self, turn: _Rollout, *, creates: bool) -> None:
        """The ReplicaSet of the present template with the highest revision; made where there is none."""
        revision = max((annotated(tree, REVISION_KEY) or 0 for tree in turn.old), default=0) + 1
        if turn.new is None:
            if creates:
                await self._create_set(turn, revision)
        else:
            name = turn.new["metadata"]["name"]
            await self._renew(turn, turn.new, revision)
            if condition_of(turn.deployment, "Progressing") is None:
                turn.progress("True", "FoundNewReplicaSet", f'Found new replica set "{name}"')
        if turn.new is not None:
            await self._annotate_revision(turn, turn.new)

    async def _renew(self, turn: _Rollout, new: Tree, revision: int) -> None:
        held = new["metadata"].get("annotations") or {}
        wanted = {**held, **copied_annotations(turn.deployment)}
        before = annotated(new, REVISION_KEY) or 0
        if before < revision:
            wanted[REVISION_KEY] = str(revision)
            history = "deployment.kubernetes.io/revision-history"
            if before:
                wanted[history] = ",".join(filter(None, (held.get(history, ""), str(before))))
        minimum = turn.deployment["spec"].get("minReadySeconds", 0)
        patch: Tree = {}
        if wanted != held:
            patch["metadata"] = {"annotations": wanted}
        if new["spec"].get("minReadySeconds", 0) != minimum:
            patch["spec"] = {"minReadySeconds": minimum}
        if patch:
            turn.new = await self._patch_set(new, patch)

    async def _annotate_revision(self, turn: _Rollout, new: Tree) -> None:
        revision = (new["metadata"].get("annotations") or {}).get(REVISION_KEY, "")
        deployment = turn.deployment
        if (deployment["metadata"].get("annotations") or {}).get(REVISION_KEY) == revision:
            return
        namespace, name = key_of(deployment)
        patch = {
            "metadata": {
                "uid": uid_of(deployment),
                "annotations": {REVISION_KEY: revision},
            }
        }
        after = await self.engine.port.patch(DEPLOYMENTS, namespace, name, patch)
        turn.deployment = after

    async def _create_set(self, turn: _Rollout, revision: int) -> None:
        collisions = turn.deployment.get("status", {}).get("collisionCount", 0)
        size = new_set_size(turn.deployment, turn.old, 0)
        tree = new_replica_set(turn.deployment, size, revision, collisions)
        await self._create(turn, tree, collisions)

    async def _create(self, turn: _Rollout, tree: Tree, collisions: int) -> None:
        deployment, name = turn.deployment, tree["metadata"]["name"]
        try:
            turn.new = await self.engine.port.create(REPLICA_SETS, tree, tree["metadata"]["namespace"])
        except PortError as error:
            if error.reason == "AlreadyExists":
                await self.write_status(
                    DEPLOYMENTS,
                    deployment,
                    {**(deployment.get("status") or {}), "collisionCount": collisions + 1},
                )
                raise
            message = f'Failed to create new replica set "{name}": {error.message}'
            await self.warning(deployment, "ReplicaSetCreateError", message)
            turn.progress("False", "ReplicaSetCreateError", message)
            await self._write(turn, tells_progress=False)
            raise
        self._sets.put(turn.new)
        size = replicas_of(turn.new)
        if size:
            await self.normal(
                deployment, "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size}"
            )
        turn.progress("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')

    async def _roll(self, turn: _Rollout) -> None:
        await self._sync_new(turn, creates=True)
        if turn.new is None:
            return
        wanted, size = replicas_of(turn.deployment), replicas_of(turn.new)
        if size > wanted:
            turn.new = await self._resize(turn, turn.new, wanted)
            return
        grown = new_set_size(turn.deployment, turn.sets, size)
        if grown != size:
            turn.new = await self._resize(turn, turn.new, grown)
            return
        if await self._shrink_old(turn, turn.new):
            return
        if is_complete(turn.deployment, turn.deployment.get("status") or {}):
            await self._clean_up(turn)

    async def _shrink_old(self, turn: _Rollout, new: Tree) -> bool:
        """Unhealthy pods of old sets first, then as many healthy ones as availability allows."""
        if not total_replicas(turn.old):
            return False
        least = replicas_of(turn.deployment) - max_unavailable(turn.deployment)
        missing_new = replicas_of(new) - new.get("status", {}).get("availableReplicas", 0)
        room = total_replicas(turn.sets) - least - missing_new
        if room <= 0:
            return False
        gone = 0
        for place, tree in enumerate(turn.old):
            size = replicas_of(tree)
            unhealthy = size - tree.get("status", {}).get("availableReplicas", 0)
            down = min(room - gone, unhealthy)
            if size and down > 0:
                turn.old[place] = await self._resize(turn, tree, size - down)
                gone += down
        available = total_status(turn.sets, "availableReplicas")
        spare = available - least
        for place, tree in enumerate(turn.old):
            down = min(replicas_of(tree), spare)
            if down > 0:
                turn.old[place] = await self._resize(turn, tree, replicas_of(tree) - down)
                spare -= down
                gone += down
        return gone > 0

    async def _recreate(self, turn: _Rollout) -> None:
        await self._sync_new(turn, creates=False)
        active = [place for place, tree in enumerate(turn.old) if replicas_of(tree)]
        for place in active:
            turn.old[place] = await self._resize(turn, turn.old[place], 0)
        if active or total_status(turn.old, "replicas"):
            return
        if any(not is_ended(pod) for tree in turn.old for pod in self._pods.of(tree)):
            return
        if turn.new is None:
            await self._sync_new(turn, creates=True)
        if turn.new is not None:
            turn.new = await self._resize(turn, turn.new, replicas_of(turn.deployment))
        if is_complete(turn.deployment, turn.deployment.get("status") or {}):
            await self._clean_up(turn)

    async def _scale(self, turn: _Rollout) -> None:
        """The Deployment has been scaled: the one active set takes it all, several take their shares."""
        wanted = replicas_of(turn.deployment)
        active = [tree for tree in turn.sets if replicas_of(tree)]
        if len(active) <= 1:
            single = active[0] if active else turn.new or (turn.old[-1] if turn.old else None)
            if single is not None:
                self._put(turn, await self._resize(turn, single, wanted))
            return
        new = turn.new
        if (
            new is not None
            and replicas_of(new) == wanted == annotated(new, DESIRED_KEY)
            and new.get("status", {}).get("availableReplicas", 0) == wanted
        ):
            for tree in turn.old:
                if replicas_of(tree):
                    self._put(turn, await self._resize(turn, tree, 0))
            return
        if is_rolling(turn.deployment):
            sizes = shares(turn.deployment, active)
            for tree in active:
                name = tree["metadata"]["name"]
                self._put(turn, await self._resize(turn, tree, sizes[name], is_forced=True))

    def _put(self, turn: _Rollout, tree: Tree) -> None:
        if turn.new is not None and uid_of(turn.new) == uid_of(tree):
            turn.new = tree
        turn.old = [tree if uid_of(held) == uid_of(tree) else held for held in turn.old]

    async def _resize(self, turn: _Rollout, tree: Tree, size: int, *, is_forced: bool = False) -> Tree:
        before, name = replicas_of(tree), tree["metadata"]["name"]
        if before == size and not is_forced:
            return tree
        annotations = size_annotations(turn.deployment)
        held = tree["metadata"].get("annotations") or {}
        if before == size and annotations.items() <= held.items():
            return tree
        after = await self._patch_set(
            tree, {"metadata": {"annotations": annotations}, "spec": {"replicas": size}}
        )
        if before != size:
            word = "up" if before < size else "down"
            await self.normal(
                turn.deployment,
                "ScalingReplicaSet",
                f"Scaled {word} replica set {name} from {before} to {size}",
            )
        return after

    async def _patch_set(self, tree: Tree, patch: Tree) -> Tree:
        namespace, name = key_of(tree)
        patch.setdefault("metadata", {})["resourceVersion"] = tree["metadata"]["resourceVersion"]
        after = await self.engine.port.patch(REPLICA_SETS, namespace, name, patch)
        self._sets.put(after)
        return after

    async def _clean_up(self, turn: _Rollout) -> None:
        """Old sets beyond the history limit go, oldest revision first."""
        limit = turn.deployment["spec"].get("revisionHistoryLimit", 10)
        alive = sorted(
            (tree for tree in turn.old if not is_deleting(tree)),
            key=lambda tree: annotated(tree, REVISION_KEY) or 0,
        )
        for tree in alive[: max(0, len(alive) - limit)]:
            status = tree.get("status") or {}
            is_seen = status.get("observedGeneration", 0) >= tree["metadata"].get("generation", 0)
            if replicas_of(tree) or status.get("replicas") or not is_seen:
                continue
            namespace, name = key_of(tree)
            try:
                await self.engine.port.delete(REPLICA_SETS, namespace, name, uid=uid_of(tree))
            except PortError as error:
                if not error.is_gone:
                    raise

    async def _write(self, turn: _Rollout, *, tells_progress: bool) -> None:
        status = status_of(turn.deployment, turn.new, turn.old, turn.conditions, turn.now)
        if tells_progress:
            tell_progress(turn.deployment, turn.new, status, turn.old, turn.now)
        after = await self.write_status(DEPLOYMENTS, turn.deployment, status)
        self._look_again_at_deadline(after)

    def _look_again_at_deadline(self, deployment: Tree) -> None:
        held = condition_of(deployment, "Progressing")
        deadline = progress_deadline_seconds(deployment)
        if held is None or deadline is None or held["reason"] == TIMED_OUT:
            return
        if is_complete(deployment, deployment.get("status") or {}):
            return
        left = seconds_of(held["lastUpdateTime"]) + deadline - self.engine.now()
        self.engine.after(max(left, 0.0) + 1.0, self, key_of(deployment))


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
