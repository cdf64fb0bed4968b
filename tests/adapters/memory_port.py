"""A cluster in memory for one actor: merge patches, versions, graceful deletion, a history."""

import copy

from cockpit.clock import ManualClock
from cockpit.kube.resource import NODES, PODS, Resource
from cockpit.sim.port import ChangeType, ObjectChange, Patch, PatchType, PortError, Sink, Tree
from cockpit.sim.times import rfc3339

START = ManualClock().now()


class MemoryPort:
    """Enough of an API server for one actor: no rights, no defaults."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.objects: dict[tuple[Resource, str, str], Tree] = {}
        self.sinks: list[tuple[Resource, Sink]] = []
        self.version = 0
        self.history: list[tuple[float, str, str, Tree]] = []
        self.refusals: list[PortError] = []
        """Met by the next writes, one each."""
        self.is_closed = False

    def _tell(self, change: ChangeType, resource: Resource, tree: Tree) -> None:
        name = tree["metadata"]["name"]
        if resource is PODS or resource is NODES:
            self.history.append((round(self.clock.now() - START, 3), change.value, name, tree))
        for watched, sink in self.sinks:
            if watched == resource:
                sink(ObjectChange(change, resource, tree))

    def put(self, resource: Resource, tree: Tree) -> Tree:
        """Store a new version of an object."""
        self.version += 1
        tree = copy.deepcopy(tree)
        metadata = tree["metadata"]
        key = (resource, metadata.get("namespace", ""), metadata["name"])
        metadata["resourceVersion"] = str(self.version)
        metadata.setdefault("uid", f"uid-{metadata['name']}")
        metadata.setdefault("creationTimestamp", rfc3339(self.clock.now()))
        tree.setdefault("kind", resource.kind)
        tree.setdefault("apiVersion", resource.api_version)
        known = key in self.objects
        self.objects[key] = tree
        self._tell(ChangeType.MODIFIED if known else ChangeType.ADDED, resource, tree)
        return tree

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree:
        try:
            return self.objects[(resource, namespace, name)]
        except KeyError:
            raise PortError(404, "NotFound", f'{resource.label} "{name}" not found') from None

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Tree]:
        return [
            tree for (kind, space, _), tree in self.objects.items() if kind == resource and space == namespace
        ]

    async def follow(self, resource: Resource, sink: Sink) -> None:
        for (kind, _, _), tree in list(self.objects.items()):
            if kind == resource:
                sink(ObjectChange(ChangeType.ADDED, resource, tree))
        self.sinks.append((resource, sink))

    def of(self, resource: Resource) -> tuple[Tree, ...]:
        """Every object of one resource, over all namespaces."""
        return tuple(tree for (kind, _, _), tree in self.objects.items() if kind == resource)

    def drop(self, resource: Resource, namespace: str, name: str) -> None:
        """Take an object away at once."""
        self._tell(ChangeType.DELETED, resource, self.objects.pop((resource, namespace, name)))

    async def create(self, resource: Resource, tree: Tree, namespace: str = "") -> Tree:
        if self.refusals:
            raise self.refusals.pop(0)
        key = (resource, namespace, tree["metadata"]["name"])
        if key in self.objects:
            raise PortError(409, "AlreadyExists", "it is there")
        return self.put(resource, tree)

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
        assert isinstance(patch, dict) and type is PatchType.MERGE
        if self.refusals:
            raise self.refusals.pop(0)
        tree = await self.get(resource, namespace, name)
        wanted = patch.get("metadata", {}).get("resourceVersion")
        if wanted and wanted != tree["metadata"]["resourceVersion"]:
            raise PortError(409, "Conflict", "the object has been modified")
        return self.put(resource, merged(tree, patch))

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
        tree = await self.get(resource, namespace, name)
        if uid and uid != tree["metadata"]["uid"]:
            raise PortError(409, "Conflict", "another uid")
        if resource is PODS and grace_seconds != 0 and tree["spec"].get("nodeName"):
            grace = grace_seconds
            if grace is None:
                grace = int(tree["spec"].get("terminationGracePeriodSeconds", 30))
            marks = {
                "deletionTimestamp": rfc3339(self.clock.now() + grace),
                "deletionGracePeriodSeconds": grace,
            }
            self.put(resource, merged(tree, {"metadata": marks}))
            return
        self.drop(resource, namespace, name)

    async def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        raise NotImplementedError

    async def evict(self, namespace: str, pod: str, *, grace_seconds: int | None = None) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        self.sinks.clear()
        self.is_closed = True


def merged(tree: Tree, patch: Tree) -> Tree:
    """`tree` after a merge patch."""
    made = dict(tree)
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict) and isinstance(made.get(key), dict):
            made[key] = merged(made[key], value)
        else:
            made[key] = value
    return made
