"""The garbage collector: what has no owner any more goes (pkg/controller/garbagecollector).

It follows the resources it is given. Owners of kinds that it does not follow are asked of the server where
their resource is known, and are taken to exist where it is not.
"""

from collections.abc import Iterable, Sequence

from cockpit.kube.resource import (
    JOBS,
    MPIJOBS,
    NODES,
    PODS,
    SERVICES,
    WORKLOADS,
    Resource,
)
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.trees import is_deleting, key_of, uid_of
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.resources import (
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    LEASES,
    PERSISTENT_VOLUME_CLAIMS,
    REPLICA_SETS,
    RESOURCE_CLAIMS,
    SECRETS,
    STATEFUL_SETS,
)

BUILT_IN = (
    NODES,
    PODS,
    SERVICES,
    CONFIG_MAPS,
    SECRETS,
    PERSISTENT_VOLUME_CLAIMS,
    JOBS,
    CRON_JOBS,
    DEPLOYMENTS,
    REPLICA_SETS,
    DAEMON_SETS,
    STATEFUL_SETS,
    CONTROLLER_REVISIONS,
    RESOURCE_CLAIMS,
    LEASES,
)
"""What every cluster has and something owns or is owned by."""

CUSTOM = (MPIJOBS, WORKLOADS)
"""Custom kinds that own pods, or are owned by what does; to be followed where they are served."""

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

_Place = tuple[Resource, str, str]


