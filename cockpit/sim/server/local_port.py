"""The port on the embedded server's own storage: no HTTP, no rights, changes handed over upon commit."""

from collections.abc import Callable

from cockpit.kube.resource import PODS, Resource
from cockpit.sim.port import ChangeType, ObjectChange, Patch, PatchType, Sink, Tree
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import SYSTEM, DeleteOptions, ListOptions, Request, User
from cockpit.sim.server.storage import Commit


class LocalPort:
    """One actor's door. `manager` goes into managed fields of an apply; `close` ends what it follows only."""

    def __init__(self, operations: Operations, *, user: User = SYSTEM, manager: str = "") -> None:
        self._operations = operations
        self._user = user
        self._manager = manager
        self._stops: list[Callable[[], None]] = []

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree:
        """The newest version of an object."""
        return self._operations.get(self._request("get", resource, namespace, name)).tree

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Tree]:
        """All objects of a namespace, or of all ("")."""
        options = ListOptions(labels=labels, fields=fields)
        listing = self._operations.list(self._request("list", resource, namespace), options)
        return [stored.tree for stored in listing.items]

    async def follow(self, resource: Resource, sink: Sink) -> None:
        """Hand over everything there is, then each change within the write that made it."""
        storage = self._operations.storage
        kind = self._operations.kind(self._request("watch", resource))
        convert = kind.to_served

        def tell(commit: Commit) -> None:
            tree = commit.after.tree
            sink(ObjectChange(commit.type, resource, tree if convert is None else convert(tree)))

        for stored in list(storage.shelf(kind.shelf).between("")):
            tree = stored.tree
            sink(ObjectChange(ChangeType.ADDED, resource, tree if convert is None else convert(tree)))
        self._stops.append(storage.listen(kind.shelf, tell))

    async def create(self, resource: Resource, tree: Tree, namespace: str = "") -> Tree:
        """A new object; without `namespace` that of its metadata counts."""
        if not namespace and resource.namespaced:
            namespace = tree.get("metadata", {}).get("namespace", "")
        return self._operations.create(self._request("create", resource, namespace), tree).tree

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Patch,
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002
        subresource: str = "",
    ) -> Tree:
        """A patch of an object or of its status or scale."""
        request = self._request("patch", resource, namespace, name, subresource)
        return self._operations.patch(request, patch, type).tree

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> None:
        """A delete, with what must hold for it."""
        options = DeleteOptions(
            uid=uid, version=version, grace_seconds=grace_seconds, propagation=propagation
        )
        self._operations.delete(self._request("delete", resource, namespace, name), options)

    async def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        """Put a pod on a node."""
        metadata = {"name": pod, "namespace": namespace, **({"uid": uid} if uid else {})}
        tree: Tree = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._operations.create(self._request("create", PODS, namespace, pod, "binding"), tree)

    async def evict(self, namespace: str, pod: str, *, grace_seconds: int | None = None) -> None:
        """Delete a pod if its disruption budgets allow it."""
        tree: Tree = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
        }
        if grace_seconds is not None:
            tree["deleteOptions"] = {"gracePeriodSeconds": grace_seconds}
        self._operations.create(self._request("create", PODS, namespace, pod, "eviction"), tree)

    async def close(self) -> None:
        """Stop following."""
        for stop in self._stops:
            stop()
        self._stops.clear()

    def _request(
        self, verb: str, resource: Resource, namespace: str = "", name: str = "", subresource: str = ""
    ) -> Request:
        return Request(
            verb=verb,
            resource=resource,
            namespace=namespace,
            name=name,
            subresource=subresource,
            user=self._user,
            field_manager=self._manager,
        )
