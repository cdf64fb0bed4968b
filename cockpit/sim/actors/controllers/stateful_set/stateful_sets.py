"""The StatefulSet controller (component `statefulset-controller`; pkg/controller/statefulset).

Not modelled: adoption of pods without an owner, claims that are deleted with their pod or their set
(`persistentVolumeClaimRetentionPolicy`), the limit of the history, mending of a pod's labels.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cockpit.kube.resource import PODS
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.stateful_set.members import (
    StatefulStanding,
    claims_of,
    counts,
    first_ordinal,
    member,
    ordinals_of,
    revision_of,
    standing,
)
from cockpit.sim.actors.controllers.templates import template_hash
from cockpit.sim.actors.controllers.trees import (
    controller_reference,
    is_deleting,
    is_ended,
    is_ready,
    key_of,
    phase_of,
    ready_since_seconds,
    uid_of,
    without_empty,
)
from cockpit.sim.engine import Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from cockpit.sim.resources import CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS

_HASH_LABEL = "controller.kubernetes.io/hash"


@dataclass(slots=True)
class _StatefulRound:
    """One look at a set, with the revision that it is at and the one that it goes to."""

    now: StatefulStanding
    current: Tree
    update: Tree

    @property
    def tree(self) -> Tree:
        return self.now.tree

    @property
    def names(self) -> tuple[str, str]:
        return (self.current["metadata"]["name"], self.update["metadata"]["name"])


class StatefulSets(Controller):
    """Keeps the pods of a StatefulSet under their names, one after the other or all together."""

    name = "statefulset-controller"
    watches = (STATEFUL_SETS, PODS, PERSISTENT_VOLUME_CLAIMS, CONTROLLER_REVISIONS)

    def __init__(self) -> None:
        super().__init__()
        self._pods = Children(("StatefulSet",))
        self._revisions = Children(("StatefulSet",))

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == STATEFUL_SETS:
            yield key_of(change.tree)
        elif change.resource == PODS:
            owner = self._pods.take(change)
            if owner is not None:
                yield (change.tree["metadata"]["namespace"], owner["name"])
        elif change.resource == CONTROLLER_REVISIONS:
            self._revisions.take(change)

    async def reconcile(self, key: Key) -> None:
        tree = self.engine.cache(STATEFUL_SETS).get(*key)
        if tree is None:
            return
        now = standing(tree, self._pods.of(tree), self.engine.now())
        update = await self._update_revision(tree)
        turn = _StatefulRound(now, self._current_revision(tree, update), update)
        refusal: PortError | None = None
        if not is_deleting(tree):
            try:
                await self._act(turn)
            except PortError as error:
                refusal = error
        await self.write_status(STATEFUL_SETS, tree, _status(turn))
        if refusal is not None:
            raise refusal
        self._look_again_when_available(now)

    # ---- revisions

    async def _update_revision(self, tree: Tree) -> Tree:
        """The newest revision is that of the present template; one that was left is taken up again."""
        held = sorted(self._revisions.of(tree), key=lambda revision: int(revision["revision"]))
        template = {**tree["spec"]["template"], "$patch": "replace"}
        newest = int(held[-1]["revision"]) if held else 0
        for revision in reversed(held):
            if revision["data"]["spec"]["template"] == template:
                if int(revision["revision"]) == newest:
                    return revision
                return await self._renumber(revision, newest + 1)
        digest = template_hash(tree["spec"]["template"])
        labels = {**(tree["spec"]["template"].get("metadata", {}).get("labels") or {}), _HASH_LABEL: digest}
        namespace, name = key_of(tree)
        made: Tree = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{name}-{digest}",
                "namespace": namespace,
                "labels": labels,
                "annotations": dict(tree["metadata"].get("annotations") or {}),
                "ownerReferences": [controller_reference(tree)],
            },
            "data": {"spec": {"template": template}},
            "revision": newest + 1,
        }
        made = await self.engine.port.create(CONTROLLER_REVISIONS, made, namespace)
        self._revisions.put(made)
        return made

    async def _renumber(self, revision: Tree, number: int) -> Tree:
        namespace, name = key_of(revision)
        patch = {"metadata": {"uid": uid_of(revision)}, "revision": number}
        changed = await self.engine.port.patch(CONTROLLER_REVISIONS, namespace, name, patch)
        self._revisions.put(changed)
        return changed

    def _current_revision(self, tree: Tree, update: Tree) -> Tree:
        name = tree.get("status", {}).get("currentRevision", "")
        held = self._revisions.of(tree)
        return next((revision for revision in held if revision["metadata"]["name"] == name), update)

    # ---- pods

    async def _act(self, turn: _StatefulRound) -> None:
        """Missing pods first, then those that are too many, then those of an old template."""
        if await self._fill(turn) or await self._shrink(turn):
            return
        if (turn.tree["spec"].get("updateStrategy") or {}).get("type") != "OnDelete":
            await self._roll(turn)

    async def _fill(self, turn: _StatefulRound) -> bool:
        """Every ordinal has its pod; True while the next one has to wait for it."""
        now = turn.now
        for ordinal in ordinals_of(turn.tree):
            pod = now.wanted.get(ordinal)
            if pod is None:
                await self._create(turn, ordinal)
            elif is_ended(pod):
                await self._delete(turn.tree, pod)
            elif phase_of(pod) == "Pending":
                await self._create_claims(turn.tree, pod["metadata"]["name"], ordinal)
            if now.is_parallel:
                continue
            if pod is None or is_deleting(pod) or not now.is_available(pod):
                return True
        return False

    async def _shrink(self, turn: _StatefulRound) -> bool:
        """Pods that are too many go from the highest ordinal down; True while one is on its way."""
        now = turn.now
        first = now.first_unavailable
        for pod in now.surplus:
            if is_deleting(pod):
                if now.is_parallel:
                    continue
                return True
            if not now.is_parallel and pod is not first and not now.is_available(pod):
                return True
            await self._delete(turn.tree, pod)
            if not now.is_parallel:
                return True
        return False

    async def _roll(self, turn: _StatefulRound) -> None:
        """One pod of an old template goes, from the highest ordinal down to the partition."""
        rolling = (turn.tree["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        lowest = first_ordinal(turn.tree) + int(rolling.get("partition", 0))
        for ordinal in reversed(ordinals_of(turn.tree)):
            pod = turn.now.wanted.get(ordinal)
            if ordinal < lowest or pod is None:
                return
            if revision_of(pod) != turn.names[1] and not is_deleting(pod):
                await self._delete(turn.tree, pod)
                return
            if is_deleting(pod) or not turn.now.is_available(pod):
                return

    async def _create(self, turn: _StatefulRound, ordinal: int) -> None:
        tree, name = turn.tree, f"{turn.tree['metadata']['name']}-{ordinal}"
        revision = turn.current if _is_of_current(turn, ordinal) else turn.update
        template = revision["data"]["spec"]["template"]
        template = {key: value for key, value in template.items() if key != "$patch"}
        pod = member(tree, template, revision["metadata"]["name"], ordinal)
        where = f"Pod {name} in StatefulSet {tree['metadata']['name']}"
        try:
            await self._create_claims(tree, name, ordinal)
            self._pods.put(await self.engine.port.create(PODS, pod, tree["metadata"]["namespace"]))
        except PortError as error:
            if error.reason != "AlreadyExists":
                await self.warning(tree, "FailedCreate", f"Create {where} failed error: {error.message}")
            raise
        await self.normal(tree, "SuccessfulCreate", f"Create {where} successful")

    async def _create_claims(self, tree: Tree, pod: str, ordinal: int) -> None:
        """Claims that are missing are made. Raises PortError."""
        namespace, owner = key_of(tree)
        for claim in claims_of(tree, ordinal):
            name = claim["metadata"]["name"]
            if self.engine.cache(PERSISTENT_VOLUME_CLAIMS).get(namespace, name) is not None:
                continue
            try:
                await self.engine.port.create(PERSISTENT_VOLUME_CLAIMS, claim, namespace)
            except PortError as error:
                if error.reason == "AlreadyExists":
                    continue
                where = f"Claim {name} for Pod {pod} in StatefulSet {owner}"
                await self.warning(tree, "FailedCreate", f"Create {where} failed error: {error.message}")
                message = f"failed to create PVC {name}: {error.message}"
                raise PortError(error.status, error.reason, message, error.causes) from error
            where = f"Claim {name} Pod {pod} in StatefulSet {owner}"
            await self.normal(tree, "SuccessfulCreate", f"Create {where} success")

    async def _delete(self, tree: Tree, pod: Tree) -> None:
        if is_deleting(pod):
            return
        namespace, name = key_of(pod)
        where = f"Pod {name} in StatefulSet {tree['metadata']['name']}"
        try:
            await self.engine.port.delete(PODS, namespace, name, uid=uid_of(pod))
        except PortError as error:
            if not (error.is_gone or error.is_conflict):
                await self.warning(tree, "FailedDelete", f"Delete {where} failed error: {error.message}")
                raise
        await self.normal(tree, "SuccessfulDelete", f"Delete {where} successful")

    def _look_again_when_available(self, now: StatefulStanding) -> None:
        least = now.tree["spec"].get("minReadySeconds", 0)
        ready = (ready_since_seconds(pod) for pod in now.pods if is_ready(pod))
        due = [left for since in ready if since is not None and (left := since + least - now.now) > 0]
        if least and due:
            self.engine.after(min(due), self, key_of(now.tree))


def _is_of_current(turn: _StatefulRound, ordinal: int) -> bool:
    """Whether a new pod with that ordinal is still made of the revision that the set is at."""
    strategy = turn.tree["spec"].get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        return ordinal < first_ordinal(turn.tree) + int(rolling.get("partition", 0))
    held = int(turn.tree.get("status", {}).get("currentReplicas", 0))
    return strategy.get("type") == "RollingUpdate" and ordinal < first_ordinal(turn.tree) + held


def _status(turn: _StatefulRound) -> Tree:
    """Counts as of the pods that were there when this round began."""
    current, update = turn.names
    found = counts(turn.now, current, update)
    wanted = len(ordinals_of(turn.tree))
    is_rolling = (turn.tree["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
    if is_rolling and {found["updatedReplicas"], found["readyReplicas"], found["replicas"]} == {wanted}:
        found["currentReplicas"], current = found["updatedReplicas"], update
    status = {
        "observedGeneration": turn.tree["metadata"].get("generation", 0),
        **found,
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": turn.tree.get("status", {}).get("collisionCount", 0),
    }
    return without_empty(status, keep=("replicas", "availableReplicas", "collisionCount"))
