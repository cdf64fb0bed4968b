"""What each namespace has by itself, and how one ends (pkg/controller/namespace, serviceaccount)."""

from collections.abc import Iterable, Sequence

from cockpit.kube.resource import EVENTS, NAMESPACES, Resource
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.garbage import BUILT_IN
from cockpit.sim.actors.controllers.trees import is_deleting, key_of, set_condition, uid_of
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.resources import (
    BUDGETS,
    CONFIG_MAPS,
    CSI_STORAGE_CAPACITIES,
    ENDPOINT_SLICES,
    ENDPOINTS,
    LIMIT_RANGES,
    REPLICATION_CONTROLLERS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_QUOTAS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
)

CONTENT = (
    *(resource for resource in BUILT_IN if resource.namespaced),
    EVENTS,
    SERVICE_ACCOUNTS,
    RESOURCE_QUOTAS,
    LIMIT_RANGES,
    BUDGETS,
    ROLES,
    ROLE_BINDINGS,
    ENDPOINTS,
    ENDPOINT_SLICES,
    REPLICATION_CONTROLLERS,
    RESOURCE_CLAIM_TEMPLATES,
    CSI_STORAGE_CAPACITIES,
)
"""Everything a namespace may hold; custom kinds that are served belong to it as well."""

_AGAIN_SECONDS = 5.0
_DONE = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


class NamespaceEnd(Controller):
    """Deletes the content of a namespace that was deleted, says what is left, and lets it go."""

    name = "namespace-controller"
    watches = (NAMESPACES,)

    def __init__(self, content: Sequence[Resource] = CONTENT) -> None:
        super().__init__()
        self._content = tuple(content)

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.type is not ChangeType.DELETED and is_deleting(change.tree):
            yield key_of(change.tree)

    async def reconcile(self, key: Key) -> None:
        tree = self.engine.cache(NAMESPACES).get(*key)
        if tree is None or "kubernetes" not in (tree["spec"].get("finalizers") or ()):
            return
        name = key[1]
        remaining: dict[str, int] = {}
        finalizers: dict[str, int] = {}
        for resource in self._content:
            for item in await self._empty(resource, name):
                remaining[f"{resource.label}."] = remaining.get(f"{resource.label}.", 0) + 1
                for finalizer in item["metadata"].get("finalizers") or ():
                    finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
        tree = await self.write_status(NAMESPACES, tree, self._status(tree, remaining, finalizers))
        if remaining:
            self.engine.after(_AGAIN_SECONDS, self, key)
            return
        kept = [finalizer for finalizer in tree["spec"]["finalizers"] if finalizer != "kubernetes"]
        patch = {"metadata": {"uid": uid_of(tree)}, "spec": {"finalizers": kept}}
        try:
            await self.engine.port.patch(NAMESPACES, "", name, patch, subresource="finalize")
        except PortError as error:
            if not error.is_gone:
                raise

    async def _empty(self, resource: Resource, namespace: str) -> list[Tree]:
        """Delete everything of one kind; answers what is still there."""
        try:
            for tree in await self.engine.port.list(resource, namespace):
                if not is_deleting(tree):
                    await self._delete(resource, tree)
            return await self.engine.port.list(resource, namespace)
        except PortError as error:
            if error.is_gone:
                return []
            raise

    async def _delete(self, resource: Resource, tree: Tree) -> None:
        namespace, name = key_of(tree)
        try:
            await self.engine.port.delete(resource, namespace, name, propagation="Background")
        except PortError as error:
            if not error.is_gone:
                raise

    def _status(self, tree: Tree, remaining: dict[str, int], finalizers: dict[str, int]) -> Tree:
        conditions = [dict(c) for c in tree.get("status", {}).get("conditions") or ()]
        now = self.engine.now()
        for type_, reason, message in _DONE:
            set_condition(conditions, type_, "False", reason=reason, message=message, now=now)
        left = ", ".join(
            f"{name} has {count} resource instances" for name, count in sorted(remaining.items())
        )
        set_condition(
            conditions,
            "NamespaceContentRemaining",
            str(bool(remaining)),
            reason="SomeResourcesRemain" if remaining else "ContentRemoved",
            message=f"Some resources are remaining: {left}"
            if remaining
            else "All content successfully removed",
            now=now,
        )
        held = ", ".join(
            f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())
        )
        set_condition(
            conditions,
            "NamespaceFinalizersRemaining",
            str(bool(finalizers)),
            reason="SomeFinalizersRemain" if finalizers else "ContentHasNoFinalizers",
            message=f"Some content in the namespace has finalizers remaining: {held}"
            if finalizers
            else "All content-preserving finalizers finished",
            now=now,
        )
        return {**(tree.get("status") or {}), "conditions": conditions}


class NamespaceDefaults(Controller):
    """Each namespace has the service account `default` and the ConfigMap `kube-root-ca.crt`."""

    name = "serviceaccount-controller"
    watches = (NAMESPACES, SERVICE_ACCOUNTS, CONFIG_MAPS)

    def __init__(self, root_certificate: str = "") -> None:
        """`root_certificate` in PEM; without one there is no ConfigMap."""
        super().__init__()
        self._certificate = root_certificate

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        namespace, name = key_of(change.tree)
        if change.resource == NAMESPACES:
            if change.type is not ChangeType.DELETED and before is None:
                yield (name,)
        elif name == ("default" if change.resource == SERVICE_ACCOUNTS else "kube-root-ca.crt") and (
            change.type is not ChangeType.ADDED
        ):
            yield (namespace,)

    async def reconcile(self, key: Key) -> None:
        (name,) = key
        namespace = self.engine.cache(NAMESPACES).get("", name)
        if namespace is None or is_deleting(namespace):
            return
        account: Tree = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": name},
        }
        await self._ensure(SERVICE_ACCOUNTS, account)
        if self._certificate:
            await self._ensure(CONFIG_MAPS, self._root_certificate(name))

    def _root_certificate(self, namespace: str) -> Tree:
        description = (
            "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
            "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
            "guaranteed across distributions of Kubernetes clusters."
        )
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "kube-root-ca.crt",
                "namespace": namespace,
                "annotations": {"kubernetes.io/description": description},
            },
            "data": {"ca.crt": self._certificate},
        }

    async def _ensure(self, resource: Resource, wanted: Tree) -> None:
        namespace, name = key_of(wanted)
        held = self.engine.cache(resource).get(namespace, name)
        try:
            if held is None:
                await self.engine.port.create(resource, wanted, namespace)
            elif wanted.get("data") and held.get("data") != wanted["data"]:
                await self.engine.port.patch(resource, namespace, name, {"data": wanted["data"]})
        except PortError as error:
            # Another has made it, or the namespace ends just now.
            if error.status not in (403, 404, 409):
                raise