class Garbage(Controller):
    """Deletes dependents after, before or without their owners, as the deletion asked for."""

    name = "garbage-collector-controller"

    def __init__(self, resources: Sequence[Resource] = BUILT_IN) -> None:
        super().__init__()
        self.watches = tuple(resources)
        self._resources = {(resource.api_version, resource.kind): resource for resource in resources}
        self._by_plural = {resource.label: resource for resource in resources}
        self._alive: dict[str, _Place] = {}
        self._dependents: dict[str, dict[str, _Place]] = {}

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        tree, uid = change.tree, uid_of(change.tree)
        place: _Place = (change.resource, *key_of(tree))
        owners = {reference["uid"]: None for reference in _owners(tree)}
        for gone in () if before is None else (r["uid"] for r in _owners(before)):
            if gone not in owners or change.type is ChangeType.DELETED:
                self._release(gone, uid)
        if change.type is ChangeType.DELETED:
            self._alive.pop(uid, None)
            for owner in owners:
                if owner in self._alive:
                    yield _key(self._alive[owner])
            for dependent in self._dependents.get(uid, {}).values():
                yield _key(dependent)
            return
        self._alive[uid] = place
        for owner in owners:
            self._dependents.setdefault(owner, {})[uid] = place
        if owners or _is_waiting(tree):
            yield _key(place)

    def _release(self, owner: str, dependent: str) -> None:
        held = self._dependents.get(owner)
        if held is not None:
            held.pop(dependent, None)
            if not held:
                del self._dependents[owner]

    async def reconcile(self, key: Key) -> None:
        resource = self._by_plural[key[0]]
        tree = self.engine.cache(resource).get(key[1], key[2])
        if tree is None:
            return
        if is_deleting(tree):
            finalizers = tree["metadata"].get("finalizers") or ()
            if ORPHAN in finalizers:
                await self._orphan(resource, tree)
            elif FOREGROUND in finalizers:
                await self._delete_dependents(resource, tree)
            return
        await self._judge(resource, tree)

    def _trees(self, owner: Tree) -> list[tuple[Resource, Tree]]:
        """The dependents of an owner that are still there."""
        found = []
        for resource, namespace, name in list(self._dependents.get(uid_of(owner), {}).values()):
            tree = self.engine.cache(resource).get(namespace, name)
            if tree is not None:
                found.append((resource, tree))
        return found

    async def _judge(self, resource: Resource, tree: Tree) -> None:
        """Delete what has owners of which none is left; forget those that are gone."""
        owners = _owners(tree)
        if not owners:
            return
        solid: list[Tree] = []
        leaving: list[Tree] = []
        gone: list[Tree] = []
        for reference in owners:
            owner = await self._owner(tree, reference)
            if owner is None:
                gone.append(reference)
            elif is_deleting(owner) and FOREGROUND in (owner["metadata"].get("finalizers") or ()):
                leaving.append(reference)
            else:
                solid.append(reference)
        if solid:
            if gone or leaving:
                await self._keep_owners(resource, tree, solid)
            return
        if leaving:
            # The owner waits for this one, which in turn first takes its own dependents along.
            propagation = "Foreground" if self._dependents.get(uid_of(tree)) else "Background"
            await self._delete(resource, tree, propagation)
        elif gone:
            finalizers = tree["metadata"].get("finalizers") or ()
            propagation = "Background"
            if ORPHAN in finalizers:
                propagation = "Orphan"
            elif FOREGROUND in finalizers:
                propagation = "Foreground"
            await self._delete(resource, tree, propagation)

    async def _owner(self, tree: Tree, reference: Tree) -> Tree | None:
        """The owner as it stands, None when it is gone or another has its name."""
        resource = self._resources.get((reference["apiVersion"], reference["kind"]))
        if resource is None:
            return {"metadata": {"uid": reference["uid"], "name": reference["name"]}}
        namespace = tree["metadata"].get("namespace", "") if resource.namespaced else ""
        held = self.engine.cache(resource).get(namespace, reference["name"])
        if held is None or uid_of(held) != reference["uid"]:
            # The cache of the owner's kind may lag behind that of the dependent's: ask before deleting.
            try:
                held = await self.engine.port.get(resource, namespace, reference["name"])
            except PortError as error:
                if not error.is_gone:
                    raise
                return None
        return held if uid_of(held) == reference["uid"] else None

    async def _delete_dependents(self, resource: Resource, owner: Tree) -> None:
        """Foreground: dependents that block go first, then the finalizer."""
        is_blocked = False
        for kind, tree in self._trees(owner):
            reference = next(r for r in _owners(tree) if r["uid"] == uid_of(owner))
            is_blocked = is_blocked or bool(reference.get("blockOwnerDeletion"))
            if not is_deleting(tree):
                self.engine.soon(self, _key((kind, *key_of(tree))))
        if not is_blocked:
            await self._remove_finalizer(resource, owner, FOREGROUND)

    async def _orphan(self, resource: Resource, owner: Tree) -> None:
        for kind, tree in self._trees(owner):
            kept = [reference for reference in _owners(tree) if reference["uid"] != uid_of(owner)]
            await self._keep_owners(kind, tree, kept)
        await self._remove_finalizer(resource, owner, ORPHAN)

    async def _keep_owners(self, resource: Resource, tree: Tree, kept: list[Tree]) -> None:
        await self._patch(resource, tree, {"ownerReferences": kept or None})

    async def _remove_finalizer(self, resource: Resource, tree: Tree, finalizer: str) -> None:
        left = [held for held in tree["metadata"].get("finalizers") or () if held != finalizer]
        await self._patch(resource, tree, {"finalizers": left or None})

    async def _patch(self, resource: Resource, tree: Tree, metadata: Tree) -> None:
        namespace, name = key_of(tree)
        held = {"uid": uid_of(tree), "resourceVersion": tree["metadata"]["resourceVersion"]}
        try:
            await self.engine.port.patch(resource, namespace, name, {"metadata": {**held, **metadata}})
        except PortError as error:
            if not error.is_gone:
                raise

    async def _delete(self, resource: Resource, tree: Tree, propagation: str) -> None:
        namespace, name = key_of(tree)
        try:
            await self.engine.port.delete(
                resource, namespace, name, uid=uid_of(tree), propagation=propagation
            )
        except PortError as error:
            if not error.is_gone and not error.is_conflict:
                raise


def _owners(tree: Tree) -> list[Tree]:
    return list(tree["metadata"].get("ownerReferences") or ())


def _is_waiting(tree: Tree) -> bool:
    return is_deleting(tree) and not {ORPHAN, FOREGROUND}.isdisjoint(tree["metadata"].get("finalizers") or ())


def _key(place: _Place) -> Key:
    return (place[0].label, place[1], place[2])
